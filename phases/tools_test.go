package phases

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

func TestNormalizeTool(t *testing.T) {
	for _, c := range []struct{ runtime, native, want string }{
		{"claude-code", "Bash", "exec"}, {"codex", "exec_command", "exec"}, {"codex", "shell", "exec"},
		{"openclaw", "bash", "exec"},
		{"gemini-cli", "run_shell_command", "exec"}, {"cursor", "Shell", "exec"}, {"cursor", "run_terminal_cmd", "exec"},
		{"claude-code", "BashOutput", "process"}, {"codex", "write_stdin", "process"},
		{"openclaw", "apply-patch", "apply_patch"}, {"codex", "apply_patch", "apply_patch"},
		{"opencode", "patch", "apply_patch"},
		{"claude-code", "Read", "read"}, {"gemini-cli", "read_file", "read"}, {"claude-code", "Write", "write"},
		{"gemini-cli", "write_file", "write"},
		{"claude-code", "Edit", "edit"}, {"claude-code", "MultiEdit", "edit"}, {"opencode", "multiedit", "edit"},
		{"gemini-cli", "replace", "edit"},
		{"claude-code", "NotebookEdit", "edit"}, {"claude-code", "Grep", "grep"},
		{"gemini-cli", "search_file_content", "grep"},
		{"claude-code", "Glob", "glob"}, {"claude-code", "LS", "list"}, {"gemini-cli", "list_directory", "list"},
		{"claude-code", "WebFetch", "web_fetch"}, {"opencode", "webfetch", "web_fetch"},
		{"claude-code", "WebSearch", "web_search"}, {"gemini-cli", "google_web_search", "web_search"},
		{"claude-code", "Agent", "sessions_spawn"}, {"claude-code", "Task", "sessions_spawn"},
		{"opencode", "task", "sessions_spawn"}, {"codex", "spawn_agent", "sessions_spawn"},
		{"openclaw", "sessions_spawn", "sessions_spawn"}, {"claude-code", "TodoWrite", "todo"},
		{"codex", "update_plan", "todo"},
		{"claude-code", "Monitor", "exec"}, {"claude-code", "PowerShell", "exec"}, {"claude-code", "REPL", "exec"},
		{"claude-code", "Eval", "exec"}, {"codex", "Bash", "exec"}, {"gemini-cli", "invoke_agent", "sessions_spawn"},
		{"claude-code", "Workflow", "Workflow"},
		{"claude-code", "mcp__github__create_issue", "mcp:github:create_issue"},
		{"claude-code", "mcp__a__b__c", "mcp:a:b__c"},
		{"claude-code", "mcp__a:b__c", "mcp:a%3Ab:c"},
	} {
		if got, known := NormalizeTool(c.runtime, c.native); got != c.want || !known {
			t.Errorf("NormalizeTool(%s, %s) = %s, %v; want %s", c.runtime, c.native, got, known, c.want)
		}
	}
	for _, native := range []string{"", "my_tool", "mcp__", "mcp____x", "mcp__a__", "execx", "ехес"} {
		if got, known := NormalizeTool("custom", native); got != native || known {
			t.Errorf("NormalizeTool(%q) = %q, %v", native, got, known)
		}
	}
	for _, name := range KnownTools() {
		if got, known := NormalizeTool("custom", name); got != name || !known {
			t.Errorf("the known name %s becomes %s, %v", name, got, known)
		}
		if checkToolName(name) != "" {
			t.Errorf("%s is not good in a scope", name)
		}
	}
}

// Each table has normalised names only, and no two of its names are the same when folded.
func TestToolTablesAreUnambiguous(t *testing.T) {
	if got := slices.Sorted(slices.Values(KnownTools())); !slices.Equal(got, KnownTools()) {
		t.Error("the known tools are not sorted")
	}
	for runtime, table := range toolTables() {
		owner := map[string]string{}
		for native, name := range table {
			if name != "" && !slices.Contains(KnownTools(), name) {
				t.Errorf("%s: %s is %q, which is no normalised name", runtime, native, name)
			}
			if o, ok := owner[foldTool(native)]; ok && o != name {
				t.Errorf("%s: %s is %s and %s", runtime, native, o, name)
			}
			owner[foldTool(native)] = name
		}
		for _, name := range KnownTools() {
			if got, known := NormalizeTool(runtime, name); got != name || !known {
				t.Errorf("%s: the normalised %s is %s, %v", runtime, name, got, known)
			}
		}
	}
}

// A name of one runtime's tool says nothing about another runtime's.
func TestAliasesBelongToARuntime(t *testing.T) {
	for _, runtime := range []string{"", "custom", "my-agent", "CLAUDE-CODE"} {
		for _, native := range []string{"search", "Bash", "shell", "fetch", "view", "cat", "replace", "question", "task",
			"delegate", "ls", "terminal", "Monitor", "update_plan", "invoke_agent"} {
			if got, known := NormalizeTool(runtime, native); got != native || known {
				t.Errorf("%q: %s is %s, %v", runtime, native, got, known)
			}
		}
	}
	for runtime, table := range toolTables() {
		for native, name := range table {
			want := name
			if name == "" {
				want = native
			}
			if got, known := NormalizeTool(runtime, native); got != want || !known {
				t.Errorf("%s: %s is %s, %v", runtime, native, got, known)
			}
		}
	}
}

// clientTools reads a list of the tools that a real client has: one line for each.
func clientTools(t *testing.T, runtime string) (names []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/tools/" + runtime + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" && name[0] != '#' {
			names = append(names, name)
		}
	}
	return names
}

// The tables know each tool of the clients that were looked at. `make test-agents` compares the list
// with what the installed client says.
func TestTablesKnowTheClientsTools(t *testing.T) {
	for _, runtime := range []string{"claude-code", "codex", "gemini-cli", "openclaw", "opencode"} {
		names := clientTools(t, runtime)
		if len(names) < 15 {
			t.Errorf("%s: only %d tools are listed", runtime, len(names))
		}
		for _, native := range names {
			if _, known := NormalizeTool(runtime, native); !known {
				t.Errorf("%s: no table knows %s", runtime, native)
			}
		}
	}
}

func TestNormalizeTwiceIsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runtime := rapid.SampledFrom([]string{"claude-code", "openclaw", "x"}).Draw(t, "runtime")
		native := rapid.OneOf(rapid.SampledFrom([]string{"Bash", "mcp__a__b", "mcp:a:b", "Task", "own"}),
			rapid.StringN(1, 20, 40)).Draw(t, "native")
		inv := Invocation{Phase: PreTool, Runtime: runtime,
			Action: jsontext.Value(`{"tool":` + string(quote(native)) + `,"args":{}}`)}
		once, err := Normalize(inv)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Normalize(once)
		if err != nil || string(twice.Action) != string(once.Action) {
			t.Fatalf("%s, then %s, %v", once.Action, twice.Action, err)
		}
		if got, _ := GetString(once.Action, "/tool"); got != inv.Tool() || got != once.Tool() {
			t.Fatalf("tool %q, %q before, %q after", got, inv.Tool(), once.Tool())
		}
	})
}

func TestNormalizeKeepsTheNativeName(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"tool":"Bash","args":{ }}`, `{"tool":"exec","args":{ },"native_tool":"Bash"}`},
		{`{"tool":"bash","native_tool":"Bash","args":{}}`, `{"tool":"exec","native_tool":"Bash","args":{}}`},
		{`{"tool":"exec","args":{}}`, `{"tool":"exec","args":{}}`},
		{`{"tool":"read","args":{},"mcp":{"server":"s","tool":"t"}}`,
			`{"tool":"mcp:s:t","args":{},"mcp":{"server":"s","tool":"t"},"native_tool":"read"}`},
	} {
		got, err := Normalize(Invocation{Phase: PreTool, Runtime: "claude-code", Action: jsontext.Value(c.in)})
		if err != nil || string(got.Action) != c.want {
			t.Errorf("Normalize(%s) = %s, %v; want %s", c.in, got.Action, err, c.want)
		}
	}
	// A hook sees the normalised name also of an action that came without it.
	inv := sampleInvocation(PreTool)
	inv.Runtime = "claude-code"
	inv.Action = jsontext.Value(`{"tool":"Bash","args":{}}`)
	c, err := NewChain(inv, nil, Scopes{})
	if err != nil {
		t.Fatal(err)
	}
	view := c.View()
	if s, _ := GetString(view.Action, "/tool"); s != "exec" || len(c.Result().Changed) != 0 {
		t.Errorf("tool = %q, changed %q", s, c.Result().Changed)
	}
}

func TestCheckScopes(t *testing.T) {
	project := Scopes{FSRead: Scope{"/p/**"}, FSWrite: Scope{"/p/src/**"}, Net: Scope{"*.example:443"}}
	for name, c := range map[string]struct {
		caller, scopes Scopes
		action         string
		outside        string // scope, or "" for inside
	}{
		"exec unrestricted":         {Scopes{}, Scopes{}, `{"tool":"exec","args":{"command":"x"}}`, ""},
		"exec as the caller had it": {project, project, `{"tool":"exec","args":{"command":"x"}}`, ""},
		"exec narrowed":             {Scopes{}, project, `{"tool":"exec","args":{"command":"x"}}`, "fs_read"},
		"exec with less net":        {Scopes{}, Scopes{Net: Scope{}}, `{"tool":"exec","args":{"command":"x"}}`, "net"},
		"exec under its own name":   {Scopes{}, project, `{"tool":"Bash","args":{"command":"x"}}`, "fs_read"},
		"unknown tool narrowed":     {Scopes{}, project, `{"tool":"my_tool","args":{}}`, "fs_read"},
		"mcp tool narrowed": {Scopes{}, project,
			`{"tool":"read","args":{"path":"/p/a"},"mcp":{"server":"s","tool":"read"}}`, "fs_read"},
		"tool in scope": {Scopes{}, Scopes{Tools: Scope{"read"}},
			`{"tool":"Read","args":{"file_path":"/p/a"}}`, ""},
		"tool not in scope": {Scopes{}, Scopes{Tools: Scope{"read"}}, `{"tool":"todo","args":{}}`, "tools"},
		"mcp tool in scope": {Scopes{}, Scopes{Tools: Scope{"mcp:s:*"}},
			`{"tool":"x","args":{},"mcp":{"server":"s","tool":"t"}}`, ""},
		"todo narrowed":             {Scopes{}, project, `{"tool":"todo","args":{}}`, ""},
		"read inside":               {Scopes{}, project, `{"tool":"read","args":{"file_path":"/p/a"}}`, ""},
		"read relative":             {Scopes{}, project, `{"tool":"read","args":{"path":"./a//b"}}`, ""},
		"read outside":              {Scopes{}, project, `{"tool":"read","args":{"path":"/etc/passwd"}}`, "fs_read"},
		"read outside, same scopes": {project, project, `{"tool":"read","args":{"path":"/etc/passwd"}}`, "fs_read"},
		"read beside":               {Scopes{}, project, `{"tool":"read","args":{"path":"/p2"}}`, "fs_read"},
		"read with dots":            {Scopes{}, project, `{"tool":"read","args":{"path":"/p/x/../a"}}`, "fs_read"},
		"read home":                 {Scopes{}, project, `{"tool":"read","args":{"path":"~/a"}}`, "fs_read"},
		"read without a path":       {Scopes{}, project, `{"tool":"read","args":{"what":"/p/a"}}`, "fs_read"},
		"read one of two outside":   {Scopes{}, project, `{"tool":"read","args":{"paths":["/p/a","/etc/x"]}}`, "fs_read"},
		"read other spelling": {Scopes{}, project,
			`{"tool":"read","args":{"filePath":"/p/a","absolute_path":"/etc/x"}}`, "fs_read"},
		"write inside": {Scopes{}, project, `{"tool":"write","args":{"path":"/p/src/a","content":"/etc/x"}}`,
			""},
		"write where it may only read": {Scopes{}, project, `{"tool":"write","args":{"path":"/p/a","content":""}}`,
			"fs_write"},
		"edit": {Scopes{}, project,
			`{"tool":"MultiEdit","args":{"file_path":"/p/src/a","edits":[]}}`, ""},
		"file text is no path": {Scopes{}, project,
			`{"tool":"write","args":{"path":"/p/src/a","file_text":"/etc/x"}}`, ""},
		"patch inside": {Scopes{}, project,
			`{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: src/a\n@@\n-x\n+y\n*** End Patch"}}`, ""},
		"patch outside": {Scopes{}, project,
			`{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: src/a\n*** Move to: /p/b\n*** End Patch"}}`, "fs_write"},
		"patch of another form": {Scopes{}, project, `{"tool":"apply_patch","args":{"input":"--- a\n+++ b\n"}}`,
			"fs_write"},
		"patch with an odd header": {Scopes{}, project,
			`{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: src/a\n*** Link File: /etc/x\n"}}`,
			"fs_write"},
		"read nested outside": {Scopes{}, project,
			`{"tool":"read","args":{"path":"/p/a","more":{"all":[{"file_path":"/etc/x"}]}}}`, "fs_read"},
		"read list in list outside": {Scopes{}, project, `{"tool":"read","args":{"paths":["/p/a",["/etc/x"]]}}`,
			"fs_read"},
		"read named otherwise": {Scopes{}, project, `{"tool":"read","args":{"path":"/p/a","target":"/etc/x"}}`,
			"fs_read"},
		"read a source": {Scopes{}, project, `{"tool":"read","args":{"path":"/p/a","source":"/etc/x"}}`,
			"fs_read"},
		"read objects in a list": {Scopes{}, project,
			`{"tool":"read","args":{"path":"/p/a","files":[{"name":"/etc/x"}]}}`, "fs_read"},
		"read a URI beside": {Scopes{}, project, `{"tool":"read","args":{"path":"/p/a","uri":"file:/etc/x"}}`,
			"fs_read"},
		"read a file URL":             {Scopes{}, project, `{"tool":"read","args":{"path":"File:/etc/x"}}`, "fs_read"},
		"read a drive":                {Scopes{}, project, `{"tool":"read","args":{"path":"c:\\x"}}`, "fs_read"},
		"read a share":                {Scopes{}, project, `{"tool":"read","args":{"path":"\\\\h\\x"}}`, "fs_read"},
		"read a variable":             {Scopes{}, project, `{"tool":"read","args":{"path":"$HOME/x"}}`, "fs_read"},
		"read from another directory": {Scopes{}, project, `{"tool":"read","args":{"path":"a","cwd":"sub"}}`, "fs_read"},
		"read with a remark": {Scopes{}, project,
			`{"tool":"read","args":{"path":"/p/a","description":"see /etc/x and ../y","limit":5}}`, ""},
		"edit nested outside": {Scopes{}, project,
			`{"tool":"edit","args":{"file_path":"/p/src/a","edits":[{"file_path":"/etc/x","old_string":"a","new_string":"b"}]}}`,
			"fs_write"},
		"edit nested inside": {Scopes{}, project,
			`{"tool":"edit","args":{"file_path":"/p/src/a","edits":[{"old_string":"/a/..","new_string":"https://b"}]}}`, ""},
		"write a copy": {Scopes{}, project,
			`{"tool":"write","args":{"path":"/p/src/a","destination":"/etc/x"}}`, "fs_write"},
		"two patches": {Scopes{}, project,
			`{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: src/a\n","command":["apply_patch","*** Begin Patch\n*** Update File: /etc/x\n"]}}`, "fs_write"},
		"patch and diff": {Scopes{}, project,
			`{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: src/a\n","patch":"--- /etc/x\n+++ /etc/x\n"}}`, "fs_write"},
		"patch after a carriage return": {Scopes{}, project,
			`{"tool":"apply_patch","args":{"input":"*** Begin Patch\n*** Update File: src/a\r*** Update File: /etc/x\n"}}`,
			"fs_write"},
		"glob list outside": {Scopes{}, project, `{"tool":"glob","args":{"path":"/p","patterns":["a","/etc/*"]}}`,
			"fs_read"},
		"grep list up": {Scopes{}, project, `{"tool":"grep","args":{"pattern":"x","include":["../*"]}}`,
			"fs_read"},
		"grep for a path": {Scopes{}, project, `{"tool":"grep","args":{"query":"/etc/x","path":"/p"}}`, ""},
		"grep elsewhere":  {Scopes{}, project, `{"tool":"grep","args":{"pattern":"x","cwd":"sub"}}`, "fs_read"},
		"fetch two": {Scopes{}, project,
			`{"tool":"web_fetch","args":{"url":"https://a.example/x","urls":["https://evil.test/"]}}`, "net"},
		"fetch a file": {Scopes{}, Scopes{FSRead: Scope{}},
			`{"tool":"web_fetch","args":{"url":"file://localhost/etc/x"}}`, "fs_read"},
		"fetch a file, no host": {Scopes{}, Scopes{FSRead: Scope{}},
			`{"tool":"web_fetch","args":{"url":"file:///etc/x"}}`, "fs_read"},
		"grep in the cwd": {Scopes{}, project, `{"tool":"grep","args":{"pattern":"x"}}`, ""},
		"grep outside":    {Scopes{}, project, `{"tool":"grep","args":{"pattern":"x","path":"/"}}`, "fs_read"},
		"grep above": {Scopes{}, Scopes{FSRead: Scope{"/p"}},
			`{"tool":"grep","args":{"pattern":"x","path":"/p"}}`, "fs_read"},
		"glob absolute": {Scopes{}, project, `{"tool":"glob","args":{"pattern":"/etc/*"}}`, "fs_read"},
		"glob up":       {Scopes{}, project, `{"tool":"glob","args":{"pattern":"../*"}}`, "fs_read"},
		"fetch inside":  {Scopes{}, project, `{"tool":"web_fetch","args":{"url":"https://a.example/x"}}`, ""},
		"fetch other port": {Scopes{}, project, `{"tool":"web_fetch","args":{"url":"http://a.example/x"}}`,
			"net"},
		"fetch other host": {Scopes{}, project,
			`{"tool":"web_fetch","args":{"url":"https://a.example@evil.test/x"}}`, "net"},
		"fetch address": {Scopes{}, project, `{"tool":"web_fetch","args":{"url":"https://2130706433/x"}}`,
			"net"},
		"fetch no URL": {Scopes{}, project, `{"tool":"web_fetch","args":{"prompt":"https://a.example"}}`,
			"net"},
		"fetch backslash": {Scopes{}, project,
			`{"tool":"web_fetch","args":{"url":"https://a.example\\@evil.test/"}}`, "net"},
		"fetch anything": {Scopes{}, Scopes{}, `{"tool":"web_fetch","args":{"url":"http://localhost:8080/"}}`,
			""},
		"web search narrowed": {Scopes{}, project, `{"tool":"web_search","args":{"query":"x"}}`, "net"},
		"web search, files narrowed": {Scopes{}, Scopes{FSRead: Scope{}}, `{"tool":"web_search","args":{"query":"x"}}`,
			""},
	} {
		inv := Invocation{Phase: PreTool, Runtime: "claude-code", CWD: "/p", Scopes: c.caller,
			Action: jsontext.Value(c.action)}
		if err := checkAction(PreTool, inv.Action); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err := CheckScopes(inv, inv.Action, c.scopes)
		var o *outsideError
		if errors.As(err, &o) != (c.outside != "") || o != nil && (o.scope != c.outside || !errors.Is(err, ErrOutside)) {
			t.Errorf("%s: %v, want %q", name, err, c.outside)
		}
	}
}

func TestCheckScopesOfOtherPhases(t *testing.T) {
	narrow := Scopes{FSWrite: Scope{}}
	for _, c := range []struct {
		phase   Phase
		action  string
		scopes  Scopes
		outside string
	}{
		{Spawn, `{"child":{"agent":"a","tools":["Read","exec"]}}`, Scopes{Tools: Scope{"read", "exec"}}, ""},
		{Spawn, `{"child":{"agent":"a","tools":["Read","Write"]}}`, Scopes{Tools: Scope{"read", "exec"}}, "tools"},
		{Spawn, `{"child":{"agent":"a"}}`, Scopes{Tools: Scope{"read"}}, "tools"},
		{Spawn, `{"child":{"agent":"a","tools":[]}}`, Scopes{Tools: Scope{"read"}}, ""},
		{Spawn, `{"child":{"agent":"a"}}`, Scopes{}, ""},
		{Spawn, `{"child":{"agent":"a","tools":[]}}`, narrow, "fs_write"},
		{StateTransition, `{"machine":"stage"}`, narrow, "fs_write"},
		{StateTransition, `{"machine":"stage"}`, Scopes{}, ""},
		{PostTool, `{"tool":"exec","result":1}`, narrow, ""},
	} {
		inv := Invocation{Phase: c.phase, Runtime: "claude-code", Action: jsontext.Value(c.action)}
		err := CheckScopes(inv, inv.Action, c.scopes)
		var o *outsideError
		if errors.As(err, &o) != (c.outside != "") || o != nil && o.scope != c.outside {
			t.Errorf("%s %s: %v, want %q", c.phase, c.action, err, c.outside)
		}
	}
	c, _ := NewChain(sampleInvocation(PreTool), nil, Scopes{FSWrite: Scope{}})
	if r := c.checkScopes(); r.Decision != HookBlock || c.Result().DecidedBy != "belay" || c.Result().Kind != KindPolicy {
		t.Errorf("%+v, %+v", r, c.Result())
	}
	// That the invocation came with the same scopes enforces nothing.
	inv := sampleInvocation(PreTool)
	inv.Scopes = Scopes{FSWrite: Scope{"/w/**"}}
	c, _ = NewChain(inv, nil, inv.Scopes)
	if r := c.checkScopes(); r.Decision != HookBlock {
		t.Errorf("as narrow as the invocation: %+v, %+v", r, c.Result())
	}
}

func TestDocumentHasNoCollisions(t *testing.T) {
	envelope := []string{"phase", "id", "runtime", "session", "agent", "run", "user", "cwd", "time", "reported_time",
		"scopes", "metadata"}
	for _, p := range Phases() {
		inv := sampleInvocation(p)
		doc, err := Document(inv, Metadata{"k": {Value: jsontext.Value("1"), Hook: "h", Tier: Sandboxed}})
		if err != nil {
			t.Fatal(err)
		}
		if err := checkJSON(doc, limits{}); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, doc)
		}
		var names []string
		walk(inv.Action, 0, func(m member) bool {
			name, _ := unquote(inv.Action[m.name.start:m.name.end])
			names = append(names, name)
			return true
		})
		for _, n := range names {
			if slices.Contains(envelope, n) {
				t.Errorf("%s: %s is in the action and in the envelope", p, n)
			}
			want, _ := Get(inv.Action, Join("", n))
			if got, _ := Get(doc, Join("", n)); string(got) != string(want) && n != "headers" {
				t.Errorf("%s: /%s = %s, want %s", p, n, got, want)
			}
		}
	}
}

func TestSafeText(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"plain", 10, "plain"}, {"a\nb\tc", 10, "a\nb\tc"}, {"a\r\x00\x1b[1mb\u0085\u2028c\u200b\ufeff", 20, "a[1mbc"},
		{"a\xffb", 10, "a\uFFFDb"}, {"ééé", 3, "é"}, {"ééé", 4, "éé"}, {"x", 0, ""},
	} {
		if got := SafeText(c.in, c.max); got != c.want {
			t.Errorf("SafeText(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
	if got := SafeLine("a\r\nb\tc\u202e", 20); got != "a  b c" {
		t.Errorf("SafeLine = %q", got)
	}
}

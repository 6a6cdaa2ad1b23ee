package phases

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// outsideOf returns the scope and the reason with which an action is outside, or "".
func outsideOf(t *testing.T, inv Invocation, scopes Scopes, follow func(string) (string, bool)) string {
	t.Helper()
	err := CheckScopesFollowing(inv, inv.Action, scopes, follow)
	if err == nil {
		return ""
	}
	var o *outsideError
	if !errors.As(err, &o) || !errors.Is(err, ErrOutside) {
		t.Fatalf("%v is no *OutsideError", err)
	}
	return o.Error()
}

// TestReasonsOfScopes: each row has one thing wrong, and the refusal says which.
func TestReasonsOfScopes(t *testing.T) {
	const (
		place, file = "a path is not in scope", "narrowed, and it cannot be told which file a path names"
		nameless    = "narrowed, and the arguments name no path in a known way"
		hint        = "narrowed, and an argument may lead to another file or directory"
		patch       = "narrowed, and the patch does not name its files in a known way"
		host, fetch = "net: a host is not in scope", "net: narrowed, and it cannot be told which host a URL names"
		tool        = "narrowed, and it cannot be told what the tool touches"
	)
	read, write := Scopes{FSRead: Scope{"/p/**"}}, Scopes{FSWrite: Scope{"/p/**"}}
	net := Scopes{Net: Scope{"h:443"}}
	for _, tc := range []struct {
		tool, args string
		scopes     Scopes
		want       string
	}{
		{"read", `{"path":"/p/a"}`, read, ""},
		{"read", `{"path":"a"}`, read, ""},
		{"read", `{"path":"/q"}`, read, "fs_read: " + place},
		{"read", `{}`, read, "fs_read: " + nameless},
		{"read", `{}`, write, ""},
		{"read", `{"path":""}`, read, "fs_read: " + file},
		{"read", `{"path":"~"}`, read, "fs_read: " + file},
		{"read", `{"path":"$A"}`, read, "fs_read: " + file},
		{"read", `{"path":"\\a"}`, read, "fs_read: " + file},
		{"read", `{"path":"/p/.."}`, read, "fs_read: " + file},
		{"read", `{"path":"/p/..a"}`, read, ""},
		{"read", `{"path":"http://a"}`, read, "fs_read: " + file},
		{"read", `{"path":"FILE:"}`, read, "fs_read: " + file},
		{"read", `{"path":"file"}`, read, ""},
		{"read", `{"path":"a:"}`, read, "fs_read: " + file},
		{"read", `{"path":"Z:b"}`, read, "fs_read: " + file},
		{"read", `{"path":"1:b"}`, read, ""},
		{"read", `{"path":"@:b"}`, read, ""},
		{"read", `{"path":"[:b"}`, read, ""},
		{"read", `{"path":"{:b"}`, read, ""},
		{"read", `{"path":"ab:c"}`, read, ""},
		{"read", `{"path":"a","other":"/q"}`, read, "fs_read: " + hint},
		{"read", `{"path":"a","other":"~"}`, read, "fs_read: " + hint},
		{"read", `{"path":"a","other":"b/../c"}`, read, "fs_read: " + hint},
		{"read", `{"path":"a","other":"s://q"}`, read, "fs_read: " + hint},
		{"read", `{"path":"a","other":"file:q"}`, read, "fs_read: " + hint},
		{"read", `{"path":"a","other":"b/c"}`, read, ""},
		{"read", `{"path":"a","content":"/q"}`, read, "fs_read: " + hint},
		{"write", `{"path":"a","content":"/q"}`, write, ""},
		{"write", `{"path":"/q"}`, write, "fs_write: " + place},
		{"write", `{"path":"/q"}`, read, ""},
		{"write", `{}`, write, "fs_write: " + nameless},
		{"write", `{"path":"a","other":"/q"}`, write, "fs_write: " + hint},
		{"list", `{}`, read, ""},
		{"list", `{"path":"/"}`, read, "fs_read: " + place},
		{"list", `{"path":"/"}`, Scopes{}, ""},
		{"list", `{"path":"/"}`, Scopes{FSRead: Scope{"*"}}, ""},
		{"list", `{"path":"/p"}`, Scopes{FSRead: Scope{"/p"}}, "fs_read: " + place},
		{"list", `{"path":"/p/a*b"}`, Scopes{FSRead: Scope{"*"}}, ""},
		{"list", `{"path":"/p/a*b"}`, read, "fs_read: " + place},
		{"glob", `{"pattern":"/q/*"}`, read, "fs_read: " + hint},
		{"glob", `{"query":"/q/*"}`, read, "fs_read: " + hint},
		{"grep", `{"query":"/q/*"}`, read, ""},
		{"grep", `{"regex":"/q/*"}`, read, ""},
		{"grep", `{"regexp":"/q/*"}`, read, ""},
		{"grep", `{"pattern":"/q/*"}`, read, "fs_read: " + hint},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: a\n*** Delete File: b\n*** End of File\n*** End Patch"}`,
			write, ""},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Delete File: /q\n*** End Patch"}`, write, "fs_write: " + place},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Add File: /q\n*** End Patch"}`, write, "fs_write: " + place},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a\n*** Move to: /q\n*** End Patch"}`, write,
			"fs_write: " + place},
		{"apply_patch", `{"input":"*** Begin Patch\n*** End Patch"}`, write, "fs_write: " + patch},
		{"apply_patch", `{"input":"*** Add File: a","more":"x\ny"}`, write, "fs_write: " + patch},
		{"apply_patch", `{"input":"*** Add File: a","more":"x"}`, write, ""},
		{"apply_patch", `{"input":"*** Add File: a","explanation":"x\ny"}`, write, ""},
		{"apply_patch", `{"input":"*** Add File: a","more":"x\ry"}`, write, "fs_write: " + patch},
		{"apply_patch", `{"input":"*** Add File: a\rb"}`, write, "fs_write: " + file},
		{"apply_patch", `{"input":"*** Add File: a\r\n"}`, write, ""},
		{"apply_patch", `{"input":"*** Add File: a\n*** Odd: b"}`, write, "fs_write: " + file},
		// A tool that touches one file needs no more than that file.
		{"read", `{"path":"/p/a"}`, Scopes{FSRead: Scope{"/p/a"}}, ""},
		{"write", `{"path":"/p/a"}`, Scopes{FSWrite: Scope{"/p/a"}}, ""},
		{"apply_patch", `{"input":"*** Add File: a"}`, Scopes{FSWrite: Scope{"/p/a"}}, ""},
		{"apply_patch", `{"input":"*** Add File: a"}`, Scopes{FSWrite: Scope{"/p/b"}}, "fs_write: " + place},
		{"web_fetch", `{"url":"https://h"}`, net, ""},
		{"web_fetch", `{"url":" https://h "}`, net, ""},
		{"web_fetch", `{"url":"https://g"}`, net, host},
		{"web_fetch", `{"url":"https://h:444"}`, net, host},
		{"web_fetch", `{"url":"https://h","href":"https://g"}`, net, host},
		{"web_fetch", `{"url":"https:///x"}`, net, fetch},
		{"web_fetch", `{"url":"//h:443"}`, net, ""},
		{"web_fetch", `{"url":"%"}`, net, fetch},
		{"web_fetch", `{"uri":"https://h"}`, net, "net: narrowed, and the arguments name no URL"},
		{"web_fetch", `{"url":"file:///a"}`, read,
			"fs_read: narrowed, and it cannot be told what a URL that is not of the web reaches"},
		{"web_fetch", `{"url":"https://2130706433"}`, Scopes{}, ""},
		{"web_search", `{"query":"x"}`, net, "net: narrowed, and a web search does not name its host"},
		{"web_search", `{"query":"x"}`, read, ""},
		{"exec", `{"command":"x"}`, read, "fs_read: " + tool},
		{"exec", `{"command":"x"}`, write, "fs_write: " + tool},
		{"exec", `{"command":"x"}`, net, "net: " + tool},
		{"exec", `{"command":"x"}`, Scopes{Tools: Scope{"read"}}, "tools: the tool is not in scope"},
	} {
		inv := Invocation{Phase: PreTool, CWD: "/p",
			Action: jsontext.Value(`{"tool":"` + tc.tool + `","args":` + tc.args + `}`)}
		if got := outsideOf(t, inv, tc.scopes, nil); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.tool, tc.args, got, tc.want)
		}
	}
	// Where relative paths lead is known from the working directory alone, unless an argument says otherwise.
	relative := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"read","args":{"path":"a"}}`)}
	if got := outsideOf(t, relative, read, nil); got != "fs_read: "+file {
		t.Errorf("without a working directory: %q", got)
	}
	for _, base := range []string{
		"cwd", "root", "base", "pwd", "workdir", "working_dir", "workingDirectory", "current_directory", "workspace",
		"base_dir", "basePath",
		"base-directory", "root_dir", "rootPath", "rootDirectory",
	} {
		inv := Invocation{Phase: PreTool, CWD: "/p",
			Action: jsontext.Value(`{"tool":"read","args":{"path":"a","` + base + `":"b"}}`)}
		if got := outsideOf(t, inv, read, nil); got != "fs_read: "+file {
			t.Errorf("with %s: %q", base, got)
		}
		inv.Action = jsontext.Value(`{"tool":"read","args":{"path":"/p/a","x` + base + `":"b"}}`)
		if got := outsideOf(t, inv, read, nil); got != "" {
			t.Errorf("with x%s, of an absolute path: %q", base, got)
		}
	}
}

// TestReasonsWhereLinksLead: the check compares real paths; where there is none, the file cannot be told.
func TestReasonsWhereLinksLead(t *testing.T) {
	for to, want := range map[string]string{
		"/p/b": "", "/q": "fs_read: a path is not in scope",
		"":          "fs_read: narrowed, and it cannot be told which file a path names",
		"q":         "fs_read: narrowed, and it cannot be told which file a path names",
		"/p/../p/b": "fs_read: narrowed, and it cannot be told which file a path names",
	} {
		inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"read","args":{"path":"/p//a"}}`)}
		follow := func(p string) (string, bool) {
			if p != "/p/a" {
				t.Errorf("asked about %q", p)
			}
			return to, to != ""
		}
		if got := outsideOf(t, inv, Scopes{FSRead: Scope{"/p/**"}}, follow); got != want {
			t.Errorf("to %q: %q, want %q", to, got, want)
		}
	}
}

// TestReasonsOfOtherPhases: a child, and a transition, cannot be held to files and hosts.
func TestReasonsOfOtherPhases(t *testing.T) {
	tools := Scopes{Tools: Scope{"read", "exec"}}
	for _, tc := range []struct {
		phase        Phase
		action       string
		have, scopes Scopes
		want         string
	}{
		{Spawn, `{"child":{"agent":"a","tools":["Read"]}}`, Scopes{}, tools, ""},
		{Spawn, `{"child":{"agent":"a","tools":["Read","Write"]}}`, Scopes{}, tools,
			"tools: a tool of the child is not in scope"},
		{Spawn, `{"child":{"agent":"a"}}`, Scopes{}, tools, "tools: the child names no tools, and tools are narrowed"},
		{Spawn, `{"child":{"agent":"a"}}`, tools, tools, ""},
		{Spawn, `{"child":{"agent":"a"}}`, Scopes{}, Scopes{Net: Scope{}},
			"net: narrowed, and a child agent cannot be held to it"},
		{StateTransition, `{"machine":"m"}`, Scopes{}, Scopes{FSRead: Scope{}},
			"fs_read: narrowed, and a transition cannot be held to it"},
		{StateTransition, `{"machine":"m"}`, Scopes{FSRead: Scope{"/p"}}, Scopes{FSRead: Scope{"/p/**"}}, ""},
		{PreSend, `{"provider":"p"}`, Scopes{}, Scopes{FSRead: Scope{}, FSWrite: Scope{}, Net: Scope{}, Tools: Scope{}}, ""},
	} {
		inv := Invocation{Phase: tc.phase, Action: jsontext.Value(tc.action), Scopes: tc.have}
		if got := outsideOf(t, inv, tc.scopes, nil); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.phase, tc.action, got, tc.want)
		}
	}
	f := (&outsideError{"net", "why"}).Fault()
	if f.Kind != KindPolicy || f.Text != "the action is outside of its scopes (net): why" || !errors.Is(f, ErrOutside) {
		t.Errorf("%+v", f)
	}
}

// TestWhatToolsTouch: whether the arguments of each kind of tool say which files and hosts it touches.
func TestWhatToolsTouch(t *testing.T) {
	closed := Scopes{FSRead: Scope{}, FSWrite: Scope{}, Net: Scope{}}
	nothing := strings.Fields(
		"todo plan ask_user tool_search memory_search memory_get sessions_list sessions_history sessions_send session_status agents_list")
	told := strings.Fields("read write edit grep glob list apply_patch web_fetch web_search")
	for _, name := range append(KnownTools(), "unknown", "mcp:s:read") {
		inv := Invocation{Phase: PreTool, CWD: "/p", Action: jsontext.Value(`{"tool":"` + name + `","args":{}}`)}
		got := outsideOf(t, inv, closed, nil)
		isNothing, isTold := strings.Contains(" "+strings.Join(nothing, " ")+" ", " "+name+" "),
			strings.Contains(" "+strings.Join(told, " ")+" ", " "+name+" ")
		if (got == "") != isNothing {
			t.Errorf("%s touches nothing: %q", name, got)
		}
		if Opaque(inv) != (!isNothing && !isTold) {
			t.Errorf("%s is opaque: %v", name, Opaque(inv))
		}
		inv.Phase = PostTool
		if Opaque(inv) != (!isNothing && !isTold) {
			t.Errorf("%s, which has run, is opaque: %v", name, Opaque(inv))
		}
		if inv.Phase = Spawn; !Opaque(inv) || inv.Tool() != "" {
			t.Errorf("%s of a child: %v, %q", name, Opaque(inv), inv.Tool())
		}
	}
}

// TestNamesOfArguments: by their names, arguments of file tools name files, hold text, or neither.
func TestNamesOfArguments(t *testing.T) {
	for _, n := range strings.Fields("path file dir folder filepath targetfile directory notebookpath destfolder") {
		if !isPathArgument(n) {
			t.Errorf("%s names no file", n)
		}
		for _, suffix := range strings.Fields(
			"text content contents type types pattern patterns filter filtering limit options") {
			if isPathArgument(n + suffix) {
				t.Errorf("%s%s names a file", n, suffix)
			}
		}
	}
	for _, n := range strings.Fields("description explanation instruction instructions reason prompt summary title") {
		if !isProse("my"+n, false) || !isProse(n, true) || isProse(n+"x", true) {
			t.Errorf("%s is no remark", n)
		}
	}
	for _, n := range strings.Fields(
		"text content contents string str code edit newsource body diff replacement replace search") {
		if isProse(n, false) || !isProse("my"+n, true) || isProse(n+"x", true) {
			t.Errorf("%s is not what is written", n)
		}
	}
}

// TestEveryCredentialHeader: each name and each part that hides a header does so by itself.
func TestEveryCredentialHeader(t *testing.T) {
	for _, h := range []string{
		"authentication", "ocp-apim-subscription-key", "x-session-id", "auth", "key", "Key", "x-auth", "x-key", "my-apikey-x",
		"api_key_id", "access-key-id", "xsecretx",
		"tokens", "passwords", "passwds", "credentials", "authorizations", "cookies", "signatures", "bearers", "session-keys",
		"subscription-keys",
		"private-keys", "jwts", "assertions",
	} {
		if !isCredentialHeader(h) {
			t.Errorf("%q is shown to hooks", h)
		}
	}
	for _, h := range []string{"auths", "keys", "xauth", "xkey", "author", "monkey", "x-session", "authenticate"} {
		if isCredentialHeader(h) {
			t.Errorf("%q is hidden from hooks", h)
		}
	}
}

// TestScanOfWhatIsCut: the scanner of raw JSON ends with what there is, at whichever byte a document was cut.
func TestScanOfWhatIsCut(t *testing.T) {
	const doc = ` {"a" : [1, "x\"\\y" ,{"b":-2.5e3}] , "c":null,"d":"\u00e9"} `
	for n := range len(doc) + 1 {
		src := []byte(doc[:n])
		whole := n >= len(doc)-1
		end, ok := skipValue(src, skipSpace(src, 0))
		if ok != whole || ok && end != len(doc)-1 || end > n {
			t.Errorf("%q: ends at %d, %v", src, end, ok)
		}
		names := 0
		walk(src, skipSpace(src, 0), func(m member) bool {
			if !jsontext.Value(src[m.value.start:m.value.end]).IsValid() && n > m.value.end || m.index != names {
				t.Errorf("%q: member %d is %q", src, m.index, src[m.value.start:m.value.end])
			}
			names++
			return true
		})
		if whole && names != 3 {
			t.Errorf("%d members", names)
		}
	}
	for _, tc := range []struct {
		src     string
		max, at int
	}{
		{"", 1, -1}, {"1", 0, -1}, {"[]", 0, 0}, {"[]", 1, -1}, {"[[]]", 1, 1}, {"[[]]", 2, -1}, {`[{"a":"[[["},[]]`, 2, -1},
		{`[[],[[]]]`, 2, 5}, {`[{},{},[]]`, 2, -1}, {`["[[`, 1, -1}, {`"[" `, 0, -1},
	} {
		if at := tooDeep([]byte(tc.src), tc.max); at != tc.at {
			t.Errorf("%s: deeper than %d at %d, want %d", tc.src, tc.max, at, tc.at)
		}
	}
	for src, want := range map[string]string{"": "\x00", " ": "\x00", " null": "n", "-1": "0", "0": "0", "9": "0",
		" [": "[", `"`: `"`, "/": "/", ":": ":"} {
		if got := fmt.Sprintf("%c", kindOf([]byte(src))); got != want {
			t.Errorf("%q is of kind %q, want %q", src, got, want)
		}
	}
	for src, want := range map[string]string{"": "", " \t\r\n": "", " a b ": "a b", "a": "a", "\na\r": "a"} {
		if got := string(trim([]byte(src))); got != want {
			t.Errorf("%q trimmed: %q", src, got)
		}
	}
	for _, tc := range []struct {
		quoted, name string
		want         bool
	}{{`"a"`, "a", true}, {`"\u0061"`, "a", true}, {`"\u0061"`, "b", false}, {`""`, "", true}, {`"`, "", false},
		{``, "", false}, {`"\x"`, "x", false}, {`"ab"`, "a", false}} {
		if nameIs([]byte(tc.quoted), tc.name) != tc.want {
			t.Errorf("%s is %q: %v", tc.quoted, tc.name, !tc.want)
		}
	}
}

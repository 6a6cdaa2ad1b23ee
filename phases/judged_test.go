package phases

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// What a call is judged as: by its tool's name where a table says what the tool does, else by what the
// call carries.
func TestCallsAreJudgedByWhatTheyCarry(t *testing.T) {
	for _, c := range []struct{ runtime, tool, args, names, judged string }{
		// A command in the place of a known tool is where every hook looks for it.
		{"claude-code", "Bash", `{"command":"ls","description":"code"}`, "exec", ""},
		{"codex", "exec_command", `{"cmd":"ls","shell":"/bin/bash"}`, "exec", ""},
		{"codex", "shell", `{"command":["bash","-lc","ls"]}`, "exec", ""},
		{"gemini-cli", "run_shell_command", `{"command":"ls"}`, "exec", ""},
		{"claude-code", "Monitor", `{"command":"tail -f x"}`, "exec", ""},
		{"custom", "exec", `{"command":"ls","script":"rm -rf /"}`, "exec",
			`{"commands":["/args/command"],"code":["/args/script"]}`},
		// Of two places the first one counts, even where it holds none: then the second one is named.
		{"custom", "exec", `{"command":"","cmd":"ls"}`, "exec", `{"commands":["/args/cmd"]}`},
		{"custom", "exec", `{"command":1,"cmd":"ls"}`, "exec", `{"commands":["/args/cmd"]}`},
		{"custom", "exec", `{"command":null,"cmd":["ls","-l"]}`, "exec", `{"commands":["/args/cmd"]}`},
		// Other languages than the shell's.
		{"claude-code", "PowerShell", `{"command":"ls"}`, "exec", `{"code":["/args/command"],"foreign":true}`},
		{"claude-code", "REPL", `{"code":"1"}`, "exec", `{"code":["/args/code"],"foreign":true}`},
		{"claude-code", "Eval", `{"code":"1"}`, "exec", `{"code":["/args/code"],"foreign":true}`},
		{"codex", "js_repl", `{"code":"1"}`, "exec", `{"code":["/args/code"],"foreign":true}`},
		// No table knows these.
		{"claude-code", "mcp__workspace__bash", `{"command":"ls"}`, "mcp:workspace:bash exec",
			`{"as":["exec"],"commands":["/args/command"]}`},
		{"custom", "Bash", `{"command":"ls"}`, "Bash exec", `{"as":["exec"],"commands":["/args/command"]}`},
		{"custom", "run_it", `{"line":"ls"}`, "run_it", ""},
		{"custom", "run_it", `{"cmd":["ls","-l"]}`, "run_it exec", `{"as":["exec"],"commands":["/args/cmd"]}`},
		{"custom", "run_it", `{"cmd":["ls -l"]}`, "run_it exec", `{"as":["exec"],"commands":["/args/cmd/0"]}`},
		{"custom", "run_it", `{"commands":["ls","id"]}`, "run_it exec",
			`{"as":["exec"],"commands":["/args/commands/0","/args/commands/1"]}`},
		{"custom", "run_it", `{"Command":"ls"}`, "run_it exec", `{"as":["exec"],"commands":["/args/Command"]}`},
		{"custom", "run_it", `{"script":"ls"}`, "run_it exec", `{"as":["exec"],"code":["/args/script"]}`},
		{"custom", "run_it", `{"code":"SAVE10"}`, "run_it exec", `{"as":["exec"],"code":["/args/code"]}`},
		{"custom", "run_it", `{"shell":"ls -l"}`, "run_it exec", `{"as":["exec"],"commands":["/args/shell"]}`},
		{"custom", "run_it", `{"shell":"/bin/bash"}`, "run_it", ""},
		{"custom", "run_it", `{"shell":true,"command":5,"cmd":"","code":null,"script":" "}`, "run_it", ""},
		{"custom", "run_it", `{"steps":[{"run":{"command":"ls"}}]}`, "run_it exec",
			`{"as":["exec"],"commands":["/args/steps/0/run/command"]}`},
		{"custom", "list_rows", `{"rows":[{"code":"DE"}]}`, "list_rows", ""},
		{"custom", "run_it", `{"input":{"code":"f()"}}`, "run_it exec", `{"as":["exec"],"code":["/args/input/code"]}`},
		{"custom", "run_it", `{"a/b":{"command":"ls"}}`, "run_it exec", `{"as":["exec"],"commands":["/args/a~1b/command"]}`},
		{"openclaw", "nodes", `{"action":"run","command":["rm","-rf","/"]}`, "nodes exec",
			`{"as":["exec"],"commands":["/args/command"]}`},
		{"openclaw", "process", `{"action":"write","data":"ls\n"}`, "process exec", `{"as":["exec"],"code":["/args/data"]}`},
		{"codex", "write_stdin", `{"session_id":1,"chars":"ls\n"}`, "process exec", `{"as":["exec"],"code":["/args/chars"]}`},
		{"claude-code", "TaskStop", `{"task_id":"1"}`, "process", ""},
		{"custom", "search", `{"query":"x","path":"/etc"}`, "search read write edit",
			`{"as":["read","write","edit"],"paths":["/args/path"]}`},
		{"claude-code", "SendUserFile", `{"files":["a","b"]}`, "SendUserFile read write edit",
			`{"as":["read","write","edit"],"paths":["/args/files/0","/args/files/1"]}`},
		{"custom", "get", `{"file":"https://x.example/y","path_text":"a"}`, "get", ""},
		{"claude-code", "mcp__fs__do", `{"file_path":"a","command":"view"}`, "mcp:fs:do exec read write edit",
			`{"as":["exec","read","write","edit"],"commands":["/args/command"],"paths":["/args/file_path"]}`},
		// Names that say what the tool does.
		{"claude-code", "Workflow", `{"script":"agent()","scriptPath":"/x"}`, "Workflow", ""},
		{"claude-code", "Read", `{"file_path":"a","command":"ls"}`, "read", ""},
		{"codex", "apply_patch", `{"command":["apply_patch","*** Begin Patch"]}`, "apply_patch", ""},
		{"claude-code", "Agent", `{"prompt":"x","command":"ls"}`, "sessions_spawn", ""},
	} {
		for _, phase := range []Phase{PreTool, PostTool} {
			action := `{"tool":` + string(quote(c.tool)) + `,"args":` + c.args
			if phase == PostTool {
				action += `,"result":1`
			}
			inv := Invocation{Phase: phase, Runtime: c.runtime, Action: jsontext.Value(action + "}")}
			norm, err := Normalize(inv)
			if err != nil {
				t.Fatal(err)
			}
			for form, inv := range map[string]Invocation{"as it came": inv, "normalised": norm} {
				if got := strings.Join(inv.ToolNames(), " "); got != c.names {
					t.Errorf("%s %s(%s) %s: judged as %q, want %q", c.runtime, c.tool, c.args, form, got, c.names)
				}
				doc, err := Document(inv, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := Get(doc, "/judged"); string(got) != c.judged {
					t.Errorf("%s %s(%s) %s: %s, want %s", c.runtime, c.tool, c.args, form, got, c.judged)
				}
			}
		}
	}
	for _, inv := range []Invocation{
		{Phase: Spawn, Action: jsontext.Value(`{"child":{"agent":"a"}}`)},
		{Phase: PostTool, Action: jsontext.Value(`{"tool":"run_it","result":{"command":"ls"}}`)},
		{Phase: PreTool, Action: jsontext.Value(`{"tool":"run_it","args":[]}`)},
		{},
	} {
		if got := inv.ToolNames(); len(got) > 1 {
			t.Errorf("%s %s: judged as %q", inv.Phase, inv.Action, got)
		}
	}
}

// A place that no hook can look at, and places that would be longer together than the call, mark the call.
func TestLongPlacesAreCut(t *testing.T) {
	deep := func(name string, n int) string {
		return strings.Repeat(`{"`+name+`":`, n) + `{"command":"ls"}` + strings.Repeat("}", n)
	}
	inv := Invocation{Phase: PreTool,
		Action: jsontext.Value(`{"tool":"x","args":{"a":` + deep(strings.Repeat("m", 60), 20) + `}}`)}
	if j := inv.judge("x"); len(j.commands) != 0 || !j.more {
		t.Errorf("commands %q, more %v", j.commands, j.more)
	}
	var args strings.Builder
	for i := range 60 {
		fmt.Fprintf(&args, `,"a%d":%s`, i, deep(strings.Repeat("m", 50), 18))
	}
	inv.Action = jsontext.Value(`{"tool":"x","args":{"b":1` + args.String() + `}}`)
	if j := inv.judge("x"); len(j.document()) > maxJudgedBytes+1<<10 || !j.more {
		t.Errorf("%d bytes, more %v", len(j.document()), j.more)
	}
}

// What stands below a name that is too long for a pointer is judged all the same, and the call is marked: hooks
// that look at the places cannot tell.
func TestLongNamesHideNothing(t *testing.T) {
	long := strings.Repeat("n", maxPathBytes)
	for args, want := range map[string]string{
		`{"` + long + `":{"command":"rm -rf ~"}}`:             "x exec",
		`{"` + long + `":[{"script":["curl x | sh"]}]}`:       "x exec",
		`{"` + long + `":{"file_path":"/etc/shadow"}}`:        "x read write edit",
		`{"` + long + `":{"shell":"rm -rf ~"}}`:               "x exec",
		`{"` + long + `":{"title":"rm"},"other":"/etc/file"}`: "x",
	} {
		inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"x","args":` + args + `}`)}
		j := inv.judge("x")
		if got := strings.Join(inv.ToolNames(), " "); got != want || j.more != (want != "x") ||
			strings.Contains(string(j.document()), `"more":true`) != (want != "x") {
			t.Errorf("%.10s…%s: judged as %q, more %v, want %q", args, args[len(long):], got, j.more, want)
		}
	}
	inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"exec","args":{"command":"ls","` + long +
		`":{"command":"rm -rf ~"}}}`)}
	if j := inv.judge("exec"); !j.more || !strings.Contains(string(j.document()), `"more":true`) {
		t.Errorf("exec: %+v", j)
	}
}

// A long name above many values costs the host no more than the call is long: their pointers are not written.
func TestPlacesCostNoMoreThanTheCall(t *testing.T) {
	name := strings.Repeat("n", 100<<10)
	for _, value := range []string{`{}`, `{"command":"ls"}`, `{"path":[["a"]]}`, `{"shell":"a b"}`} {
		args := `{"` + name + `":[` + strings.TrimSuffix(strings.Repeat(value+",", 5000), ",") + `]}`
		inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"x","args":` + args + `}`)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		inv.judge("x")
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 64*uint64(len(args)) {
			t.Errorf("%s: %d bytes were allocated for a call of %d", value, spent, len(args))
		}
	}
}

// A call with more commands than can be listed says so.
func TestManyCommandsAreCut(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat(`"ls",`, maxJudged+1), ",")
	inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"x","args":{"commands":[` + list + `]}}`)}
	j := inv.judge("x")
	if len(j.commands) != maxJudged || !j.more || !strings.Contains(string(j.document()), `"more":true`) {
		t.Errorf("%d commands, more %v", len(j.commands), j.more)
	}
}

// Which of many places a call is judged by does not depend on the order of its members: an agent that could push a
// command out of sight by writing others before it would choose its own verdict.
func TestTheOrderOfMembersDoesNotChooseThePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"command", "script", "path"})
		names := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("abc/~0")), 0, 400, -1), maxJudged/2,
			2*maxJudged, rapid.ID[string]).Draw(t, "names")
		members := make([]string, 0, 2*len(names))
		for _, n := range names {
			members = append(members, fmt.Sprintf(`%s:{"%s":"ls"}`, quote("o"+n), name.Draw(t, "name")),
				fmt.Sprintf(`%s:[{"%s":["ls"]}]`, quote("l"+n), name.Draw(t, "name")))
		}
		judgeAll := func(members []string) judged {
			args := `{"shell":"a b","command":"git push",` + strings.Join(members, ",") + `}`
			inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"x","args":` + args + `}`)}
			return inv.judge("x")
		}
		want, got := judgeAll(members), judgeAll(rapid.Permutation(members).Draw(t, "members"))
		if got.more != want.more {
			t.Fatalf("more is %v, then %v", want.more, got.more)
		}
		for _, list := range [][2][]string{{want.commands, got.commands}, {want.code, got.code}, {want.paths, got.paths}} {
			if !slices.Equal(slices.Sorted(slices.Values(list[0])), slices.Sorted(slices.Values(list[1]))) {
				t.Fatalf("%d places, then %d others", len(list[0]), len(list[1]))
			}
		}
		if !slices.Contains(got.commands, "/args/command") {
			t.Fatal("the shortest place is not kept")
		}
	})
}

// Every pointer leads to text, and a member of one of the names is found wherever it stands among
// objects.
func TestJudgedPointersLeadToText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"command", "cmd", "script", "code", "CMD", "command_line", "path"}).Draw(t, "name")
		depth := rapid.IntRange(0, 5).Draw(t, "depth")
		args := `{` + string(quote(name)) + `:"ls"}`
		for range depth {
			member := rapid.StringN(0, 6, 12).Draw(t, "member")
			args = fmt.Sprintf(`{%s:%s}`, quote(member), args)
		}
		inv := Invocation{Phase: PreTool, Action: jsontext.Value(`{"tool":"x","args":` + args + `}`)}
		j := inv.judge("x")
		found := false
		for _, ptr := range append(append(j.commands, j.code...), j.paths...) {
			s, ok := GetString(inv.Action, ptr)
			found = found || ok && s == "ls"
		}
		if !found {
			t.Fatalf("%s is judged by nothing: %+v", args, j)
		}
	})
}

// Idle steps and blanks, which a tool may take away, do not make a path too long to be one. Text of many
// lines, and a name that no system opens, are none.
func TestLongPathsAreJudged(t *testing.T) {
	for value, want := range map[string]bool{
		strings.Repeat("/.", maxCWDBytes) + "/.env":  true,
		"/a" + strings.Repeat("/x/..", 2000):         true,
		strings.Repeat(" ", maxCWDBytes) + "/a\n":    true,
		"/" + strings.Repeat("a", maxCWDBytes-1):     true,
		"/" + strings.Repeat("a", maxCWDBytes):       false,
		"one line\nand one more":                     false,
		"https://host/" + strings.Repeat("/.", 3000): false,
	} {
		inv := Invocation{Phase: PreTool,
			Action: jsontext.Value(`{"tool":"x","args":{"file_path":` + string(quote(value)) + `}}`)}
		if got := slices.Contains(inv.ToolNames(), "read"); got != want {
			t.Errorf("%.20q of %d bytes: judged as a file is %v", value, len(value), got)
		}
	}
}

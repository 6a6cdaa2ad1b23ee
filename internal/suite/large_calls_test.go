package suite_test

import (
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// An invocation may have 1 MiB, of whatever form: what the guards see and do for it fits into their limits.
func TestGuardsJudgeLargeCalls(t *testing.T) {
	records := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strings.ReplaceAll(format, "#", strconv.Itoa(i)))
		}
		return b.String()
	}
	calls := map[string]string{
		"rows of cells": `{"tool":"sheet_update","args":{"rows":[` +
			records(20000, `{"id":#,"state":"open","k":[1,2,"abc"]}`) + `]}}`,
		"cells that differ": `{"tool":"sheet_update","args":{"rows":[` +
			records(4000, `{"label":"n#","note":"a cell with its own words, number #"}`) + `]}}`,
		"small objects": `{"tool":"graph","args":{"nodes":[` + records(16000, `{"a":{"b":{"c":[]}},"new":"","d":[[[#]]]}`) +
			`]}}`,
		"a long text": `{"tool":"write","args":{"file_path":"notes.txt","content":"` +
			strings.Repeat(`a line of it\n`, 70000) + `"}}`,
		"nothing but arrays": `{"tool":"graph","args":{"nodes":[` + records(340000, `[]`) + `]}}`,
		"as long as it may be": `{"tool":"put","args":{"path":"a.txt","file":"b.txt","rows":[` +
			records(40, `{"path":"p#"}`) + `],"content":"` + strings.Repeat("x", 1<<20-1100) + `"}}`,
		"many texts": `{"tool":"multi_write","args":{"file_path":"a.txt","edits":[` +
			records(6000, `{"old_string":"x#","new_string":"a text, and some words more of it: #"}`) + `]}}`,
	}
	// Commands of many words, and many commands: each name is looked up once, and with others.
	words := map[string]string{}
	for name, text := range map[string]string{
		"a word again and again": "m " + strings.Repeat("rm ", 1878), "names": "m " + records(1000, " r#"),
		"tee": "tee " + records(1000, " r#"),
		"rm":  "rm " + records(1000, " r#"), "mv": "mv " + records(1000, " r#") + " d",
		"redirections": "m " + records(1000, " >r#"),
	} {
		words[name] = `{"tool":"exec","args":{"command":"` + strings.ReplaceAll(text, ",", "") + `"}}`
	}
	maps.Copy(words, calls)
	// Calls that a hook has something to say about in its configuration.
	searches := map[string]string{
		"records beside a pattern": `{"tool":"glob","native_tool":"Glob","args":{"pattern":"**/*.py","rows":[` +
			records(20000, `{"id":#,"state":"open","k":[1,2,"abc"]}`) + `]}}`,
		"a long pattern": `{"tool":"glob","native_tool":"Glob","args":{"pattern":"**/` + strings.Repeat("a", 1<<20-1100) + `"}}`,
		"a pattern of many names": `{"tool":"glob","native_tool":"Glob","args":{"pattern":"**/` + strings.Repeat("a/", 500_000) +
			`"}}`,
		"a pattern of many choices": `{"tool":"glob","native_tool":"Glob","args":{"pattern":"**/{` +
			strings.Repeat("a,", 500_000) + `a}"}}`,
		"much to ignore": `{"tool":"list","native_tool":"LS","args":{"path":".","ignore":["a"` +
			strings.Repeat(`,"abcdef"`, 100_000) + `]}}`,
	}
	maps.Copy(searches, calls)
	names := make([]string, 64) // of directories, as long as they may be
	for i := range names {
		names[i] = fmt.Sprintf(`"%d%s*a*b"`, i, strings.Repeat("x", 120))
	}
	exclude := `{"transformers":[{"name":"exclude_directories","config":{"into":["src"],"patterns":[` +
		strings.Join(names, ",") + `]}},{"name":"exclude_directories"}]}`
	config := `{"version":1,"tools":{"Glob":` + exclude + `,"LS":` + exclude + `,"exec":` + exclude + `,"multi_write":` +
		exclude +
		`,"graph":` + exclude + `,"put":` + exclude + `}}`
	configs := map[string]jsontext.Value{"command-intercept": jsontext.Value(config)}
	for name, calls := range map[string]map[string]string{
		"path-guard": calls, "settings-guard": words, "command-guard": calls, "command-intercept": searches} {
		module, err := os.ReadFile("../../examples-wasm/" + name + "/" + name + ".wasm")
		if err != nil {
			t.Fatal(err)
		}
		engine, err := suite.OpenEngine(suite.EngineOptions{})
		if err != nil {
			t.Fatal(err)
		}
		hook := engine.Hook(name, module)
		for call, action := range calls {
			res, err := hook.Run(t.Context(), &suite.Case{Name: "one", Input: suite.Input{
				Phase: phases.PreTool, Action: jsontext.Value(action), CWD: "/home/dev/project"}, Config: configs[name]})
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict.Decision != phases.Allow {
				t.Errorf("%s, %s (%d bytes): %s %s", name, call, len(action), res.Verdict.Decision, res.Verdict.Reason)
			}
			for _, turn := range res.Verdict.Hooks {
				t.Logf("%s, %s: %d bytes, %d fuel, %d KiB", name, call, len(action), turn.Fuel, turn.MemoryPeak>>10)
			}
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

package suite_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// wrappers hand a command to another program: as words of their own, or as one text that a shell reads.
var wrappers = []struct {
	name string
	wrap func(command, quoted string) string
}{
	{"sudo", func(c, _ string) string { return "sudo -n " + c }},
	{"env", func(c, _ string) string { return "env LC_ALL=C " + c }},
	{"nohup", func(c, _ string) string { return "nohup " + c + " >/tmp/nohup.txt 2>&1" }},
	{"timeout", func(c, _ string) string { return "timeout -k 5 120 " + c }},
	{"nice", func(c, _ string) string { return "nice -n 5 " + c }},
	{"xargs", func(c, _ string) string { return "printf '%s\\n' one | xargs -I@@ " + c }},
	{"bash -c", func(_, q string) string { return "bash -c " + q }},
	{"ssh", func(_, q string) string { return "ssh build-7 " + q }},
	{"docker exec", func(c, _ string) string { return "docker exec -i web " + c }},
	{"kubectl exec", func(_, q string) string { return "kubectl exec -n dev pod/web-0 -- sh -c " + q }},
	{"find -exec", func(c, _ string) string {
		if strings.Contains(c, "{}") || strings.Contains(c, ";") || strings.HasSuffix(c, "+") {
			return "" // its end and place would be others
		}
		return "find . -maxdepth 0 -exec " + c + ` \;`
	}},
	{"script -c", func(_, q string) string { return "script -qec " + q + " /dev/null" }},
}

// What is stopped alone is stopped behind another program, and what passes alone passes there. Each command of the
// corpus that is one simple command goes through each of the twelve wrappers.
func TestCommandGuardUnderTwelveWrappers(t *testing.T) {
	const recall, precision = 0.97, 0.98 // of each wrapper
	blocks := openGuard(t, "command-guard")
	var single []labelled
	for _, l := range readLabelled(t, filepath.Join("testdata/command-guard", "commands_held.jsonl")) {
		if simpleCommand(l.Command) {
			single = append(single, l)
		}
	}
	t.Logf("%d simple commands", len(single))
	for _, w := range wrappers {
		t.Run(w.name, func(t *testing.T) {
			var s score
			for _, l := range single {
				quoted, err := syntax.Quote(l.Command, syntax.LangBash)
				if err != nil {
					t.Fatal(err)
				}
				if l.Command = w.wrap(l.Command, quoted); l.Command != "" {
					s.add(t, l, blocks(l))
				}
			}
			t.Log(s)
			if s.recall() < recall || s.precision() < precision {
				t.Errorf("%v; at least %.2f and %.2f", s, recall, precision)
			}
		})
	}
}

// simpleCommand tells whether a text is one command of words: nothing of the shell's own, no redirect, no assignment.
func simpleCommand(text string) bool {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) != 1 {
		return false
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns)+len(stmt.Redirs)+len(stmt.Comments) > 0 ||
		stmt.Negated || stmt.Background {
		return false
	}
	simple := true
	syntax.Walk(call, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			simple = false
		}
		return simple
	})
	return simple && !slices.Contains(shellOwn, call.Args[0].Lit())
}

// shellOwn are commands that only a shell has.
var shellOwn = strings.Fields("cd pushd popd export source . eval exec set read mapfile declare let local trap alias " +
	"shopt type command builtin ulimit : [ test kill wait jobs history hash unset umask")

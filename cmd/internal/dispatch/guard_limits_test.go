package dispatch_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Calls as large as they come are judged within the guard's budget: large files of a project pass, and
// what stands at the end of one counts.
func TestGuardJudgesLargeCalls(t *testing.T) {
	g := openGuard(t)
	long := func(line string) string { return strings.Repeat(line+"\n", (700<<10)/(len(line)+2)) }
	for _, c := range []struct {
		name, tool, file, text string
		passes                 bool
	}{
		{"a program", "write", "a.py", long("print('a line of a program', 1 + 2)"), true},
		{"a program of short lines", "write", "a.js", long("a"), true},
		{"one line", "write", "a.js", strings.Repeat("a,'b','c'+", 80<<10), true},
		{"a script", "write", "a.sh", long("echo one two three"), true},
		{"rules of make", "write", "Makefile", long("x:\n\techo one"), true},
		{"package.json", "write", "package.json", `{"a":"` + strings.Repeat("x", 800<<10) + `"}`, true},
		{"a document", "write", "a.md", long("rm -rf ~/.claude"), true},
		{"a notebook", "write", "a.ipynb", long("!ls"), true},
		{"a patch", "apply_patch", "", "*** Begin Patch\n*** Update File: a.py\n@@\n" + long("+print('x')") + "*** End Patch", true},
		{"a profile", "write", "/home/dev/.bashrc", long("alias a='b'"), false},
		{"a program that ends so", "write", "a.py", long("print('a')") + "import shutil\nshutil.rmtree('/home/dev/.claude')\n", false},
		{"a script that ends so", "write", "a.sh", long("echo one") + "rm ~/.claude/settings.json\n", false},
		{"a program that names it all over", "write", "a.py", long("open('/home/dev/.claude/settings.json','w').write('')"), false},
		{"a patch that ends so", "apply_patch", "", "*** Begin Patch\n*** Update File: a.py\n@@\n" + long("+print('x')") +
			"*** Delete File: .claude/settings.json\n*** End Patch", false},
		{"a command, which is too long to be parsed", "exec", "", long("echo one two"), false},
		{"a command that ends so", "exec", "", long("echo one two") + "rm ~/.claude/settings.json", false},
	} {
		args := map[string]string{"file_path": c.file, "content": c.text}
		if c.file == "" {
			args = map[string]string{"command": c.text}
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		decision, reason := g.decide(t, guardSample{ID: c.name, Tool: c.tool, Args: raw})
		if (decision == phases.Allow) != c.passes {
			t.Errorf("%s: %s: %s", c.name, decision, reason)
		}
	}
}

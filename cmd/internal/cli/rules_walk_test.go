package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// rulesWalk is what each block of docs/RULES.md becomes, in their order: a file, or commands with what the last of them
// shows on standard output.
var rulesWalk = []struct {
	file  string   // "" for commands
	shows []string // regular expressions
	then  string   // lines of script behind it
}{
	{file: "rules.yaml"},
	{shows: []string{`"decision": ?"ask"`, `"rule": ?"ask-package-installs"`, `npm install x`}},
	{file: "cases/rules.yaml"},
	{shows: []string{`1 passed`}},
	{file: "hooks.yaml", then: `mkdir $BELAY_HOME
exec sh -c '(echo version: belay/v1; cat hooks.yaml) > $BELAY_HOME/belay.yaml'
cp rules.yaml $BELAY_HOME/rules.yaml
! exec belay eval -f call.json
stdout 'new packages run code on this machine .rule ask-package-installs.'
exec belay status
stdout '^rules    rules.yaml  sha256:'
exec belay hook list
stdout '^rules +1.0.0 +sandboxed .* ready$'
`},
	{shows: []string{`^hook +rules 1.0.0$`, `few-fetches +pre_tool +limit`, `state_put`}},
}

// Each block of commands and YAML of docs/RULES.md is taken as it stands, and does what the page says. One that is
// marked with what it needs beyond belay is not run.
func TestWalkThroughRules(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/RULES.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(doc), "```")
	var blocks []string
	for n := 1; n < len(parts); n += 2 {
		before := strings.Split(strings.TrimSpace(parts[n-1]), "\n")
		if !strings.HasPrefix(before[len(before)-1], "<!-- needs:") {
			blocks = append(blocks, parts[n])
		}
	}
	if len(blocks) != len(rulesWalk) {
		t.Fatalf("%d blocks, and %d are expected", len(blocks), len(rulesWalk))
	}
	var script, files strings.Builder
	for n, step := range rulesWalk {
		lang, block, _ := strings.Cut(blocks[n], "\n")
		switch {
		case step.file != "" && lang == "yaml":
			fmt.Fprintf(&files, "-- blocks/%d --\n%s", n, block)
			fmt.Fprintf(&script, "mkdir %s\ncp blocks/%d %s\n", filepath.Dir(step.file), n, step.file)
		case step.file == "" && lang == "sh":
			fmt.Fprintf(&files, "-- %d.sh --\nset -e\n%s", n, block)
			fmt.Fprintf(&script, "exec sh %d.sh\n", n)
			for _, s := range step.shows {
				fmt.Fprintf(&script, "stdout '%s'\n", s)
			}
		default:
			t.Fatalf("block %d is %q: %s", n, lang, block)
		}
		script.WriteString(step.then)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rules.txtar"), []byte(script.String()+files.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Setup: func(env *testscript.Env) error {
		home := filepath.Join(env.WorkDir, "home")
		env.Setenv("HOME", home)
		env.Setenv("BELAY_HOME", filepath.Join(env.WorkDir, "state"))
		return os.MkdirAll(home, 0o700)
	}})
}

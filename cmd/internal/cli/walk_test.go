package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// walk is what each command of the walk through docs/HARNESS.md has to do, by how it begins.
var walk = []struct {
	command string
	status  int
	shows   []string // on standard output, as regular expressions
}{
	{"belay demo ", 0, nil},
	{"belay replay rec ", 0, []string{`^26 invocations, 44 turns: 0 differences `}},
	{"echo ", 0, nil},
	{"belay replay rec --hook ", 5, []string{`^allow → block  [0-9]+ invocations$`, `block by kill-switch: an incident`}},
	{"belay init ", 0, nil},
	{"belay replay rec --policy ", 5,
		[]string{`^block → allow  2 invocations$`, `^ask → allow  1 invocation$`}},
	{"belay record keygen ", 0, nil},
	{"belay record --out ", 0, nil},
	{"belay replay ~/recordings ", 0, []string{`^1 invocation, .* 0 differences `}},
}

// The commands of the walk through are run as they stand there, in their order.
func TestWalkThrough(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/HARNESS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(doc), "## A walk through\n")
	part, _, _ = strings.Cut(part, "\n## ")
	var commands []string
	for n, block := range strings.Split(part, "```") {
		if n%2 == 1 {
			_, block, _ = strings.Cut(block, "\n") // the language of the fence
			commands = append(commands, strings.Split(strings.TrimSpace(block), "\n")...)
		}
	}
	if len(commands) != len(walk) {
		t.Fatalf("%d commands, and %d are expected:\n%s", len(commands), len(walk), strings.Join(commands, "\n"))
	}
	var script, files strings.Builder
	for n, c := range commands {
		w := walk[n]
		if !strings.HasPrefix(c, w.command) {
			t.Fatalf("%q, and %q is expected", c, w.command)
		}
		if w.command == "belay record --out " { // one invocation of a daemon is enough for a test
			c = strings.Replace(c, "--for 10m", "--for 10m --count 1", 1)
			script.WriteString("exec belay init\nexec belay serve &daemon&\nexec sh serving.sh\nexec sh ask.sh &ask&\n")
		}
		fmt.Fprintf(&files, "-- %d.sh --\n%s\n", n, c)
		fmt.Fprintf(&script, "exec sh status.sh %d.sh %d\n", n, w.status)
		for _, s := range w.shows {
			fmt.Fprintf(&script, "grep '%s' out.txt\n", s)
		}
	}
	text := script.String() + "exists flips.html\nexec sh -c 'kill -TERM $(cat $BELAY_HOME/belay.lock)'\nwait\n" +
		files.String() + `-- status.sh --
# The command's status has to be the one that is expected.
sh "$1" >out.txt
got=$?
cat out.txt
test $got = $2 || { echo "status $got, not $2: $(cat "$1")"; exit 1; }
-- serving.sh --
i=0
until belay status 2>/dev/null | grep -q 'running, process'; do
	i=$((i+1))
	test $i -lt 300 || exit 1
	sleep 0.2
done
-- ask.sh --
# Asks once somebody records.
i=0
until belay events query --type notice --json 2>/dev/null | grep -q 'recording of originals begun'; do
	i=$((i+1))
	test $i -lt 300 || exit 1
	sleep 0.2
done
echo '{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"ls"}}}' | belay eval
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "walk.txtar"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir, RequireExplicitExec: true, Setup: func(env *testscript.Env) error {
		home := filepath.Join(env.WorkDir, "home")
		env.Setenv("HOME", home)
		env.Setenv("BELAY_HOME", filepath.Join(env.WorkDir, "state"))
		return os.MkdirAll(home, 0o700)
	}})
}

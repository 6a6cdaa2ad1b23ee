//go:build unix

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// Every block of docs/runtimes/generic.md does what the page says: an invocation of each phase is allowed,
// and each program runs an allowed command, runs none that is blocked, and none without a daemon, but for
// the one that needs none.
func TestPageForAuthorsOfAgents(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/runtimes/generic.md")
	if err != nil {
		t.Fatal(err)
	}
	daemon := serveProcess(t, wireState(t))
	alone := wireState(t)
	var asked []phases.Phase
	programs := map[string]int{}
	for n, part := range strings.Split(string(doc), "\n```") {
		if n%2 == 0 {
			continue
		}
		lang, block, _ := strings.Cut(part, "\n")
		switch lang {
		case "json":
			phase, _ := phases.GetString([]byte(block), "/phase")
			asked = append(asked, phases.Phase(phase))
			answer := askByHTTP(t, daemon.dir, block)
			if got, _ := phases.GetString(answer, "/decision"); got != "allow" {
				t.Errorf("%s is answered with %s", block, answer)
			}
		case "python", "sh", "go":
			programs[lang]++
			checkOwnAgent(t, lang, block, daemon.dir, alone)
		default:
			t.Errorf("block %d is %q", n, lang)
		}
	}
	if !slices.Equal(asked, phases.Phases()) {
		t.Errorf("the phases are %q", asked)
	}
	if programs["python"] != 1 || programs["sh"] != 2 || programs["go"] != 1 {
		t.Errorf("the programs are %v", programs)
	}
}

func checkOwnAgent(t *testing.T, lang, text, dir, alone string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "agent."+lang)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := map[string][]string{"python": {"python3", file}, "sh": {"sh", file}, "go": {"go", "run", file}}[lang]
	run := func(state, argument string) (stdout, stderr string, status int) {
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], argument)...)
		cmd.Env = append(os.Environ(), "BELAY_HOME="+state)
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		_ = cmd.Run()
		return out.String(), log.String(), cmd.ProcessState.ExitCode()
	}
	if out, log, status := run(dir, "echo hello"); out != "hello\n" || status != 0 {
		t.Errorf("%s: exit %d, %q, %s", lang, status, out, log)
	}
	out, log, status := run(dir, "echo ran; rm -rf /")
	if out != "" || status == 0 || !strings.Contains(log, "rm would delete /") {
		t.Errorf("%s: a blocked command: exit %d, %q, %s", lang, status, out, log)
	}
	out, log, status = run(alone, "echo hello")
	if needsNone := strings.Contains(text, "belay eval"); needsNone != (out == "hello\n" && status == 0) ||
		!needsNone && (out != "" || status == 0) {
		t.Errorf("%s: without a daemon: exit %d, %q, %s", lang, status, out, log)
	}
}

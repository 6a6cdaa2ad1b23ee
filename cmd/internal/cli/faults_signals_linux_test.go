package cli_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
)

// holdMarks takes the locks of the high-water marks below dir, as a process does that has
// stopped in the middle of a commit: the next one that commits waits without an end.
func holdMarks(t *testing.T, dir string) (release func()) {
	t.Helper()
	var held []*os.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err == nil {
			held = append(held, f)
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		return err
	})
	if err != nil || len(held) == 0 {
		t.Fatalf("no mark to hold: %v", err)
	}
	return func() {
		for _, f := range held {
			f.Close()
		}
	}
}

// told runs a command, tells it to end after a second, and says how long it took from then.
func told(t *testing.T, cmd *exec.Cmd) (out, errs string, took time.Duration) {
	t.Helper()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		t.Fatalf("it ended by itself: %s %s", o.String(), e.String())
	case <-time.After(2 * time.Second):
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	select {
	case <-ended:
		return o.String(), e.String(), time.Since(start)
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatalf("still there 20 s after SIGTERM: %s %s", o.String(), e.String())
		return
	}
}

const (
	askedLs     = `{"id":"0192f3a1-0000-7000-8000-000000000001","phase":"pre_tool","runtime":"custom","session":"late","action":{"tool":"exec","call_id":"c","args":{"command":"ls"}}}`
	askedClaude = `{"session_id":"late","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`
)

// SIGTERM ends eval within five seconds, wherever it hangs: a runtime gets its
// block, the exit status is no permission, and the next process records it.
func TestEvalEndsWhenItIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		command    []string
		in         string
		out, errs  string
		exit, took int
	}{
		"eval": {[]string{"belay", "eval"}, askedLs, "", "The action counts as blocked", 1, 5},
		"eval for a runtime": {[]string{"belay", "eval", "--runtime", "claude-code"}, askedClaude,
			`"permissionDecision":"deny"`, "told to end", 2, 5},
		"one line of several": {[]string{"belay", "eval", "--lines"}, askedLs + "\n" + askedLs + "\n", "",
			"The action counts as blocked", 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			marks, dir := t.TempDir(), t.TempDir()
			t.Setenv("XDG_DATA_HOME", marks)
			t.Setenv("BELAY_HOME", dir)
			p := &process{dir: dir}
			if out, code := p.belay(t, "init"); code != 0 {
				t.Fatal(out)
			}
			first := exec.Command("belay", "eval")
			first.Stdin = strings.NewReader(askedLs)
			if out, err := first.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			release := holdMarks(t, marks)
			defer release()
			cmd := exec.Command(c.command[0], c.command[1:]...)
			cmd.Stdin = strings.NewReader(c.in)
			out, errs, took := told(t, cmd)
			if took > time.Duration(c.took)*time.Second || cmd.ProcessState.ExitCode() != c.exit ||
				!strings.Contains(out, c.out) || !strings.Contains(errs, c.errs) || c.out == "" && out != "" {
				t.Errorf("after %v: exit %d, %q, %q", took, cmd.ProcessState.ExitCode(), out, errs)
			}
			release()
			if out, code := p.belay(t, "status"); code != 0 {
				t.Error(out)
			}
			if out, _ := p.belay(t, "events", "query", "--type", "gap", "--json"); !strings.Contains(out, `"blocked":1`) {
				t.Errorf("not logged: %s", out)
			}
		})
	}
}

// belay-hook answers within its own deadline also where it has become eval, and eval
// hangs: the runtime would give up after 30 seconds, and go on.
func TestEvalForARuntimeAnswersInTime(t *testing.T) {
	marks, dir := t.TempDir(), t.TempDir()
	t.Setenv("XDG_DATA_HOME", marks)
	t.Setenv("BELAY_HOME", dir)
	p := &process{dir: dir}
	if out, code := p.belay(t, "init"); code != 0 {
		t.Fatal(out)
	}
	first := exec.Command("belay", "eval")
	first.Stdin = strings.NewReader(askedLs)
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	defer holdMarks(t, marks)()
	cmd := exec.CommandContext(t.Context(), "belay", "eval", "--runtime", "claude-code")
	cmd.Stdin = strings.NewReader(askedClaude)
	start := time.Now()
	out, _ := cmd.Output()
	if took := time.Since(start); took > hookcmd.Deadline(nil, "")+2*time.Second ||
		!strings.Contains(string(out), `"permissionDecision":"deny"`) {
		t.Errorf("after %v: %s", took, out)
	}
}

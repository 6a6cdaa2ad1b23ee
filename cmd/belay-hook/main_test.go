package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// This program starts for every event of an agent, and pays for its
// dependencies each time: a new one needs a reason, and a line here.
func TestWhatIsLinked(t *testing.T) {
	const module = "github.com/belay-hooks/belay/"
	known := []string{
		module + "adapters", module + "adapters/claude-code", module + "adapters/codex", module + "adapters/cursor",
		module + "adapters/gemini-cli", module + "adapters/openclaw",
		module + "adapters/openclaw-interceptors",
		module + "adapters/opencode",
		module + "adapters/internal/payload",
		module + "cmd/belay-hook", module + "cmd/internal/hookcmd", module + "internal/notes", module + "phases",
		module + "internal/daemonapi", // where the socket is, who listens, and one question
		module + "internal/ownfiles",  // what the daemon of another uid is told of this user's files
		module + "internal/peercred",  // who is at its other end
		module + "internal/statedir",  // a note of a block is not lost when it is taken away meanwhile
		module + "internal/files",     // a pipe in place of a file does not keep an event waiting
		module + "internal/links",     // whether a path is a link, a file, or nothing
		// a note says by which clock it was written
		module + "leases", "golang.org/x/text/transform", "golang.org/x/text/unicode/norm",
		"golang.org/x/sys/unix",
	}
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Standard}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		p, standard, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch p {
		case "net/http", "crypto/tls":
			t.Errorf("links %s: starting it costs more than asking", p)
		case "net", "runtime/cgo":
			t.Errorf("links %s: it takes a tenth of the program's time, and makes the program start with libc where a "+
				"C compiler is installed", p)
		}
		if standard != "true" && !slices.Contains(known, p) && !strings.HasPrefix(p, "github.com/go-json-experiment/json") {
			t.Errorf("links %s", p)
		}
	}
}

// BenchmarkEvent is one event from the start of a process to its end, while a
// daemon serves. x-eval is the time of belay-hook relative to `belay eval`, and x-empty that
// relative to a program that does nothing but the same round trip over the socket.
func BenchmarkEvent(b *testing.B) {
	bin := b.TempDir()
	if out, err := exec.Command("go", "build", "-trimpath", "-o", bin, ".", "../belay",
		"./testdata/roundtrip").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	state, err := os.MkdirTemp("", "belay") // a socket's path is short
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(state)
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Env = append(os.Environ(), "BELAY_HOME="+state)
		return cmd
	}
	if out, err := command("belay", "init").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	serve := command("belay", "serve")
	if err := serve.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = serve.Process.Kill()
		_ = serve.Wait()
	}()
	for end := time.Now().Add(time.Minute); command("belay", "events", "tail").Run() != nil ||
		!exists(filepath.Join(state, "belay.sock")); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("the daemon does not answer")
		}
	}
	const payload = `{"session_id":"s","transcript_path":"/home/dev/t.jsonl","cwd":"/home/dev/project","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`
	each := [][]string{{"belay-hook", "--runtime", "claude-code"}, {"belay", "eval", "--runtime", "claude-code"},
		{"roundtrip", filepath.Join(state, "frame.sock"), "claude-code"}}
	var spent [3][]time.Duration
	for b.Loop() {
		for i, args := range each { // they take turns, so that what else the machine does meets both
			cmd := command(args[0], args[1:]...)
			cmd.Stdin = strings.NewReader(payload)
			start := time.Now()
			out, err := cmd.Output()
			spent[i] = append(spent[i], time.Since(start))
			if err != nil || !strings.Contains(string(out), "{}") {
				b.Fatalf("%v: %s", err, out)
			}
		}
	}
	median := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)/2].Microseconds())
	}
	b.ReportMetric(median(spent[0])/1000, "ms/belay-hook")
	b.ReportMetric(median(spent[1])/1000, "ms/belay-eval")
	b.ReportMetric(median(spent[2])/1000, "ms/roundtrip")
	b.ReportMetric(median(spent[0])/median(spent[1]), "x-eval")
	b.ReportMetric(median(spent[0])/median(spent[2]), "x-empty")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

package suite_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

// labelled is one line of a corpus: a path or a command, and what a guard should answer.
type labelled struct {
	Path     string `json:"path,omitzero"`
	Command  string `json:"command,omitzero"`
	Label    string `json:"label"`
	Category string `json:"category,omitzero"`
	Why      string `json:"why,omitzero"`
}

// text is the path or the command.
func (l labelled) text() string { return l.Path + l.Command }

// action is the call that a guard judges: a read of the path, or the command.
func (l labelled) action() jsontext.Value {
	tool, member := "read", "file_path"
	if l.Command != "" {
		tool, member = "exec", "command"
	}
	value, err := json.Marshal(l.text())
	if err != nil {
		panic(err)
	}
	return jsontext.Value(fmt.Sprintf(`{"tool":%q,"args":{%q:%s}}`, tool, member, value))
}

// readLabelled reads a corpus: an object on each line.
func readLabelled(t testing.TB, file string) []labelled {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []labelled
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l labelled
		if err := json.Unmarshal(lines.Bytes(), &l, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if l.text() == "" || l.Label != "block" && l.Label != "allow" {
			t.Fatalf("%s: %s", file, lines.Bytes())
		}
		out = append(out, l)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return out
}

// pathGuard opens the committed module of path-guard.
func pathGuard(t testing.TB) func(labelled) bool { return openGuard(t, "path-guard") }

// openGuard opens the committed module of a guard. A question counts as a block; a guard that fails ends the test.
func openGuard(t testing.TB, name string) func(labelled) bool {
	judge := openJudge(t, name)
	return func(l labelled) bool { return judge(l).Decision != phases.Allow }
}

// openJudge returns what a guard decides, in a project below a home directory.
func openJudge(t testing.TB, name string) func(labelled) phases.Verdict {
	t.Helper()
	module, err := os.ReadFile(filepath.Join("../../examples-wasm", name, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := suite.OpenEngine(suite.EngineOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	hook := engine.Hook(name, module)
	return func(l labelled) phases.Verdict {
		res, err := hook.Run(t.Context(), &suite.Case{Name: "one", Input: suite.Input{
			Phase: phases.PreTool, Action: l.action(), CWD: "/home/dev/project"}})
		if err != nil {
			t.Fatalf("%q: %v", l.text(), err)
		}
		if k := res.Verdict.Kind; k != "" && k != phases.KindPolicy {
			t.Fatalf("%q: the guard failed: %s %s", l.text(), k, res.Verdict.Reason)
		}
		return res.Verdict
	}
}

// score counts what a guard did with a corpus.
type score struct{ hit, missed, wrong int }

func (s score) recall() float64    { return float64(s.hit) / float64(s.hit+s.missed) }
func (s score) precision() float64 { return float64(s.hit) / float64(s.hit+s.wrong) }

// add counts what a guard did with one line, and logs an error.
func (s *score) add(t *testing.T, l labelled, stopped bool) {
	t.Helper()
	switch want := l.Label == "block"; {
	case stopped && want:
		s.hit++
	case want:
		s.missed++
		t.Logf("passes (%s): %q", l.Category, l.text())
	case stopped:
		s.wrong++
		t.Logf("is stopped (%s): %q", l.Category, l.text())
	}
}

// String names both figures.
func (s score) String() string {
	return fmt.Sprintf("recall %.3f, precision %.3f (%d of %d, %d false)",
		s.recall(), s.precision(), s.hit, s.hit+s.missed, s.wrong)
}

// scoreOf runs a guard over a corpus, and logs each error and the figures.
func scoreOf(t *testing.T, file string, blocks func(labelled) bool) (s score) {
	t.Helper()
	for _, l := range readLabelled(t, file) {
		s.add(t, l, blocks(l))
	}
	t.Log(s)
	return s
}

// The guard's recall and precision stay at their floors on each corpus. Of two of them nothing was looked at while
// its rules were written.
func TestPathGuardOnLabelledData(t *testing.T) {
	blocks := pathGuard(t)
	for _, corpus := range []struct {
		file              string
		recall, precision float64
	}{
		{"paths_tuned.jsonl", 0.99, 0.99},
		{"paths_held.jsonl", 0.99, 0.99},
		{"paths_autumn_tuned.jsonl", 0.99, 0.99},
		{"paths_autumn_held.jsonl", 0.99, 0.99},
		{"paths_examined_tuned.jsonl", 0.99, 0.99},
		{"paths_examined_held.jsonl", 0.99, 0.98},
		{"commands_tuned.jsonl", 0.99, 0.99},
		{"commands_held.jsonl", 0.99, 0.99},
		{"hard_tuned.jsonl", 0.99, 0.99},
		{"hard_held.jsonl", 0.90, 0.95},
	} {
		t.Run(corpus.file, func(t *testing.T) {
			s := scoreOf(t, filepath.Join("testdata/path-guard", corpus.file), blocks)
			if s.recall() < corpus.recall || s.precision() < corpus.precision {
				t.Errorf("%v; at least %.2f and %.2f", s, corpus.recall, corpus.precision)
			}
		})
	}
}

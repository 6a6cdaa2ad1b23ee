package reconcile_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/reconcile"
	"github.com/belay-hooks/belay/phases"
)

// memory is a log of belay's events.
type memory struct {
	list []phases.Event
	gone int64
}

func (m *memory) Events(_ context.Context, q wire.Query) (out []phases.Event, err error) {
	for i := range m.list {
		if q.Match(&m.list[i]) {
			out = append(out, m.list[i])
		}
	}
	if n := q.EffectiveLimit(); len(out) > n && q.Newest {
		out = out[len(out)-n:]
	} else if len(out) > n {
		out = out[:n]
	}
	return out, nil
}

func (m *memory) Compacted(context.Context) (through, event int64, err error) { return m.gone, 0, nil }

// record appends a comparison, as the kernel does.
func (m *memory) record(t *testing.T, r *wire.Reconciliation) {
	t.Helper()
	out, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	seq := int64(1)
	if n := len(m.list); n > 0 {
		seq = m.list[n-1].Seq + 1
	}
	m.list = append(m.list, phases.Event{Seq: seq, Type: phases.EventReconcile, Runtime: r.Runtime, Session: r.Session,
		Decision: string(r.Status), Output: out})
}

// recorded is one recorded run of a client: its log and belay's events.
type recorded struct {
	name, runtime string
	log           string // of the session, relative to the runtime's directory
	off           int    // calls that were made while hooks were off
}

func runs() []recorded {
	const day = "sessions/2026/11/24/rollout-2026-11-24T"
	return []recorded{
		{"claude", "claude-code", "projects/-home-dev-project/a79c7f03-c262-4ef1-aafe-2018d72d897b.jsonl", 0},
		{"claude-off", "claude-code", "projects/-home-dev-project/a79c7f03-c262-4ef1-aafe-2018d72d897b.jsonl", 1},
		{"codex", "codex", day + "08-04-24-01a20c95-a85e-70d3-a07c-1d9b719e4597.jsonl", 0},
		{"codex-astra", "codex", day + "08-04-26-01a20c95-b151-7871-b351-90f3accb18b0.jsonl", 0},
		{"codex-off", "codex", day + "08-04-27-01a20c95-b3d0-71a2-a37f-a3b9d20c6332.jsonl", 1},
		{"gemini", "gemini-cli", "tmp/project/chats/session-2026-11-24T08-04-42d98238.jsonl", 0},
		{"opencode", "opencode", "opencode.db", 0},
		{"openclaw", "openclaw", "agents/main/agent/openclaw-agent.sqlite", 0},
	}
}

// now is later than all recorded runs.
func now() time.Time { return time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC) }

// events reads the recorded events.
func (r recorded) events(t *testing.T) *memory {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", r.name, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{}
	for line := range strings.Lines(string(b)) {
		var e phases.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		m.list = append(m.list, e)
	}
	return m
}

// copied copies the recorded log to a directory of the test's own.
func (r recorded) copied(t *testing.T) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(filepath.Join("testdata", r.name, "log")))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// edit changes the lines of each file of the log; nil removes one.
func edit(t *testing.T, dir string, change func(line string) []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var out strings.Builder
		for line := range strings.Lines(string(b)) {
			for _, l := range change(strings.TrimSuffix(line, "\n")) {
				out.WriteString(l + "\n")
			}
		}
		return os.WriteFile(path, []byte(out.String()), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// compare compares the log with the events.
func (r recorded) compare(t *testing.T, m *memory, dir string) wire.Reconciliation {
	t.Helper()
	makeDatabase(t, dir, r.log)
	out, err := reconcile.Compare(t.Context(), m, reconcile.Question{Runtime: r.runtime, Dir: dir,
		Log: filepath.Join(dir, filepath.FromSlash(r.log)), Now: now()})
	if err != nil || len(out) != 1 {
		t.Fatalf("%s: %v, %d comparisons", r.name, err, len(out))
	}
	return out[0]
}

func shown(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A session that nothing disturbed has no finding, and one in which hooks were off has exactly those calls.
func TestRecordedSessions(t *testing.T) {
	for _, r := range runs() {
		t.Run(r.name, func(t *testing.T) {
			got := r.compare(t, r.events(t), r.copied(t))
			if got.Calls < 1 || got.Unknown != 0 || got.Found != r.off {
				t.Errorf("%s", shown(t, got))
			}
			for _, f := range got.List {
				if f.Kind != wire.FindingUnasked || f.Call == "" || f.Time.IsZero() {
					t.Errorf("%s", shown(t, f))
				}
			}
			if want := map[bool]wire.ReconcileStatus{true: wire.ReconcileAgrees, false: wire.ReconcileDiffers}; got.Status !=
				want[r.off == 0] {
				t.Errorf("the status is %s", got.Status)
			}
		})
	}
}

package belay_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// withSinks makes a state directory whose belay.yaml has these sinks; DIR in them is a
// directory beside it, which is returned.
func withSinks(t *testing.T, sinks string) (dir, beside string) {
	t.Helper()
	beside = t.TempDir()
	dir = state(t, guarded+"events:\n  sinks:\n"+strings.ReplaceAll(sinks, "DIR", beside))
	return dir, beside
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func verified(t *testing.T, b *belay.Belay) statelog.Report {
	t.Helper()
	r, err := statelog.Of(b.Log()).Verify(t.Context(), statelog.Evidence{})
	if err != nil || r.Wrong != nil {
		t.Fatalf("verify: %+v, %v", r.Wrong, err)
	}
	return r
}

// A released verdict is in every durable file, whichever process wrote it: two
// processes share the state, and each has many callers.
func TestDurableSink(t *testing.T) {
	dir, beside := withSinks(t,
		"    - jsonl: {path: DIR/events.jsonl, rotate_mib: 1}\n    - checkpoint: {path: DIR/marks}\n")
	hosts := []*belay.Belay{open(t, dir, belay.Options{}), open(t, dir, belay.Options{})}
	path := filepath.Join(beside, "events.jsonl")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				v, err := hosts[i%2].Invoke(t.Context(), exec("rm -rf /"))
				b, rerr := os.ReadFile(path)
				if err != nil || rerr != nil || !strings.Contains(string(b), `"id":"`+v.Event.ID+`"`) {
					t.Errorf("released before it was in the file: %v %v %v", v.Decision, err, rerr)
				}
			}
		})
	}
	wg.Wait()
	st, err := hosts[0].Status(t.Context())
	if err != nil || st.Health != wire.HealthOK || len(st.Sinks) != 3 {
		t.Fatalf("%+v, %v", st, err)
	}
	for _, k := range st.Sinks[:2] {
		if !k.OK || !k.Durable || k.Seq != st.LastSeq {
			t.Errorf("%+v, last event %d", k, st.LastSeq)
		}
	}
	if n := strings.Count(content(t, path), "\n"); int64(n) != st.LastSeq {
		t.Errorf("%d lines for %d events", n, st.LastSeq)
	}
	verified(t, hosts[0])

	// A change in the file is named, and is not written over.
	forged := strings.Replace(content(t, path), `"seq":3,`, `"seq":3 ,`, 1)
	write(t, path, forged)
	if r, err := statelog.Of(hosts[0].Log()).Verify(t.Context(), statelog.Evidence{}); err != nil || r.Wrong == nil ||
		r.Wrong.First != 3 {
		t.Errorf("a changed line: %+v, %v", r.Wrong, err)
	}
}

// blockedInGaps returns how many actions the gap events say were blocked without a record.
func blockedInGaps(t *testing.T, b *belay.Belay) int {
	t.Helper()
	gaps, err := b.Events(t.Context(), wire.Query{Type: phases.EventGap})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range gaps {
		var out struct {
			Blocked int `json:"blocked"`
		}
		if err := json.Unmarshal(e.Output, &out); err != nil {
			t.Fatal(err)
		}
		n += out.Blocked
	}
	return n
}

// While a durable sink cannot be written every action is refused, nothing more is
// stored, and afterwards everything goes on by itself, with the gap logged.
func TestDurableSinkFails(t *testing.T) {
	for name, c := range map[string]struct{ sink, file string }{
		"jsonl":      {"    - jsonl: {path: DIR/sub/out}\n", "sub/out"},
		"checkpoint": {"    - checkpoint: {path: DIR/sub/out}\n", "sub/out"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, beside := withSinks(t, c.sink)
			b := open(t, dir, belay.Options{})
			for range 3 {
				v, err := b.Invoke(t.Context(), exec("ls"))
				if v.Decision != phases.Block || v.Kind != phases.KindStore || v.Event != nil ||
					!errors.Is(err, kernel.ErrUnavailable) {
					t.Fatalf("without its durable sink: %+v, %v", v, err)
				}
			}
			st, err := b.Status(t.Context())
			if err != nil || st.Healthy || st.Health != wire.HealthFailing || st.LastSeq != 0 {
				t.Fatalf("%+v, %v", st, err)
			}
			if k := st.Sinks[1]; k.OK || !k.Durable || k.Problem == "" ||
				!strings.Contains(strings.Join(st.Problems, " "), beside) {
				t.Errorf("%+v %q", k, st.Problems)
			}
			if err := os.Mkdir(filepath.Join(beside, "sub"), 0o700); err != nil {
				t.Fatal(err)
			}
			if v := invoke(t, b, exec("ls")); v.Decision != phases.Allow {
				t.Errorf("afterwards: %+v", v)
			}
			if n := blockedInGaps(t, b); n != 3 {
				t.Errorf("%d actions in gap events, want 3", n)
			}
			if st, err := b.Status(t.Context()); err != nil || st.Health != wire.HealthOK {
				t.Errorf("%+v, %v", st, err)
			}
			if content(t, filepath.Join(beside, c.file)) == "" {
				t.Error("the sink is empty")
			}
			verified(t, b)
		})
	}
}

// Looking is enough to get well again: nothing has to be asked about first.
func TestStatusRecovers(t *testing.T) {
	dir, beside := withSinks(t, "    - jsonl: {path: DIR/sub/out}\n")
	b := open(t, dir, belay.Options{})
	if v, _ := b.Invoke(t.Context(), exec("ls")); v.Decision != phases.Block {
		t.Fatalf("%+v", v)
	}
	if err := os.Mkdir(filepath.Join(beside, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := b.Status(t.Context())
	if err != nil || st.Health != wire.HealthOK || st.LastSeq != 1 {
		t.Errorf("%+v, %v", st, err)
	}
}

// A sink that is not durable holds nothing up: it makes belay degraded, is announced
// once, and is caught up when it works.
func TestOptionalSinkFails(t *testing.T) {
	dir, beside := withSinks(t, "    - jsonl: {path: DIR/sub/out, durable: false}\n")
	notices := func(b *belay.Belay, n int) []phases.Event {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			es, err := b.Events(t.Context(), wire.Query{Type: phases.EventNotice})
			if err != nil {
				t.Fatal(err)
			}
			if len(es) == n {
				return es
			}
			if len(es) > n || time.Now().After(deadline) {
				t.Fatalf("%d notices, want %d: %+v", len(es), n, es)
			}
		}
	}
	for range 2 { // the second process does not announce it again
		b := open(t, dir, belay.Options{})
		for range 3 {
			if v := invoke(t, b, exec("ls")); v.Decision != phases.Allow {
				t.Fatalf("%+v", v)
			}
		}
		if es := notices(b, 1); !strings.Contains(es[0].Reason, "sub/out cannot be written") {
			t.Errorf("%+v", es[0])
		}
		st, err := b.Status(t.Context())
		if err != nil || !st.Healthy || st.Health != wire.HealthDegraded || len(st.Warnings) != 1 || len(st.Problems) != 0 ||
			st.Sinks[1].OK {
			t.Errorf("%+v, %v", st, err)
		}
		b.Close()
	}
	if err := os.Mkdir(filepath.Join(beside, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir, belay.Options{})
	invoke(t, b, exec("ls"))
	notices(b, 2)
	st, err := b.Status(t.Context())
	if err != nil || st.Health != wire.HealthOK {
		t.Errorf("%+v, %v", st, err)
	}
	if n := strings.Count(content(t, filepath.Join(beside, "sub/out")), "\n"); int64(n) != st.LastSeq {
		t.Errorf("%d lines for %d events", n, st.LastSeq)
	}
}

// A command that is over in a moment leaves nothing behind for later either.
func TestOptionalSinkAtTheEnd(t *testing.T) {
	dir, beside := withSinks(t, "    - jsonl: {path: DIR/out, durable: false}\n")
	for n := 1; n <= 3; n++ {
		b := open(t, dir, belay.Options{})
		v := invoke(t, b, exec("ls"))
		b.Close()
		if !strings.Contains(content(t, filepath.Join(beside, "out")), v.Event.ID) {
			t.Errorf("run %d: the event is not in the file", n)
		}
	}
}

// Another configuration brings other sinks, and the log as far as the store has it.
func TestReloadOfSinks(t *testing.T) {
	dir, beside := withSinks(t, "    - store: {}\n")
	b := open(t, dir, belay.Options{})
	invoke(t, b, exec("ls"))
	text := content(t, filepath.Join(dir, "belay.yaml"))
	write(t, filepath.Join(dir, "belay.yaml"), text+"    - jsonl: {path: "+beside+"/out}\n")
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := invoke(t, b, exec("ls"))
	if n := strings.Count(content(t, beside+"/out"), "\n"); int64(n) != v.Event.Seq {
		t.Errorf("%d lines for %d events", n, v.Event.Seq)
	}
	for _, path := range []string{dir + "/belay.db", dir + "/keys/x", dir + "/spool.jsonl", dir + "/belay.db-wal"} {
		write(t, filepath.Join(dir, "belay.yaml"), text+"    - jsonl: {path: "+path+"}\n")
		if err := b.Reload(t.Context()); !errors.Is(err, belay.ErrConfig) {
			t.Errorf("%s: %v", path, err)
		}
	}
	write(t, filepath.Join(dir, "belay.yaml"), text)
	if err := b.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := content(t, beside+"/out")
	if invoke(t, b, exec("ls")); content(t, beside+"/out") != before {
		t.Error("written to after it was taken out")
	}
}

// Without any durable sink nothing runs.
func TestNothingDurable(t *testing.T) {
	if _, err := belay.Open(t.Context(), state(t, guarded), belay.Options{Store: memory.New()}); !errors.Is(err,
		belay.ErrState) || !strings.Contains(err.Error(), "no sink is durable") {
		t.Errorf("a store in memory: %v", err)
	}
	if _, err := belay.Open(t.Context(), state(t, guarded+"events: {sinks: [{store: {durable: false}}]}\n"),
		belay.Options{}); !errors.Is(err, belay.ErrConfig) {
		t.Errorf("a store that is not durable: %v", err)
	}
}

// A checkpoint that a crash cut short is not taken for a forged one, and what comes
// after it counts.
func TestCheckpointCutShort(t *testing.T) {
	dir, beside := withSinks(t, "    - checkpoint: {path: DIR/marks}\n")
	for _, n := range []int{0, 30, 80, 150} {
		b := open(t, dir, belay.Options{})
		invoke(t, b, exec("ls"))
		b.Close()
		whole := content(t, beside+"/marks")
		write(t, beside+"/marks", whole+whole[:n])
	}
	b := open(t, dir, belay.Options{})
	invoke(t, b, exec("ls"))
	b.Close()
	if r := verified(t, open(t, dir, belay.Options{})); r.Outside != 5 || r.Uncovered != 0 {
		t.Errorf("%+v", r)
	}
}

package replay_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// noStore stores nothing, so that the benchmark measures everything but the store.
type noStore struct{ kernel.Store }

func (noStore) Commit(_ context.Context, b kernel.Batch) (kernel.Receipt, error) {
	return kernel.Receipt{First: 1, Last: int64(len(b.Events))}, nil
}

const benchConfig = `version: belay/v1
hooks:
  - name: command-block
    module: builtin:command-block
    priority: 110
    capabilities: [block, request_approval, shell_parse, pattern_match]
`

const benchLine = `{"invocation":{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","cwd":"/home/dev/project","action":{"tool":"exec","args":{"command":"cd src && grep -rn 'next(' . | head -20; npm test -- --watch=false"}}}}`

const inRecording = 200 // invocations

// The same hook and invocation: live without a store, replayed, and replayed from the
// bytes of a recording. The goal is replay ≤ 1.2 × live.
func BenchmarkReplay(b *testing.B) {
	src := record(b, []byte(benchConfig), []byte(benchLine), belay.Options{})
	runs, chains := read(b, src)
	b.Run("live", func(b *testing.B) {
		dir := b.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(benchConfig), 0o600); err != nil {
			b.Fatal(err)
		}
		host, err := belay.Open(b.Context(), dir, belay.Options{Store: noStore{memory.New()}})
		if err != nil {
			b.Fatal(err)
		}
		defer host.Close()
		inv, err := phases.DecodeInvocation(runs[0].Invocation)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if v, err := host.Invoke(b.Context(), inv); err != nil || v.Decision != phases.Allow {
				b.Fatal(v.Decision, err)
			}
		}
	})
	b.Run("replay", func(b *testing.B) {
		r, err := replay.New(replay.Options{Bench: bench(b)})
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		for b.Loop() {
			if res, err := r.Replay(b.Context(), runs[0], chains[0]); err != nil || !res.Same() {
				b.Fatal(err)
			}
		}
	})
	b.Run("from-bytes", func(b *testing.B) {
		many := bytes.Buffer{}
		w, err := recording.NewWriter(&many, recording.Header{CostTable: loader.CostTable})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.AddChain(chains[0]); err != nil {
			b.Fatal(err)
		}
		for range inRecording {
			if err := w.AddRun(runs[0]); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		be := bench(b)
		whole := func() {
			rd, err := recording.NewReader(bytes.NewReader(many.Bytes()), "")
			if err != nil {
				b.Fatal(err)
			}
			if err := replay.All(b.Context(), replay.Options{Bench: be, Workers: 1}, rd,
				func(*replay.Result) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
		whole() // compiles the module
		for b.Loop() {
			whole()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*inRecording), "ns/invocation")
	})
}

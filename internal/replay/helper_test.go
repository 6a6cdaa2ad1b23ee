package replay_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// record plays lines as `belay demo` does and returns the recording.
func record(t testing.TB, config, lines []byte, o belay.Options) []byte {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if config != nil {
		if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), config, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	w, err := recording.NewWriter(&out, recording.Header{Source: recording.SourceEval, CostTable: loader.CostTable})
	if err != nil {
		t.Fatal(err)
	}
	recorder := recording.NewRecorder(w)
	o.InMemory, o.Recorder = true, recorder
	host, err := belay.Open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	for _, line := range bytes.Split(bytes.TrimSpace(lines), []byte("\n")) {
		var l struct {
			Title, Runtime    string
			Event, Invocation jsontext.Value
		}
		if err := json.Unmarshal(line, &l, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		if l.Invocation == nil {
			if err := decide(t.Context(), host, l.Event); err != nil {
				t.Fatal(err)
			}
			continue
		}
		inv, err := phases.DecodeInvocation(l.Invocation)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := host.Invoke(t.Context(), inv); v.Decision == "" {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := recorder.Err(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// decide puts a payload of the runtime to the host, step by step. It fails where the
// event was not decided, or not by the answer alone.
func decide(ctx context.Context, host *belay.Belay, payload []byte) error {
	answer, err := adapters.Run(ctx, claudecode.New(), payload, adapters.Options{},
		func(ctx context.Context, s adapters.Step) (phases.Verdict, error) {
			return host.InvokeWith(ctx, s.Invocation, kernel.InvokeOptions{
				Unblockable: !s.Blockable, Delegated: s.NativeAsk, HoldsScopes: s.CarriesScopes,
			})
		})
	if err == nil && answer.Latch != "" {
		return errors.New(answer.Latch)
	}
	return err
}

func demo(t testing.TB) []byte {
	lines, config := suite.DemoSession()
	return record(t, config, lines, belay.Options{})
}

func bench(t testing.TB) *loader.Bench {
	t.Helper()
	b, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func replayAll(t testing.TB, src []byte, o replay.Options) ([]*replay.Result, error) {
	t.Helper()
	rd, err := recording.NewReader(bytes.NewReader(src), "test.rec")
	if err != nil {
		t.Fatal(err)
	}
	var out []*replay.Result
	err = replay.All(t.Context(), o, rd, func(r *replay.Result) error { out = append(out, r); return nil })
	return out, err
}

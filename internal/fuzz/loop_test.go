package fuzz_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/fuzz"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A guard without a mistake has no findings: those of other hooks are not made up.
func TestSoundHookHasNoFindings(t *testing.T) {
	res, err := fuzz.Run(t.Context(), fuzz.Options{
		Bench: bench(t, loader.BenchOptions{}), Interpreter: bench(t, loader.BenchOptions{Interpreter: true}),
		Module: planted(t, "sound"), Seed: 3, Runs: 1500,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		t.Errorf("%s %s: %s; %s: %s", f.Severity, f.Class, f.Text, f.How, f.Input)
	}
	if res.Runs != 1500 || res.Inputs < 10 || res.Refused == 0 {
		t.Errorf("little was tried: %+v", res)
	}
	tried := map[phases.Kind]bool{}
	for _, c := range res.Counts {
		tried[c.Kind] = true
	}
	for _, k := range []phases.Kind{"", phases.KindFuel, phases.KindDeadline, phases.KindOutput, phases.KindProtocol,
		phases.KindStore} {
		if !tried[k] {
			t.Errorf("no run ended with kind %q: %+v", k, res.Counts)
		}
	}
}

// The same seed has the same findings, byte for byte, recordings included, on any
// number of processors; another seed goes another way.
func TestSameSeedSameFindings(t *testing.T) {
	once := func(seed uint64, workers int) string {
		res, err := fuzz.Run(t.Context(),
			fuzz.Options{Bench: bench(t, loader.BenchOptions{}), Module: planted(t, "deaf"), Name: "deaf", Seed: seed, Runs: 500,
				Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(res, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range res.Findings {
			b = append(b, f.Recording...)
		}
		return string(b)
	}
	a := once(1, 1)
	if b := once(1, 5); a != b {
		t.Error("two results of one seed, the second made by five at once")
	}
	if c := once(2, 5); a == c {
		t.Error("the seed changes nothing")
	}
}

func TestBadInputs(t *testing.T) {
	b := bench(t, loader.BenchOptions{})
	if _, err := fuzz.Run(t.Context(), fuzz.Options{Bench: b, Module: []byte("no module")}); !errors.Is(err,
		fuzz.ErrHook) {
		t.Errorf("a file that is no module: %v", err)
	}
	// Inputs of other phases, and ones that are not valid, are left out.
	res, err := fuzz.Run(t.Context(), fuzz.Options{Bench: b, Module: planted(t, "sound"), Runs: 50, Inputs: []fuzz.Input{
		{Invocation: []byte(`{"phase":"pre_plan","action":{"kind":"session_start"}}`)}, {Invocation: []byte(`{`)},
	}})
	if err != nil || len(res.Phases) != 1 || res.Phases[0].Phase != phases.PreTool {
		t.Errorf("%+v, %v", res, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := fuzz.Run(ctx, fuzz.Options{Bench: b, Module: planted(t, "sound"), Runs: 1 << 30}); err != nil ||
		res.Runs > 200 || !res.Stopped {
		t.Errorf("it goes on after the end: %+v, %v", res, err)
	}
}

// Run uses the inputs that it is given: only the input contains the word.
func TestInputsAreUsed(t *testing.T) {
	res, err := fuzz.Run(t.Context(), fuzz.Options{
		Bench: bench(t, loader.BenchOptions{}), Module: planted(t, "short"), Seed: 1, Runs: 200,
		Inputs: []fuzz.Input{{Invocation: []byte(
			`{"phase":"pre_tool","session":"their-session","action":{"tool":"exec","args":{"command":"sudo rm -rf build"}}}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range res.Findings {
		if f.Class == fuzz.ClassEvasion && f.Replays && bytes.Contains(f.Recording, []byte("rm -rf")) {
			return
		}
	}
	t.Errorf("%+v", res.Findings)
}

// Every example hook is fuzzed for a moment. Notes are what a hook says it cannot
// deal with; anything more is a mistake in it, or in here.
func TestExampleHooks(t *testing.T) {
	files, err := filepath.Glob("../../examples-wasm/*/*.wasm")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	b := bench(t, loader.BenchOptions{})
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			module, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			res, err := fuzz.Run(t.Context(), fuzz.Options{Bench: b, Module: module, Seed: 1, Runs: 400})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range res.Findings {
				if f.Counts() {
					t.Errorf("%s %s %s: %s (replays: %v); %s", f.Severity, f.Class, f.Phase, f.Text, f.Replays, f.Input)
				}
			}
		})
	}
}

// Three are measured in turn, on one processor. The dividend is a fuzz run: an input is
// made, decoded, run and judged, and at the end each finding is made small. The divisor
// is the live path without a store, which decodes an invocation and asks the kernel: of
// the very inputs that the fuzz runs had (x-same), and of one of 400 bytes (x-small).
// Runs whose budget ends early cost a fuzzer less than the live path.
func BenchmarkFuzz(b *testing.B) {
	module, err := os.ReadFile("../../examples-wasm/command-guard/command-guard.wasm")
	if err != nil {
		b.Fatal(err)
	}
	bn := bench(b, loader.BenchOptions{})
	small := []byte(
		`{"phase":"pre_tool","runtime":"custom","session":"s-1","cwd":"/home/dev/project","action":{"tool":"exec","call_id":"c-1","args":{"command":"rm -rf /","description":"` + strings.Repeat("x", 200) + `"}}}`)
	var fuzzed, same, plain time.Duration
	for b.Loop() {
		var inputs [][]byte
		from := time.Now()
		if _, err := fuzz.RunTapped(b.Context(), fuzz.Options{Bench: bn, Module: module, Seed: 1, Runs: 2000},
			func(wire []byte) { inputs = append(inputs, wire) }); err != nil {
			b.Fatal(err)
		}
		fuzzed += time.Since(from) / time.Duration(len(inputs))
		same += live(b, bn, module, inputs)
		plain += live(b, bn, module, slices.Repeat([][]byte{small}, 2000))
	}
	b.ReportMetric(float64(fuzzed)/float64(same), "x-same")
	b.ReportMetric(float64(fuzzed)/float64(plain), "x-small")
	b.ReportMetric(float64(fuzzed.Microseconds())/float64(b.N), "µs/run")
	b.ReportMetric(float64(same.Microseconds())/float64(b.N), "µs/same")
	b.ReportMetric(float64(plain.Microseconds())/float64(b.N), "µs/small")
}

// live is what one of the inputs takes on the live path, on average.
func live(b *testing.B, bn *loader.Bench, module []byte, inputs [][]byte) time.Duration {
	b.Helper()
	l, err := bn.Load(b.Context(), loader.BenchHook{Name: "h", Module: module, Tier: phases.Trusted})
	if err != nil {
		b.Fatal(err)
	}
	k, err := kernel.Open(b.Context(), &kernel.Config{Bindings: []kernel.BindingSpec{{Name: "h"}}}, kernel.Options{
		Store: fuzz.NewNullStore(), Redactor: fuzz.NoRedactor{}, Sequential: true, Loader: oneHook{l},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	from := time.Now()
	for _, wire := range inputs {
		inv, err := phases.DecodeInvocation(wire)
		if err != nil {
			b.Fatal(err)
		}
		if v, _ := k.Invoke(b.Context(), inv); v.Decision == "" {
			b.Fatal("nothing was decided")
		}
	}
	return time.Since(from) / time.Duration(len(inputs))
}

type oneHook struct{ l *kernel.Loaded }

func (l oneHook) Load(context.Context, kernel.BindingSpec) (*kernel.Loaded, error) { return l.l, nil }

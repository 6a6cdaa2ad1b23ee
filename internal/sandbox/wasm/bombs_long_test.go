package wasm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// TestBombsCompile measures the engine's time and memory for the greatest
// member of every family of bombs that a ceiling lets through, and compares
// them with the estimate. It takes minutes and a quiet machine, so it runs only
// with BELAY_BOMBS set: to the ceiling in milliseconds, or "1" for the ceiling
// of modules without a review. Processor time counts as a multiple of a
// yardstick's beside it, so that the machine and its other load matter little;
// BELAY_SLACK is how much more than the estimate passes (default 1.5). With
// BELAY_BOMBS_RECORD the figures are written to testdata/bombs.txt, in the time
// of the machine of the fit; TestBombsRecorded holds the estimate against it
// without measuring.
func TestBombsCompile(t *testing.T) {
	if file := os.Getenv("BELAY_BOMB_FILE"); file != "" {
		compileChild(t, file)
		return
	}
	mode := os.Getenv("BELAY_BOMBS")
	if mode == "" {
		t.Skip("long: set BELAY_BOMBS=1 (make test-bombs)")
	}
	ceiling := uint64(1e9)
	if ms, err := strconv.ParseUint(mode, 10, 32); err == nil && ms > 1 {
		ceiling = ms * 1e6
	}
	slack := 1.5
	if s, err := strconv.ParseFloat(os.Getenv("BELAY_SLACK"), 64); err == nil {
		slack = s
	}
	var record strings.Builder
	if os.Getenv("BELAY_BOMBS_RECORD") != "" {
		defer func() {
			if err := os.WriteFile("testdata/bombs.txt", []byte(record.String()), 0o644); err != nil {
				t.Error(err)
			}
		}()
	}
	dir := t.TempDir()
	base := measure(t, dir, mustEncode(t, one(0, (&body{}).end())))
	for _, b := range bombs {
		if only := os.Getenv("BELAY_BOMB"); !strings.Contains(b.name, only) {
			continue
		}
		t.Run(b.name, func(t *testing.T) {
			n, cost := greatest(t, b, ceiling)
			file := mustEncode(t, b.build(n))
			plain := measure(t, dir, file)
			got := measure(t, dir, metered(t, file))
			got.cpu, got.rss = max(got.cpu, plain.cpu), max(got.rss, plain.rss)
			slow := slowness(t, dir, base)
			plain.cpu, got.cpu = fitted(plain.cpu-base.cpu, slow), fitted(got.cpu-base.cpu, slow)
			cpu, rss := got.cpu, got.rss-base.rss
			t.Logf("n %d, %d bytes: estimate %d ms %d MB, measured %d ms (%d unmetered) %d MB (%d): ratio %.2f %.2f, machine %.2f", n, len(file),
				cost.Nanos/1e6, cost.Bytes>>20, cpu.Milliseconds(), plain.cpu.Milliseconds(),
				rss>>20, (plain.rss-base.rss)>>20, float64(cpu)/float64(cost.Nanos), float64(rss)/float64(cost.Bytes), slow)
			fmt.Fprintf(&record, "%d\t%d\t%d\t%s\n", n, cpu.Milliseconds(), rss>>20, b.name)
			// Below 20 ms the difference of two processes is noise.
			if allowed := slack*float64(cost.Nanos) + 20e6; float64(cpu) > allowed {
				t.Errorf("measured %v, estimated %v", cpu, time.Duration(cost.Nanos))
			}
			if allowed := 1.2 * float64(cost.Bytes); float64(rss) > allowed {
				t.Errorf("measured %d MB, estimated %d MB", rss>>20, cost.Bytes>>20)
			}
		})
	}
}

// The yardstick: a module of divisions, and its time on the machine of the fit.
const (
	yardBytes = 300_000
	yardNanos = 168e6
)

// slowness is how many times as long as on the machine of the fit compiling takes here
// and now.
func slowness(t *testing.T, dir string, base usage) float64 {
	t.Helper()
	yard := metered(t, mustEncode(t, bombNamed(t, "divisions, n bytes", yardBytes)))
	best := measure(t, dir, yard).cpu
	for range 2 {
		best = min(best, measure(t, dir, yard).cpu)
	}
	return float64(best-base.cpu) / yardNanos
}

func fitted(d time.Duration, slow float64) time.Duration { return time.Duration(float64(d) / slow) }

// TestBombsGoGuest is the other side: what belay's users really install must be
// estimated below the ceiling, and not too far from the truth. Opt-in like the bombs.
func TestBombsGoGuest(t *testing.T) {
	if os.Getenv("BELAY_BOMBS") == "" {
		t.Skip("long: set BELAY_BOMBS=1 (make test-bombs)")
	}
	file, lim := guest(t)
	m, err := wasm.Parse(file, lim)
	if err != nil {
		t.Fatal(err)
	}
	cost := wasm.Estimate(m)
	dir := t.TempDir()
	got := measure(t, dir, metered(t, file))
	slow := slowness(t, dir, measure(t, dir, mustEncode(t, one(0, (&body{}).end()))))
	t.Logf("estimate %d ms %d MB, measured %d ms %d MB", cost.Nanos/1e6, cost.Bytes>>20,
		fitted(got.cpu, slow).Milliseconds(), got.rss>>20)
	if cost.Nanos > 6e9 {
		t.Errorf("estimate %v", time.Duration(cost.Nanos))
	}
}

// greatest finds the greatest n that parses and whose estimate is within the ceiling.
func greatest(t *testing.T, b bomb, ceiling uint64) (n int, c wasm.Cost) {
	t.Helper()
	cost := func(n int) (wasm.Cost, bool) {
		m, err := wasm.Parse(mustEncode(t, b.build(n)), bombLimits())
		if err != nil {
			return wasm.Cost{}, false
		}
		c := wasm.Estimate(m)
		return c, c.Nanos <= ceiling
	}
	n = sort.Search(b.max, func(i int) bool { _, ok := cost(i + 1); return !ok })
	n = max(n, 1)
	c, _ = cost(n)
	return n, c
}

// metered is the module as the sandbox compiles it.
func metered(t *testing.T, file []byte) []byte {
	t.Helper()
	m, err := wasm.Parse(file, bombLimits())
	if err != nil {
		t.Fatal(err)
	}
	out, err := meter.Instrument(m, meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out.Wasm
}

type usage struct {
	cpu time.Duration
	rss int64
}

// measure compiles file in a process of its own and gives what that process used.
func measure(t *testing.T, dir string, file []byte) usage {
	t.Helper()
	name := filepath.Join(dir, "bomb.wasm")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestBombsCompile$")
	c.Env = append(os.Environ(), "BELAY_BOMB_FILE="+name)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Errorf("compile: %v\n%s", err, out)
	}
	// Not from the process state: that counts the memory of the parent before exec, too.
	var kb int64
	if _, after, ok := strings.Cut(string(out), "VmHWM:"); ok {
		_, _ = fmt.Sscan(after, &kb)
	}
	if kb == 0 {
		t.Skip("no /proc on this system")
	}
	return usage{cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime(), rss: kb << 10}
}

func compileChild(t *testing.T, name string) {
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	ctx := experimental.WithCompilationWorkers(context.Background(), 2) // the sandbox has one: no more than this
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	if _, err := r.CompileModule(ctx, file); err != nil {
		t.Fatal(fmt.Errorf("refused by the engine: %w", err))
	}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		fmt.Println(string(status)) // has the line VmHWM
	}
}

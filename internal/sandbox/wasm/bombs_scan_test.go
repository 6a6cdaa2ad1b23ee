package wasm_test

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/internal/sandbox/wasm/wasmtest"
)

// The reference of the scan is i32.add in its first setting, and this is what one of it
// took on the machine of the fit. The table of prices is in its time.
const scanNanos = 1_800

// TestBombsScan holds the table of prices against the engine: it compiles every
// instruction in every setting of scanUnits, metered, and compares its
// processor time with that of the reference, measured beside it in the same
// process. BELAY_SLACK as in TestBombsCompile; BELAY_BOMBS_OP is the name of
// the only instruction to scan. With BELAY_SCAN_RECORD, the name of a file, the
// figures are written to it: instruction, setting, multiples of the reference,
// bytes.
func TestBombsScan(t *testing.T) {
	if os.Getenv("BELAY_BOMBS") == "" {
		t.Skip("long: set BELAY_BOMBS=1 (make test-bombs)")
	}
	slack := 1.5
	if s, err := strconv.ParseFloat(os.Getenv("BELAY_SLACK"), 64); err == nil {
		slack = s
	}
	var record strings.Builder
	if name := os.Getenv("BELAY_SCAN_RECORD"); name != "" {
		defer func() {
			if err := os.WriteFile(name, []byte(record.String()), 0o644); err != nil {
				t.Error(err)
			}
		}()
	}
	s := scanner{t: t}
	s.ref = s.subject(scanUnits(wasm.OpI32Add)[0], 3840)
	worst, name := 0.0, ""
	for _, op := range wasmtest.Ops() {
		if only := os.Getenv("BELAY_BOMBS_OP"); only != "" && only != op.String() {
			continue
		}
		for _, u := range scanUnits(op) {
			sub := s.subject(u, scanTimes(op, u))
			// What else the machine does can only lengthen a measurement: who is too slow
			// is measured again, and the least of all rounds counts.
			for round := 0; round < 2 || round < 12 && sub.multiple*scanNanos > slack*sub.estimate; round++ {
				s.round(sub)
			}
			got := sub.multiple
			if r := got * scanNanos / sub.estimate; r > worst {
				worst, name = r, op.String()+" "+u.name
			}
			record.WriteString(strings.Join([]string{op.String(), u.name, strconv.FormatFloat(got, 'f', 2, 64),
				strconv.FormatFloat(sub.bytes(), 'f', 0, 64)}, "\t") + "\n")
			if got*scanNanos > slack*sub.estimate {
				t.Errorf("%s %s: %.1f times the reference, estimated at %.0f ns: at %d ns each that is %.2f of it", op, u.name, got,
					sub.estimate, scanNanos, got*scanNanos/sub.estimate)
			}
			if sub.bytes() > 1.1*sub.memory {
				t.Errorf("%s %s: %.0f bytes, estimated at %.0f", op, u.name, sub.bytes(), sub.memory)
			}
		}
	}
	t.Logf("the most is %.2f of its estimate: %s", worst, name)
}

// scanTimes is how often a unit is repeated: what begins blocks, whose cost grows with
// how many there are, less often.
func scanTimes(op wasm.Op, u unit) int {
	n := 3840
	info, _ := op.Info()
	if op < wasm.OpCall || op == wasm.OpMemoryGrow || op>>8 == 0xfc && op > wasm.OpI64TruncSatF64U ||
		info.Imm == wasm.ImmTable {
		n = 240
	}
	for n > 48 && len(scanModule(u, n).Funcs[0].Body) > 100_000 {
		n /= 2
	}
	return n
}

// subject is a unit that is measured: what n of it cost beyond none.
type subject struct {
	n                int
	none, all        []byte // metered modules
	noneCPU          time.Duration
	noneHeap, allMem uint64
	estimate, memory float64 // of one, nanoseconds and bytes
	multiple         float64 // of the reference
}

func (s *subject) bytes() float64 { return float64(s.allMem-s.noneHeap) / float64(s.n) }

func (s *subject) nanos(all time.Duration) float64 { return float64(all-s.noneCPU) / float64(s.n) }

type scanner struct {
	t   *testing.T
	ref *subject
}

func (s *scanner) subject(u unit, n int) *subject {
	s.t.Helper()
	cost := func(n int) (wasm.Cost, []byte) {
		file := mustEncode(s.t, scanModule(u, n))
		m, err := wasm.Parse(file, bombLimits())
		if err != nil {
			s.t.Fatalf("%s %s: %v", u.op, u.name, err)
		}
		return wasm.Estimate(m), metered(s.t, file)
	}
	none, a := cost(0)
	all, b := cost(n)
	return &subject{
		n: n, none: a, all: b, noneCPU: time.Hour,
		estimate: float64(all.Nanos-none.Nanos) / float64(n), memory: float64(all.Bytes-none.Bytes) / float64(n),
	}
}

// round measures sub once, and the reference before it.
func (s *scanner) round(sub *subject) {
	s.ref.noneCPU = min(s.ref.noneCPU, s.once(s.ref.none, nil))
	ref := s.ref.nanos(s.once(s.ref.all, nil))
	sub.noneCPU = min(sub.noneCPU, s.once(sub.none, &sub.noneHeap))
	// A slow machine slows both: the round with the least multiple counts.
	if m := sub.nanos(s.once(sub.all, &sub.allMem)) / ref; sub.multiple == 0 || m < sub.multiple {
		sub.multiple = m
	}
}

// once compiles a module and returns the processor time of this process for it,
// and adds its allocations.
func (s *scanner) once(file []byte, bytes *uint64) time.Duration {
	s.t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	if bytes != nil {
		runtime.ReadMemStats(&before)
	}
	start := processTime(s.t)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	if _, err := r.CompileModule(ctx, file); err != nil {
		s.t.Fatal(err)
	}
	took := processTime(s.t) - start
	if bytes != nil {
		runtime.ReadMemStats(&after)
		*bytes = after.TotalAlloc - before.TotalAlloc
	}
	_ = r.Close(ctx)
	return took
}

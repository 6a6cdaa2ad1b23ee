package wasm_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// TestBombsRandom looks for shapes that the families miss: random bodies of one
// mixture of instructions each, measured like the families. Opt-in like them;
// BELAY_BOMBS_RANDOM is the number of modules (default 20). Add its findings to
// the families.
func TestBombsRandom(t *testing.T) {
	if os.Getenv("BELAY_BOMBS") == "" {
		t.Skip("long: set BELAY_BOMBS=1 (make test-bombs)")
	}
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv("BELAY_BOMBS_RANDOM")); err == nil {
		rounds = n
	}
	dir := t.TempDir()
	base := measure(t, dir, mustEncode(t, one(0, (&body{}).end())))
	seed := uint64(time.Now().UnixNano())
	for i := range rounds {
		// The largest of a few sizes that the ceiling lets through.
		for size := 100_000; size >= 1000; size /= 2 {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			m, what := randomBomb(rng, size)
			file := mustEncode(t, m)
			p, err := wasm.Parse(file, bombLimits())
			if err != nil {
				t.Fatalf("seed %d/%d: %v", seed, i, err)
			}
			cost := wasm.Estimate(p)
			if cost.Nanos > 2e9 {
				continue
			}
			got := measure(t, dir, metered(t, file))
			cpu, rss := fitted(got.cpu-base.cpu, slowness(t, dir, base)), got.rss-base.rss
			t.Logf("estimate %d ms %d MB, measured %d ms %d MB: ratio %.2f %.2f: %d bytes, %s", cost.Nanos/1e6, cost.Bytes>>20,
				cpu.Milliseconds(), rss>>20, float64(cpu)/float64(cost.Nanos), float64(rss)/float64(cost.Bytes), len(file), what)
			if float64(cpu) > 1.5*float64(cost.Nanos)+20e6 {
				t.Errorf("seed %d/%d: estimate too low", seed, i)
			}
			break
		}
	}
}

// randomBomb draws weights for about a dozen building blocks and strings them together.
func randomBomb(rng *rand.Rand, size int) (*wasm.Module, string) {
	locals := 1 + rng.IntN(1<<rng.IntN(12))
	var w [14]int
	for i := range w {
		if rng.IntN(3) == 0 {
			w[i] = 1 << rng.IntN(8)
		}
	}
	w[rng.IntN(3)] += 8
	sum := 0
	for _, x := range w {
		sum += x
	}
	depthMax := 1 + rng.IntN(1<<rng.IntN(9))
	local := func() int { return rng.IntN(locals) }
	b := &body{}
	var open []bool // true: an if that has no else yet
	for len(b.b) < size {
		k, pick := 0, rng.IntN(sum)
		for pick >= w[k] {
			pick -= w[k]
			k++
		}
		label := func() int { return rng.IntN(len(open) + 1) }
		switch {
		case k == 0:
			b.bump(local())
		case k == 1:
			b.ix(wasm.OpLocalGet, local()).ix(wasm.OpLocalSet, local())
		case k == 2:
			b.load(rng.IntN(1<<16)).ix(wasm.OpLocalSet, local())
		case k == 3:
			b.ix(wasm.OpLocalGet, local()).ix(wasm.OpLocalGet, local()).in(wasm.Instr{Op: wasm.OpI32Store})
		case k == 4 && len(open) < depthMax:
			b.op(wasm.OpBlock)
			open = append(open, false)
		case k == 5 && len(open) < depthMax:
			b.op(wasm.OpLoop)
			open = append(open, false)
		case k == 6 && len(open) < depthMax:
			b.ix(wasm.OpLocalGet, local()).op(wasm.OpIf)
			open = append(open, true)
		case k == 7 && len(open) > 0 && open[len(open)-1]:
			b.op(wasm.OpElse)
			open[len(open)-1] = false
		case k >= 4 && k <= 8 && len(open) > 0:
			b.op(wasm.OpEnd)
			open = open[:len(open)-1]
		case k == 9:
			b.ix(wasm.OpLocalGet, local()).ix(wasm.OpBrIf, label())
		case k == 10:
			labels := make([]uint32, 1+rng.IntN(20))
			for i := range labels {
				labels[i] = uint32(label())
			}
			b.op(wasm.OpBlock).ix(wasm.OpLocalGet, local()).table(append(labels, 0)...).op(wasm.OpEnd)
		case k == 11:
			b.ix(wasm.OpCall, 1)
		case k == 12:
			b.ix(wasm.OpLocalGet, local()).i32(0).i32(8).op(wasm.OpMemoryFill)
		case k == 13:
			b.ix(wasm.OpLocalGet, local()).ix(wasm.OpLocalGet, local()).ix(wasm.OpLocalGet,
				local()).op(wasm.OpSelect).ix(wasm.OpLocalSet, local())
		}
	}
	for range open {
		b.op(wasm.OpEnd)
	}
	b.rep(min(locals, 500), func(i int) { b.i32(0).ix(wasm.OpLocalGet, i).op(wasm.OpI32Store) })
	m := one(locals, b.end())
	m.Funcs = append(m.Funcs, fn(0, (&body{}).end()))
	return m, fmt.Sprintf("%d locals, depth %d, weights %v", locals, depthMax, w)
}

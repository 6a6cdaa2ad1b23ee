package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/phases"
)

// Benchmarks compare within one run, since machines and their load differ: read
// the figures with an x, which are ratios.

// samples are single times; their median stands for them, because on a shared
// machine a mean is a measure of the neighbours.
type samples []time.Duration

func (s *samples) since(from time.Time) { *s = append(*s, time.Since(from)) }

// median is in nanoseconds.
func (s samples) median() float64 {
	slices.Sort(s)
	return float64(s[len(s)/2])
}

type benchCase struct {
	name   string
	file   []byte
	phase  phases.Phase
	action string
}

func benchCases(b *testing.B) []benchCase {
	action := `{"tool":"exec","args":{"command":"` + string(make1K()) + `"}}`
	cases := []benchCase{
		{"sieve", guest(b, "loops"), phases.PrePlan, lsAction},
		{"fib", guest(b, "loops"), phases.PreSend, lsAction},
		{"hash", guest(b, "loops"), phases.PostReceive, lsAction},
		{"guard-c", guest(b, "guard"), phases.PreTool, action},
	}
	if f, err := os.ReadFile("../../examples-wasm/strip-ansi/strip-ansi.wasm"); err == nil {
		cases = append(cases,
			benchCase{"strip-ansi", f, phases.PostTool, `{"tool":"exec","args":{},"result":"` + string(make1K()) + `"}`})
	}
	return cases
}

func make1K() []byte {
	b := make([]byte, 1000)
	for i := range b {
		b[i] = "abcdefgh ijk"[i%12]
	}
	return b
}

// bare is a module in an engine without metering, with the host functions of a
// metered twin, whose fuel counter they charge.
type bare struct {
	twin *Module
	code wazero.CompiledModule
	rt   wazero.Runtime
	fuel *instance
}

func newBare(b *testing.B, m *Module, file []byte) *bare {
	b.Helper()
	ctx := context.Background()
	p, err := m.engine.parse(file)
	if err != nil {
		b.Fatal(err)
	}
	plain := newModule(&code{prepared: newPrepared(p, m.metered), engine: m.engine})
	if err := plain.compileWith(nil, encode(b, p.module)); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(plain.closeRuntime)
	fuel, err := m.instances.acquire(ctx, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.instances.release(fuel, false, time.Now()) })
	return &bare{twin: m, rt: plain.runtime, code: freshOf(plain).code, fuel: fuel}
}

// instantiate makes an instance; it must be closed.
func (p *bare) instantiate(b *testing.B, inv *invocation) {
	a := &allocator{limit: uint64(DefaultMemoryCap)}
	mod, err := p.rt.InstantiateModule(experimental.WithMemoryAllocator(inv.callContext(), a), p.code,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		b.Fatal(err)
	}
	inv.inst = &instance{module: mod, memory: mod.Memory(), linear: a.last, fuel: p.fuel.fuel, grew: p.fuel.grew}
}

// BenchmarkMetering: a fresh instance and one call, metered against not metered.
func BenchmarkMetering(b *testing.B) {
	e := open(b, Options{})
	for _, c := range benchCases(b) {
		b.Run(c.name, func(b *testing.B) {
			m := load(b, e, c.file)
			plain := newBare(b, m, c.file)
			var with, without samples
			for b.Loop() {
				req := RunRequest{Phase: c.phase, Timeout: -1, Session: session(b, c.phase, c.action)}
				from := time.Now()
				if _, err := m.Run(context.Background(), req); err != nil {
					b.Fatal(err)
				}
				with.since(from)

				req.Session = session(b, c.phase, c.action)
				from = time.Now()
				inv := newInvocation(context.Background(), m, &req, from)
				plain.fuel.setFuel(1 << 40)
				plain.instantiate(b, inv)
				if _, f := inv.call(inv.callContext(), c.phase); f != nil {
					b.Fatal(f)
				}
				plain.release(inv)
				without.since(from)
			}
			b.ReportMetric(with.median()/without.median(), "x-plain")
			b.ReportMetric(with.median(), "metered-ns")
		})
	}
}

func (p *bare) release(inv *invocation) {
	_ = inv.inst.module.Close(context.Background())
	inv.inst.linear.Free()
}

// bareUses is how often a bare instance is used: what it leaves in memory is never taken back.
const bareUses = 200

// BenchmarkTurn: a run on a pooled and on a fresh instance, against the bare call of the same function in the engine,
// on one instance that is used again, neither metered nor reset. The three take turns.
func BenchmarkTurn(b *testing.B) {
	best, none := ResetCopy, ResetNone
	pooled, fresh := open(b, Options{reset: &best}), open(b, Options{reset: &none})
	b.Logf("%v", pooled.Reset())
	ctx := context.Background()
	for _, c := range benchCases(b)[3:] {
		b.Run(c.name, func(b *testing.B) {
			with, without := load(b, pooled, c.file), load(b, fresh, c.file)
			plain := newBare(b, without, c.file)
			runOn := func(m *Module, to *samples) {
				req := RunRequest{Phase: c.phase, Timeout: -1, Session: session(b, c.phase, c.action)}
				from := time.Now()
				if _, err := m.Run(ctx, req); err != nil {
					b.Fatal(err)
				}
				to.since(from)
			}
			var turn, new, bare, warm samples
			for range 3 {
				runOn(with, &warm)
			}
			var used *invocation
			for n := 0; b.Loop(); n++ {
				runOn(with, &turn)
				runOn(without, &new)

				req := RunRequest{Phase: c.phase, Timeout: -1, Session: session(b, c.phase, c.action)}
				inv := newInvocation(ctx, without, &req, time.Now())
				plain.fuel.setFuel(1 << 40)
				if n%bareUses == 0 {
					if used != nil {
						plain.release(used)
					}
					plain.instantiate(b, inv)
					used = inv
					for _, name := range [...]string{"_initialize", string(c.phase)} {
						if _, f := inv.callExport(inv.callContext(), name, false); f != nil {
							b.Fatal(f)
						}
					}
				}
				inv.inst = used.inst
				call, fn, stack := inv.callContext(), inv.inst.function(string(c.phase)), [1]uint64{}
				from := time.Now()
				if err := fn.CallWithStack(call, stack[:]); err != nil {
					b.Fatal(err)
				}
				bare.since(from)
			}
			plain.release(used)
			b.ReportMetric(turn.median()/bare.median(), "x-bare")
			b.ReportMetric(new.median()/bare.median(), "fresh-x-bare")
			b.ReportMetric(turn.median(), "turn-ns")
			b.ReportMetric(bare.median(), "bare-ns")
		})
	}
}

// BenchmarkStart: loading from an empty cache against loading from a full one, in
// milliseconds, parsing and metering included.
func BenchmarkStart(b *testing.B) {
	cases := benchCases(b)[3:]
	cases = append(cases, benchCase{name: "standard-go", file: goGuest(b)})
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			file := withManifest(b, c.file)
			once := func(dir string) time.Duration {
				e := open(b, Options{CacheDir: dir, CacheKey: cacheKey, engineVersion: "v0"})
				info, err := e.Inspect(file)
				if err != nil {
					b.Fatal(err)
				}
				from := time.Now()
				m, err := e.Load(context.Background(), file, LoadOptions{Class: Installed, Declared: &Declared{
					Capabilities: info.Capabilities, Phases: info.Phases, Mutates: mutates(&info)}})
				if err != nil {
					b.Fatal(err)
				}
				took := time.Since(from)
				m.Close()
				return took
			}
			dir := filepath.Join(b.TempDir(), "cache")
			cold := once(dir)
			var warm samples
			for b.Loop() {
				warm = append(warm, once(dir))
			}
			b.ReportMetric(float64(cold.Microseconds())/1000, "cold-ms")
			b.ReportMetric(warm.median()/1e6, "warm-ms")
			b.ReportMetric(warm.median()/float64(cold), "x-cold")
		})
	}
}

func mutates(info *Info) []phases.Phase {
	if len(info.Mutating()) > 0 {
		return info.Phases
	}
	return nil
}

package wasm_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// bounded parses b and checks what holds for any bytes: a typed error or a module, and
// memory in proportion to the file.
func bounded(t *testing.T, b []byte, lim wasm.Limits) (*wasm.Module, error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	m, err := wasm.Parse(b, lim)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 256<<10+400*uint64(len(b)) {
		t.Errorf("%d bytes allocated for a file of %d", n, len(b))
	}
	var e *wasm.Error
	if err != nil && (!errors.As(err, &e) || e.Class == nil) {
		t.Errorf("untyped error %v", err)
	}
	return m, err
}

// FuzzParse feeds files. What the parser accepts round-trips and the engine accepts.
func FuzzParse(f *testing.F) {
	f.Add(mustEncode(f, kitchenSink()))
	for _, b := range bombs {
		if s := mustEncode(f, b.build(3)); len(s) < 600 {
			f.Add(s) // long ones are only slow to mutate and minimise
		}
	}
	lim := bombLimits()
	lim.AnyShape = true
	compile := engine(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := bounded(t, b, lim)
		if err != nil {
			return
		}
		roundTrip(t, "fuzz", m, lim, compile)
		if err := compile(b); err != nil && len(m.Customs) == 0 {
			t.Errorf("accepted; the engine says %v", err)
		}
	})
}

// fuzzEnv is a module with something of everything for bodies to use.
func fuzzEnv() *wasm.Module {
	m := kitchenSink()
	m.HasStart = false
	m.Funcs = m.Funcs[:1]
	m.Exports = m.Exports[:1]
	m.Elems = m.Elems[:3]
	m.Elems[0].Init = []uint32{2, 2}
	return m
}

// FuzzBody feeds function bodies into one and the same module, so that nearly all inputs
// reach the type checker, and compares with the engine in both directions: nothing
// may be accepted that the engine refuses, and nothing refused (but for a limit, or a
// feature) that it accepts.
func FuzzBody(f *testing.F) {
	sink := kitchenSink()
	f.Add(sink.Funcs[1].Body, uint8(1))
	for _, b := range bombs {
		for _, fn := range b.build(2).Funcs {
			if len(fn.Body) < 500 {
				f.Add(fn.Body, uint8(0))
			}
		}
	}
	lim := wasm.DefaultLimits()
	lim.NoManifest = true
	compile := engine(f)
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	f.Cleanup(func() { _ = r.Close(ctx) })
	f.Fuzz(func(t *testing.T, code []byte, typ uint8) {
		m := fuzzEnv()
		m.Funcs[0].Type = uint32(typ % 2)
		m.Funcs[0].Locals = []wasm.LocalRun{{Count: 3, Type: wasm.I32}, {Count: 1, Type: wasm.V128},
			{Count: 1, Type: wasm.FuncRef}}
		b := splice(t, m, code)
		got, err := bounded(t, b, lim)
		theirs := compile(b)
		switch {
		case err == nil && theirs != nil:
			t.Errorf("accepted; the engine says %v", theirs)
		case err != nil && theirs == nil && !errors.Is(err, wasm.ErrLimit) && !errors.Is(err, wasm.ErrUnsupported) &&
			!strings.Contains(err.Error(), "opcode 0xfd"): // of SIMD numbers the engine reads only the first byte
			t.Errorf("%v; the engine accepts it", err)
		}
		if err != nil {
			return
		}
		roundTrip(t, "fuzz", got, lim, compile)
		// The compiler must not panic on an accepted module; only for cheap
		// ones, for speed.
		if wasm.Estimate(got).Nanos < 20e6 {
			if err := compileNative(ctx, r, b); err != nil {
				t.Errorf("the compiler says %v", err)
			}
		}
	})
}

func compileNative(ctx context.Context, r wazero.Runtime, b []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	c, err := r.CompileModule(ctx, b)
	if err == nil {
		err = c.Close(ctx)
	}
	return err
}

// splice encodes m with code, as it is, in place of the body of its one function.
func splice(t *testing.T, m *wasm.Module, code []byte) []byte {
	t.Helper()
	datas := m.Datas
	m.Datas = nil
	head := *m
	head.Funcs = []wasm.Func{{Type: m.Funcs[0].Type, Body: []byte{byte(wasm.OpEnd)}}}
	head.DataCount = false
	b := mustEncode(t, &head)
	// Drop the code section of one empty body: number, length, count, length, locals, end.
	b = b[:len(b)-6]
	body := wasm.AppendU32(nil, uint32(len(m.Funcs[0].Locals)))
	for _, l := range m.Funcs[0].Locals {
		body = append(wasm.AppendU32(body, l.Count), byte(l.Type))
	}
	body = append(body, code...)
	contents := append(wasm.AppendU32([]byte{1}, uint32(len(body))), body...)
	b = append(b, section(12, byte(len(datas)))...)
	b = append(b, section(10, contents...)...)
	tail := []byte{byte(len(datas))}
	for _, d := range datas {
		tail = append(tail, 1)
		tail = append(wasm.AppendU32(tail, uint32(len(d.Init))), d.Init...)
	}
	return append(b, section(11, tail...)...)
}

package sandbox

import (
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// imported is a function that a test module imports and calls.
type imported struct {
	module, name    string
	params, results []wasm.ValType
	args            []int64 // constants; i32 and i64 only
}

// caller builds a module whose phase calls the functions one after the other. It
// returns 0, or what the last call answers when that is an i32 and answer is set.
func caller(t testing.TB, phase string, answer bool, calls ...imported) []byte {
	t.Helper()
	m := &wasm.Module{
		Types:  []wasm.FuncType{{Results: []wasm.ValType{wasm.I32}}},
		Memory: &wasm.Memory{Size: wasm.Size{Min: 1}},
	}
	var body []byte
	emit := func(in wasm.Instr) { body = wasm.AppendInstr(body, &in) }
	for i, c := range calls {
		m.Types = append(m.Types, wasm.FuncType{Params: c.params, Results: c.results})
		m.Imports = append(m.Imports, wasm.Import{Module: c.module, Name: c.name, Type: uint32(len(m.Types) - 1)})
		for k, p := range c.params {
			op, v := wasm.OpI32Const, int64(0)
			if p == wasm.I64 {
				op = wasm.OpI64Const
			}
			if k < len(c.args) {
				v = c.args[k]
			}
			emit(wasm.Instr{Op: op, Bits: uint64(v)})
		}
		emit(wasm.Instr{Op: wasm.OpCall, Index: uint32(i)})
		if len(c.results) > 0 && !(answer && i == len(calls)-1) {
			emit(wasm.Instr{Op: wasm.OpDrop})
		}
	}
	if !answer {
		emit(wasm.Instr{Op: wasm.OpI32Const})
	}
	emit(wasm.Instr{Op: wasm.OpEnd})
	m.Funcs = []wasm.Func{{Type: 0, Body: body}}
	m.Exports = []wasm.Export{
		{Name: "memory", Kind: wasm.ExternMemory},
		{Name: phase, Kind: wasm.ExternFunc, Index: uint32(len(calls))},
	}
	return encode(t, m)
}

func encode(t testing.TB, m *wasm.Module, keep ...wasm.Custom) []byte {
	t.Helper()
	b, err := wasm.Encode(m, keep...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// reparse gives the model of a file, to be changed and encoded again.
func reparse(t testing.TB, file []byte) *wasm.Module {
	t.Helper()
	lim := wasm.DefaultLimits()
	lim.NoManifest = true
	m, err := wasm.Parse(file, lim)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// withCustom adds custom sections to a file.
func withCustom(t testing.TB, file []byte, keep ...wasm.Custom) []byte {
	t.Helper()
	return encode(t, reparse(t, file), keep...)
}

// withManifest adds a manifest section, whose content the sandbox does not
// read.
func withManifest(t testing.TB, file []byte) []byte {
	t.Helper()
	m := reparse(t, file)
	return encode(t, m, wasm.Custom{Name: wasm.ManifestSection, Payload: []byte("{}")})
}

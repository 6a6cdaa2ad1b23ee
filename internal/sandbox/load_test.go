package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

var (
	i32    = []wasm.ValType{wasm.I32}
	i32x2  = []wasm.ValType{wasm.I32, wasm.I32}
	noVals []wasm.ValType
)

// A module that wants something that it cannot have is refused before it is
// compiled, with a class, a stage and a sentence that names the fault.
func TestLoadRefuses(t *testing.T) {
	e := open(t, Options{})
	minimal := caller(t, "pre_tool", false)
	change := func(f func(m *wasm.Module)) []byte {
		m := reparse(t, minimal)
		f(m)
		return encode(t, m)
	}
	imports := func(module, name string, params, results []wasm.ValType) []byte {
		return caller(t, "pre_tool", false, imported{module: module, name: name, params: params, results: results})
	}
	mib := LoadOptions{MemoryCap: 1 << 20}
	for name, c := range map[string]struct {
		file  []byte
		opts  LoadOptions
		stage Stage
		class error
		text  string
	}{
		"empty":     {nil, LoadOptions{}, StageParse, ErrModule, ""},
		"garbage":   {[]byte("#!/bin/sh\nrm -rf /\n"), LoadOptions{}, StageParse, ErrModule, ""},
		"truncated": {minimal[:len(minimal)-3], LoadOptions{}, StageParse, ErrModule, ""},
		"component": {[]byte("\x00asm\x0d\x00\x01\x00"), LoadOptions{}, StageParse, ErrModule, "component"},
		"too large": {append(bytes.Clone(minimal), make([]byte, 9<<20)...), LoadOptions{}, StageParse, ErrModule, ""},
		"unknown hostcall": {imports(hostcalls.Module, "exec", i32, i32), LoadOptions{}, StageLink, ErrImport,
			"there is no belay_v1.exec"},
		"evil name": {imports("belay_v1", "x\x1b[2J\u202e", i32, i32), LoadOptions{}, StageLink, ErrImport,
			`belay_v1.x\u{1b}[2J\u{202e}`},
		"unknown module": {imports("wasi_unstable", "fd_write", i32, i32), LoadOptions{}, StageLink, ErrImport,
			"hooks import from belay_v1"},
		"unknown in env": {imports("env", "memcpy", i32, i32), LoadOptions{}, StageLink, ErrImport,
			"there is no env.memcpy"},
		"unknown in WASI": {imports(wasiModule, "thread_spawn", i32, i32), LoadOptions{}, StageLink, ErrImport,
			"there is no"},
		"short signature": {imports(hostcalls.Module, "block", i32, i32), LoadOptions{}, StageLink, ErrImport,
			"belay_v1.block has the signature (i32 i32)->(i32), not (i32)->(i32)"},
		"wrong result": {imports(hostcalls.Module, "time_now", noVals, i32), LoadOptions{}, StageLink, ErrImport,
			"()->(i64)"},
		"WASI signature": {imports(wasiModule, "proc_exit", i32, i32), LoadOptions{}, StageLink, ErrImport, "(i32)->()"},
		"reserved module": {imports("__belay", "yield", []wasm.ValType{wasm.I64}, []wasm.ValType{wasm.I64}), LoadOptions{},
			StageLink, ErrImport, ""},
		"reserved export": {change(func(m *wasm.Module) {
			m.Exports = append(m.Exports, wasm.Export{Name: "__belay_fuel", Kind: wasm.ExternFunc})
		}), LoadOptions{}, StageParse, ErrModule, ""},
		"no phase": {change(func(m *wasm.Module) { m.Exports[1].Name = "_start" }), LoadOptions{}, StageLink, ErrExport,
			"build it as a reactor"},
		"phase with results": {change(func(m *wasm.Module) {
			m.Types[0].Results = []wasm.ValType{wasm.I64}
			m.Funcs[0].Body = []byte{0x42, 0, 0x0b}
		}), LoadOptions{}, StageLink, ErrExport, "pre_tool must have the signature ()->(i32)"},
		"phase is a memory": {change(func(m *wasm.Module) { m.Exports[1].Kind = wasm.ExternMemory }), LoadOptions{},
			StageLink, ErrExport, "pre_tool is not a function"},
		"memory by another name": {change(func(m *wasm.Module) { m.Exports[0].Name = "mem" }), LoadOptions{}, StageParse,
			ErrModule, `as "memory"`},
		"_initialize with a result": {change(func(m *wasm.Module) {
			m.Exports = append(m.Exports, wasm.Export{Name: "_initialize", Kind: wasm.ExternFunc, Index: 0})
		}), LoadOptions{}, StageLink, ErrExport, "_initialize must have the signature ()->()"},
		"memory over the cap": {change(func(m *wasm.Module) { m.Memory.Min = 17 }), mib, StageEstimate, ErrTooCostly,
			"the cap is 1048576"},
		"data outside": {change(func(m *wasm.Module) {
			m.Datas = []wasm.Data{{Offset: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: 65535}, Init: []byte("xx")}}
		}), LoadOptions{}, StageLink, ErrModule, "data segment 0"},
		"data at the very end": {change(func(m *wasm.Module) {
			m.Datas = []wasm.Data{{Offset: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: math.MaxUint64}, Init: nil}}
		}), LoadOptions{}, StageLink, ErrModule, "data segment 0"},
		"elements outside": {change(func(m *wasm.Module) {
			m.Tables = []wasm.Table{{Type: wasm.FuncRef, Size: wasm.Size{Min: 1}}}
			m.Elems = []wasm.Elem{{Type: wasm.FuncRef, Offset: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: 1}, Init: []uint32{0}}}
		}), LoadOptions{}, StageLink, ErrModule, "element segment 0"},
		"memory of 4 GiB": {change(func(m *wasm.Module) { m.Memory.Min = 65536 }), LoadOptions{}, StageParse, ErrModule, ""},
		"bad cap":         {minimal, LoadOptions{MemoryCap: 2 << 30}, StageEstimate, ErrTooCostly, "between"},
		"negative cap":    {minimal, LoadOptions{MemoryCap: -1}, StageEstimate, ErrTooCostly, "between"},
		"bomb":            {bomb(t), LoadOptions{}, StageEstimate, ErrTooCostly, "the limits are 1s and 256 MiB"},
		"no manifest": {minimal, LoadOptions{Class: Installed, Declared: &Declared{}}, StageDeclared, ErrDeclared,
			"no manifest"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := e.Load(context.Background(), c.file, c.opts)
			if err2 := e.Check(c.file, c.opts); fmt.Sprint(err2) != fmt.Sprint(err) {
				t.Errorf("Check says %v", err2)
			}
			var le *LoadError
			if m != nil || !errors.As(err, &le) {
				t.Fatalf("loaded: %v", err)
			}
			if le.Stage != c.stage || !errors.Is(err, c.class) || !strings.Contains(le.Text, c.text) {
				t.Errorf("%s: %v", le.Stage, err)
			}
			for _, r := range err.Error() {
				if r < 0x20 || r > 0x7e {
					t.Errorf("unescaped %q in %q", r, err)
				}
			}
		})
	}
}

// bomb is small and slow to compile: many locals, many branches.
func bomb(t testing.TB) []byte {
	t.Helper()
	m := reparse(t, caller(t, "pre_tool", false))
	var body []byte
	emit := func(in wasm.Instr) { body = wasm.AppendInstr(body, &in) }
	emit(wasm.Instr{Op: wasm.OpLoop, Block: wasm.BlockEmpty})
	for i := range 1000 {
		emit(wasm.Instr{Op: wasm.OpLocalGet, Index: uint32(i)})
		emit(wasm.Instr{Op: wasm.OpLocalSet, Index: uint32(999 - i)})
		emit(wasm.Instr{Op: wasm.OpLocalGet, Index: uint32(i)})
		emit(wasm.Instr{Op: wasm.OpBrIf, Index: 0})
	}
	emit(wasm.Instr{Op: wasm.OpEnd})
	emit(wasm.Instr{Op: wasm.OpI32Const})
	emit(wasm.Instr{Op: wasm.OpEnd})
	m.Funcs[0].Locals = []wasm.LocalRun{{Count: 1000, Type: wasm.I32}}
	m.Funcs[0].Body = body
	return encode(t, m)
}

// The manifest must declare every capability that an import needs, list exactly
// the exported phases, and say where it mutates if it can.
func TestDeclared(t *testing.T) {
	e := open(t, Options{})
	manifest := wasm.Custom{Name: wasm.ManifestSection, Payload: []byte(`{}`)}
	block := imported{module: hostcalls.Module, name: "block", params: i32x2, results: i32}
	rewrite := imported{module: hostcalls.Module, name: "rewrite",
		params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32, wasm.I32}, results: i32}
	redact := imported{module: hostcalls.Module, name: "redact",
		params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32}, results: i32}
	input := imported{module: hostcalls.Module, name: "input_read", params: i32x2, results: i32}
	pre := []phases.Phase{phases.PreTool}
	for name, c := range map[string]struct {
		calls []imported
		phase string
		d     Declared
		text  string // empty: accepted
	}{
		"free calls need nothing": {[]imported{input, input}, "pre_tool", Declared{Phases: pre}, ""},
		"declared": {[]imported{block}, "pre_tool", Declared{Phases: pre, Capabilities: []string{"block"}},
			""},
		"more than needed": {[]imported{block}, "pre_tool",
			Declared{Phases: pre, Capabilities: []string{"state_get", "block"}}, ""},
		"not declared": {[]imported{input, block}, "pre_tool",
			Declared{Phases: pre, Capabilities: []string{"blocks", "redact"}}, "imports belay_v1.block"},
		"with parameter": {[]imported{rewrite}, "pre_tool",
			Declared{Phases: pre, Mutates: pre, Capabilities: []string{"rewrite:/args"}}, ""},
		"mutates missing": {[]imported{rewrite}, "pre_tool",
			Declared{Phases: pre, Capabilities: []string{"rewrite"}}, "imports rewrite, so the manifest must say in mutates"},
		"mutates without means": {[]imported{block}, "pre_tool",
			Declared{Phases: pre, Mutates: pre, Capabilities: []string{"block"}}, "imports none of"},
		"mutates elsewhere": {[]imported{redact}, "pre_tool",
			Declared{Phases: pre, Mutates: []phases.Phase{phases.PostTool}, Capabilities: []string{"redact"}},
			"does not export it"},
		"audit redacts": {[]imported{redact}, "audit",
			Declared{Phases: []phases.Phase{phases.Audit}, Capabilities: []string{"redact"}}, ""},
		"phase not in the module": {[]imported{input}, "pre_tool", Declared{Phases: append(pre, phases.Spawn)},
			"lists the phase spawn"},
		"phase not in the manifest": {[]imported{input}, "pre_tool", Declared{}, "exports the phase pre_tool"},
	} {
		t.Run(name, func(t *testing.T) {
			file := withCustom(t, caller(t, c.phase, false, c.calls...), manifest)
			if err := e.Check(file, LoadOptions{Class: Installed, Declared: &c.d}); (err == nil) != (c.text == "") {
				t.Errorf("Check says %v", err)
			}
			m, err := e.Load(context.Background(), file, LoadOptions{Class: Installed, Declared: &c.d})
			switch {
			case c.text == "" && err != nil:
				t.Error(err)
			case c.text == "":
				m.Close()
			case !errors.Is(err, ErrDeclared) || !strings.Contains(err.Error(), c.text):
				t.Error(err)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	e := open(t, Options{})
	file := withCustom(t, caller(t, "audit", false,
		imported{module: hostcalls.Module, name: "redact", params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32},
			results: i32},
		imported{module: hostcalls.Module, name: "log", params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32}, results: i32},
		imported{module: hostcalls.Module, name: "nothing\nlike it", params: i32, results: i32},
		imported{module: wasiModule, name: "fd_write", params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32},
			results: i32},
		imported{module: wasiModule, name: "fd_write", params: []wasm.ValType{wasm.I32, wasm.I32, wasm.I32, wasm.I32},
			results: i32},
	), wasm.Custom{Name: wasm.ManifestSection, Payload: []byte(`{"name":"x"}`)})
	got, err := e.Inspect(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Digest, "sha256:") || len(got.Digest) != 71 || got.EstimateNS <= 0 {
		t.Errorf("%+v", got)
	}
	want := Info{
		Digest: got.Digest, EstimateNS: got.EstimateNS, EstimateBytes: got.EstimateBytes,
		Size: len(file), Manifest: []byte(`{"name":"x"}`), Phases: []phases.Phase{phases.Audit},
		Imports: []string{"log", `nothing\u{a}like it`, "redact"}, Others: []string{wasiModule + ".fd_write"},
		Capabilities: []string{"redact"}, WASI: true, Functions: 1, MemoryMin: pageSize,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got, err = e.Inspect(guest(t, "init_order")); err != nil || !got.Start || !got.Initialize || got.Manifest != nil {
		t.Errorf("%+v %v", got, err)
	}
}

// Loading ends when its context does, and a file may be overwritten afterwards.
func TestLoadContext(t *testing.T) {
	e := open(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Load(ctx, guest(t, "guard"), LoadOptions{}); !errors.Is(err, ErrCanceled) ||
		!errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// One at a time: while another module is being compiled this one waits, no longer
	// than its caller wants.
	e.compiling <- struct{}{}
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
	defer cancel()
	if _, err := e.Load(ctx, guest(t, "guard"), LoadOptions{}); !errors.Is(err, ErrCanceled) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	<-e.compiling

	file := guest(t, "traps")
	m := load(t, e, file)
	clear(file)
	if o := run(t, m, RunRequest{Phase: phases.PrePlan}, lsAction); o.Kind != phases.KindTrap ||
		!strings.Contains(o.Cause, "crash_here") {
		t.Errorf("%+v", o)
	}
}

// Options that cannot work are refused, not ignored.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]Options{
		"short key":   {CacheDir: dir, CacheKey: make([]byte, 15)},
		"open to all": {CacheDir: dir, CacheKey: make([]byte, 32)}, // TempDir is 0755 or 0777 before umask
		"twice":       {Table: append(hostcalls.Table(), hostcalls.Table()[0])},
		"no handler":  {Table: []hostcalls.Call{{Name: "x"}}},
	} {
		if e, err := Open(o); err == nil {
			_ = e.Close()
			t.Error(name, "accepted")
		}
	}
}

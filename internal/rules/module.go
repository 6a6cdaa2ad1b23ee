package rules

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Section is the custom section of a built module that says which rules are in it.
const Section = "belay-rules"

const (
	slotExport = "RULES_INDEX" // where the engine looks for place and length of the index
	pageBytes  = 64 << 10
)

// Build compiles a part of the file into a copy of the engine's module. The same file and
// engine always become the same bytes. The error is ErrNoPart, or about the engine.
func (f *File) Build(engine []byte, p Part) ([]byte, error) {
	return f.build(engine, p, false)
}

// BuildTrace is Build for a module that decides nothing and says of each rule which of
// its conditions hold; see ReadTrace.
func (f *File) BuildTrace(engine []byte, p Part) ([]byte, error) {
	return f.build(engine, p, true)
}

func (f *File) build(engine []byte, p Part, trace bool) ([]byte, error) {
	rules := f.of(p)
	if len(rules) == 0 {
		return nil, fmt.Errorf("%w: none %s", ErrNoPart, p)
	}
	m, err := wasm.Parse(engine, wasm.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("the engine of rules: %w", err)
	}
	manifest := f.manifest(p, rules)
	index := f.indexOf(rules, p == Changes, trace)
	if len(index) > maxIndex {
		return nil, fmt.Errorf("the rules need %d bytes of memory, more than the %d that the engine reads: "+
			"write fewer of them, with fewer pointers and patterns", len(index), maxIndex)
	}
	if err := place(m, index); err != nil {
		return nil, err
	}
	keepExports(m, manifest.Phases)
	if err := keepImports(m, manifest); err != nil {
		return nil, err
	}
	encoded, err := manifest.Encode()
	if err != nil {
		return nil, err
	}
	listed, err := json.Marshal(f.listed(p, rules), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return wasm.Encode(m, wasm.Custom{Name: Section, Payload: listed},
		wasm.Custom{Name: wasm.ManifestSection, Payload: encoded})
}

// place gives the index pages of its own behind what the engine starts with, and tells
// the engine where they are.
func place(m *wasm.Module, index []byte) error {
	e, ok := m.FindExport(slotExport)
	if !ok || e.Kind != wasm.ExternGlobal || int(e.Index) >= len(m.Globals) || m.Memory == nil ||
		m.Globals[e.Index].Init.Op != wasm.OpI32Const {
		return errors.New("the engine of rules does not say where its index goes")
	}
	at := m.Memory.Min * pageBytes
	pages := uint32((len(index) + pageBytes - 1) / pageBytes)
	memory := *m.Memory
	memory.Min += pages
	if memory.HasMax {
		memory.Max += pages
	}
	m.Memory = &memory
	slot := binary.LittleEndian.AppendUint32(nil, at)
	slot = binary.LittleEndian.AppendUint32(slot, uint32(len(index)))
	m.Datas = append(slices.Clone(m.Datas),
		wasm.Data{Mode: wasm.SegActive, Offset: m.Globals[e.Index].Init, Init: slot},
		wasm.Data{Mode: wasm.SegActive, Offset: wasm.ConstExpr{Op: wasm.OpI32Const, Bits: uint64(int64(int32(at)))},
			Init: index})
	return nil
}

// keepExports drops the phases that no rule is about, and what only the builder needs.
func keepExports(m *wasm.Module, serves []phases.Phase) {
	m.Exports = slices.DeleteFunc(slices.Clone(m.Exports), func(e wasm.Export) bool {
		return e.Kind != wasm.ExternMemory && !slices.Contains(serves, phases.Phase(e.Name))
	})
}

// keepImports replaces the imports that no rule needs by functions that trap, so that the
// module asks for no capability that its rules do not use.
func keepImports(m *wasm.Module, manifest *tiers.Manifest) error {
	needed := map[string]bool{}
	for _, c := range manifest.Capabilities {
		cap, err := tiers.ParseCapability(c.Name)
		if err != nil {
			return err
		}
		needed[cap.Name] = true
	}
	var kept []wasm.Import
	var stubs []wasm.Func
	moved := make([]uint32, len(m.Imports))
	for i, im := range m.Imports {
		call, ok := hostcalls.Lookup(im.Name)
		if im.Module != hostcalls.Module || !ok {
			return fmt.Errorf("the engine of rules imports %s.%s", im.Module, im.Name)
		}
		if uses(manifest, call, needed) {
			moved[i] = uint32(len(kept))
			kept = append(kept, im)
		}
	}
	for i, im := range m.Imports {
		call, _ := hostcalls.Lookup(im.Name)
		if !uses(manifest, call, needed) {
			moved[i] = uint32(len(kept) + len(stubs))
			stubs = append(stubs, wasm.Func{Type: im.Type, Body: []byte{byte(wasm.OpUnreachable), byte(wasm.OpEnd)}})
		}
	}
	for i := range m.Elems {
		elem := &m.Elems[i]
		elem.Init = slices.Clone(elem.Init)
		for k, fn := range elem.Init {
			if fn < uint32(len(moved)) {
				elem.Init[k] = moved[fn]
			}
		}
	}
	funcs := make([]wasm.Func, 0, len(stubs)+len(m.Funcs))
	funcs = append(funcs, stubs...)
	for _, fn := range m.Funcs {
		body, err := renumber(fn.Body, moved)
		if err != nil {
			return err
		}
		fn.Body = body
		funcs = append(funcs, fn)
	}
	m.Imports, m.Funcs = kept, funcs
	return nil
}

// uses reports whether the rules of a manifest can need a call of the host.
func uses(m *tiers.Manifest, call hostcalls.Call, capabilities map[string]bool) bool {
	if strings.HasPrefix(call.Name, "config_") {
		return m.ConfigSchema != nil
	}
	return call.Capability == "" || capabilities[call.Capability]
}

// renumber has a body call imports by their new numbers; all other functions keep theirs.
func renumber(body []byte, moved []uint32) ([]byte, error) {
	out := make([]byte, 0, len(body))
	r := wasm.NewReader(body)
	var in wasm.Instr
	for {
		switch err := r.Next(&in); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("the engine of rules: %w", err)
		}
		if (in.Op == wasm.OpCall || in.Op == wasm.OpRefFunc) && in.Index < uint32(len(moved)) {
			in.Index = moved[in.Index]
		}
		out = wasm.AppendInstr(out, &in)
	}
}

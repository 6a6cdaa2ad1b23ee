package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

const (
	exportMemory     = "memory"
	exportInitialize = "_initialize"
)

// hostFunc is one function that guests can import.
type hostFunc struct {
	sig wasm.FuncType
	fn  api.GoModuleFunction
	cap string // capability that importing it needs; empty for none
}

// hostModules are all functions that guests can import, by module and name. No
// other exists for a guest. Built once per engine.
type hostModules map[string]map[string]*hostFunc

func newHostModules(table []hostcalls.Call) (hostModules, error) {
	own := map[string]*hostFunc{}
	for _, c := range table {
		if c.Handle == nil || own[c.Name] != nil {
			return nil, fmt.Errorf("sandbox: table of hostcalls: %q has no handler or is there twice", c.Name)
		}
		f := &hostFunc{fn: &shim{call: c}, cap: c.Capability}
		f.sig.Params = make([]wasm.ValType, c.Arity())
		for i := range f.sig.Params {
			f.sig.Params[i] = wasm.I32
		}
		f.sig.Results = []wasm.ValType{wasm.I32}
		if c.Result == hostcalls.ResultI64 {
			f.sig.Results[0] = wasm.I64
		}
		own[c.Name] = f
	}
	return hostModules{
		hostcalls.Module: own,
		wasiModule:       wasiFunctions(),
		envModule:        envFunctions(),
	}, nil
}

// link checks every import and export of a module. Errors are *LoadError.
func (h hostModules) link(m *wasm.Module) error {
	for i := range m.Imports {
		if err := h.importOK(m, &m.Imports[i]); err != nil {
			return err
		}
	}
	if err := segmentsFit(m); err != nil {
		return err
	}
	if e, ok := m.FindExport(exportMemory); !ok || e.Kind != wasm.ExternMemory {
		return loadError(StageLink, ErrExport, `the module does not export its memory as "memory"`, nil)
	}
	if e, ok := m.FindExport(exportInitialize); ok {
		if err := exportOK(m, e, nil); err != nil {
			return err
		}
	}
	served := 0
	for _, p := range phases.Phases() {
		e, ok := m.FindExport(string(p))
		if !ok {
			continue
		}
		if err := exportOK(m, e, []wasm.ValType{wasm.I32}); err != nil {
			return err
		}
		served++
	}
	if served == 0 {
		text := "the module exports no phase such as pre_tool"
		if _, ok := m.FindExport("_start"); ok {
			text += "; it is a command, build it as a reactor (-mexec-model=reactor, -buildmode=c-shared)"
		}
		return loadError(StageLink, ErrExport, text, nil)
	}
	return nil
}

// segmentsFit refuses active segments that lie outside of what the module starts
// with. By the language such a module traps when it is instantiated; the engine
// leaves elements away without a word and goes on.
func segmentsFit(m *wasm.Module) error {
	for i := range m.Datas {
		d := &m.Datas[i]
		if d.Mode == wasm.SegActive &&
			(m.Memory == nil || uint64(uint32(d.Offset.Bits))+uint64(len(d.Init)) > uint64(m.Memory.Min)*pageSize) {
			return loadError(StageLink, ErrModule, fmt.Sprintf("data segment %d lies outside of the memory", i), nil)
		}
	}
	for i := range m.Elems {
		e := &m.Elems[i]
		if e.Mode == wasm.SegActive &&
			(int(e.Table) >= len(m.Tables) || uint64(uint32(e.Offset.Bits))+
				uint64(len(e.Init)) > uint64(m.Tables[e.Table].Min)) {
			return loadError(StageLink, ErrModule, fmt.Sprintf("element segment %d lies outside of its table", i), nil)
		}
	}
	return nil
}

func (h hostModules) importOK(m *wasm.Module, im *wasm.Import) error {
	name := importName(im)
	f := h[im.Module][im.Name]
	if f == nil {
		text := "there is no " + name
		if h[im.Module] == nil {
			text += "; hooks import from " + hostcalls.Module
		}
		return loadError(StageLink, ErrImport, text, nil)
	}
	if got := &m.Types[im.Type]; !got.Equal(&f.sig) {
		return loadError(StageLink, ErrImport,
			fmt.Sprintf("%s has the signature %s, not %s", name, signature(&f.sig), signature(got)), nil)
	}
	return nil
}

func exportOK(m *wasm.Module, e wasm.Export, results []wasm.ValType) error {
	want := wasm.FuncType{Results: results}
	if e.Kind != wasm.ExternFunc {
		return loadError(StageLink, ErrExport, fmt.Sprintf("the export %s is not a function", e.Name), nil)
	}
	if got := m.FuncType(e.Index); got == nil || !got.Equal(&want) {
		return loadError(StageLink, ErrExport,
			fmt.Sprintf("the export %s must have the signature %s", e.Name, signature(&want)), nil)
	}
	return nil
}

func importName(im *wasm.Import) string {
	return escape(im.Module, 64) + "." + escape(im.Name, 64)
}

func signature(t *wasm.FuncType) string {
	list := func(ts []wasm.ValType) string {
		names := make([]string, len(ts))
		for i, t := range ts {
			names[i] = t.String()
		}
		return "(" + strings.Join(names, " ") + ")"
	}
	return list(t.Params) + "->" + list(t.Results)
}

// checkDeclared compares a manifest with the module that carries it.
func checkDeclared(info *Info, d *Declared) error {
	declared := map[string]bool{}
	for _, c := range d.Capabilities {
		name, _, _ := strings.Cut(c, ":")
		declared[name] = true
	}
	for _, c := range info.Capabilities {
		if !declared[c] {
			return loadError(StageDeclared, ErrDeclared,
				fmt.Sprintf("the module imports %s.%s, the manifest does not declare the capability %s", hostcalls.Module, c, c),
				nil)
		}
	}
	for _, p := range phases.Phases() {
		inManifest, inModule := slices.Contains(d.Phases, p), slices.Contains(info.Phases, p)
		switch {
		case inManifest && !inModule:
			return loadError(StageDeclared, ErrDeclared,
				fmt.Sprintf("the manifest lists the phase %s, the module does not export it", p), nil)
		case inModule && !inManifest:
			return loadError(StageDeclared, ErrDeclared,
				fmt.Sprintf("the module exports the phase %s, the manifest does not list it", p), nil)
		}
	}
	return info.CheckMutates(d.Mutates)
}

// mutating are the calls that change the action; a hook that imports one of them
// takes its turn among the mutators of the phases that it declares.
var mutating = [...]string{"clamp_scopes", "redact", "rewrite"}

// Mutating returns which of the calls that change an action the module imports.
func (i *Info) Mutating() []string {
	var out []string
	for _, name := range mutating {
		if slices.Contains(i.Imports, name) {
			out = append(out, name)
		}
	}
	return out
}

// CheckMutates says whether a manifest's list of mutated phases agrees with the
// module: a hook that imports rewrite, redact or clamp_scopes names the phases in
// which it uses them, and one that imports none names no phase. In audit, redact
// covers the record and changes no action, so a hook that serves nothing else
// needs no list. The error is a *LoadError of class ErrDeclared.
func (i *Info) CheckMutates(mutates []phases.Phase) error {
	calls := i.Mutating()
	for _, p := range mutates {
		if !slices.Contains(i.Phases, p) {
			return loadError(StageDeclared, ErrDeclared,
				fmt.Sprintf("mutates lists the phase %s, the module does not export it", escape(string(p), 64)), nil)
		}
	}
	onlyAudit := len(i.Phases) == 1 && i.Phases[0] == phases.Audit
	switch {
	case len(mutates) > 0 && len(calls) == 0:
		return loadError(StageDeclared, ErrDeclared,
			"mutates lists phases, but the module imports none of rewrite, redact and clamp_scopes", nil)
	case len(mutates) == 0 && len(calls) > 0 && !onlyAudit:
		return loadError(StageDeclared, ErrDeclared,
			fmt.Sprintf("the module imports %s, so the manifest must say in mutates in which phases it changes the action",
				strings.Join(calls, ", ")), nil)
	}
	return nil
}

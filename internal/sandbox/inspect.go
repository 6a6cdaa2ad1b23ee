package sandbox

import (
	"math"
	"slices"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// Info is what can be known about a file without compiling or running it.
type Info struct {
	Digest   string         // sha256:<hex> of the file
	Size     int            // bytes of the file
	Manifest []byte         // contents of the custom section belay.manifest; nil without one
	Phases   []phases.Phase // exported phases, in canonical order
	Imports  []string       // names imported from belay_v1, escaped, sorted, each once
	Others   []string       // other imports, as module.name, escaped, sorted, each once
	// Capabilities are those that the imports need, sorted, without parameters.
	Capabilities []string
	WASI         bool  // imports from wasi_snapshot_preview1, which here is a stub
	Initialize   bool  // exports _initialize
	Start        bool  // has a start section
	EstimateNS   int64 // estimated time to compile, in nanoseconds; saturates
	// EstimateBytes is the estimated memory to compile; saturates.
	EstimateBytes int64
	Functions     int   // functions that the module defines
	MemoryMin     int64 // bytes of memory it starts with
	SIMD          bool  // uses vector instructions
}

// maxMemory is the greatest memory cap; also the limit that the engine is told,
// so that it is the same for all modules of a process.
const maxMemory = 1 << 30

// parsed is a file that the parser has accepted.
type parsed struct {
	module *wasm.Module
	cost   wasm.Cost
	info   Info
}

// Inspect parses a file and describes it, without compiling or linking it: it
// takes a module with unknown imports, too. Time and memory are in proportion
// to the size of the file. Errors are *LoadError of class ErrModule. Safe for
// concurrent use; the file is not retained.
func (e *Engine) Inspect(file []byte) (Info, error) {
	f := NewFile(file)
	return e.InspectFile(&f)
}

// InspectFile is Inspect for a file that is hashed already.
func (e *Engine) InspectFile(file *File) (Info, error) {
	if info, ok := e.facts(file.sum); ok {
		info.Manifest = slices.Clone(info.Manifest)
		return info, nil
	}
	p, err := e.parse(file.bytes)
	if err != nil {
		return Info{}, err
	}
	p.info.Manifest = slices.Clone(p.info.Manifest)
	return p.info, nil
}

// parse runs the parser; the result aliases file.
func (e *Engine) parse(file []byte) (*parsed, error) {
	lim := wasm.DefaultLimits()
	lim.NoManifest = true // whether there must be one depends on the class
	lim.MemoryPages = maxMemory / pageSize
	m, err := wasm.Parse(file, lim)
	if err != nil {
		return nil, loadError(StageParse, ErrModule, err.Error(), err)
	}
	cost := wasm.Estimate(m)
	p := &parsed{module: m, cost: cost, info: Info{
		Digest:        phases.ByteDigest(file),
		Size:          len(file),
		EstimateNS:    int64(min(cost.Nanos, math.MaxInt64)),
		EstimateBytes: int64(min(cost.Bytes, math.MaxInt64)),
		Functions:     len(m.Funcs),
		Start:         m.HasStart,
		SIMD:          m.Facts.SIMD,
	}}
	if m.Memory != nil {
		p.info.MemoryMin = int64(m.Memory.Min) * pageSize
	}
	for _, c := range m.Customs {
		if c.Name == wasm.ManifestSection {
			p.info.Manifest = c.Payload
		}
	}
	_, p.info.Initialize = m.FindExport(exportInitialize)
	for _, ph := range phases.Phases() {
		if _, ok := m.FindExport(string(ph)); ok {
			p.info.Phases = append(p.info.Phases, ph)
		}
	}
	e.describeImports(p)
	return p, nil
}

func (e *Engine) describeImports(p *parsed) {
	info := &p.info
	for i := range p.module.Imports {
		im := &p.module.Imports[i]
		info.WASI = info.WASI || im.Module == wasiModule
		if im.Module != hostcalls.Module {
			info.Others = append(info.Others, importName(im))
			continue
		}
		info.Imports = append(info.Imports, escape(im.Name, 64))
		if f := e.host[im.Module][im.Name]; f != nil && f.cap != "" {
			info.Capabilities = append(info.Capabilities, f.cap)
		}
	}
	for _, list := range []*[]string{&info.Imports, &info.Others, &info.Capabilities} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

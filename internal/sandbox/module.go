package sandbox

import "github.com/belay-hooks/belay/phases"

// Declared is what the manifest says about a module; the module has to agree.
type Declared struct {
	// Capabilities are the names of declared capabilities, with or without parameter.
	// An import that needs one that is not among them is refused.
	Capabilities []string
	// Phases are the phases declared; they must equal the exported ones.
	Phases []phases.Phase
	// Mutates are the phases in which the hook says that it changes the action.
	Mutates []phases.Phase
}

// LoadOptions are how one module is to be loaded.
type LoadOptions struct {
	Class Class
	// MemoryCap is the most memory an instance may have, in bytes, rounded down to
	// pages of 64 KiB; 0 means 16 MiB. At most 1 GiB.
	MemoryCap int64
	// Declared is what the manifest says; nil derives it from the module itself,
	// which only AdHoc modules may.
	Declared *Declared
}

// Info is what can be known about a file without compiling or running it.
type Info struct {
	Digest   string         // sha256:<hex> of the file
	Size     int            // bytes of the file
	Manifest []byte         // contents of the custom section belay.manifest; nil without one
	Phases   []phases.Phase // exported phases, in canonical order
	Imports  []string       // names imported from belay_v1, sorted, each once
	// Capabilities are what the imports need, sorted, without parameters.
	Capabilities []string
	WASI         bool  // imports the WASI stub
	Initialize   bool  // exports _initialize
	Start        bool  // has a start section
	EstimateNS   int64 // estimated time to compile, in nanoseconds; saturates
	Functions    int   // functions that the module defines
	MemoryMin    int64 // bytes of memory it starts with
}

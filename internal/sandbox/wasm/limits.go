package wasm

import "math"

// Reserved is the prefix of names that the host adds to modules. A guest that imports,
// exports or labels a section with it is refused.
const Reserved = "__belay_"

// ManifestSection is the custom section that holds a hook's manifest. Every other
// section name that starts with "belay." is refused.
const ManifestSection = "belay.manifest"

// Limits are the greatest sizes that Parse accepts. Every count is compared before
// anything is allocated for it.
type Limits struct {
	FileBytes     int // bytes of the whole file
	Customs       int // custom sections
	CustomName    int // bytes of a custom section's name
	ManifestBytes int // bytes of the manifest
	Types         int // signatures
	Params        int // parameters of one signature
	Results       int // results of one signature
	Imports       int // imported functions
	Funcs         int // own functions
	Tables        int // tables
	TableElems    int // sum of the minimum sizes of all tables
	MemoryPages   int // minimum of the memory, in pages of 64 KiB
	Globals       int // globals
	Exports       int // exports
	NameBytes     int // bytes of an import's or export's name
	ElemSegments  int // element segments
	Elems         int // elements of all segments
	DataSegments  int // data segments
	BodyBytes     int // one function with its locals declaration
	Locals        int // locals of one function, parameters included
	Nesting       int // nested blocks, the body itself being 1
	BrTable       int // entries of one br_table, the default included
	BrTables      int // entries of all br_tables

	// NoManifest accepts modules without a manifest (before it is packed).
	NoManifest bool
	// AnyShape accepts modules without a memory or that do not export it. Such a module
	// cannot be a hook; it is for conformance tests of this package and the metering pass.
	AnyShape bool
}

// DefaultLimits are the limits for hooks. A standard Go guest with JSON needs 3.8 MB,
// 2,300 functions, bodies of 51 KB, a nesting of 550 and 41,000 data segments.
func DefaultLimits() Limits {
	return Limits{
		FileBytes:     8 << 20,
		Customs:       64,
		CustomName:    128,
		ManifestBytes: 64 << 10,
		Types:         4096,
		Params:        128,
		Results:       16,
		Imports:       256,
		Funcs:         30000,
		Tables:        4,
		TableElems:    65536,
		MemoryPages:   256,
		Globals:       4096,
		Exports:       1024,
		NameBytes:     256,
		ElemSegments:  4096,
		Elems:         65536,
		DataSegments:  100000,
		BodyBytes:     128 << 10,
		Locals:        4096,
		Nesting:       4096,
		BrTable:       4096,
		BrTables:      131072,
	}
}

// RelaxedLimits accept whatever the language allows within a size that tests can afford.
// They are for conformance tests with trusted files, never for a hook.
func RelaxedLimits() Limits {
	const many = 1 << 20
	return Limits{
		FileBytes: 64 << 20, Customs: many, CustomName: many, ManifestBytes: many,
		Types: many, Params: 4096, Results: 4096, Imports: many, Funcs: many,
		Tables: 1024, TableElems: math.MaxInt, MemoryPages: 65536, Globals: many, Exports: many,
		NameBytes: many, ElemSegments: many, Elems: many, DataSegments: many,
		BodyBytes: 16 << 20, Locals: 65536, Nesting: 65536, BrTable: many, BrTables: many,
		NoManifest: true, AnyShape: true,
	}
}

package meter

import "github.com/belay-hooks/belay/internal/sandbox/wasm"

// What the pass adds to a module. Guests must not use any name that starts with
// [Reserved], neither as an import's module or name nor as an export.
const (
	Reserved = "__belay"

	ImportModule = "__belay"
	ImportYield  = "yield" // (i64 fuel) -> i64 fuel
	ImportStack  = "stack" // () -> (), never returns

	ExportFuel       = "__belay_fuel"         // mutable i64 global
	ExportStack      = "__belay_stack"        // mutable i32 global
	ExportGrowFailed = "__belay_grow_refused" // mutable i32 global, 0 or 1
	ExportStart      = "__belay_start"        // function () -> (), only with Output.Start
	ExportGlobal     = "__belay_g"            // prefix: the guest's mutable global N
)

// Defaults and bounds of [Options].
const (
	DefaultMemoryPages = 256     // 16 MiB
	DefaultTableElems  = 65_536  // 512 KiB
	DefaultSlots       = 131_072 // 1 MiB

	// DefaultCalls is below PortableCalls with room to spare, and divides DefaultSlots well.
	DefaultCalls = 1_920
	// PortableCalls is the deepest nesting that wazero's interpreter has frames for
	// (2,000, of which the call that is one too many and the host function that ends it
	// take two). Beyond it the interpreter ends the guest with an overflow of its own,
	// where the compiler goes on.
	PortableCalls = 1_998

	maxMemoryPages = 65_536
	maxTableElems  = 1 << 24
	maxBudget      = 1 << 30 // of the stack counter, in its own units
)

// Options bound what a metered module can take. The zero value stands for the defaults.
// All of them are part of what makes a run repeatable: record them with the run.
type Options struct {
	// MemoryPages caps the memory, in pages of 64 KiB: 1 to 65,536.
	MemoryPages uint32
	// TableElems caps every table, in elements of 8 bytes: 1 to 2^24.
	TableElems uint32
	// Slots and Calls are the stack budget: nested calls together take at most this many
	// slots of 8 bytes (parameters, locals, greatest operand height; v128 takes two), and
	// there are at most Calls of them. A call takes the larger of its slots and
	// Slots/Calls. With Calls beyond [PortableCalls] the interpreter stops earlier.
	Slots, Calls uint32
	// Cover adds marks that tell which regions ran: for tests of hooks, never for hooks
	// that decide. What the module does and costs is the same with them and without.
	Cover bool
}

func (o Options) withDefaults() Options {
	if o.MemoryPages == 0 {
		o.MemoryPages = DefaultMemoryPages
	}
	if o.TableElems == 0 {
		o.TableElems = DefaultTableElems
	}
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.Calls == 0 {
		o.Calls = DefaultCalls
	}
	return o
}

// Validate returns an error of class [ErrOptions] when a field is out of range.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.MemoryPages > maxMemoryPages:
		return refuse(ErrOptions, -1, "memory cap of %d pages is over %d", o.MemoryPages, maxMemoryPages)
	case o.TableElems > maxTableElems:
		return refuse(ErrOptions, -1, "table cap of %d elements is over %d", o.TableElems, maxTableElems)
	case newStackUnits(o).budget > maxBudget:
		return refuse(ErrOptions, -1, "stack budget of %d slots and %d calls is too large", o.Slots, o.Calls)
	}
	return nil
}

// stackUnits turns two limits into one counter: a unit divides both a slot and the least
// that a call takes, so that the products are whole.
type stackUnits struct {
	slot, call, budget uint64
}

func newStackUnits(o Options) stackUnits {
	a, b := uint64(o.Slots), uint64(o.Calls)
	for b != 0 {
		a, b = b, a%b
	}
	return stackUnits{
		slot:   uint64(o.Calls) / a,
		call:   uint64(o.Slots) / a,
		budget: uint64(o.Slots) * uint64(o.Calls) / a,
	}
}

// of is what one call of a function with so many slots takes; more than the budget is
// cut to one over it, which can never be paid.
func (u stackUnits) of(slots uint64) int32 {
	slots = min(slots, u.budget+1)
	return int32(min(max(slots*u.slot, u.call), u.budget+1))
}

// Output is a metered module and what its host must know. See the package comment for
// how to drive it.
type Output struct {
	Wasm      []byte
	CostTable int // version: CostTable

	// Start says that the guest had a start function. It is exported as ExportStart and
	// must be the first call into a fresh instance.
	Start bool

	// Globals are the guest's mutable globals of number types, exported for a reset.
	Globals []Global
	// Unrestorable lists the kinds of state beyond memory and Globals that the module may
	// change; empty means that writing memory and Globals back makes an instance fresh.
	Unrestorable []Unrestorable

	MemoryPages uint32 // the maximum written into the module; 0 without a memory
	StackBudget int32  // initial value of the ExportStack global, the same after each return
	SizeIn      int    // bytes of the file that was parsed
	SizeOut     int    // bytes of Wasm

	// Regions are what the bits of the ExportCover globals stand for; nil without
	// Options.Cover.
	Regions []Region

	// Imports is how many functions the guest imports.
	Imports int
}

// Restorable says whether memory and Globals are all the state that the module has.
func (o *Output) Restorable() bool { return len(o.Unrestorable) == 0 }

// OriginalFunc turns a function index of the metered module, as in a stack trace, into
// the guest's own. False: the function was added by the pass.
func (o *Output) OriginalFunc(metered uint32) (uint32, bool) {
	switch i := int64(metered) - int64(o.Imports); {
	case i < 0:
		return metered, true
	case i < addedImports:
		return 0, false
	}
	return metered - addedImports, true
}

// Global is a mutable global of the guest.
type Global struct {
	Export string // name in the metered module
	Index  uint32 // in the guest's index space
	Type   wasm.ValType
	Names  []string // names under which the guest exported it; they are gone
}

// Unrestorable is a kind of state that writing memory and number globals back misses.
type Unrestorable string

// The kinds of state that a reset of memory and number globals leaves behind.
const (
	StateGlobals  Unrestorable = "v128 or reference globals"
	StateTables   Unrestorable = "tables"
	StateSegments Unrestorable = "dropped segments"
)

package wasm

import "math"

// ValType is a value type as encoded in the binary format.
type ValType byte

// The value types of core 2.0.
const (
	I32       ValType = 0x7f
	I64       ValType = 0x7e
	F32       ValType = 0x7d
	F64       ValType = 0x7c
	V128      ValType = 0x7b
	FuncRef   ValType = 0x70
	ExternRef ValType = 0x6f

	// unknown is the operand type below an unconditional branch. It is never in a model.
	unknown ValType = 0
)

// Valid says whether t is a value type of core 2.0.
func (t ValType) Valid() bool { return t >= V128 && t <= I32 || t.IsRef() }

// IsRef says whether t is a reference type.
func (t ValType) IsRef() bool { return t == FuncRef || t == ExternRef }

// IsNum says whether t is i32, i64, f32 or f64.
func (t ValType) IsNum() bool { return t >= F64 && t <= I32 }

// Slots is the number of 8-byte stack slots of a value: 2 for v128, else 1.
func (t ValType) Slots() uint32 {
	if t == V128 {
		return 2
	}
	return 1
}

// String is the name in the text format.
func (t ValType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	case unknown:
		return "any"
	}
	return "?"
}

// FuncType is a signature.
type FuncType struct {
	Params, Results []ValType
}

// Equal compares two signatures by structure.
func (t *FuncType) Equal(u *FuncType) bool {
	return sameTypes(t.Params, u.Params) && sameTypes(t.Results, u.Results)
}

// Import is an imported function; nothing else can be imported.
type Import struct {
	Module, Name string
	Type         uint32 // index into Module.Types
}

// LocalRun is a run of locals of one type, as declared.
type LocalRun struct {
	Count uint32
	Type  ValType
}

// Func is a function that the module defines.
type Func struct {
	Type   uint32 // index into Module.Types
	Locals []LocalRun
	Body   []byte // the expression with its final end; aliases the parsed file
	Facts  FuncFacts
}

// FuncFacts is what the validator learns about one function on its way.
type FuncFacts struct {
	Locals      uint32 // number of locals, parameters included
	LocalSlots  uint32 // the same in stack slots (v128 counts 2)
	MaxHeight   uint32 // greatest operand stack height in slots
	MaxNesting  uint32 // greatest nesting of blocks, the body itself being 1
	Instrs      uint32 // instructions, ends and elses included
	Blocks      uint32 // block, loop and if
	Loops       uint32 // loop
	Ifs         uint32 // if
	Edges       uint32 // br, br_if, return, and every entry of br_table
	BrTable     uint32 // entries of br_table, defaults included
	Jumps       uint32 // br, br_if, br_table, return, unreachable
	Calls       uint32 // call
	Indirect    uint32 // call_indirect
	LocalGets   uint32 // local.get
	LocalSets   uint32 // local.set and local.tee
	Copies      uint32 // those inside of loops that may store another local's value as it is
	LoopDepth   uint32 // greatest nesting of loops
	MemOps      uint32 // loads and stores, SIMD ones included
	Bulk        uint32 // memory.{init,copy,fill}, table.{init,copy,fill,grow}, memory.grow
	SIMD        uint32 // instructions with prefix 0xFD
	TableWrites uint32 // table.set, table.init, table.copy, table.grow, table.fill
	Drops       uint32 // data.drop, elem.drop
	MemoryGrow  uint32 // memory.grow
	Nanos       uint64 // sum of the instructions' prices, the operands of calls included
	Bytes       uint64 // the same of their memory

	Joins JoinFacts
}

// JoinFacts are sums over the control flow of a function, for the estimate. Control flow
// joins at loop heads, ends of if, and ends of blocks that something branches to; the
// edges into a join are its branches and the ways in without one. A straight run is a
// sequence of basic blocks without a join.
type JoinFacts struct {
	Edges      uint64 // edges into joins, the end of the body not counted
	Operands   uint64 // edges times operands that each carries, the end of the body counted
	OperandsSq uint64 // edges times the square of the operands that each carries
	EdgeRuns   uint64 // over those edges, the length of the straight run before the edge
	GetRuns    uint64 // over local.get, the length of the straight run before it
	Bounds     uint64 // over blocks and edges, the memory accesses that come before in any case
	Depths     uint64 // over blocks and edges, the basic blocks that come before in any case
	Heads      uint64 // over blocks, the loop heads that come before in any case
}

// RefNull stands for ref.null in Elem.Init.
const RefNull uint32 = math.MaxUint32

// ConstExpr is a constant expression: exactly one instruction in core 2.0.
// Op is one of OpI32Const, OpI64Const, OpF32Const, OpF64Const, OpV128Const,
// OpRefNull and OpRefFunc.
type ConstExpr struct {
	Op     Op
	Bits   uint64  // the constant: i32 sign-extended, float bits, low half of v128
	BitsHi uint64  // high half of v128
	Index  uint32  // function of ref.func
	Type   ValType // type of ref.null
}

// Size is the limits of a table or memory, in elements or pages of 64 KiB.
type Size struct {
	Min, Max uint32 // Max counts only with HasMax
	HasMax   bool
}

// Table is a table that the module defines.
type Table struct {
	Type ValType // FuncRef or ExternRef
	Size
}

// Memory is the memory that the module defines.
type Memory struct{ Size }

// Global is a global that the module defines.
type Global struct {
	Type    ValType
	Mutable bool
	Init    ConstExpr
}

// ExternKind is what an export names.
type ExternKind byte

// The kinds of exports.
const (
	ExternFunc   ExternKind = 0
	ExternTable  ExternKind = 1
	ExternMemory ExternKind = 2
	ExternGlobal ExternKind = 3
)

// Export is an export. Names are unique, strict UTF-8.
type Export struct {
	Name  string
	Kind  ExternKind
	Index uint32
}

// SegMode is how a segment is used.
type SegMode byte

// The modes of segments; data segments are never declarative.
const (
	SegActive SegMode = iota
	SegPassive
	SegDeclarative
)

// Elem is an element segment.
type Elem struct {
	Mode   SegMode
	Table  uint32    // active only
	Offset ConstExpr // active only
	Type   ValType   // FuncRef or ExternRef
	Init   []uint32  // function indices, or RefNull
}

// Data is a data segment.
type Data struct {
	Mode   SegMode   // SegActive or SegPassive
	Offset ConstExpr // active only
	Init   []byte    // aliases the parsed file
}

// Custom is a custom section. Payload aliases the parsed file.
type Custom struct {
	Name    string
	Payload []byte
}

// Module is the model of one module. Function indices count imports first.
// A parsed Module aliases the file it came from, which must not change afterwards;
// it is read-only by convention and then safe for concurrent use.
type Module struct {
	Types    []FuncType
	Imports  []Import
	Funcs    []Func
	Tables   []Table
	Memory   *Memory // nil: none
	Globals  []Global
	Exports  []Export
	HasStart bool
	Start    uint32
	Elems    []Elem
	Datas    []Data
	// DataCount says that the section is there (its value is always len(Datas)).
	DataCount bool
	Customs   []Custom

	Facts ModuleFacts // set by Parse
}

// ModuleFacts says what the host needs to know before it reuses an instance: anything
// set here beyond memory and number globals is state that a reset must restore too.
type ModuleFacts struct {
	FileSize       int    // bytes of the file
	CodeSize       int    // bytes of all bodies
	MutableGlobals int    // all of them
	OtherGlobals   int    // mutable globals of type v128, funcref or externref
	TableWrites    bool   // some function may change a table
	SegmentDrops   bool   // some function may drop a segment
	PassiveData    int    // passive data segments
	PassiveElems   int    // passive element segments
	MemoryGrow     bool   // some function may grow the memory
	SIMD           bool   // some function uses v128
	BrTable        uint64 // entries of all br_tables
	ElemCount      int    // elements of all segments
}

// NumFuncs is the size of the function index space.
func (m *Module) NumFuncs() int { return len(m.Imports) + len(m.Funcs) }

// FuncTypeIndex is the type index of a function, imports first; false when there is
// no such function.
func (m *Module) FuncTypeIndex(fn uint32) (uint32, bool) {
	if uint64(fn) < uint64(len(m.Imports)) {
		return m.Imports[fn].Type, true
	}
	if i := uint64(fn) - uint64(len(m.Imports)); i < uint64(len(m.Funcs)) {
		return m.Funcs[i].Type, true
	}
	return 0, false
}

// FuncType is the signature of a function, imports first; nil when there is none.
func (m *Module) FuncType(fn uint32) *FuncType {
	i, ok := m.FuncTypeIndex(fn)
	if !ok || uint64(i) >= uint64(len(m.Types)) {
		return nil
	}
	return &m.Types[i]
}

// FindExport returns the export of that name.
func (m *Module) FindExport(name string) (Export, bool) {
	for _, e := range m.Exports {
		if e.Name == name {
			return e, true
		}
	}
	return Export{}, false
}

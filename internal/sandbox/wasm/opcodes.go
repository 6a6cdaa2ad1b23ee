package wasm

import "fmt"

// Op is an instruction: the opcode byte, or prefix<<8 | number for 0xFC and 0xFD.
type Op uint32

// ImmKind is the form of an instruction's immediates, and so which fields of [Instr] count.
type ImmKind uint8

// The immediate kinds. In brackets: the fields of Instr.
const (
	ImmNone         ImmKind = iota
	ImmBlock                // block type [Block]
	ImmLabel                // label [Index]
	ImmLabels               // br_table [Labels, the default last]
	ImmFunc                 // function [Index]
	ImmCallIndirect         // type, table [Index, Index2]
	ImmLocal                // local [Index]
	ImmGlobal               // global [Index]
	ImmTable                // table [Index]
	ImmMemArg               // [Align, Offset]
	ImmMemory               // a memory index, always zero
	ImmI32                  // [Bits, sign-extended]
	ImmI64                  // [Bits]
	ImmF32                  // [Bits, low 32]
	ImmF64                  // [Bits]
	ImmV128                 // [Bits, BitsHi]
	ImmShuffle              // sixteen lanes [Bits, BitsHi as bytes, little endian]
	ImmLane                 // [Lane]
	ImmMemArgLane           // [Align, Offset, Lane]
	ImmTypes                // typed select [Types]
	ImmRefType              // [Type]
	ImmData                 // data segment [Index]
	ImmElem                 // element segment [Index]
	ImmMemoryInit           // data segment, memory zero [Index]
	ImmMemoryCopy           // two memory indices, always zero
	ImmTableInit            // element segment, table [Index, Index2]
	ImmTableCopy            // destination, source table [Index, Index2]
)

// Sig is the stack signature of an instruction whose types are always the same.
type Sig struct {
	Fixed bool // false: the types depend on immediates or operands
	NIn   uint8
	In    [3]ValType // the first NIn, deepest first
	Out   ValType    // zero: no result
}

// OpInfo is one row of the opcode table.
type OpInfo struct {
	Name string // as in the text format
	Imm  ImmKind
	// Arg is the greatest alignment exponent for ImmMemArg and ImmMemArgLane (the
	// number of lanes is then 16>>Arg), the number of lanes for ImmLane.
	Arg uint8
	Sig Sig
}

// info is the row of o, nil when core 2.0 has no such instruction.
func (o Op) info() *OpInfo {
	var in *OpInfo
	switch {
	case o < 0x100:
		in = &coreOps[o]
	case o>>8 == 0xfc && o&0xff < Op(len(miscOps)):
		in = &miscOps[o&0xff]
	case o>>8 == 0xfd:
		in = &simdOps[o&0xff]
	default:
		return nil
	}
	if in.Name == "" {
		return nil
	}
	return in
}

// Info is the row of the opcode table; false when core 2.0 has no such instruction.
func (o Op) Info() (OpInfo, bool) {
	if in := o.info(); in != nil {
		return *in, true
	}
	return OpInfo{}, false
}

// String is the name in the text format.
func (o Op) String() string {
	if in := o.info(); in != nil {
		return in.Name
	}
	return fmt.Sprintf("opcode %#x", uint32(o))
}

// sig builds a signature from letters: i i32, j i64, f f32, d f64, v v128.
func sig(s string) Sig {
	out := Sig{Fixed: true}
	past := false
	for _, c := range s {
		var t ValType
		switch c {
		case 'i':
			t = I32
		case 'j':
			t = I64
		case 'f':
			t = F32
		case 'd':
			t = F64
		case 'v':
			t = V128
		case ':':
			past = true
			continue
		}
		if past {
			out.Out = t
		} else {
			out.In[out.NIn] = t
			out.NIn++
		}
	}
	return out
}

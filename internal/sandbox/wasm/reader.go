package wasm

import (
	"encoding/binary"
	"io"
)

// BlockType is the type of a block, loop or if: a type index (≥ 0), one result, or none.
// The numbers are the 33-bit integers of the binary format.
type BlockType int64

// BlockEmpty is the block type without parameters and results.
const BlockEmpty BlockType = -64

// BlockOf is the block type with one result.
func BlockOf(t ValType) BlockType { return BlockType(int64(t) - 128) }

// TypeIndex is the index of the block's signature; false when the type is short.
func (b BlockType) TypeIndex() (uint32, bool) { return uint32(b), b >= 0 }

// Result is the one result of a short block type; false when it has none or an index.
func (b BlockType) Result() (ValType, bool) {
	if b >= 0 || b == BlockEmpty {
		return 0, false
	}
	return ValType(b + 128), true
}

// Instr is one instruction with its immediates. Which fields count depends on the
// ImmKind of the Op; the others keep stale values.
type Instr struct {
	Op         Op
	Start, End int // byte range in the body
	Index      uint32
	Index2     uint32
	Block      BlockType
	Align      uint32 // exponent
	Offset     uint32
	Lane       uint8
	Type       ValType
	Bits       uint64
	BitsHi     uint64
	Labels     []uint32  // reused by the next Next with the same Instr
	Types      []ValType // reused likewise
}

// Reader decodes an instruction sequence strictly. It knows the form of instructions,
// not their types; on a body from Parse it cannot fail. Not for concurrent use.
type Reader struct {
	b   []byte
	pos int
}

// NewReader reads the instructions of a body or expression.
func NewReader(body []byte) Reader { return Reader{b: body} }

// Pos is the offset of the next instruction.
func (r *Reader) Pos() int { return r.pos }

// Next decodes the next instruction into in, without allocation apart from the growth
// of in.Labels and in.Types. It returns io.EOF after the last byte, else an *Error
// (ErrMalformed or ErrUnsupported) whose offset is that of the body.
func (r *Reader) Next(in *Instr) error {
	if r.pos >= len(r.b) {
		return io.EOF
	}
	in.Start = r.pos
	op := Op(r.b[r.pos])
	r.pos++
	if op >= 0xfb {
		sub, err := r.u32()
		if err != nil {
			return err
		}
		// The language allows padding here, too, but wazero takes the first byte of a SIMD
		// number for the whole: padded, one instruction could pass for another.
		if n := r.pos - in.Start - 1; op == 0xfd && n > 1 && sub < 1<<(7*(n-1)) {
			return newError(ErrUnsupported, in.Start, "padded opcode number")
		}
		if sub > 0xff || op != 0xfc && op != 0xfd {
			return unknownOp(op, sub, in.Start)
		}
		op = op<<8 | Op(sub)
	}
	inf := op.info()
	if inf == nil {
		if op >= 0x100 {
			return unknownOp(op>>8, uint32(op&0xff), in.Start)
		}
		return unknownOp(op, 0, in.Start)
	}
	in.Op = op
	if inf.Imm != ImmNone {
		if err := r.immediates(in, inf); err != nil {
			return err
		}
	}
	in.End = r.pos
	return nil
}

func (r *Reader) immediates(in *Instr, inf *OpInfo) (err error) {
	switch inf.Imm {
	case ImmBlock:
		in.Block, err = r.blockType()
	case ImmLabel, ImmFunc, ImmLocal, ImmGlobal, ImmTable, ImmData, ImmElem:
		in.Index, err = r.u32()
	case ImmLabels:
		err = r.labels(in)
	case ImmCallIndirect, ImmTableInit, ImmTableCopy:
		if in.Index, err = r.u32(); err == nil {
			in.Index2, err = r.u32()
		}
	case ImmMemArg:
		err = r.memArg(in)
	case ImmMemArgLane:
		if err = r.memArg(in); err == nil {
			in.Lane, err = r.byte()
		}
	case ImmMemory:
		err = r.zero()
	case ImmMemoryInit:
		if in.Index, err = r.u32(); err == nil {
			err = r.zero()
		}
	case ImmMemoryCopy:
		if err = r.zero(); err == nil {
			err = r.zero()
		}
	case ImmI32:
		err = r.signed(in, 32)
	case ImmI64:
		err = r.signed(in, 64)
	case ImmF32:
		var b []byte
		if b, err = r.take(4); err == nil {
			in.Bits = uint64(binary.LittleEndian.Uint32(b))
		}
	case ImmF64:
		var b []byte
		if b, err = r.take(8); err == nil {
			in.Bits = binary.LittleEndian.Uint64(b)
		}
	case ImmV128, ImmShuffle:
		var b []byte
		if b, err = r.take(16); err == nil {
			in.Bits, in.BitsHi = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		}
	case ImmLane:
		in.Lane, err = r.byte()
	case ImmTypes:
		err = r.types(in)
	case ImmRefType:
		var c byte
		if c, err = r.byte(); err == nil {
			if in.Type = ValType(c); !in.Type.IsRef() {
				err = unknownType(c, r.pos-1)
			}
		}
	}
	return err
}

func (r *Reader) u32() (uint32, error) {
	v, n, st := readU32(r.b[r.pos:])
	if st != lebOK {
		return 0, newError(ErrMalformed, r.pos, "%v", st)
	}
	r.pos += n
	return v, nil
}

func (r *Reader) signed(in *Instr, bits int) error {
	v, n, st := readSigned(r.b[r.pos:], bits)
	if st != lebOK {
		return newError(ErrMalformed, r.pos, "%v", st)
	}
	r.pos += n
	in.Bits = uint64(v)
	return nil
}

func (r *Reader) byte() (byte, error) {
	if r.pos >= len(r.b) {
		return 0, newError(ErrMalformed, r.pos, "unexpected end")
	}
	r.pos++
	return r.b[r.pos-1], nil
}

func (r *Reader) take(n int) ([]byte, error) {
	if len(r.b)-r.pos < n {
		return nil, newError(ErrMalformed, r.pos, "unexpected end")
	}
	r.pos += n
	return r.b[r.pos-n : r.pos], nil
}

// zero reads the memory index, which core 2.0 encodes as one zero byte.
func (r *Reader) zero() error {
	c, err := r.byte()
	if err == nil && c != 0 {
		return newError(ErrMalformed, r.pos-1, "zero byte expected in place of a memory index")
	}
	return err
}

func (r *Reader) blockType() (BlockType, error) {
	v, n, st := readSigned(r.b[r.pos:], 33)
	if st != lebOK {
		return 0, newError(ErrMalformed, r.pos, "block type: %v", st)
	}
	if v < 0 && n == 1 && v != int64(BlockEmpty) && !ValType(v+128).Valid() {
		return 0, unknownType(byte(v)&0x7f, r.pos)
	}
	if v < 0 && n != 1 { // the short forms are single bytes, not integers: no padding
		return 0, newError(ErrMalformed, r.pos, "block type is unknown")
	}
	r.pos += n
	return BlockType(v), nil
}

func (r *Reader) labels(in *Instr) error {
	n, err := r.u32()
	if err != nil {
		return err
	}
	// Every label takes a byte: the bytes at hand bound the appended ones.
	if uint64(n)+1 > uint64(len(r.b)-r.pos) {
		return newError(ErrMalformed, r.pos, "br_table with %d entries: unexpected end", n)
	}
	in.Labels = in.Labels[:0]
	for range n + 1 {
		l, err := r.u32()
		if err != nil {
			return err
		}
		in.Labels = append(in.Labels, l)
	}
	return nil
}

func (r *Reader) memArg(in *Instr) (err error) {
	at := r.pos
	if in.Align, err = r.u32(); err != nil {
		return err
	}
	if in.Align >= 32 {
		return newError(ErrMalformed, at, "malformed memory flags %d", in.Align)
	}
	in.Offset, err = r.u32()
	return err
}

func (r *Reader) types(in *Instr) error {
	n, err := r.u32()
	if err != nil {
		return err
	}
	b, err := r.take(int(min(n, 1<<30)))
	if err != nil {
		return err
	}
	in.Types = in.Types[:0]
	for i, c := range b {
		if !ValType(c).Valid() {
			return unknownType(c, r.pos-len(b)+i)
		}
		in.Types = append(in.Types, ValType(c))
	}
	return nil
}

// unknownType names the proposal that a type's byte belongs to, where it is a known one.
func unknownType(c byte, off int) *Error {
	if c >= 0x63 && c <= 0x76 {
		return newError(ErrUnsupported, off, "typed references (type %#02x)", c)
	}
	return newError(ErrMalformed, off, "type %#02x is unknown", c)
}

// unknownOp names the proposal that an opcode belongs to, where it is a known one.
func unknownOp(op Op, sub uint32, off int) error {
	feature := ""
	switch op {
	case 0x06, 0x07, 0x08, 0x09, 0x0a, 0x18, 0x19, 0x1f:
		feature = "exception handling"
	case 0x12, 0x13:
		feature = "tail calls"
	case 0x14, 0x15, 0xd4, 0xd5, 0xd6:
		feature = "typed function references"
	case 0xd3, 0xfb:
		feature = "garbage collection"
	case 0xfd:
		if sub >= 0x100 && sub < 0x130 {
			feature = "relaxed SIMD"
		}
	case 0xfe:
		feature = "threads and atomics"
	}
	if feature != "" {
		return newError(ErrUnsupported, off, "%s (opcode %#02x)", feature, uint32(op))
	}
	if op == 0xfc || op == 0xfd {
		return newError(ErrMalformed, off, "opcode %#02x %d is unknown", uint32(op), sub)
	}
	return newError(ErrMalformed, off, "opcode %#02x is unknown", uint32(op))
}

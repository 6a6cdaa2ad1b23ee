package wasm

import "encoding/binary"

// AppendInstr appends in canonically: every integer in its shortest form. It reads only
// the fields that the Op's immediates use. An Op without a row in the table appends
// nothing; callers that build instructions use the Op constants.
func AppendInstr(dst []byte, in *Instr) []byte {
	inf := in.Op.info()
	if inf == nil {
		return dst
	}
	if in.Op < 0x100 {
		dst = append(dst, byte(in.Op))
	} else {
		dst = AppendU32(append(dst, byte(in.Op>>8)), uint32(in.Op&0xff))
	}
	switch inf.Imm {
	case ImmBlock:
		dst = AppendS64(dst, int64(in.Block))
	case ImmLabel, ImmFunc, ImmLocal, ImmGlobal, ImmTable, ImmData, ImmElem:
		dst = AppendU32(dst, in.Index)
	case ImmLabels:
		dst = AppendU32(dst, uint32(len(in.Labels)-1))
		for _, l := range in.Labels {
			dst = AppendU32(dst, l)
		}
	case ImmCallIndirect, ImmTableInit, ImmTableCopy:
		dst = AppendU32(AppendU32(dst, in.Index), in.Index2)
	case ImmMemArg:
		dst = AppendU32(AppendU32(dst, in.Align), in.Offset)
	case ImmMemArgLane:
		dst = append(AppendU32(AppendU32(dst, in.Align), in.Offset), in.Lane)
	case ImmMemory:
		dst = append(dst, 0)
	case ImmMemoryInit:
		dst = append(AppendU32(dst, in.Index), 0)
	case ImmMemoryCopy:
		dst = append(dst, 0, 0)
	case ImmI32:
		dst = AppendS64(dst, int64(int32(in.Bits)))
	case ImmI64:
		dst = AppendS64(dst, int64(in.Bits))
	case ImmF32:
		dst = binary.LittleEndian.AppendUint32(dst, uint32(in.Bits))
	case ImmF64:
		dst = binary.LittleEndian.AppendUint64(dst, in.Bits)
	case ImmV128, ImmShuffle:
		dst = binary.LittleEndian.AppendUint64(dst, in.Bits)
		dst = binary.LittleEndian.AppendUint64(dst, in.BitsHi)
	case ImmLane:
		dst = append(dst, in.Lane)
	case ImmTypes:
		dst = AppendU32(dst, uint32(len(in.Types)))
		for _, t := range in.Types {
			dst = append(dst, byte(t))
		}
	case ImmRefType:
		dst = append(dst, byte(in.Type))
	}
	return dst
}

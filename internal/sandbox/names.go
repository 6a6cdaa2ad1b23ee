package sandbox

import (
	"fmt"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// funcNames is the function-names part of a module's name section. It is hostile
// like all else: it is read only when a guest has crashed, and a name is looked
// for by walking, so that nothing is allocated for what the section claims.
type funcNames []byte

func newFuncNames(m *wasm.Module) funcNames {
	for _, c := range m.Customs {
		if c.Name == "name" {
			return append(funcNames(nil), subsection(c.Payload, 1)...)
		}
	}
	return nil
}

// subsection returns the contents of the first subsection with the id.
func subsection(b []byte, id byte) []byte {
	for len(b) > 0 {
		got := b[0]
		n, rest, ok := cutU32(b[1:])
		if !ok || uint64(n) > uint64(len(rest)) {
			return nil
		}
		if got == id {
			return rest[:n]
		}
		b = rest[n:]
	}
	return nil
}

// of returns a name for a guest's function: its own, escaped, in quotes, or "func N".
func (b funcNames) of(fn uint32) string {
	count, rest, ok := cutU32(b)
	for ; ok && count > 0; count-- {
		var index, n uint32
		if index, rest, ok = cutU32(rest); !ok {
			break
		}
		if n, rest, ok = cutU32(rest); !ok || uint64(n) > uint64(len(rest)) {
			break
		}
		if index == fn {
			return `"` + escape(string(rest[:min(n, 4*maxFunction)]), maxFunction-2) + `"`
		}
		rest = rest[n:]
	}
	return fmt.Sprintf("func %d", fn)
}

// cutU32 takes an unsigned LEB128 of at most 5 bytes off b.
func cutU32(b []byte) (v uint32, rest []byte, ok bool) {
	for i := 0; i < 5 && i < len(b); i++ {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}

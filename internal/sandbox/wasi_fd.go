package sandbox

import (
	"bytes"
	"encoding/binary"

	"github.com/belay-hooks/belay/hostcalls"
)

// maxVectors is how many pieces one fd_write may have.
const maxVectors = 64

// wasiFdWrite sends what a guest prints to its log.
func wasiFdWrite(inv *invocation, stack []uint64) uint32 {
	fd, vec, n, nout := low32(stack[0]), low32(stack[1]), low32(stack[2]), low32(stack[3])
	if fd != 1 && fd != 2 {
		return wasiBADF
	}
	if n > maxVectors {
		return wasiINVAL
	}
	inv.check(span{vec, n * 8}, "fd_write")
	inv.check(span{nout, 4}, "fd_write")
	vectors := inv.copyIn(span{vec, n * 8})
	total := uint64(0)
	for ; len(vectors) > 0; vectors = vectors[8:] {
		s := span{le32(vectors), le32(vectors[4:])}
		inv.check(s, "fd_write")
		inv.charge(int64(s.n))
		total += uint64(s.n)
		// The log holds no longer entry, so nothing more is copied.
		s.n = min(s.n, 2*hostcalls.MaxLogText)
		inv.stdio[fd-1].write(inv.copyIn(s), inv, int(fd))
	}
	if total > 1<<31-1 {
		return wasiINVAL
	}
	inv.copyOut(nout, binary.LittleEndian.AppendUint32(nil, uint32(total)))
	return wasiOK
}

// lineBuffer makes log entries of what a guest prints in pieces: one per line.
type lineBuffer struct{ b []byte }

func (l *lineBuffer) write(p []byte, inv *invocation, fd int) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			l.b = append(l.b, p...)
			if len(l.b) > hostcalls.MaxLogText {
				l.flush(inv, fd)
			}
			return
		}
		l.b = append(l.b, p[:i]...)
		l.flush(inv, fd)
		p = p[i+1:]
	}
}

// flush logs what there is: standard output as information, errors as warnings.
func (l *lineBuffer) flush(inv *invocation, fd int) {
	if len(l.b) == 0 {
		return
	}
	line := hostcalls.LogEntry{Level: fd, Text: string(l.b)}
	l.b = l.b[:0]
	inv.session.Log(line.Level, line.Text)
	if inv.init {
		inv.initial.add(initStep{line: line})
	}
}

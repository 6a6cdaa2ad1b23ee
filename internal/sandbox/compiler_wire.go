package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
)

// compiledEntry is what the engine keeps of a module that it has compiled: one file of
// its cache.
type compiledEntry struct {
	identity string // of what compiled it
	name     string // of the file
	content  []byte
}

// identity is what two processes have to agree in for one to run what the other has
// compiled.
func identity(version string) string {
	return fmt.Sprintf("engine %s %s %s %s memory %d", version, runtime.GOOS, runtime.GOARCH, runtime.Version(), maxMemory)
}

// request is what a compiler process reads: its limits, and the metered module.
func request(code []byte, l compilerLimits) []byte {
	b := append(make([]byte, 0, len(compilerAsks)+24+len(code)), compilerAsks...)
	b = binary.BigEndian.AppendUint32(b, l.cpu)
	b = binary.BigEndian.AppendUint64(b, l.data)
	b = binary.BigEndian.AppendUint64(b, uint64(l.code))
	b = binary.BigEndian.AppendUint32(b, uint32(len(code)))
	return append(b, code...)
}

// maxMetered is the greatest module that is compiled: the pass makes the greatest file
// some times as large.
const maxMetered = 128 << 20

var errWire = errors.New("not in the form agreed")

// readLimits reads the first part of a request.
func readLimits(r io.Reader) (l compilerLimits, size int, err error) {
	var b [len(compilerAsks) + 24]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return l, 0, err
	}
	n := len(compilerAsks)
	if string(b[:n]) != compilerAsks {
		return l, 0, errWire
	}
	l.cpu, l.data = binary.BigEndian.Uint32(b[n:]), binary.BigEndian.Uint64(b[n+4:])
	code, module := binary.BigEndian.Uint64(b[n+12:]), binary.BigEndian.Uint32(b[n+20:])
	if l.cpu == 0 || l.data == 0 || code == 0 || code > math.MaxInt32 || module > maxMetered {
		return l, 0, errWire
	}
	l.code = int(code)
	return l, int(module), nil
}

func appendString[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

// answer is what a compiler process writes.
func answer(e *compiledEntry) []byte {
	b := append(make([]byte, 0, len(e.content)+1024), compilerAnswers...)
	return appendString(appendString(appendString(b, e.identity), e.name), e.content)
}

// readAnswer reads it, with no more than most bytes of code, and nothing behind it.
func readAnswer(b []byte, most int) (*compiledEntry, error) {
	if len(b) < len(compilerAnswers) || string(b[:len(compilerAnswers)]) != compilerAnswers {
		return nil, errWire
	}
	b = b[len(compilerAnswers):]
	var parts [3][]byte
	for i, limit := range [3]int{256, 64, most} {
		if len(b) < 8 {
			return nil, io.ErrUnexpectedEOF
		}
		n := binary.BigEndian.Uint64(b)
		if b = b[8:]; n > uint64(limit) {
			return nil, fmt.Errorf("%w: part %d has %d bytes, at most %d are taken", errWire, i+1, n, limit)
		}
		if uint64(len(b)) < n {
			return nil, io.ErrUnexpectedEOF
		}
		parts[i], b = b[:n], b[n:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes behind the code", errWire, len(b))
	}
	e := &compiledEntry{identity: string(parts[0]), name: string(parts[1]), content: parts[2]}
	if !isEntryName(e.name) {
		return nil, fmt.Errorf("%w: the name of the file", errWire)
	}
	return e, nil
}

// isEntryName says whether the engine names its files like this: a digest in hexadecimal.
func isEntryName(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 64
}

// checkEntry holds a file of the engine's cache against the form that this version of the
// engine writes for a module with funcs functions, to the last byte. The engine itself
// allocates what the file says, compiles anew where the version differs, and reads no
// further than it has to. What the code does cannot be seen from its form.
func checkEntry(b []byte, version string, funcs int) error {
	r := entryReader{b: b}
	if r.text(6) != "WAZEVO" {
		return fmt.Errorf("%w: no code of this engine", errWire)
	}
	if v := r.text(int(r.uint(1))); v != version {
		return fmt.Errorf("%w: the engine's version is %q, not %q", errWire, escape(v, 64), version)
	}
	if n := r.uint(4); n != uint64(funcs) {
		return fmt.Errorf("%w: %d functions, the module has %d", errWire, n, funcs)
	}
	offsets := entryReader{b: []byte(r.text(8 * funcs))}
	size := r.uint(8)
	if size > uint64(len(r.b)) {
		return io.ErrUnexpectedEOF
	}
	code := r.text(int(size))
	before := uint64(0)
	for i := range funcs {
		at := offsets.uint(8)
		if at >= size || i > 0 && at <= before {
			return fmt.Errorf("%w: function %d is at %d of %d", errWire, i, at, size)
		}
		before = at
	}
	if sum := r.uint(4); uint32(sum) != crc32.Checksum([]byte(code), crc32.MakeTable(crc32.Castagnoli)) {
		return fmt.Errorf("%w: wrong sum", errWire)
	}
	if r.uint(1) != 0 {
		return fmt.Errorf("%w: a map of sources", errWire)
	}
	if r.uint(4) != 0 {
		return fmt.Errorf("%w: handlers of exceptions", errWire)
	}
	if r.short || len(r.b) > 0 {
		return fmt.Errorf("%w: %d bytes too many", errWire, len(r.b))
	}
	return nil
}

// entryReader reads little-endian numbers and stretches of bytes; short is set when there
// were not enough, and everything read from then on is zero.
type entryReader struct {
	b     []byte
	short bool
}

func (r *entryReader) text(n int) string {
	if n > len(r.b) {
		r.short, r.b = true, nil
		return ""
	}
	s := r.b[:n]
	r.b = r.b[n:]
	return string(s)
}

func (r *entryReader) uint(n int) uint64 {
	var b [8]byte
	copy(b[:n], r.text(n))
	return binary.LittleEndian.Uint64(b[:])
}

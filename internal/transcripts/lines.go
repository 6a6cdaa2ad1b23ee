package transcripts

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what is read of one log.
const (
	MaxBytes = 256 << 20 // of the log
	MaxLine  = 16 << 20  // of one of its lines
	MaxCalls = 50_000
)

// Lines reads a log of one JSON object a line. each gets a line without its newline, which it must not
// keep, and returns why the line is unknown, or "". A line without a newline at the end is one that the
// runtime is still writing: it is left for the next time.
//
// before is the mark of an earlier reading, or its zero value. rewritten reports that the log is
// shorter than it was then, or has changed. The error is one of reading; what was read until
// then is in the log.
func Lines(r io.Reader, before Mark, log *Log, each func(line []byte) (unknown string)) (rewritten bool, err error) {
	in := &lineReader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
	rewritten = before.Offset > 0
	for {
		line, state, err := in.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return rewritten, err
		}
		if state == lineNone {
			log.Mark = Mark{in.offset, sumOf(in.sum)}
			return rewritten, nil
		}
		if in.offset == before.Offset && sumOf(in.sum) == before.Digest {
			rewritten = false
		}
		switch {
		case state == lineLong:
			log.note(TooLong)
		case len(bytes.TrimSpace(line)) == 0:
		default:
			if what := each(line); what != "" {
				log.note(what)
			}
		}
		if in.offset > MaxBytes || len(log.Calls) > MaxCalls {
			log.note(TooLarge)
			log.Mark = Mark{in.offset, sumOf(in.sum)}
			return rewritten, nil
		}
	}
}

type lineState int

const (
	lineNone lineState = iota // no complete line is left
	lineWhole
	lineLong // longer than MaxLine
)

// lineReader reads complete lines and sums them up.
type lineReader struct {
	r      *bufio.Reader
	sum    hash.Hash // of all complete lines so far
	offset int64     // behind the last one
	buf    []byte
}

func (l *lineReader) next() ([]byte, lineState, error) {
	l.buf = l.buf[:0]
	size, state := int64(0), lineWhole
	pending := sha256Clone(l.sum)
	for {
		part, err := l.r.ReadSlice('\n')
		pending.Write(part)
		size += int64(len(part))
		if len(l.buf)+len(part) > MaxLine {
			state, l.buf = lineLong, l.buf[:0]
		} else if state == lineWhole {
			l.buf = append(l.buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil { // no newline at the end
			return nil, lineNone, err
		}
		l.sum, l.offset = pending, l.offset+size
		return bytes.TrimSuffix(l.buf, []byte("\n")), state, nil
	}
}

// sha256Clone copies a sum, so that a line which is not complete is not in it.
func sha256Clone(h hash.Hash) hash.Hash {
	out := sha256.New()
	m, ok1 := h.(encoding.BinaryMarshaler)
	u, ok2 := out.(encoding.BinaryUnmarshaler)
	if !ok1 || !ok2 {
		return h
	}
	state, err := m.MarshalBinary()
	if err != nil || u.UnmarshalBinary(state) != nil {
		return h
	}
	return out
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// Decode reads JSON of a log into v. Members that v does not have are left out; text that is not UTF-8
// is no error, since runtimes cut outputs in the middle of a character.
func Decode(b []byte, v any) error {
	return json.Unmarshal(b, v, jsontext.AllowInvalidUTF8(true))
}

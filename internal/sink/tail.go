package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
)

// maxLine bounds how far back the beginning of a line is looked for.
const maxLine = 64 << 20

// look finds where the file ends. It cuts off lines that a crash cut short or
// left without JSON: they never counted as written. It leaves a complete line
// that is not the store's alone: ErrForeign.
func (f *File) look(ctx context.Context, size int64) error {
	total, err := f.log.LogSize(ctx)
	if err != nil {
		return err
	}
	c := compare{log: f.log, total: total}
	var from int64
	var tail []byte
	if f.sure && size >= f.end { // another process has gone on where this one was
		c.last, from, tail = f.seq, f.end, make([]byte, size-f.end)
		if _, err = f.h.ReadAt(tail, from); errors.Is(err, io.EOF) {
			err = nil
		}
	} else {
		from, tail, err = f.start(ctx, size, &c)
	}
	if err != nil {
		return err
	}
	f.end = from
	if err := f.read(ctx, tail, &c); err != nil {
		return err
	}
	if c.last == unknown {
		return fmt.Errorf("%w: its end holds no whole event", ErrForeign)
	}
	f.seq = c.last
	if f.end < size {
		if err := f.h.Truncate(f.end); err != nil {
			return err
		}
	}
	if f.doubt {
		if _, err := f.h.WriteAt(tail[:f.end-from], from); err != nil {
			return err
		}
	}
	// Another process may have written these lines and not have come to sync them.
	if f.o.Sync && size > 0 {
		return f.sync()
	}
	return nil
}

// start reads the end of a file that this process has not seen, and says what its
// first line has to follow.
func (f *File) start(ctx context.Context, size int64, c *compare) (from int64, tail []byte, err error) {
	f.end, f.seq = 0, 0
	if err := f.before(ctx, c); err != nil {
		return 0, nil, err
	}
	c.last = f.seq
	if size == 0 {
		return 0, nil, nil
	}
	if from, tail, err = readTail(f.h, size); err != nil {
		return 0, nil, err
	}
	if from > 0 {
		c.last = unknown
	}
	return from, tail, f.ours(ctx, from, tail)
}

// read goes on over the whole lines of text, which begins at f.end.
func (f *File) read(ctx context.Context, text []byte, c *compare) error {
	for line := range bytes.Lines(text) {
		seq, whole := lineSeq(line)
		if !whole {
			return nil
		}
		if err := c.fits(ctx, line, seq); err != nil {
			return err
		}
		f.end += int64(len(line))
	}
	return nil
}

// before sets seq to the last event of the newest rotated file.
func (f *File) before(ctx context.Context, c *compare) error {
	old, err := f.rotated()
	if err != nil || len(old) == 0 {
		return err
	}
	h, err := f.disk.open(old[len(old)-1])
	if err != nil {
		return err
	}
	defer h.Close()
	size, err := h.size()
	if err != nil {
		return err
	}
	_, tail, err := readTail(h, size)
	if err != nil {
		return err
	}
	line := tail[bytes.LastIndexByte(bytes.TrimSuffix(tail, []byte("\n")), '\n')+1:]
	seq, whole := lineSeq(line)
	if !whole {
		return fmt.Errorf("%w: %s does not end with an event", ErrForeign, old[len(old)-1])
	}
	c.last = unknown
	if err := c.fits(ctx, line, seq); err != nil {
		return err
	}
	f.seq = seq
	return nil
}

// rotated returns the files that were rotated, oldest first.
func (f *File) rotated() ([]string, error) {
	names, err := f.disk.after(f.o.Path + ".")
	if err != nil {
		return nil, err
	}
	var out []string
	for _, n := range names {
		if isRotated(f.o.Path, n) {
			out = append(out, n)
		}
	}
	return out, nil
}

func isRotated(path, name string) bool {
	n, ok := strings.CutPrefix(name, path+".")
	return ok && len(n) == 16 && strings.Trim(n, "0123456789") == ""
}

// readTail returns the end of the file, at least its last maxWrite bytes, beginning
// with a line that is whole: a crash damages the last write at most, since each one
// is synced before the next. That write may have been one event of any size.
func readTail(h handle, size int64) (from int64, tail []byte, err error) {
	for n := int64(maxWrite); ; n *= 2 {
		from = max(0, size-n)
		tail = make([]byte, size-from)
		if _, err := h.ReadAt(tail, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, nil, err
		}
		if from == 0 {
			return 0, tail, nil
		}
		// The line that the last maxWrite bytes begin in has to be there from its beginning.
		for at := bytes.LastIndexByte(tail[:len(tail)-maxWrite+1], '\n'); at >= 0; at = bytes.LastIndexByte(tail[:at], '\n') {
			line := tail[at+1:]
			if _, whole := lineSeq(line[:bytes.IndexByte(line, '\n')+1]); whole {
				return from + int64(at) + 1, line, nil
			}
		}
		if n > maxLine {
			return 0, nil, fmt.Errorf("%w: it is not a file of lines", ErrForeign)
		}
	}
}

// ours makes sure that nothing is cut off a file that is something else.
func (f *File) ours(ctx context.Context, from int64, tail []byte) error {
	if from > 0 {
		head := make([]byte, 2)
		if _, err := f.h.ReadAt(head, 0); err != nil {
			return err
		}
		if string(head) != `{"` {
			return fmt.Errorf("%w: it is not a file of events", ErrForeign)
		}
		return nil
	}
	if at := bytes.IndexByte(tail, '\n'); at >= 0 {
		if seq, whole := lineSeq(tail[:at+1]); whole && seq > 0 {
			return nil
		}
	}
	// The very first write was cut short: some of its bytes, and zeros for the
	// rest.
	leaves, err := f.log.LogLeaves(ctx, f.seq, page)
	if err != nil {
		return err
	}
	text, _, err := f.lines(leaves)
	if err != nil {
		return err
	}
	for i, b := range tail {
		if b != 0 && (i >= len(text) || b != text[i]) {
			return fmt.Errorf("%w: it is not a file of events", ErrForeign)
		}
	}
	return nil
}

// lineSeq returns the number of the event on a line; whole says that the line is
// complete and JSON. The number is 0 when it is no event.
func lineSeq(line []byte) (seq int64, whole bool) {
	if !bytes.HasSuffix(line, []byte("\n")) || !jsontext.Value(line).IsValid() {
		return 0, false
	}
	var e struct {
		Seq int64 `json:"seq"`
	}
	if json.Unmarshal(line, &e) != nil {
		return 0, true
	}
	return max(e.Seq, 0), true
}

// unknown is the number of a line that is not read: any may follow.
const unknown = -1

// compare holds whole lines, one after the other, against the store.
type compare struct {
	log   Source
	total int64 // events of the store
	last  int64 // number on the line before; 0 when there is none
	read  []kernel.LogLeaf
}

// fits compares the next line. Events that the store has dropped by its retention
// cannot be compared.
func (c *compare) fits(ctx context.Context, line []byte, seq int64) error {
	switch {
	case seq == 0:
		return fmt.Errorf("%w: a line of it is no event", ErrForeign)
	case c.last > 0 && seq != c.last+1:
		return fmt.Errorf("%w: after event %d stands event %d", ErrForeign, c.last, seq)
	case seq > c.total:
		return fmt.Errorf("%w: it has event %d, the store ends at %d: the store was cut or replaced", ErrForeign, seq,
			c.total)
	}
	for len(c.read) > 0 && c.read[0].Seq < seq {
		c.read = c.read[1:]
	}
	if len(c.read) == 0 {
		var err error
		if c.read, err = c.log.LogLeaves(ctx, seq-1, page); err != nil {
			return err
		}
	}
	if len(c.read) > 0 && c.read[0].Seq == seq && !bytes.Equal(bytes.TrimSuffix(line, []byte("\n")), c.read[0].Body) {
		return fmt.Errorf("%w: event %d in it is not the one in the store", ErrForeign, seq)
	}
	c.last = seq
	return nil
}

package sink

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/belay-hooks/belay/internal/files"
)

// Copy reads what a sink holds, as it is when the copy is opened, rotated files
// included. It is for one goroutine.
type Copy struct {
	files []*os.File
	sizes []int64
	in    *bufio.Reader // of files[0]
	next  []byte        // a line that was read and not asked for yet
	seq   int64         // of next
}

// OpenCopy opens the files of the sink at path. That none is there is no error: it
// holds nothing yet.
func OpenCopy(path string) (*Copy, error) {
	f := newFile(nil, Options{Path: path}, osDisk{})
	names, err := f.rotated()
	if err != nil {
		return nil, err
	}
	c := &Copy{}
	for _, name := range append(names, path) {
		h, err := files.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var fi os.FileInfo
		if err == nil {
			c.files = append(c.files, h)
			fi, err = h.Stat()
		}
		if err != nil {
			c.Close()
			return nil, err
		}
		c.sizes = append(c.sizes, fi.Size())
	}
	return c, nil
}

// Close lets go of the files.
func (c *Copy) Close() {
	for _, f := range c.files {
		_ = f.Close() // only read
	}
	c.files = nil
}

// Line returns the line of event seq, without its end, if there is one. Numbers
// are asked for in rising order. A line that is no event counts as the
// requested one: it differs from the record. A last line that is cut short is
// none.
func (c *Copy) Line(seq int64) (line []byte, ok bool, err error) {
	for {
		if c.next == nil {
			if ok, err := c.read(); err != nil || !ok {
				return nil, false, err
			}
		}
		switch {
		case c.seq == 0 || c.seq == seq:
			line, c.next = c.next, nil
			return line, true, nil
		case c.seq > seq:
			return nil, false, nil
		}
		c.next = nil // before the requested event
	}
}

func (c *Copy) read() (bool, error) {
	for len(c.files) > 0 {
		if c.in == nil {
			c.in = bufio.NewReaderSize(io.LimitReader(c.files[0], c.sizes[0]), 64<<10)
		}
		line, err := c.in.ReadBytes('\n')
		if err == nil {
			c.seq, _ = lineSeq(line)
			c.next = line[:len(line)-1]
			return true, nil
		}
		if !errors.Is(err, io.EOF) {
			return false, err
		}
		_ = c.files[0].Close() // only read
		c.files, c.sizes, c.in = c.files[1:], c.sizes[1:], nil
	}
	return false, nil
}

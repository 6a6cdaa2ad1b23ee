package notes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// ReserveName is the name, in a state directory, of the space that is kept for notes.
const ReserveName = "spool.reserve"

// ReserveBytes is the size of that file. Its blocks are written when it is made, so that
// notes in it need no space of a disk that is full.
const ReserveBytes = 256 << 10

// headBytes begin the file: how many more were blocked than it holds notes. Lines follow,
// and zeros up to the end.
const headBytes = 32

// holdBytes at the end of the file are for notes that hold a runtime, one of each.
const holdBytes = 8 << 10

// reserveOf returns where the reserve of the spool at path is.
func reserveOf(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".reserve" }

// Reserve makes the reserve of the spool at path, if it is not there yet. Errors are
// statedir.ErrBusy or of the file system; what could be reserved by then is used.
func Reserve(path string) error {
	if fi, err := os.Lstat(reserveOf(path)); err == nil && fi.Size() >= ReserveBytes {
		return nil
	}
	f, err := statedir.OpenLocked(reserveOf(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() < ReserveBytes {
		_, err = f.WriteAt(make([]byte, ReserveBytes-fi.Size()), fi.Size())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// reserve is a locked reserve.
type reserve struct {
	f       *os.File
	bytes   []byte // all of it
	dropped int64
	end     int // of the lines
}

// openReserve locks and reads the reserve of the spool at path; fs.ErrNotExist when there is none.
func openReserve(path string) (*reserve, error) {
	f, err := statedir.OpenLocked(reserveOf(path), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, ReserveBytes))
	if err == nil && len(b) < headBytes {
		err = ErrFull
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	r := &reserve{f: f, bytes: b, end: len(b)}
	if n := bytes.IndexByte(b[headBytes:], 0); n >= 0 {
		r.end = headBytes + n
	}
	head := strings.TrimRight(string(b[:headBytes]), " \n\x00")
	if r.dropped, err = strconv.ParseInt(head, 10, 64); head != "" && (err != nil || r.dropped < 0) {
		r.dropped = 1 // at least: the count cannot be read
	}
	return r, nil
}

func (r *reserve) writeHead() error {
	_, err := fmt.Fprintf(io.NewOffsetWriter(r.f, 0), "%-*d\n", headBytes-1, r.dropped)
	return err
}

// appendReserve notes a line in place. One that does not fit is counted, or replaced by a
// note that holds its runtime. Notes that latch nothing take half of the space at most.
func appendReserve(path string, n *Note, line []byte) error {
	r, err := openReserve(path)
	if err != nil {
		return err
	}
	most := len(r.bytes) / 2
	if n.Unblockable {
		most = len(r.bytes) - holdBytes
	}
	if r.end+len(line) > most {
		line, err = r.hold(n)
	}
	switch {
	case err != nil:
	case line == nil:
		r.dropped++
		err = r.writeHead()
	default:
		_, err = r.f.WriteAt(line, int64(r.end))
	}
	return errors.Join(err, r.f.Close())
}

// hold returns the line that takes the place of n; nil where n is to be counted. The error
// is ErrFull where that line does not fit.
func (r *reserve) hold(n *Note) ([]byte, error) {
	kept, _ := r.notes([]byte(`"whole":true`))
	h, ok := Hold(*n, kept)
	if !ok {
		return nil, nil
	}
	line, err := json.Marshal(&h)
	if err == nil && r.end+len(line)+1 > len(r.bytes) {
		err = ErrFull
	}
	return append(line, '\n'), err
}

// notes returns the notes in lines with the bytes, and how many of these cannot be read.
func (r *reserve) notes(with []byte) (notes []Note, bad int) {
	for line := range bytes.Lines(r.bytes[headBytes:r.end]) {
		var n Note
		switch {
		case !bytes.Contains(line, with):
		case json.Unmarshal(bytes.TrimSpace(line), &n) != nil:
			bad++
		default:
			notes = append(notes, n)
		}
	}
	return notes, bad
}

// InReserve reports whether the reserve of the spool at path holds anything.
func InReserve(path string) bool {
	b, err := files.Start(reserveOf(path), headBytes+1)
	return err == nil && holds(b)
}

// holds reports whether the beginning of a reserve is that of one with something in it.
func holds(b []byte) bool { return len(bytes.Trim(b, "0 \n\x00")) > 0 }

// ReserveWatch is InReserve for those who ask with each event: it keeps the file open. It is used by
// one goroutine at a time.
type ReserveWatch struct {
	path  string      // of the spool
	file  *os.File    // nil: not open
	info  os.FileInfo // of file
	start [headBytes + 1]byte
}

// NewReserveWatch returns a watch of the reserve of the spool at path. Nothing is opened yet.
func NewReserveWatch(path string) *ReserveWatch { return &ReserveWatch{path: path} }

// Holds reports whether the reserve holds anything.
func (w *ReserveWatch) Holds() bool {
	if w.file != nil {
		if same, err := files.Names(reserveOf(w.path), w.info); err != nil || !same {
			w.Close()
		}
	}
	if w.file == nil && !w.open() {
		return false
	}
	n, err := w.file.ReadAt(w.start[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		w.Close() // the next question opens it anew
		return InReserve(w.path)
	}
	return holds(w.start[:n])
}

func (w *ReserveWatch) open() bool {
	f, err := files.Open(reserveOf(w.path))
	if err != nil {
		return false
	}
	if w.info, err = f.Stat(); err != nil {
		f.Close() // only read
		return false
	}
	w.file = f
	return true
}

// Close closes the file. A question after it opens it again.
func (w *ReserveWatch) Close() {
	if w.file != nil {
		w.file.Close() // only read
		w.file = nil
	}
}

// Reserved is what a reserve holds.
type Reserved struct {
	Notes   []Note
	Dropped int // blocked, and without a note; a line that cannot be read counts

	counted int64
	end     int
}

// ReadReserve reads the reserve of the spool at path. What cannot be read is nothing.
func ReadReserve(path string) (out Reserved) {
	r, err := openReserve(path)
	if err != nil {
		return out
	}
	defer r.f.Close()
	out.counted, out.end = r.dropped, r.end
	out.Notes, out.Dropped = r.notes(nil)
	out.Dropped += int(r.dropped)
	return out
}

// Clear takes out of the reserve what ReadReserve has read. What came since stays.
func (d Reserved) Clear(path string) error {
	if d.end <= headBytes && d.counted == 0 {
		return nil
	}
	r, err := openReserve(path)
	if err != nil {
		return err
	}
	if r.end >= d.end && r.dropped >= d.counted { // else another process has cleared it
		r.dropped -= d.counted
		rest := r.bytes[d.end:r.end]
		b := make([]byte, r.end-headBytes)
		copy(b, rest)
		_, err = r.f.WriteAt(b, headBytes)
		err = errors.Join(err, r.writeHead())
	}
	return errors.Join(err, r.f.Close())
}

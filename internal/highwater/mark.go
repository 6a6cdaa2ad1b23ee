package highwater

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Classes of errors, for errors.Is.
var (
	// ErrBehind: the database is behind its mark, or is another one than that of the mark.
	ErrBehind = errors.New("the database is behind its high-water mark")
	// ErrMissing: there was a mark, and there is none now.
	ErrMissing = errors.New("the high-water mark is missing")
	// ErrDamaged: the file is no mark, or was changed.
	ErrDamaged = errors.New("the high-water mark is damaged")
)

// Error names a fault of a mark, and its place. It is of its Class.
type Error struct {
	Class  error
	Path   string // "" when it is not about a file
	Reason string
}

func (e *Error) Error() string {
	s := e.Class.Error()
	if e.Path != "" {
		s += " (" + e.Path + ")"
	}
	return s + ": " + e.Reason
}

// Unwrap returns the class.
func (e *Error) Unwrap() error { return e.Class }

// Reason names the fault, without the errors around an Error of this package.
func Reason(err error) string {
	if e := new(Error); errors.As(err, &e) {
		return e.Error()
	}
	return err.Error()
}

// Head is how far a log has come.
type Head struct {
	Size int64    // events
	Root [32]byte // of their Merkle tree
	Seen Seen     // beside the log; String leaves it out
}

// Seen is the newest version of the rows that several kernels share, and the event that records it. A database of
// one kernel has none.
type Seen struct {
	Version int64    `json:"version"` // 0: none
	Kernel  int64    `json:"kernel"`  // number of the one whose log has the event
	Seq     int64    `json:"seq"`     // of the event
	Hash    [32]byte `json:"hash"`    // of the event
}

// String returns the version and the hash of its event; "" for none.
func (s Seen) String() string {
	if s.Version == 0 {
		return ""
	}
	return strconv.FormatInt(s.Version, 10) + ":" + base64.StdEncoding.EncodeToString(s.Hash[:])
}

// join returns the head that is as far as both.
func (h Head) join(other Head) Head {
	out := h
	if other.Size > h.Size {
		out.Size, out.Root = other.Size, other.Root
	}
	if other.Seen.Version > h.Seen.Version {
		out.Seen = other.Seen
	}
	return out
}

func (h Head) String() string {
	return strconv.FormatInt(h.Size, 10) + ":" + base64.StdEncoding.EncodeToString(h.Root[:])
}

// ParseHead is the inverse of Head.String. The error is ErrDamaged.
func ParseHead(s string) (Head, error) {
	size, root, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(size, 10, 64)
	if !ok || err != nil || n < 0 {
		return Head{}, fmt.Errorf("%w: a head has the form SIZE:ROOT", ErrDamaged)
	}
	h := Head{Size: n}
	b, err := base64.StdEncoding.Strict().DecodeString(root)
	if err != nil || len(b) != len(h.Root) {
		return Head{}, fmt.Errorf("%w: a head ends with the base64 of 32 bytes", ErrDamaged)
	}
	copy(h.Root[:], b)
	if h.String() != s {
		return Head{}, fmt.Errorf("%w: a head has one form", ErrDamaged)
	}
	return h, nil
}

// Prefixes of Use.ID.
const (
	Approval  = "approval:"  // one use of an item in the queue of approvals
	Lease     = "lease:"     // uses of a lease, counted
	Statement = "statement:" // one use of a reviewer's statement
)

// Use is something that a commit uses up.
type Use struct {
	ID    string `json:"id"`             // a prefix above and the thing's own id
	Event string `json:"event,omitzero"` // id of the event that the commit records it with
	Count int64  `json:"count,omitzero"` // of a lease: uses with this one
	Until int64  `json:"until"`          // Unix seconds: the thing cannot be used any more then
}

// Recovery is an event that a recovery is about to record.
type Recovery struct {
	Size int64  `json:"size"` // of the database, when it was recovered: the event is the next one
	Body string `json:"body"` // the event, as JSON
}

// State is what a mark says.
type State struct {
	Store    string // id of the database, 32 hex digits
	Epoch    int64  // recoveries so far
	Head     Head
	Uses     map[string]Use
	Recovery *Recovery // the last one; nil when there was none

	wide bool  // the file has a place for Head.Seen beside its records
	torn bool  // the end is not whole
	end  int64 // of the last whole record
}

// Limits of a mark.
const (
	MaxBytes  = 16 << 20
	maxRecord = 1 << 20
	maxID     = 1 << 10
)

const (
	header   = "belay high-water mark v1\n"
	wideMark = "belay high-water mark v2\n" // the head is followed by what was seen of other kernels
	narrow   = 4 + 1 + 20 + 1 + 20 + 1 + 44 + 1 + 32 + 1
	slotSize = narrow + 1 + 20 + 1 + 20 + 1 + 20 + 1 + 44 // of a wide one
	sumHex   = 32
)

// slotBytes returns how long the head is that is overwritten in place.
func slotBytes(wide bool) int64 {
	if wide {
		return slotSize
	}
	return narrow
}

// first returns the offset of the first record.
func first(wide bool) int64 { return int64(len(header)) + slotBytes(wide) }

// record is one line. The first of a file says whose mark it is.
type record struct {
	Store    string    `json:"store,omitzero"`
	Epoch    int64     `json:"epoch"`
	Size     int64     `json:"size"`
	Root     string    `json:"root"`
	Seen     *Seen     `json:"seen,omitzero"`
	Uses     []Use     `json:"uses,omitzero"`
	Recovery *Recovery `json:"recovery,omitzero"`
}

// record returns a record that says the head.
func (h Head) record(epoch int64) record {
	r := record{Epoch: epoch, Size: h.Size, Root: encodeRoot(h)}
	if h.Seen.Version > 0 {
		seen := h.Seen
		r.Seen = &seen
	}
	return r
}

func encodeRoot(h Head) string { return base64.StdEncoding.EncodeToString(h.Root[:]) }

func sum(what, store string, b []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "belay high-water %s\n%s\n", what, store)
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil)[:sumHex/2])
}

// slot is the head as it is overwritten in place. Each commit makes one, so that the text of its sum,
// which is that of sum, stands before it in one piece of memory.
func slot(store string, epoch int64, h Head, wide bool) []byte {
	b := make([]byte, 0, 2*slotSize)
	b = append(append(append(b, "belay high-water head\n"...), store...), '\n')
	start := len(b)
	b = appendPadded(append(b, "head "...), epoch)
	b = appendPadded(append(b, ' '), h.Size)
	b = base64.StdEncoding.AppendEncode(append(b, ' '), h.Root[:])
	if wide {
		for _, n := range []int64{h.Seen.Version, h.Seen.Kernel, h.Seen.Seq} {
			b = appendPadded(append(b, ' '), n)
		}
		b = base64.StdEncoding.AppendEncode(append(b, ' '), h.Seen.Hash[:])
	}
	b = append(b, ' ')
	digest := sha256.Sum256(b)
	return append(hex.AppendEncode(b, digest[:sumHex/2]), '\n')[start:]
}

// appendPadded appends n, which is not negative, in 20 digits.
func appendPadded(b []byte, n int64) []byte {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	b = append(b, "00000000000000000000"[len(text):]...)
	return append(b, text...)
}

// readSlot returns the head in a slot; ok is false when it is torn.
func readSlot(store string, epoch int64, b []byte, wide bool) (h Head, ok bool) {
	f := strings.Split(string(b), " ")
	if int64(len(b)) != slotBytes(wide) || len(f) != 5 && len(f) != 9 {
		return h, false
	}
	numbers, roots := f[2:3], f[3:4]
	into, hashes := []*int64{&h.Size}, []*[32]byte{&h.Root}
	if len(f) == 9 {
		numbers, roots = append(numbers[:1:1], f[4:7]...), append(roots[:1:1], f[7])
		into = append(into, &h.Seen.Version, &h.Seen.Kernel, &h.Seen.Seq)
		hashes = append(hashes, &h.Seen.Hash)
	}
	for i, text := range numbers {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return h, false
		}
		*into[i] = n
	}
	for i, text := range roots {
		hash, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(hash) != 32 {
			return h, false
		}
		copy(hashes[i][:], hash)
	}
	return h, bytes.Equal(slot(store, epoch, h, wide), b)
}

// line encodes a record. store is that of the first record of the file.
func line(store string, r *record) ([]byte, error) {
	b, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	if len(b) > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes: at most %d", len(b), maxRecord)
	}
	return append(append(append([]byte(sum("record", store, b)), ' '), b...), '\n'), nil
}

// encode returns a whole file that says s.
func encode(s *State) ([]byte, error) {
	r := s.Head.record(s.Epoch)
	r.Store, r.Recovery = s.Store, s.Recovery
	wide, begin := s.wide || s.Head.Seen.Version > 0, header
	if wide {
		begin = wideMark
	}
	out := append([]byte(begin), slot(s.Store, s.Epoch, s.Head, wide)...)
	var batch []Use
	put := func() error {
		r.Uses = batch
		b, err := line(s.Store, &r)
		out = append(out, b...)
		r.Store, r.Recovery, batch = "", nil, nil
		return err
	}
	for _, id := range sortedKeys(s.Uses) {
		if batch = append(batch, s.Uses[id]); len(batch) < usesPerRecord {
			continue
		}
		if err := put(); err != nil {
			return nil, err
		}
	}
	if r.Store != "" || len(batch) > 0 {
		if err := put(); err != nil {
			return nil, err
		}
	}
	if len(out) > MaxBytes {
		return nil, fmt.Errorf("%d uses need %d bytes: at most %d", len(s.Uses), len(out), MaxBytes)
	}
	return out, nil
}

// usesPerRecord keeps a record of the longest ids below maxRecord.
const usesPerRecord = 128

// Decode reads a mark. The error is ErrDamaged.
func Decode(b []byte) (*State, error) {
	bad := func(format string, args ...any) (*State, error) {
		return nil, &Error{Class: ErrDamaged, Reason: fmt.Sprintf(format, args...)}
	}
	wide := bytes.HasPrefix(b, []byte(wideMark))
	switch {
	case len(b) > MaxBytes:
		return bad("%d bytes: at most %d", len(b), MaxBytes)
	case int64(len(b)) < first(wide) || !wide && string(b[:len(header)]) != header:
		return bad("it does not begin like a mark of version 1 or 2")
	}
	s := &State{Uses: map[string]Use{}, wide: wide, end: first(wide)}
	n := 0
	for rest := b[s.end:]; len(rest) > 0; {
		text, after, whole := bytes.Cut(rest, []byte("\n"))
		r, err := s.record(text, whole)
		if errors.Is(err, errTorn) {
			if n == 0 {
				return bad("its first record is not whole")
			}
			for whole { // what follows must be of the same write
				if text, after, whole = bytes.Cut(after, []byte("\n")); whole {
					if _, err := s.record(text, whole); !errors.Is(err, errTorn) {
						return bad("record %d does not verify, and one after it does", n+1)
					}
				}
			}
			s.torn = true
			break
		}
		if err == nil {
			err = s.add(r)
		}
		if err != nil {
			return bad("record %d: %v", n+1, err)
		}
		n++
		s.end += int64(len(text)) + 1
		rest = after
	}
	if n == 0 {
		return bad("it has no record")
	}
	if h, ok := readSlot(s.Store, s.Epoch, b[len(header):first(wide)], wide); ok {
		s.Head = s.Head.join(h)
	}
	return s, nil
}

var errTorn = errors.New("not whole")

// record decodes one line. errTorn means that its checksum does not fit.
func (s *State) record(text []byte, whole bool) (*record, error) {
	if !whole || len(text) <= sumHex || len(text) > maxRecord+sumHex+1 || text[sumHex] != ' ' {
		return nil, errTorn
	}
	body := text[sumHex+1:]
	var r record
	err := json.Unmarshal(body, &r, json.RejectUnknownMembers(true))
	store := s.Store
	if store == "" {
		store = r.Store
	}
	if sum("record", store, body) != string(text[:sumHex]) {
		return nil, errTorn
	}
	return &r, err
}

// add takes a record that verifies.
func (s *State) add(r *record) error {
	h, err := ParseHead(strconv.FormatInt(r.Size, 10) + ":" + r.Root)
	switch {
	case err != nil:
		return err
	case s.Store == "" && !validStore(r.Store):
		return errors.New("a store's id has 32 hex digits")
	case s.Store != "" && (r.Store != "" || r.Recovery != nil):
		return errors.New("only the first record says whose mark it is, and what was recovered")
	case r.Epoch < 0 || s.Store != "" && r.Epoch != s.Epoch:
		return errors.New("its epoch is not that of the mark")
	case r.Size < s.Head.Size:
		return errors.New("the head goes back")
	case r.Seen != nil && (!s.wide || r.Seen.Version < max(1, s.Head.Seen.Version) || r.Seen.Kernel < 0 || r.Seen.Seq < 0):
		return errors.New("what was seen of other kernels goes back, or has no place in this version of marks")
	}
	if s.Store == "" {
		s.Store, s.Epoch, s.Recovery = r.Store, r.Epoch, r.Recovery
	}
	if h.Seen = s.Head.Seen; r.Seen != nil {
		h.Seen = *r.Seen
	}
	s.Head = h
	for _, u := range r.Uses {
		if err := u.valid(); err != nil {
			return err
		}
		s.use(u)
	}
	return nil
}

func (s *State) use(u Use) {
	if have, ok := s.Uses[u.ID]; ok {
		u.Count, u.Until = max(u.Count, have.Count), max(u.Until, have.Until)
	}
	s.Uses[u.ID] = u
}

func (u *Use) valid() error {
	lease := strings.HasPrefix(u.ID, Lease)
	switch {
	case len(u.ID) > maxID || len(u.Event) > maxID:
		return errors.New("an id of more than 1024 bytes")
	case !lease && !strings.HasPrefix(u.ID, Approval) && !strings.HasPrefix(u.ID, Statement):
		return errors.New("a use of something unknown")
	case lease != (u.Count > 0):
		return errors.New("uses of leases are counted, from 1, and no others")
	}
	return nil
}

func validStore(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 16 && strings.ToLower(s) == s
}

// Over reports whether nothing can come of a use any more, with a day for clocks that differ.
func (u *Use) Over(now time.Time) bool { return now.Unix()-24*60*60 > u.Until }

// Behind compares a database with the mark. root returns the root hash over its first
// events. The error is ErrBehind, or that of root.
func (s *State) Behind(size int64, root func(size int64) ([32]byte, error)) error {
	if size < s.Head.Size {
		return &Error{Class: ErrBehind,
			Reason: fmt.Sprintf("it holds %d events, and held %d: it was restored, replaced or removed", size, s.Head.Size)}
	}
	got, err := root(s.Head.Size)
	if err != nil {
		return err
	}
	if got != s.Head.Root {
		return &Error{Class: ErrBehind,
			Reason: fmt.Sprintf("its first %d events are not those that it held: it was restored or replaced, and written to",
				s.Head.Size)}
	}
	return nil
}

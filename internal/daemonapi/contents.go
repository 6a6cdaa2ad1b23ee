package daemonapi

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"

	"github.com/belay-hooks/belay/internal/files"
)

// Bounds of one read and of one list.
const (
	MaxRead   = 1 << 20 // bytes of a file
	MaxNames  = 1024    // names
	maxListed = 1 << 20 // bytes of all names
	maxOffset = 1 << 62 // in a file, in bytes
	readHead  = 14      // of the body of a FrameRead, before the path
	listHead  = 1       // of the body of a FrameList, before the pattern
	headBytes = 9       // of the body of a FrameContent, before what the file holds
	nameHead  = 2       // before each name
)

// Read asks what a part of a file holds.
type Read struct {
	For files.Purpose
	// Again opens the file anew. Without it the file has to be the one that the read before was about.
	Again  bool
	Offset int64  // where the part begins
	Length int    // of the part, 0 to MaxRead bytes
	Path   string // as in a look
}

func (r Read) sound() bool {
	return r.For.Known() && r.Offset >= 0 && r.Offset <= maxOffset && r.Length >= 0 && r.Length <= MaxRead &&
		Lookable(r.Path)
}

// AppendRead appends the body of a FrameRead to b.
func AppendRead(b []byte, r Read) []byte {
	b = append(b, byte(r.For), flag(r.Again))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Offset))
	b = binary.BigEndian.AppendUint32(b, uint32(r.Length))
	return append(b, r.Path...)
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// DecodeRead reads what AppendRead writes. The error is of class ErrFrame.
func DecodeRead(body []byte) (Read, error) {
	if len(body) < readHead || body[1] > 1 {
		return Read{}, errAskedOddly
	}
	offset, length := binary.BigEndian.Uint64(body[2:]), binary.BigEndian.Uint32(body[10:])
	if offset > maxOffset || length > MaxRead {
		return Read{}, errAskedOddly
	}
	r := Read{files.Purpose(body[0]), body[1] == 1, int64(offset), int(length), string(body[readHead:])}
	if !r.sound() {
		return Read{}, errAskedOddly
	}
	return r, nil
}

// ContentState says what a read has found at a path.
type ContentState byte

// What a read finds.
const (
	ContentUnknown ContentState = iota // it cannot be told, or is not
	ContentAbsent
	ContentFile
	ContentOther // no regular file
)

// Content is the answer to one read.
type Content struct {
	State ContentState
	Size  int64  // of the file when it was opened
	Data  []byte // the part, and all of it as far as Size goes
}

// sound reports whether c can be an answer to r.
func (c Content) sound(r Read) bool {
	switch c.State {
	case ContentFile:
		left := max(0, c.Size-r.Offset)
		return c.Size >= 0 && c.Size <= maxOffset && int64(len(c.Data)) == min(left, int64(r.Length))
	case ContentUnknown, ContentAbsent, ContentOther:
		return c.Size == 0 && len(c.Data) == 0
	}
	return false
}

// AppendContent appends the body of a FrameContent to b: a byte with the state and, for a file, its size in eight bytes
// and the part. What is no answer to r is written as ContentUnknown.
func AppendContent(b []byte, r Read, c Content) []byte {
	if !c.sound(r) {
		c = Content{}
	}
	b = append(b, byte(c.State))
	if c.State != ContentFile {
		return b
	}
	return append(binary.BigEndian.AppendUint64(b, uint64(c.Size)), c.Data...)
}

// DecodeContent reads what AppendContent writes for r. The part is one of body. The error is of class ErrFrame.
func DecodeContent(body []byte, r Read) (Content, error) {
	c := Content{}
	switch {
	case len(body) == 0:
		return c, fmt.Errorf("%w: it does not say what was read", ErrFrame)
	case ContentState(body[0]) != ContentFile:
		if c.State = ContentState(body[0]); len(body) == 1 && c.sound(r) {
			return c, nil
		}
	case len(body) >= headBytes:
		size := binary.BigEndian.Uint64(body[1:])
		c = Content{ContentFile, int64(min(size, maxOffset+1)), body[headBytes:]}
		if c.sound(r) {
			return c, nil
		}
	}
	return Content{}, fmt.Errorf("%w: what was read is not what was asked for", ErrFrame)
}

// DecodeContentHeader reads the header of a FrameContent that answers r. The error is of class ErrFrame.
func DecodeContentHeader(b [FrameHeader]byte, r Read) (Header, error) {
	return decodeTold(b, FrameContent, headBytes+r.Length)
}

// decodeTold reads the header of an answer of a client, with at most so many bytes.
func decodeTold(b [FrameHeader]byte, kind FrameKind, most int) (Header, error) {
	h, err := decodeHeader(b)
	switch {
	case err != nil:
		return h, err
	case h.Kind != kind || h.Flags != 0:
		return h, fmt.Errorf("%w: to what was asked, 0x%02x with flags 0x%02x is no answer", ErrFrame, byte(h.Kind),
			byte(h.Flags))
	case h.Length > most:
		return h, fmt.Errorf("%w: what was told has more than %d bytes", ErrFrame, most)
	}
	return h, nil
}

// List asks for the names of the files that match a pattern.
type List struct {
	For     files.Purpose
	Pattern string // absolute and clean as a path, in the form of path.Match
}

func (l List) sound() bool {
	_, err := path.Match(l.Pattern, "")
	return l.For.Known() && Lookable(l.Pattern) && err == nil
}

// AppendList appends the body of a FrameList to b.
func AppendList(b []byte, l List) []byte { return append(append(b, byte(l.For)), l.Pattern...) }

// DecodeList reads what AppendList writes. The error is of class ErrFrame.
func DecodeList(body []byte) (List, error) {
	if len(body) == 0 {
		return List{}, errAskedOddly
	}
	l := List{files.Purpose(body[0]), string(body[1:])}
	if !l.sound() {
		return List{}, errAskedOddly
	}
	return l, nil
}

// Names is the answer to one list: the paths that match, sorted, or that they cannot be told.
type Names struct {
	Told  bool
	Paths []string
}

// sound reports whether n can be an answer to l.
func (n Names) sound(l List) bool {
	size := 0
	for i, p := range n.Paths {
		if ok, _ := path.Match(l.Pattern, p); !ok || !Lookable(p) || i > 0 && n.Paths[i-1] >= p {
			return false
		}
		size += nameHead + len(p)
	}
	return len(n.Paths) <= MaxNames && size <= maxListed && (n.Told || len(n.Paths) == 0)
}

// AppendNames appends the body of a FrameNames to b: a byte that is 1 where they are told, and each path after its
// length in two bytes. What is no answer to l is written as one that cannot be told.
func AppendNames(b []byte, l List, n Names) []byte {
	if !n.sound(l) {
		n = Names{}
	}
	b = append(b, flag(n.Told))
	for _, p := range n.Paths {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(p))), p...)
	}
	return b
}

// DecodeNames reads what AppendNames writes for l. The error is of class ErrFrame.
func DecodeNames(body []byte, l List) (Names, error) {
	if len(body) == 0 || body[0] > 1 {
		return Names{}, fmt.Errorf("%w: it does not say which files there are", ErrFrame)
	}
	n := Names{Told: body[0] == 1}
	for rest := body[1:]; len(rest) > 0; {
		if len(rest) < nameHead || len(rest)-nameHead < int(binary.BigEndian.Uint16(rest)) {
			return Names{}, fmt.Errorf("%w: a name is longer than what was told", ErrFrame)
		}
		end := nameHead + int(binary.BigEndian.Uint16(rest))
		n.Paths, rest = append(n.Paths, string(rest[nameHead:end])), rest[end:]
	}
	if !n.sound(l) {
		return Names{}, fmt.Errorf("%w: the files are not those that were asked for", ErrFrame)
	}
	n.Paths = slices.Clip(n.Paths)
	return n, nil
}

// DecodeNamesHeader reads the header of a FrameNames. The error is of class ErrFrame.
func DecodeNamesHeader(b [FrameHeader]byte) (Header, error) {
	return decodeTold(b, FrameNames, 1+maxListed)
}

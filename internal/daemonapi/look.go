package daemonapi

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/links"
)

// MaxPath is the longest path and the longest target of a link in a look, in bytes: what Linux takes for a path.
const MaxPath = 4 << 10

// FoundState says what a look has found at a path.
type FoundState byte

// What a look finds.
const (
	FoundUnknown FoundState = iota // it cannot be told
	FoundAbsent
	FoundPlain // a file or directory, no link
	FoundLink
)

// Found is what one look at a path has found.
type Found struct {
	State  FoundState
	Target string // of a link
}

// LookAt looks at a path as the user of this process.
func LookAt(path string) Found {
	target, err := links.Readlink(path)
	switch {
	case err == nil:
		return Found{State: FoundLink, Target: target}
	case errors.Is(err, links.ErrNotLink):
		return Found{State: FoundPlain}
	case errors.Is(err, fs.ErrNotExist):
		return Found{State: FoundAbsent}
	}
	return Found{}
}

// sound reports whether f can be told: a target that is no text, or longer than any path, cannot.
func (f Found) sound() bool {
	switch f.State {
	case FoundLink:
		return f.Target != "" && len(f.Target) <= MaxPath && utf8.ValidString(f.Target) && !hasNUL(f.Target)
	case FoundUnknown, FoundAbsent, FoundPlain:
		return f.Target == ""
	}
	return false
}

func hasNUL(s string) bool {
	for i := range len(s) {
		if s[i] == 0 {
			return true
		}
	}
	return false
}

// AppendFound appends the body of a FrameFound to b: a byte with the state, and the target of a link. What is not
// sound is written as FoundUnknown.
func AppendFound(b []byte, f Found) []byte {
	if !f.sound() {
		f = Found{}
	}
	return append(append(b, byte(f.State)), f.Target...)
}

// DecodeFound reads what AppendFound writes. The error is of class ErrFrame.
func DecodeFound(body []byte) (Found, error) {
	if len(body) == 0 {
		return Found{}, fmt.Errorf("%w: it does not say what was found", ErrFrame)
	}
	f := Found{FoundState(body[0]), string(body[1:])}
	if !f.sound() {
		return Found{}, fmt.Errorf("%w: what was found is not what a look can find", ErrFrame)
	}
	return f, nil
}

// DecodeFoundHeader reads the header of a FrameFound. The error is of class ErrFrame.
func DecodeFoundHeader(b [FrameHeader]byte) (Header, error) {
	h, err := decodeHeader(b)
	switch {
	case err != nil:
		return h, err
	case h.Kind != FrameFound || h.Flags != 0:
		return h, fmt.Errorf("%w: to a look, 0x%02x with flags 0x%02x is no answer", ErrFrame, byte(h.Kind), byte(h.Flags))
	case h.Length > 1+MaxPath:
		return h, fmt.Errorf("%w: what was found has more than 4097 bytes", ErrFrame) // 1+MaxPath
	}
	return h, nil
}

// Lookable reports whether a look can ask about p: it is absolute, clean, and a text of at most MaxPath bytes.
func Lookable(p string) bool {
	return len(p) <= MaxPath && path.IsAbs(p) && path.Clean(p) == p && utf8.ValidString(p) && !hasNUL(p)
}

// TellsFiles sets in the frame of a question that its client answers looks, reads and lists.
func TellsFiles(question []byte) { question[3] |= byte(FlagFiles | FlagContents) }

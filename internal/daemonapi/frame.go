package daemonapi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// FrameSocketName is the name of the daemon's framed socket in its state directory. It speaks
// frames (docs/WIRE.md); a daemon of an earlier version has none.
const FrameSocketName = "frame.sock"

// A frame is a header of FrameHeader bytes and a body: magic, version, kind, flags, and the body's
// length in bytes, big endian.
const (
	FrameHeader  = 8
	FrameMagic   = 0xBE
	FrameVersion = 1
	// MaxQuestion is the largest body of a question, in bytes. That of an answer is MaxAnswer.
	MaxQuestion = 4 << 20
)

// FrameKind says what a frame's body is.
type FrameKind byte

// Questions, and the answers to them.
const (
	FrameInvoke FrameKind = 0x01 // an invocation, as POST /v1/invoke takes it
	FrameEvent  FrameKind = 0x02 // a runtime's payload, after the names that AppendEvent writes

	FrameVerdict FrameKind = 0x81 // to FrameInvoke: the verdict
	FrameAnswer  FrameKind = 0x82 // to FrameEvent: what the runtime is to read
	FrameProblem FrameKind = 0x83 // to either: why there is none of these
)

// While a question with FlagFiles is open, the daemon may ask in turn, once at a time; the last two only with
// FlagContents.
const (
	FrameLook  FrameKind = 0x41 // the daemon asks: a path, absolute and clean
	FrameFound FrameKind = 0xC1 // the client answers: what AppendFound writes

	FrameRead    FrameKind = 0x42 // the daemon asks: what AppendRead writes
	FrameContent FrameKind = 0xC2 // the client answers: what AppendContent writes

	FrameList  FrameKind = 0x43 // the daemon asks: what AppendList writes
	FrameNames FrameKind = 0xC3 // the client answers: what AppendNames writes
)

// FrameFlags are wishes of a question. Answers have none.
type FrameFlags byte

const (
	// FlagWhole asks for a verdict with its reports, and for an answer with its verdicts.
	FlagWhole FrameFlags = 1 << iota
	// FlagHeadless says of a FrameEvent what HeadlessHeader does over HTTP.
	FlagHeadless
	// FlagFiles says that the client answers each FrameLook, with what its own user sees.
	FlagFiles
	// FlagContents says that the client answers each FrameRead and FrameList, too, as far as it tells of a file.
	FlagContents
)

// ErrFrame is the class of what is no frame, or none that stands there. Its text is safe to show.
var ErrFrame = errors.New("not a frame")

// ErrFrameLength: the body of a question has more than MaxQuestion bytes. It is ErrFrame as well.
var ErrFrameLength error = &subclass{ErrFrame, "its body has more than 4194304 bytes"} // MaxQuestion

// Header is the header of a frame.
type Header struct {
	Kind   FrameKind
	Flags  FrameFlags
	Length int // of the body, in bytes
}

// Question reports whether a client sends such a frame.
func (k FrameKind) question() bool { return k == FrameInvoke || k == FrameEvent }

func (k FrameKind) answer() bool {
	return k == FrameVerdict || k == FrameAnswer || k == FrameProblem
}

// DecodeQuestion reads the header of a question. The error is of class ErrFrame.
func DecodeQuestion(b [FrameHeader]byte) (Header, error) {
	h, err := decodeHeader(b)
	switch {
	case err != nil:
		return h, err
	case !h.Kind.question():
		return h, fmt.Errorf("%w: no question is of the kind 0x%02x", ErrFrame, byte(h.Kind))
	case h.Flags&^(FlagWhole|FlagHeadless|FlagFiles|FlagContents) != 0 || h.Kind != FrameEvent &&
		h.Flags&FlagHeadless != 0:
		return h, fmt.Errorf("%w: a question of the kind 0x%02x has no flags 0x%02x", ErrFrame, byte(h.Kind), byte(h.Flags))
	case h.Flags&FlagContents != 0 && h.Flags&FlagFiles == 0:
		return h, fmt.Errorf("%w: a client that tells what files hold tells of links, too", ErrFrame)
	case h.Length > MaxQuestion:
		return h, ErrFrameLength
	}
	return h, nil
}

// decodeAnswer reads the header of an answer.
func decodeAnswer(b [FrameHeader]byte) (Header, error) {
	h, err := decodeHeader(b)
	switch {
	case err != nil:
		return h, err
	case !h.Kind.answer() || h.Flags != 0:
		return h, fmt.Errorf("%w: no answer is of the kind 0x%02x with flags 0x%02x", ErrFrame, byte(h.Kind), byte(h.Flags))
	case h.Length > MaxAnswer:
		return h, fmt.Errorf("%w: %w", ErrFrame, errLarge)
	}
	return h, nil
}

func decodeHeader(b [FrameHeader]byte) (Header, error) {
	h := Header{Kind: FrameKind(b[2]), Flags: FrameFlags(b[3]), Length: int(binary.BigEndian.Uint32(b[4:]))}
	switch {
	case b[0] != FrameMagic:
		return h, fmt.Errorf("%w: it begins with 0x%02x in place of 0x%02x", ErrFrame, b[0], FrameMagic)
	case b[1] != FrameVersion:
		return h, fmt.Errorf("%w of version %d, which is the only one: its version is %d", ErrFrame, FrameVersion, b[1])
	}
	return h, nil
}

// AppendHeader appends the header of a frame to b. Preconditions: h.Length is within the bound of
// its kind.
func AppendHeader(b []byte, h Header) []byte {
	b = append(b, FrameMagic, FrameVersion, byte(h.Kind), byte(h.Flags))
	return binary.BigEndian.AppendUint32(b, uint32(h.Length))
}

// firstPart is how much of a body is made room for before any of it has come, in bytes.
const firstPart = 16 << 10

// ReadBody reads a body of n bytes, and takes memory only as they come. Beside an error it returns
// what has come; a body that ends early is io.ErrUnexpectedEOF.
func ReadBody(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, 0, min(n, firstPart))
	for len(b) < n {
		if len(b) == cap(b) {
			b = slices.Grow(b, min(n-len(b), len(b)))
		}
		m, err := r.Read(b[len(b):min(cap(b), n)])
		b = b[:len(b)+m]
		if err != nil && len(b) < n {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return b, err
		}
	}
	return b, nil
}

// ReadHeld is ReadBody for a body whose room the caller has counted: it takes all of the memory at once.
func ReadHeld(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, n)
	m, err := io.ReadFull(r, b)
	if errors.Is(err, io.EOF) && n > 0 {
		err = io.ErrUnexpectedEOF
	}
	return b[:m], err
}

// MaxName is the longest name in the body of a FrameEvent, in bytes.
const MaxName = 255

// AppendEvent appends the body of a FrameEvent to b: the runtime's name and that of the event which
// the caller is registered for, or "", each after a byte with its length; then the payload.
// Preconditions: no name is longer than MaxName.
func AppendEvent(b []byte, runtime, event string, payload []byte) []byte {
	b = append(append(b, byte(len(runtime))), runtime...)
	b = append(append(b, byte(len(event))), event...)
	return append(b, payload...)
}

// DecodeEvent reads what AppendEvent writes. payload is a part of body. The error is of class ErrFrame.
func DecodeEvent(body []byte) (runtime, event string, payload []byte, err error) {
	name := func() (s string, ok bool) {
		if len(body) == 0 || int(body[0]) > len(body)-1 {
			return "", false
		}
		end := 1 + int(body[0])
		s, body = string(body[1:end]), body[end:]
		return s, true
	}
	runtime, named := name()
	event, also := name()
	if !named || !also {
		return "", "", nil, fmt.Errorf("%w: its names are longer than its body", ErrFrame)
	}
	return runtime, event, body, nil
}

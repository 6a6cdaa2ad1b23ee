package toolrun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// kind is the first byte of a frame. Four bytes follow, the length of the rest, in network order.
type kind byte

// Frames of the daemon: one start or status comes first, then input. Its end of writing ends the server.
const (
	frameStart  kind = 's' // start
	frameStatus kind = 'q' // nothing
	frameInput  kind = 'i' // bytes for standard input
)

// Frames of the runner: running or end comes first, after status an answer.
const (
	frameRunning kind = 'r' // nothing
	frameOutput  kind = 'o' // bytes of standard output
	frameSays    kind = 'e' // a line of standard error, without its end
	frameEnd     kind = 'x' // ending; the last one
	frameAnswer  kind = 'a' // Report; the last one
)

const (
	frameHeader = 5
	maxData     = 64 << 10 // bytes of a stream in one frame
	maxWords    = 16 << 10 // bytes of every other frame
)

var errFrame = errors.New("what came is no frame")

// limitOf returns the most bytes that a frame of the kind has.
func limitOf(k kind) int {
	switch k {
	case frameInput, frameOutput:
		return maxData
	case frameStart, frameSays, frameEnd, frameAnswer:
		return maxWords
	case frameRunning, frameStatus:
		return 0
	}
	return -1
}

// appendFrame appends a frame. Preconditions: the body is not larger than limitOf says.
func appendFrame(to []byte, k kind, body []byte) []byte {
	to = binary.BigEndian.AppendUint32(append(to, byte(k)), uint32(len(body)))
	return append(to, body...)
}

// readFrame reads the next frame into space, which has room for maxData bytes. The error is io.EOF between frames,
// errFrame for what is none, or that of reading.
func readFrame(r io.Reader, space []byte) (kind, []byte, error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errFrame
		}
		return 0, nil, err
	}
	k, n := kind(head[0]), binary.BigEndian.Uint32(head[1:])
	limit := limitOf(k)
	switch {
	case limit < 0:
		return 0, nil, fmt.Errorf("%w: kind %d", errFrame, k)
	case int64(n) > int64(limit):
		return 0, nil, fmt.Errorf("%w: %d bytes of kind %q, and %d are the most", errFrame, n, k, limit)
	}
	body := space[:n]
	if _, err := io.ReadFull(r, body); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errFrame
		}
		return 0, nil, err
	}
	return k, body, nil
}

// start asks for a server.
type start struct {
	Server string `json:"server"` // its name in belay.yaml
	// Digest is that of the entry's command, as the daemon knows it: see digestOf. The runner starts nothing when root's
	// file says something else by now.
	Digest string `json:"digest"`
	UID    int    `json:"uid"` // of the user whom it serves; for the log
}

// ending says how a server ended, or why it was not started.
type ending struct {
	Refused string `json:"refused,omitzero"` // why it was not started; one line
	Status  int    `json:"status,omitzero"`  // its exit status; -1 for a signal
}

// Report is what holds in the processes in which servers run.
type Report struct {
	Version    string `json:"version"`  // of the program
	UID        int    `json:"uid"`      // whom it runs as
	Landlock   int    `json:"landlock"` // the version that servers get; 0: none, and no server starts
	NoNewPrivs bool   `json:"no_new_privs"`
	Filtered   bool   `json:"filtered"`  // system calls are, by the unit
	Powerless  bool   `json:"powerless"` // no capability can be had
}

// decode reads the JSON of a frame strictly.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))
	if err != nil {
		return fmt.Errorf("%w: %w", errFrame, err)
	}
	return nil
}

// encode is the frame of a value. Its texts are cut to what fits by who sets them.
func encode(k kind, value any) []byte {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil || len(body) > maxWords {
		body = []byte("{}") // a text that is no UTF-8: the frame says less
	}
	return appendFrame(nil, k, body)
}

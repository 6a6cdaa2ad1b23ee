package daemonapi

import (
	"fmt"
	"sync"
)

// Teller tells about files of the user of this process. Exchange calls its methods one at a time, each in a goroutine
// of its own. They may hang.
type Teller interface {
	Look(path string) Found
	Read(r Read) Content
	List(l List) Names
}

// LookFunc is a Teller that tells of links alone.
type LookFunc func(path string) Found

// Look implements Teller.
func (f LookFunc) Look(path string) Found { return f(path) }

// Read implements Teller: it cannot be told.
func (LookFunc) Read(Read) Content { return Content{} }

// List implements Teller: it cannot be told.
func (LookFunc) List(List) Names { return Names{} }

var errAskedOddly = fmt.Errorf("%w: it asks about files in a way that is not known", ErrFrame)

// decodeAsked reads the header of what a daemon asks about files.
func decodeAsked(b [FrameHeader]byte) (Header, error) {
	h, err := decodeHeader(b)
	if err != nil {
		return h, err
	}
	most := map[FrameKind]int{FrameLook: MaxPath, FrameRead: readHead + MaxPath, FrameList: listHead + MaxPath}[h.Kind]
	if most == 0 || h.Flags != 0 || h.Length > most {
		return h, errAskedOddly
	}
	return h, nil
}

// asked answers what a daemon asks about files in one exchange, each in a goroutine of its own: a file system that
// hangs must not keep the verdict from coming.
type asked struct {
	conn  Conn
	tells Teller

	mu   sync.Mutex
	busy bool // a look has no answer yet
	over bool // the exchange has ended, and nothing more is said
}

// answer begins to answer. The error is of class ErrFrame.
func (a *asked) answer(kind FrameKind, body []byte) error {
	about, err := a.about(kind, body)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy {
		return errAskedOddly
	}
	a.busy = true
	go func() {
		kind, body := about()
		out := AppendHeader(make([]byte, 0, FrameHeader+len(body)), Header{Kind: kind, Length: len(body)})
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.over {
			a.busy = false
			_, _ = a.conn.Write(append(out, body...)) // where that fails, reading does as well
		}
	}()
	return nil
}

// about decodes what is asked. The error is of class ErrFrame.
func (a *asked) about(kind FrameKind, body []byte) (func() (FrameKind, []byte), error) {
	switch kind {
	case FrameLook:
		path := string(body)
		if !Lookable(path) {
			return nil, errAskedOddly
		}
		return func() (FrameKind, []byte) { return FrameFound, AppendFound(nil, a.tells.Look(path)) }, nil
	case FrameRead:
		r, err := DecodeRead(body)
		if err != nil {
			return nil, err
		}
		return func() (FrameKind, []byte) { return FrameContent, AppendContent(nil, r, a.tells.Read(r)) }, nil
	case FrameList:
		l, err := DecodeList(body)
		if err != nil {
			return nil, err
		}
		return func() (FrameKind, []byte) { return FrameNames, AppendNames(nil, l, a.tells.List(l)) }, nil
	}
	return nil, errAskedOddly
}

func (a *asked) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
}

package daemonapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"
)

// ErrNoFrames: the daemon, if there is one, has no framed socket. Ask it over HTTP.
var ErrNoFrames = errors.New("client: no framed socket")

// DialFrames connects to the framed socket of the daemon that serves a state directory, after the
// same look at who listens as Socket.Dial. The error is ErrNoFrames when nothing listens there, which
// does not say that no daemon runs; otherwise ErrSick or ErrPeer.
func DialFrames(ctx context.Context, dir string) (Conn, error) {
	conn, err := SocketAt(filepath.Join(dir, FrameSocketName)).Dial(ctx)
	switch {
	case err == nil:
		return conn, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EINVAL):
		return nil, ErrNoFrames
	}
	return nil, asSick(err)
}

// Exchange sends one question, a whole frame, and reads the answer to it. It leaves the connection as
// it was for the next question, unless ctx has ended; after an error, which is ErrSick, it is of no use.
// ctx bounds the exchange. Exchange is not safe for concurrent use on one connection.
//
// tells answers what the daemon asks meanwhile, if the question has FlagFiles. It may hang: the daemon does not wait
// for it, and neither does Exchange. Nil: nothing may be asked.
func Exchange(ctx context.Context, conn Conn, question []byte, tells Teller) (FrameKind, []byte, error) {
	_ = conn.SetDeadline(time.Time{}) // one of before
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(question); err != nil {
		return 0, nil, sick(ctx, err)
	}
	in, asked := frameReader{r: conn}, asked{conn: conn, tells: tells}
	defer asked.end()
	contents := tells != nil && len(question) >= FrameHeader && FrameFlags(question[3])&FlagContents != 0
	for {
		h, body, err := in.next(tells != nil, contents)
		if err == nil && !h.Kind.answer() {
			if err = asked.answer(h.Kind, body); err == nil {
				continue
			}
		}
		if err != nil {
			return 0, nil, sick(ctx, err)
		}
		return h.Kind, body, nil
	}
}

// frameReader reads whole frames, and of the answer not a byte more. The first read takes a whole small answer.
type frameReader struct {
	r    io.Reader
	have []byte // read and not used yet
}

// next returns the next frame: an answer or, with looks, a FrameLook, and with contents a FrameRead or FrameList.
func (f *frameReader) next(looks, contents bool) (Header, []byte, error) {
	if len(f.have) < FrameHeader {
		first := make([]byte, FrameHeader+1<<10)
		n := copy(first, f.have)
		m, err := io.ReadAtLeast(f.r, first[n:], FrameHeader-n)
		if err != nil {
			return Header{}, nil, err
		}
		f.have = first[:n+m]
	}
	decode := decodeAnswer
	switch FrameKind(f.have[2]) {
	case FrameLook:
		if looks {
			decode = decodeAsked
		}
	case FrameRead, FrameList:
		if contents {
			decode = decodeAsked
		}
	}
	h, err := decode([FrameHeader]byte(f.have))
	if err != nil {
		return Header{}, nil, err
	}
	have := f.have[FrameHeader:]
	f.have = nil
	if len(have) >= h.Length {
		have, f.have = have[:h.Length:h.Length], have[h.Length:]
		if len(f.have) > 0 && h.Kind.answer() {
			return Header{}, nil, fmt.Errorf("%w: it sent more than one answer", ErrFrame)
		}
		return h, have, nil
	}
	rest, err := ReadBody(f.r, h.Length-len(have))
	if err != nil {
		return Header{}, nil, err
	}
	return h, append(have[:len(have):len(have)], rest...), nil
}

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
func Exchange(ctx context.Context, conn Conn, question []byte) (FrameKind, []byte, error) {
	_ = conn.SetDeadline(time.Time{}) // one of before
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(question); err != nil {
		return 0, nil, sick(ctx, err)
	}
	kind, body, err := readAnswer(conn)
	if err != nil {
		return 0, nil, sick(ctx, err)
	}
	return kind, body, nil
}

// readAnswer reads a whole frame and not a byte more. The first read takes a whole small answer.
func readAnswer(r io.Reader) (FrameKind, []byte, error) {
	first := make([]byte, FrameHeader+1<<10)
	n, err := io.ReadAtLeast(r, first, FrameHeader)
	if err != nil {
		return 0, nil, err
	}
	h, err := decodeAnswer([FrameHeader]byte(first))
	if err != nil {
		return 0, nil, err
	}
	have := first[FrameHeader:n]
	if len(have) >= h.Length {
		if len(have) > h.Length {
			return 0, nil, fmt.Errorf("%w: it sent more than one answer", ErrFrame)
		}
		return h.Kind, have, nil
	}
	rest, err := ReadBody(r, h.Length-len(have))
	if err != nil {
		return 0, nil, err
	}
	return h.Kind, append(have, rest...), nil
}

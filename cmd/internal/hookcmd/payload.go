package hookcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// MaxInput is the size of the largest document that is read, in bytes. The
// decoders have limits of their own and name them, so this one only keeps
// memory in check.
const MaxInput = 4 << 20

// PayloadPatience is how long a runtime may take to hand over its payload. A
// runtime that is kept waiting longer gives up on its hooks and goes on, so the
// answer has to come first.
const PayloadPatience = 10 * time.Second

// Classes of errors of ReadAll, for errors.Is.
var (
	ErrLate        = errors.New("it was not complete in time")
	ErrInterrupted = errors.New("interrupted while it was read")
	ErrTooLarge    = errors.New("no larger document is read")
	ErrEmpty       = errors.New("it is empty")
	ErrUnfinished  = errors.New("it ended before it was complete")
)

// maxScan bounds how much of a payload that is too large is looked at for its session and its tool.
const maxScan = 64 << 20

// Payload is what a runtime has handed over.
type Payload struct {
	Bytes []byte         // at most MaxInput, or the runtime's own limit if that is larger, and one more
	Scan  *adapters.Scan // of all that came when that is more; else nil
	Cut   bool           // it was cut off on its way: reading failed, or ended, before the end
}

// largest is the size of the largest payload of the runtime that is read.
func largest(ad adapters.Adapter) int { return max(MaxInput, ad.Table().Limit(adapters.Options{})) }

// ReadPayload is ReadAll for the payload of a runtime. With ErrTooLarge it goes on reading
// for the session that the payload names. What ends inside its document is ErrUnfinished:
// standard input has no length, so that a runtime that died looks like that.
func ReadPayload(ctx context.Context, r io.Reader, ad adapters.Adapter) (p Payload, err error) {
	p.Bytes, err = readAll(ctx, r, largest(ad))
	switch {
	case errors.Is(err, ErrTooLarge):
		if p.Scan = adapters.ScanFor(ad); p.Scan != nil {
			_, _ = p.Scan.Write(p.Bytes)
			_, _ = io.Copy(p.Scan, io.LimitReader(Interruptible(ctx, r), maxScan)) // what comes is enough
		}
	case err == nil && unfinished(p.Bytes):
		p.Cut, err = true, ErrUnfinished
	case err != nil && !errors.Is(err, ErrEmpty):
		p.Cut = true
	}
	return p, err
}

// Unread is the failure of an event whose payload was not read as a whole; err is an error of ReadPayload. It tells the
// agent what happened, and what to do where that helps.
func Unread(ad adapters.Adapter, err error) *phases.Fault {
	text := "the event could not be judged: its payload could not be read"
	switch {
	case errors.Is(err, ErrTooLarge):
		text = fmt.Sprintf("the event could not be judged: its payload has more than %d MiB, and belay reads no more; "+
			"do the same in smaller parts", largest(ad)>>20)
	case errors.Is(err, ErrLate):
		text = "the event could not be judged: its payload was not complete in time; try it again"
	case errors.Is(err, ErrUnfinished):
		text = "the event could not be judged: its payload ended before it was complete; try it again"
	case errors.Is(err, ErrEmpty):
		text = "the event could not be judged: its payload is empty"
	}
	return phases.NewFault(phases.KindProtocol, text, err)
}

// unfinished reports whether the bytes are strict JSON up to their end, and end inside it:
// they are the beginning of a payload, and no more of them came. Bytes with a fault before
// their end were sent as they are.
func unfinished(b []byte) bool {
	err := jsontext.NewDecoder(bytes.NewBuffer(b)).SkipValue() // of a Buffer it makes no copy
	return errors.Is(err, io.ErrUnexpectedEOF)
}

// ReadAll reads one document. What has come until then is returned beside an error,
// for the form of the answer to it; nothing else may be concluded from it.
func ReadAll(ctx context.Context, r io.Reader) ([]byte, error) { return readAll(ctx, r, MaxInput) }

func readAll(ctx context.Context, r io.Reader, most int) ([]byte, error) {
	b, err := collect(Interruptible(ctx, r), most+1)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = ErrLate
	case errors.Is(err, context.Canceled):
		err = ErrInterrupted
	case err == nil && len(b) > most:
		err = fmt.Errorf("it has more than %d MiB: %w", most>>20, ErrTooLarge)
	case err == nil && len(bytes.TrimSpace(b)) == 0:
		err = ErrEmpty
	}
	return b, err
}

// collect is io.ReadAll for at most so many bytes. A usual payload takes one read, and its end another: each
// is a goroutine's.
func collect(r io.Reader, most int) ([]byte, error) {
	b := make([]byte, 0, 8<<10)
	for len(b) < most {
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
		n, err := r.Read(b[len(b):min(cap(b), most)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// Interruptible gives up a read when ctx ends: a read of a pipe or a terminal
// cannot be stopped otherwise, and a signal would wait for it.
func Interruptible(ctx context.Context, r io.Reader) io.Reader { return &interruptible{ctx, r} }

type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	buf := make([]byte, len(p)) // a read that nothing waits for may still write here
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(buf)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		return copy(p, buf[:r.n]), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}

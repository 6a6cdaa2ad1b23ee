package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxInput bounds what is read of one document; the decoder has its own limit
// and names it, so this one only keeps memory in check.
const maxInput = 4 << 20

// payloadPatience is how long a runtime may take to hand over its payload. A
// runtime that is kept waiting longer gives up on its hooks and goes on, so the
// answer has to come first.
const payloadPatience = 10 * time.Second

// open opens what a command reads; nothing and "-" mean standard input. A read
// of standard input ends when ctx does.
func (a *App) open(ctx context.Context, file string) (io.Reader, func(), error) {
	if file == "" || file == "-" {
		return &interruptible{ctx: ctx, r: a.In}, func() {}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, failureBy(err, "")
	}
	return f, func() { f.Close() }, nil
}

// readInput reads one document.
func (a *App) readInput(ctx context.Context, file string) ([]byte, error) {
	in, closeIn, err := a.open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer closeIn()
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch name := inputName(file); {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, failure(name+" was not complete in time", "Whoever writes it has to close it.")
	case errors.Is(err, context.Canceled):
		return nil, failure("interrupted while reading "+name, "")
	case err != nil:
		return nil, failureBy(err, "")
	case len(b) > maxInput:
		return nil, failure(fmt.Sprintf("%s has more than %d MiB", name, maxInput>>20), "An invocation may have 1 MiB.")
	case len(bytes.TrimSpace(b)) == 0:
		return nil, failure(name+" is empty: an invocation was expected", "Pipe one in, or name a file with -f.")
	}
	return b, nil
}

func inputName(file string) string {
	if file == "" || file == "-" {
		return "standard input"
	}
	return safe(file)
}

// interruptible gives up a read when its context ends: a read of a pipe or a
// terminal cannot be stopped otherwise, and a signal would wait for it.
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
	buf := make([]byte, len(p)) // a read that was given up may still write here
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

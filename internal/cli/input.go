package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/belay-hooks/belay/internal/hookcmd"
)

// open opens what a command reads; nothing and "-" mean standard input. A read
// of standard input ends when ctx does.
func (a *App) open(ctx context.Context, file string) (io.Reader, func(), error) {
	if file == "" || file == "-" {
		return hookcmd.Interruptible(ctx, a.In), func() {}, nil
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
	b, err := hookcmd.ReadAll(ctx, in)
	if err != nil {
		return nil, inputProblem(file, err)
	}
	return b, nil
}

// inputProblem says why a document could not be read; err is an error of hookcmd.ReadAll.
func inputProblem(file string, err error) error {
	switch name := inputName(file); {
	case err == nil:
		return nil
	case errors.Is(err, hookcmd.ErrLate):
		return failure(name+" was not complete in time", "Whoever writes it has to close it.")
	case errors.Is(err, hookcmd.ErrInterrupted):
		return failure("interrupted while reading "+name, "")
	case errors.Is(err, hookcmd.ErrTooLarge):
		return failure(fmt.Sprintf("%s has more than %d MiB", name, hookcmd.MaxInput>>20), "An invocation may have 1 MiB.")
	case errors.Is(err, hookcmd.ErrEmpty):
		return failure(name+" is empty: an invocation was expected", "Pipe one in, or name a file with -f.")
	}
	return failureBy(err, "")
}

func inputName(file string) string {
	if file == "" || file == "-" {
		return "standard input"
	}
	return safe(file)
}

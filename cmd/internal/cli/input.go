package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/files"
)

// open opens what a command reads; nothing and "-" mean standard input. A read
// of standard input ends when ctx does.
func (a *App) open(ctx context.Context, file string) (io.Reader, func(), error) {
	if file == "" || file == "-" {
		return hookcmd.Interruptible(ctx, a.In), func() {}, nil
	}
	f, err := openFile(file)
	if err != nil {
		return nil, nil, failureBy(err, "")
	}
	return hookcmd.Interruptible(ctx, f), func() { f.Close() }, nil
}

// openFile opens a file that a person has named. It is a regular file, read as far as it
// goes now, or a descriptor that the shell has opened for this process.
func openFile(path string) (io.ReadCloser, error) {
	if given(path) {
		return os.Open(path)
	}
	return files.Stream(path)
}

// given reports whether the path names a descriptor that this process was started with,
// such as that of a shell's <(command). belay holds it open already.
func given(path string) bool {
	n, ok := strings.CutPrefix(path, "/dev/fd/")
	_, err := strconv.ParseUint(n, 10, 16)
	return path == "/dev/stdin" || ok && err == nil
}

// readLimited reads a file of at most limit bytes that a person has named.
func readLimited(path string, limit int64) ([]byte, error) {
	if !given(path) {
		return files.Read(path, limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return b, err
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
		return failure(name+" was not complete in time", "The program that writes it has to close it.")
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

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/phases"
)

// lineError is what a line gets that held no invocation.
type lineError struct {
	Line     int             `json:"line"`
	Decision phases.Decision `json:"decision"` // always block: the caller must not go on
	Kind     phases.Kind     `json:"kind"`
	Error    string          `json:"error"`
}

// evalLines answers one verdict a line, in order. A bad line gets an error
// object with its number, and the lines after it are still read.
func (a *App) evalLines(ctx context.Context, host asker, in io.Reader) error {
	out := bufio.NewWriter(a.Out)
	r := bufio.NewReaderSize(in, 64<<10)
	bad := 0
	for n := 1; ; n++ {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLongLine) {
			return failureBy(err, "")
		}
		var answer any
		if errors.Is(err, errLongLine) {
			line = tooLong()
		}
		a.now.Store(&line)
		v, err := host.Wire(ctx, line)
		a.now.Store(nil) // it is recorded
		if err != nil {
			bad++
			answer = lineError{Line: n, Decision: phases.Block, Kind: phases.KindProtocol, Error: safe(lineProblem(err))}
		} else {
			answer = v
		}
		b, jerr := encodeJSON(answer, false)
		if jerr != nil {
			return jerr
		}
		_, _ = out.Write(append(b, '\n')) // Flush says it
		// One line in, one line out: a caller that talks to a pipe waits for its answer.
		if err := out.Flush(); err != nil {
			return err
		}
		if l, ok := host.(interface{ stuck() error }); ok {
			if err := l.stuck(); err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		return failure(fmt.Sprintf("%d of the lines got no verdict", bad), "Their error objects name the line and the place. Each line is one invocation as a whole.")
	}
	return nil
}

var errLongLine = errors.New("the line is longer than an invocation may be")

// lineProblem describes the fault of a line in the same words for a daemon and
// for this process.
func lineProblem(err error) string {
	if d := new(phases.DecodeError); errors.As(err, &d) {
		return d.Error()
	}
	if p := new(client.Error); errors.As(err, &p) {
		return strings.TrimPrefix(p.Message, dispatch.ErrInvocation.Error()+": ")
	}
	return err.Error()
}

// readLine returns the next line without its end. A line over hookcmd.MaxInput is read to
// its end and thrown away, with errLongLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > hookcmd.MaxInput {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if long {
			return nil, errLongLine
		}
		if n := len(line); n > 0 && line[n-1] == '\n' {
			line = line[:n-1]
			if len(line) == 0 {
				return []byte{' '}, nil // an empty line is a bad line, not the end
			}
			return line, nil
		}
		return line, err
	}
}

package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// maxLine bounds one line of a host program, in bytes.
	maxLine = 16 << 20
	// maxTurn is how long a host program may take for one turn.
	maxTurn = 60 * time.Second
)

// answerLine is the line that a host program writes for each Request.
type answerLine struct {
	Outcome    *Outcome `json:"outcome,omitzero"`
	NotOffered bool     `json:"not_offered,omitzero"` // instead: ErrNotOffered
	Error      string   `json:"error,omitzero"`       // instead: the host could not do its work
}

// Program is a host in whatever language: a program that reads one [Request] a line as
// JSON (bytes are base64) and writes one line for each, {"outcome": {…}}. It is used by
// one goroutine.
type Program struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	dead error
}

// Start starts a host program, with stderr as its standard error. Close and the end of ctx
// stop it.
func Start(ctx context.Context, argv []string, stderr io.Writer) (*Program, error) {
	if len(argv) == 0 {
		return nil, errors.New("no host program is named")
	}
	p := &Program{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	p.cmd.Stderr = stderr
	p.cmd.WaitDelay = time.Second
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	return p, p.cmd.Start()
}

// Close ends the program's input and waits for it.
func (p *Program) Close() error {
	_ = p.in.Close()
	if p.dead != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		return nil // its error was told already
	}
	return p.cmd.Wait()
}

// Run implements Host. After a line that is no answer every Run fails.
func (p *Program) Run(ctx context.Context, r Request) (Outcome, error) {
	if p.dead != nil {
		return Outcome{}, p.dead
	}
	ctx, cancel := context.WithTimeout(ctx, maxTurn)
	defer cancel()
	type answer struct {
		line answerLine
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		a.line, a.err = p.ask(&r)
		done <- a
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	switch {
	case a.err != nil:
		p.dead = fmt.Errorf("the host program: %w", a.err)
		return Outcome{}, p.dead
	case a.line.NotOffered:
		return Outcome{}, ErrNotOffered
	case a.line.Outcome == nil:
		return Outcome{}, fmt.Errorf("the host program: %s", a.line.Error)
	}
	return *a.line.Outcome, nil
}

func (p *Program) ask(r *Request) (a answerLine, err error) {
	raw, err := json.Marshal(r, json.Deterministic(true), json.FormatNilSliceAsNull(true))
	if err != nil {
		return a, err
	}
	if _, err := p.in.Write(append(raw, '\n')); err != nil {
		return a, err
	}
	line, err := readLine(p.out)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(line, &a, json.RejectUnknownMembers(true)); err != nil {
		return a, fmt.Errorf("its answer: %w", err)
	}
	n := 0
	for _, said := range []bool{a.Outcome != nil, a.NotOffered, a.Error != ""} {
		if said {
			n++
		}
	}
	if n != 1 {
		return a, errors.New("its answer has not one of outcome, not_offered and error")
	}
	return a, nil
}

// readLine reads one line; io.EOF is an error of its own when there is none.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// Serve is the other side of [Program], for hosts in Go: it answers the requests in r
// until it ends.
func Serve(ctx context.Context, h Host, r io.Reader, w io.Writer) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var req Request
		if err := json.Unmarshal(line, &req, json.RejectUnknownMembers(true)); err != nil {
			return fmt.Errorf("a request: %w", err)
		}
		var a answerLine
		o, err := h.Run(ctx, req)
		switch {
		case errors.Is(err, ErrNotOffered):
			a.NotOffered = true
		case err != nil:
			a.Error = err.Error()
		default:
			a.Outcome = &o
		}
		raw, err := json.Marshal(a, json.Deterministic(true), json.FormatNilSliceAsNull(true))
		if err != nil {
			return err
		}
		if _, err := w.Write(append(raw, '\n')); err != nil {
			return err
		}
	}
}

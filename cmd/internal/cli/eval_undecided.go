package cli

import (
	"bytes"
	"context"
	"errors"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// undecided is the answer about an invocation that was not decided: the document that POST /v1/invoke
// answers with. v is the verdict beside the error, which names the record of the refusal. It is false
// where nothing was answered at all, such as by a daemon that is stopped.
func undecided(src []byte, v phases.Verdict, err error) (p wire.Problem, ok bool) {
	p.Event = v.Event
	switch c, d := new(client.Error), new(phases.DecodeError); {
	case errors.As(err, &c):
		p.Error = c.ProblemBody
	case errors.As(err, &d):
		p.Error = wire.ProblemBody{Code: wire.CodeInvocation, Message: "the invocation is not valid: " + d.Error(),
			Pointer: d.Pointer}
		if len(src) > phases.MaxInputBytes {
			p.Error.Code = wire.CodeTooLarge
		}
	default:
		return p, false
	}
	p.Error.Message = redact.Label(safe(p.Error.Message)) // it may quote input, and others store it
	p.Error.Decision = phases.Block
	return p, true
}

// readInvocation reads what is asked about. What is empty or too large is none, and is returned all the
// same, so that it is refused and recorded as over the daemon's other ways.
func (a *App) readInvocation(ctx context.Context, file string) ([]byte, error) {
	in, closeIn, err := a.open(ctx, file)
	if err != nil {
		return nil, err
	}
	defer closeIn()
	switch b, err := hookcmd.ReadAll(ctx, in); {
	case errors.Is(err, hookcmd.ErrEmpty):
		return []byte{}, nil
	case errors.Is(err, hookcmd.ErrTooLarge):
		return tooLong(), nil
	default:
		return b, inputProblem(file, err)
	}
}

// tooLong stands for a document that was not kept because of its size: it is refused for that.
func tooLong() []byte { return bytes.Repeat([]byte{' '}, phases.MaxInputBytes+1) }

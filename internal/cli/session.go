package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// recorded is one line of a recorded session: a runtime's own payload, or an
// invocation in the wire form.
type recorded struct {
	Title      string         `json:"title,omitzero"`
	Runtime    string         `json:"runtime,omitzero"`
	Event      jsontext.Value `json:"event,omitzero"`
	Invocation jsontext.Value `json:"invocation,omitzero"`
}

// played is one line with what the kernel answered.
type played struct {
	title    string
	verdicts []phases.Verdict
}

// play runs a recorded session line by line.
func play(ctx context.Context, host *belay.Belay, src io.Reader, each func(played) error) error {
	r := bufio.NewReaderSize(src, 64<<10)
	for n := 1; ; n++ {
		line, err := readLine(r)
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var rec recorded
		if err := json.Unmarshal(line, &rec, json.RejectUnknownMembers(true)); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		p, err := playLine(ctx, host, rec)
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := each(p); err != nil {
			return err
		}
	}
}

func playLine(ctx context.Context, host *belay.Belay, rec recorded) (played, error) {
	p := played{title: rec.Title}
	if rec.Invocation != nil {
		inv, err := phases.DecodeInvocation(rec.Invocation)
		if err != nil {
			return p, err
		}
		v, err := host.Invoke(ctx, inv)
		if v.Decision == "" {
			return p, err
		}
		p.verdicts = append(p.verdicts, v)
		return p, nil
	}
	ad, err := adapterFor(rec.Runtime)
	if err != nil {
		return p, err
	}
	answer, err := adapters.Run(ctx, ad, rec.Event, adapters.Options{}, func(ctx context.Context, s adapters.Step) (phases.Verdict, error) {
		v, err := invokeStep(ctx, host, s)
		if err == nil {
			p.verdicts = append(p.verdicts, v)
		}
		return v, err
	})
	if answer.Latch != "" {
		// As for a live runtime: the answer alone would not hold the session.
		f := phases.NewFault(phases.KindProtocol, answer.Latch, err)
		if v, _ := host.Refuse(ctx, kernel.Refusal{Invocation: phases.Invocation{Runtime: ad.Runtime(), Session: answer.Session}, Fault: f, Unblockable: true}); v.Event == nil {
			return p, fmt.Errorf("session %q could not be latched", answer.Session)
		}
	}
	return p, err
}

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
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
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
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

// optionsOf is what a caller says beside its invocation.
func optionsOf(r phases.Request) belay.InvokeOptions {
	return belay.InvokeOptions{HoldsScopes: r.HoldsScopes, ParentScopes: r.ParentScopes}
}

func playLine(ctx context.Context, host *belay.Belay, rec recorded) (played, error) {
	demo := played{title: rec.Title}
	if rec.Invocation != nil {
		req, err := phases.DecodeRequest(rec.Invocation)
		if err != nil {
			return demo, err
		}
		v, err := host.InvokeWith(ctx, req.Invocation, optionsOf(req))
		if v.Decision == "" {
			return demo, err
		}
		demo.verdicts = append(demo.verdicts, v)
		return demo, nil
	}
	ad, err := adapterFor(rec.Runtime)
	if err != nil {
		return demo, err
	}
	out := dispatch.Runtime(ctx, host, ad, rec.Event, adapters.Options{})
	demo.verdicts = out.Verdicts
	return demo, out.Err
}

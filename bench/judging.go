package main

import (
	"context"
	"errors"
	"fmt"
)

// judge decides a document; true means that it may go on.
type judge func(ctx context.Context, document []byte) (bool, error)

// prepared makes a judge ready.
type prepared struct {
	name, note string
	open       func(context.Context, *yard) (judge, error)
}

const turnNote = "fresh state, fuel, deadline, hostcalls checked; the document was checked before, once"

func openJudging(ctx context.Context, y *yard) ([]subject, error) {
	return judges(ctx, y, []prepared{
		{"wazero, C, one instance, no reset", "no isolation between events, no metering", bareReused("c")},
		{"belay, a turn in C", turnNote, belayTurn("c")},
		{"wazero, C, fresh instance", "no metering", bareFresh("c")},
		{"wazero, C, reused, ends with its context", "WithCloseOnContextDone", bareStoppable("c")},
		{"wasmtime, C, reused, fuel", "by cgo", wasmtimeReused("c")},
		{"Extism, C, reused", "no metering", extismReused},
		{"Extism, C, fresh", "no metering", extismFresh},
		{"plain Go", "encoding/json and strings.Contains; no isolation", plainGo},
		{"CEL", "prepared program", celPrepared},
		{"OPA", "prepared query", opaPrepared},
		{"goja", "JavaScript, one runtime, no reset", gojaReused},
	})
}

func openRust(ctx context.Context, y *yard) ([]subject, error) {
	return judges(ctx, y, []prepared{
		{"wazero, Rust, one instance, no reset", "no isolation between events, no metering", bareReused("rust")},
		{"belay, a turn in Rust", turnNote, belayTurn("rust")},
		{"wazero, Rust, fresh instance", "no metering", bareFresh("rust")},
		{"wazero, Rust, reused, ends with its context", "WithCloseOnContextDone", bareStoppable("rust")},
		{"wasmtime, Rust, reused, fuel", "by cgo", wasmtimeReused("rust")},
	})
}

// judges opens each and has it tell the event from one that the policy refuses: a figure of a judge that does not
// judge is worth nothing.
func judges(ctx context.Context, y *yard, all []prepared) ([]subject, error) {
	inv, allowed, err := event()
	if err != nil {
		return nil, err
	}
	bad, err := withCommand(inv, "cd /tmp; "+forbidden)
	if err != nil {
		return nil, err
	}
	refused, err := documentOf(bad)
	if err != nil {
		return nil, err
	}
	subjects := make([]subject, 0, len(all))
	for _, p := range all {
		j, err := p.open(ctx, y)
		if errors.Is(err, errMissing) {
			subjects = append(subjects, subject{name: p.name, note: err.Error()})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		for range 3 { // and again after it has said no
			yes, err := j(ctx, allowed)
			no, err2 := j(ctx, refused)
			if err := errors.Join(err, err2); err != nil || !yes || no {
				return nil, fmt.Errorf("%s: it does not judge as the policy says: %v, %v, %w", p.name, yes, no, err)
			}
		}
		subjects = append(subjects, subject{name: p.name, note: p.note, do: func(ctx context.Context) error {
			yes, err := j(ctx, allowed)
			if err == nil && !yes {
				err = errors.New("it refused the event")
			}
			return err
		}})
	}
	return subjects, nil
}

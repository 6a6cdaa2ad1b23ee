package main

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/phases"
)

// turnTime is what a judge may take for one event where it has a limit: belay's own.
const turnTime = sandbox.DefaultTimeout

// belayTurn is what the kernel does for one hook: a session, and the export on fresh state.
func belayTurn(lang string) func(context.Context, *yard) (judge, error) {
	return func(ctx context.Context, y *yard) (judge, error) {
		file, err := y.guest(ctx, lang)
		if err != nil {
			return nil, err
		}
		return y.turns(ctx, file)
	}
}

// turns makes a module ready to take turns.
func (y *yard) turns(ctx context.Context, file []byte) (judge, error) {
	engine, err := sandbox.Open(sandbox.Options{})
	if err != nil {
		return nil, err
	}
	y.atEnd(func() { _ = engine.Close() })
	module, err := engine.Load(ctx, file, sandbox.LoadOptions{Trusted: true})
	if err != nil {
		return nil, err
	}
	granted, err := hostcalls.ParseGrants([]string{"block"})
	if err != nil {
		return nil, err
	}
	inv, _, err := event()
	if err != nil {
		return nil, err
	}
	action, err := phases.NewStrict(inv.Action, len(inv.Action))
	if err != nil {
		return nil, err
	}
	at := time.Date(2026, 11, 2, 3, 4, 5, 0, time.UTC)
	var last *phases.Strict // the kernel checks a document once, for all the turns that are shown it
	session := new(hostcalls.Session)
	return func(ctx context.Context, document []byte) (bool, error) {
		if !last.Holds(document) {
			if last, err = phases.NewStrict(document, phases.MaxDocumentBytes); err != nil {
				return false, err
			}
		}
		if err := session.Renew(&hostcalls.SessionConfig{
			Phase: phases.PreTool, Pass: phases.PassMutate, Input: jsontext.Value(document), Action: action.Bytes(),
			Checked: hostcalls.Documents{Input: last, Action: action},
			Actor:   phases.Actor{Hook: "bench", Tier: phases.Sandboxed, Mutator: true},
			Granted: granted, Time: at,
		}); err != nil {
			return false, err
		}
		if _, err := module.Run(ctx, sandbox.RunRequest{Phase: phases.PreTool, Session: session}); err != nil {
			return false, fmt.Errorf("%w: %v", err, phases.FaultOf(err))
		}
		return len(session.Effects()) == 0, nil
	}, nil
}

func documentOf(inv phases.Invocation) (jsontext.Value, error) { return phases.Document(inv, nil) }

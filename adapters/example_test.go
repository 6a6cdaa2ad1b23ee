package adapters_test

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// toy translates a runtime that has one event, asks nothing itself, and obeys "deny WHY".
type toy struct{}

var toyTable = adapters.Table{
	Runtime: "Toy",
	Events:  map[string]adapters.Expresses{"before_tool": {Blocks: true, Carries: []string{"/args"}}},
}

func (toy) Runtime() string       { return "toy" }
func (toy) Table() adapters.Table { return toyTable }
func (toy) SessionMember() string { return "" }

func (toy) Decode(payload []byte, o adapters.Options) (adapters.Event, error) {
	inv, err := phases.DecodeInvocation(payload)
	return adapters.Event{Name: "before_tool", Session: inv.Session, Payload: payload, Options: o,
		Steps: []adapters.Step{{Invocation: inv, Blockable: true}}}, err
}

func (toy) Next(ev adapters.Event, verdicts []phases.Verdict) (adapters.Step, bool, error) {
	return toyTable.Next(ev, verdicts)
}

func (t toy) Encode(ev adapters.Event, verdicts []phases.Verdict) adapters.Answer {
	o, err := toyTable.Weigh(ev, verdicts)
	switch {
	case err != nil:
		return t.Failure(ev.Payload, ev.Options, err)
	case o.Decision == phases.Block:
		return adapters.Answer{Stdout: []byte("deny " + o.Reason), Session: ev.Session}
	}
	args, _ := phases.Get(o.Finals[0], "/args")
	return adapters.Answer{Stdout: []byte("run " + string(args)), Session: ev.Session}
}

func (toy) Failure(_ []byte, _ adapters.Options, cause error) adapters.Answer {
	return adapters.Answer{Stdout: []byte("deny " + adapters.Reason("", adapters.SafeReason(cause), "failed"))}
}

// An adapter reads its runtime's events and writes its answers. How verdicts combine, and that what
// the runtime cannot express is a deny, is decided by a Table.
func ExampleRun() {
	payload := []byte(`{"phase":"pre_tool","runtime":"toy","session":"s","agent":"main",` +
		`"action":{"tool":"exec","args":{"command":"ls"}}}`)
	answer := func(v phases.Verdict) {
		a, err := adapters.Run(context.Background(), toy{}, payload, adapters.Options{},
			func(_ context.Context, step adapters.Step) (phases.Verdict, error) {
				v.Phase = step.Invocation.Phase
				return v, nil
			})
		fmt.Println(string(a.Stdout), err)
	}
	answer(phases.Verdict{Decision: phases.Allow, Action: jsontext.Value(`{"tool":"exec","args":{"command":"ls -l"}}`)})
	answer(phases.Verdict{Decision: phases.Allow, Action: jsontext.Value(`{"tool":"read","args":{"command":"ls"}}`)})
	answer(phases.Verdict{Decision: phases.Ask, Reason: "are you sure?", DecidedBy: "guard"})
	answer(phases.Verdict{Decision: phases.Block, Reason: "no", DecidedBy: "guard"})
	// Output:
	// run {"command":"ls -l"} <nil>
	// deny belay: a hook changed something of this call that Toy cannot carry <nil>
	// deny belay: a person has to decide, and Toy cannot ask here: belay (guard): are you sure? <nil>
	// deny belay (guard): no <nil>
}

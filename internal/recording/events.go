package recording

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// eventInput is the payload of a verdict event.
type eventInput struct {
	Action   jsontext.Value            `json:"action"`
	CWD      string                    `json:"cwd"`
	Scopes   phases.Scopes             `json:"scopes"`
	Metadata map[string]jsontext.Value `json:"metadata"`
	Carried  phases.Metadata           `json:"carried"`
	Time     time.Time                 `json:"time"`
	Reported time.Time                 `json:"reported_time"`
	Rest     jsontext.Value            `json:",inline"`
}

type eventOutput struct {
	Action jsontext.Value `json:"action"`
	Scopes phases.Scopes  `json:"scopes"`
	Rest   jsontext.Value `json:",inline"`
}

// RunOfEvent makes a run of a stored verdict, for a recording that is Redacted: the action
// as it is logged, and the decision. It returns false for an event of another type, and for
// one whose payload was not stored.
func RunOfEvent(e *phases.Event) (Run, bool) {
	var in eventInput
	if e.Type != phases.EventVerdict || len(e.Input) == 0 || json.Unmarshal(e.Input, &in) != nil || in.Action == nil {
		return Run{}, false
	}
	inv := phases.Invocation{
		ID: e.Invocation, Phase: e.Phase, Runtime: e.Runtime, Session: e.Session, Agent: e.Agent, Run: e.Run, User: e.User,
		CWD: in.CWD, Action: in.Action, Scopes: in.Scopes, Metadata: in.Metadata, Time: in.Time.UTC(),
		Traceparent: e.Traceparent,
	}
	raw, err := phases.EncodeInvocation(inv)
	if err != nil {
		return Run{}, false
	}
	if _, err := phases.DecodeInvocation(raw); err != nil {
		return Run{}, false
	}
	out := eventOutput{Action: in.Action, Scopes: in.Scopes}
	if len(e.Output) > 0 {
		out.Action = nil
		if json.Unmarshal(e.Output, &out) != nil {
			return Run{}, false
		}
		if out.Action == nil { // it was not changed
			out.Action = in.Action
		}
	}
	r := Run{
		Invocation: raw, ReportedTime: in.Reported.UTC(), Seed: e.Seed,
		Options: Options{Unblockable: e.Enforced == phases.EnforcedLatched,
			Delegated: e.Enforced == phases.EnforcedDelegated},
		Chained: Verdict{Decision: phases.Decision(e.Decision), Reason: e.Reason, Kind: e.Kind, DecidedBy: e.DecidedBy,
			Action: out.Action, Changed: orNil(e.Changed), Scopes: out.Scopes},
		Final: Final{Decision: phases.Decision(e.Decision), Reason: e.Reason, Kind: e.Kind, DecidedBy: e.DecidedBy,
			Enforced: e.Enforced},
	}
	for k, m := range in.Carried {
		if r.Carried.Metadata == nil {
			r.Carried.Metadata = map[string]Entry{}
		}
		r.Carried.Metadata[k] = Entry{Value: string(m.Value), Hook: m.Hook, Tier: m.Tier}
	}
	switch r.Chained.Decision {
	case phases.Allow, phases.Ask, phases.Block:
		return r, true
	}
	return Run{}, false
}

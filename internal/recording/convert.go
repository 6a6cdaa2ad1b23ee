package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// ChainOf describes a configuration.
func ChainOf(c *kernel.RecordedChain) Chain {
	out := Chain{Revision: c.Revision, Ceiling: c.Ceiling, BudgetMS: c.ChainBudget.Milliseconds(), Home: c.Home,
		UnsafeFailOpen: c.UnsafeFailOpen, Bindings: []Binding{}}
	for _, r := range c.Require {
		out.Require = append(out.Require, Require(r))
	}
	for i := range c.Bindings {
		b := &c.Bindings[i]
		o := Binding{
			Name: b.Name, Digest: b.Digest, Version: b.Version, Tier: b.Tier, Signer: b.Signer, Mode: b.Mode,
			Priority: b.Priority,
			Phases:   b.Phases, Mutates: b.Mutates, Imports: b.Imports, Held: b.Held, Match: b.Match, Config: b.Config,
			State: b.State, Apart: b.Apart,
			Fuel: b.Fuel, TimeoutMS: b.Timeout.Milliseconds(), Budget: b.Budget, Notes: b.Notes, Failure: faultOf(b.Failure),
			Trust: b.Trust,
		}
		if b.Allowed != nil {
			allowed := slices.Clone(b.Allowed)
			o.Allowed = &allowed
		}
		out.Bindings = append(out.Bindings, o)
	}
	return out
}

// Digest names the chain: sha256:<hex> of its written form.
func (c *Chain) Digest() (string, error) {
	b, err := encode(c)
	if err != nil {
		return "", err
	}
	return phases.ByteDigest(b), nil
}

// RunOf describes one invocation under the chain of the digest.
func RunOf(r *kernel.Recording, chain string) (Run, error) {
	inv, err := phases.EncodeInvocation(r.Invocation)
	if err != nil {
		return Run{}, err
	}
	out := Run{
		Chain: chain, Invocation: inv, Seed: hex.EncodeToString(r.Seed[:]),
		Options: OptionsOf(&r.Options), ReportedTime: r.Invocation.ReportedTime,
		Carried: carriedOf(r.Run), Reach: r.Reach, Chained: VerdictOf(&r.Chained),
	}
	if v := r.Verdict; v != nil {
		out.Final = Final{Decision: v.Decision, Kind: v.Kind, Reason: v.Reason, DecidedBy: v.DecidedBy, Enforced: v.Enforced}
	}
	if l := r.Latch; l != nil {
		out.Latch = &Latch{Reason: l.Reason, Kind: l.Kind, DecidedBy: l.DecidedBy, Invocation: l.Invocation,
			Since: l.Since.UTC(), ID: l.ID, Cause: l.Cause, Event: l.Event}
	}
	for i := range r.Turns {
		out.Turns = append(out.Turns, TurnOf(&r.Turns[i]))
	}
	return out, nil
}

// OptionsOf describes options. The kernel's calls for hooks are recorded as held to their
// scopes: Run.Reach held them.
func OptionsOf(o *kernel.InvokeOptions) Options {
	return Options{
		Unblockable: o.Unblockable, Delegated: o.Delegated, ScopesLost: !o.HoldsScopes, OnBehalf: o.OnBehalf,
		ParentScopes: o.ParentScopes,
	}
}

// InvokeOptions are the options for a kernel that decides the invocation again.
func (o *Options) InvokeOptions() kernel.InvokeOptions {
	return kernel.InvokeOptions{
		Unblockable: o.Unblockable, Delegated: o.Delegated, HoldsScopes: !o.ScopesLost, OnBehalf: o.OnBehalf,
		ParentScopes: o.ParentScopes,
	}
}

func carriedOf(r kernel.RunState) Carried {
	c := Carried{Version: r.Version, Retries: r.Retries}
	for k, e := range r.Metadata {
		if c.Metadata == nil {
			c.Metadata = map[string]Entry{}
		}
		c.Metadata[k] = Entry{Value: string(e.Value), Hook: e.Hook, Tier: e.Tier}
	}
	return c
}

// RunState returns the carried state of the run, for a kernel.
func (c *Carried) RunState() kernel.RunState {
	r := kernel.RunState{Version: c.Version, Retries: c.Retries}
	for k, e := range c.Metadata {
		if r.Metadata == nil {
			r.Metadata = phases.Metadata{}
		}
		r.Metadata[k] = phases.Entry{Value: []byte(e.Value), Hook: e.Hook, Tier: e.Tier}
	}
	return r
}

// VerdictOf returns the part of a verdict that the hooks decide.
func VerdictOf(v *phases.Verdict) Verdict {
	return Verdict{
		Decision: v.Decision, Reason: v.Reason, Kind: v.Kind, DecidedBy: v.DecidedBy, Action: v.Action,
		Changed: orNil(v.Changed), Scopes: v.Scopes,
		Metadata: orNilMap(v.Metadata), Contexts: orNil(v.Contexts), Reply: v.Reply, Retry: v.Retry,
		Artifacts: orNil(v.Artifacts), Grant: v.Grant, Notes: orNil(v.Notes),
	}
}

// orNil gives lists without entries one form, so that a recording that was read
// back equals one that was made.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func orNilMap(m phases.Metadata) phases.Metadata {
	if len(m) == 0 {
		return nil
	}
	return m
}

func faultOf(f *phases.Fault) *Fault {
	if f == nil {
		return nil
	}
	return &Fault{Kind: f.Kind, Text: f.Text}
}

// TurnOf describes one turn.
func TurnOf(t *kernel.RecordedTurn) Turn {
	out := Turn{Binding: t.Binding, Pass: t.Pass, Ran: t.Trace != nil, Budget: t.Budget, Outcome: OutcomeOf(&t.Outcome),
		Fault: faultOf(t.Fault),
		Report: Report{Decision: t.Report.Decision, Reason: t.Report.Reason, Kind: t.Report.Kind,
			Notes: orNil(t.Report.Notes)}}
	if t.Input != nil {
		out.InputSHA256 = sum(t.Input)
	}
	if t.Pass == phases.PassAudit {
		out.Input, out.Action = Raw(t.Input), Raw(t.Action)
		out.Seed = hex.EncodeToString(t.Seed[:])
	}
	if t.Trace != nil {
		out.trace(t.Trace)
	}
	return out
}

func (t *Turn) trace(tr *hostcalls.Trace) {
	t.Ports, t.Incomplete = tr.Ports, tr.Incomplete
	for i := range tr.Calls {
		t.Calls = append(t.Calls, CallOf(&tr.Calls[i]))
	}
	for i := range tr.Answers {
		a := &tr.Answers[i]
		t.Answers = append(t.Answers, Answer{
			Port: a.Port, Request: complete(a.Request), Reply: complete(a.Reply), Version: a.Version, Keys: a.Keys,
			Bytes: a.Bytes,
			Errno: int32(a.Errno), Fuel: a.Fuel, Error: strings.ToValidUTF8(a.Err, "\uFFFD"),
		})
	}
}

// CallOf describes one call.
func CallOf(c *hostcalls.TracedCall) Call {
	out := Call{Name: c.Name, I32: c.I32, Cap: c.Cap, Code: c.Code, Out: traced(c.Out), Reply: traced(c.Reply),
		Fuel: c.Fuel, Fault: c.Fault}
	for _, in := range c.In {
		out.In = append(out.In, Value(in))
	}
	if c.Long[0] || c.Long[1] {
		out.Long = c.Long[:len(c.In)]
	}
	return out
}

// OutcomeOf describes the parts of an outcome that are the same every time.
func OutcomeOf(o *kernel.Outcome) Outcome {
	out := Outcome{
		Effects: orNil(o.Effects), LogsDropped: o.LogsDropped, Notes: orNil(o.Notes), FailText: o.FailText,
		Detail: strings.ToValidUTF8(o.Detail, "\uFFFD"),
		Fuel:   o.Fuel, MemoryPeak: o.MemoryPeak, Hostcalls: o.Hostcalls,
	}
	for _, w := range o.StateWrites {
		out.StateWrites = append(out.StateWrites,
			StateWrite{Key: w.Key, Value: complete(w.Value), Delete: w.Delete, Version: w.Version})
	}
	for _, w := range o.Wishes {
		out.Wishes = append(out.Wishes, Wish{Call: w.Call, Request: Value(hostcalls.ValueOf(w.Request))})
	}
	for _, l := range o.Logs {
		out.Logs = append(out.Logs, Log(l))
	}
	return out
}

func encode(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

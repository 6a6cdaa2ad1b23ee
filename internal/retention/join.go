package retention

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Joiner finds the retained originals of stored events. A process that writes into a
// directory of recordings can put anything there. So an original counts only when the
// event's keyed digests prove it: its input, its output, the requests of each turn, and all
// that the events say in the open. No event holds the answers to a hook's calls; a replay
// finds out whether they lead to the same outcome.
//
// It is for one goroutine.
type Joiner struct {
	digests *Digests
	turns   func(ctx context.Context, invocation string) ([]phases.Event, error)
	want    map[string][]*wanted
	seqs    int
}

type wanted struct {
	e     phases.Event
	found bool
}

// NewJoiner returns a Joiner. turns returns the events of type hook of an invocation,
// in the order of their numbers.
func NewJoiner(d *Digests, turns func(ctx context.Context, invocation string) ([]phases.Event, error)) *Joiner {
	return &Joiner{digests: d, turns: turns, want: map[string][]*wanted{}}
}

// Want adds an event of type verdict, and drops the parts of it that check does not need.
func (j *Joiner) Want(e *phases.Event) {
	w := &wanted{e: *e}
	w.e.Input, w.e.Output, w.e.Logs, w.e.Reason, w.e.Detail = nil, nil, nil, "", ""
	j.want[e.Invocation] = append(j.want[e.Invocation], w)
	j.seqs++
}

// Wanted returns how many events were added.
func (j *Joiner) Wanted() int { return j.seqs }

// Missing returns the numbers of the events whose original was not found, in order.
func (j *Joiner) Missing() []int64 {
	var out []int64
	for _, list := range j.want {
		for _, w := range list {
			if !w.found {
				out = append(out, w.e.Seq)
			}
		}
	}
	slices.Sort(out)
	return out
}

// A MismatchError says why an original does not belong to the event that it names.
type MismatchError struct {
	Seq  int64 // of the event
	What string
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("what was kept for event %d does not belong to it: %s", e.Seq, e.What)
}

// Take looks at a retained invocation. It returns the number of the event whose original
// it proves to be; 0 when it is not wanted, or found already. The error is a
// *MismatchError, or that of reading events.
func (j *Joiner) Take(ctx context.Context, run *recording.Run, chain *recording.Chain) (int64, error) {
	inv, err := run.Decode()
	if err != nil {
		return 0, nil // its reader has refused it before
	}
	list := j.want[inv.ID]
	if len(list) == 0 {
		return 0, nil
	}
	turns, err := j.turns(ctx, inv.ID)
	if err != nil {
		return 0, err
	}
	var first error
	for n, w := range list {
		after := int64(0) // turns stand directly before their verdict
		if n > 0 {
			after = list[n-1].e.Seq
		}
		what := j.check(&w.e, inv, run, chain, between(turns, after, w.e.Seq))
		switch {
		case what == "" && w.found:
			return 0, nil // the same once more: a copy of a file
		case what == "":
			w.found = true
			return w.e.Seq, nil
		case first == nil:
			first = &MismatchError{Seq: w.e.Seq, What: what}
		}
	}
	return 0, first
}

func between(list []phases.Event, after, before int64) []phases.Event {
	var out []phases.Event
	for _, e := range list {
		if e.Type == phases.EventHook && e.Pass != phases.PassAudit && e.Seq > after && e.Seq < before {
			out = append(out, e)
		}
	}
	return out
}

// check returns how an original contradicts its event; "" when it does not.
func (j *Joiner) check(e *phases.Event, inv phases.Invocation, run *recording.Run, chain *recording.Chain,
	turns []phases.Event) string {
	carried := run.Carried.RunState().Metadata
	switch {
	case e.InputDigest == "":
		return "the event has no digest of its input any more, so that nothing can be proven"
	case !j.digests.Input(e, inv, carried):
		return "the input is another one than the event's digest is of"
	case run.Seed != e.Seed:
		return "the seed of its random numbers is another one"
	case chain == nil || chain.Revision != e.PolicyRevision:
		return "it was decided under another configuration"
	case inv.Phase != e.Phase || inv.Runtime != e.Runtime || inv.Session != e.Session || inv.Agent != e.Agent ||
		inv.Run != e.Run || inv.User != e.User || inv.Traceparent != e.Traceparent:
		return "phase, runtime, session, agent, run, user or trace are others"
	case string(run.Final.Decision) != e.Decision || run.Final.Kind != e.Kind || run.Final.DecidedBy != e.DecidedBy ||
		run.Final.Enforced != e.Enforced:
		return "another decision was recorded"
	}
	if what := j.checkTurns(run, chain, turns); what != "" {
		return what
	}
	return j.checkOutput(e, run, carried)
}

// checkTurns holds each turn against its event.
func (j *Joiner) checkTurns(run *recording.Run, chain *recording.Chain, events []phases.Event) string {
	var turns []*recording.Turn
	for i := range run.Turns {
		if run.Turns[i].Pass != phases.PassAudit { // they have seen the record, which has no digest
			turns = append(turns, &run.Turns[i])
		}
	}
	if len(turns) != len(events) {
		return fmt.Sprintf("it has %d turns of hooks, and there are events of %d", len(turns), len(events))
	}
	for i, t := range turns {
		e, digest := &events[i], ""
		if n := slices.IndexFunc(chain.Bindings, func(b recording.Binding) bool { return b.Name == t.Binding }); n >= 0 {
			digest = chain.Bindings[n].Digest
		}
		o := &t.Outcome
		switch {
		case t.Binding != e.Binding || t.Pass != e.Pass || digest != e.HookDigest:
			return fmt.Sprintf("turn %d is of another hook", i+1)
		case string(t.Report.Decision) != e.Decision || t.Report.Kind != e.Kind || o.Fuel != e.Fuel ||
			o.MemoryPeak != e.MemoryPeak || o.Hostcalls != e.Hostcalls:
			return fmt.Sprintf("turn %d, of %s, came out otherwise", i+1, phases.SafeLine(t.Binding, phases.MaxIDBytes))
		case !j.digests.Effects(e, o.Effects):
			return fmt.Sprintf("turn %d, of %s, asked for something else", i+1, phases.SafeLine(t.Binding, phases.MaxIDBytes))
		}
	}
	return ""
}

// checkOutput compares the outcome of the hooks with the output digest. Metadata with
// secrets in it is logged redacted, and the digest is of that: then the turns are the
// proof, whose digests are of their requests.
func (j *Joiner) checkOutput(e *phases.Event, run *recording.Run, carried phases.Metadata) string {
	c := &run.Chained
	v := phases.Verdict{Action: c.Action, Changed: c.Changed, Scopes: c.Scopes, Contexts: c.Contexts, Reply: c.Reply,
		Retry: c.Retry, Artifacts: c.Artifacts, Grant: c.Grant}
	if v.Contexts == nil {
		v.Contexts = []string{} // as a verdict has them
	}
	if v.Artifacts == nil {
		v.Artifacts = []phases.Artifact{}
	}
	if run.Final.Decision == phases.Block { // a leftover is not acted on
		v.Reply, v.Retry, v.Grant = nil, nil, nil
	}
	wrote := maps.Clone(c.Metadata)
	maps.DeleteFunc(wrote, func(key string, m phases.Entry) bool {
		old, ok := carried[key]
		return ok && string(old.Value) == string(m.Value) && old.Hook == m.Hook && old.Tier == m.Tier
	})
	switch {
	case len(wrote) == 0 && j.digests.Output(e, &v, nil):
	case len(wrote) > 0 && (j.digests.Output(e, &v, wrote) || redactedMetadata(e)):
	default:
		return "what came out is another thing than the event's digest is of"
	}
	return ""
}

// redactedMetadata reports whether secrets were redacted in metadata that hooks wrote.
func redactedMetadata(e *phases.Event) bool {
	return slices.ContainsFunc(e.Notes, func(n string) bool {
		return strings.HasSuffix(n, kernel.NoteRedacted)
	})
}

package reconcile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/transcripts"
)

// patience is how long a call may take from its verdict into the log.
const patience = 5 * time.Second

// input is what is compared.
type input struct {
	kind     runtime
	logs     []transcripts.Log
	verdicts []Verdict
	from     time.Time // calls before it are not judged; zero: all are
	now      time.Time
}

// outcome is what a comparison has found.
type outcome struct {
	calls, verdicts, earlier, unclear int // see wire.Reconciliation
	findings                          []wire.Finding
	why                               []string // for what could not be told, each reason once
}

func (o *outcome) unknown(n int, why string) {
	if n == 0 {
		return
	}
	o.unclear += n
	if !slices.Contains(o.why, why) {
		o.why = append(o.why, why)
	}
}

func (o *outcome) find(k wire.FindingKind, c *transcripts.Call, v *Verdict) {
	f := wire.Finding{Kind: k}
	if v != nil {
		f.Call, f.Tool, f.Event, f.Time = v.ID, v.Tool, v.Seq, v.At
	}
	if c != nil {
		f.Call, f.Tool, f.Time = c.ID, c.Names[0], c.At
	}
	o.findings = append(o.findings, f)
}

// Reasons why something could not be told.
const (
	whyBlind     = "an event does not hold what was asked"
	whyOpen      = "a call without a result and without a verdict"
	whyFailed    = "a call without a verdict that failed, perhaps before it ran"
	whyArgs      = "the arguments of a call cannot be compared"
	whyAgent     = "no log of a subagent was found"
	whyRecent    = "a verdict that is younger than the log may be"
	whyManyCalls = "more calls than belay compares"
)

// compare holds the calls of the logs against the verdicts. The order of the findings is that of the logs,
// then that of the verdicts.
func compare(in *input) outcome {
	var out outcome
	agents := map[string]bool{}
	var calls []*transcripts.Call
	earlier := map[*transcripts.Call]bool{}
	for i := range in.logs {
		log := &in.logs[i]
		agents[log.Agent] = true
		out.unknown(log.Unknown, log.First)
		for _, id := range log.Doubled {
			out.findings = append(out.findings, wire.Finding{Kind: wire.FindingDoubled, Call: id})
		}
		early := true
		for j := range log.Calls {
			c := &log.Calls[j]
			out.calls++
			// Only the beginning of a log can be earlier: a time in the middle of it is the log's own word.
			if early = early && !c.At.IsZero() && c.At.Before(in.from); early {
				earlier[c] = true
			}
			calls = append(calls, c)
		}
	}
	var sighted []*Verdict
	blind := 0
	for i := range in.verdicts {
		v := &in.verdicts[i]
		if out.verdicts++; v.Blind {
			blind++
			continue
		}
		sighted = append(sighted, v)
	}
	out.unknown(blind, whyBlind)
	left, missing := in.pair(&out, calls, sighted)
	for _, c := range left {
		switch {
		case c.State == transcripts.Refused:
		case earlier[c]:
			out.earlier++
		case blind > 0:
			blind-- // one of those whose event does not name its call
		case c.State == transcripts.Open:
			out.unknown(1, whyOpen)
		case c.State == transcripts.Failed:
			out.unknown(1, whyFailed)
		default:
			out.find(wire.FindingUnasked, c, nil)
		}
	}
	for _, v := range missing {
		switch {
		case in.kind.silent != nil && in.kind.silent(v):
		case !agents[in.kind.agentOf(v.Agent)]:
			out.unknown(1, whyAgent)
		case in.now.Sub(v.At) < patience:
			out.unknown(1, whyRecent)
		default:
			out.find(wire.FindingUncalled, nil, v)
		}
	}
	return out
}

// pair finds the verdict of each call, judges the pairs, and returns the calls and verdicts that have none.
func (in *input) pair(out *outcome, calls []*transcripts.Call, verdicts []*Verdict) (left []*transcripts.Call,
	missing []*Verdict) {
	if !in.kind.ids {
		return in.pairByArgs(calls, verdicts)
	}
	byID := map[string]*Verdict{}
	var order []*Verdict
	for _, v := range verdicts {
		if old := byID[v.ID]; old != nil {
			*old = merged(old, v) // asked about twice
			continue
		}
		byID[v.ID] = v
		order = append(order, v)
	}
	met := map[string]bool{}
	for _, c := range calls {
		v := byID[c.ID]
		if v == nil {
			left = append(left, c)
			continue
		}
		if met[c.ID] {
			out.find(wire.FindingDoubled, c, nil)
			continue
		}
		met[c.ID] = true
		in.judge(out, c, v)
	}
	for _, v := range order {
		if !met[v.ID] {
			missing = append(missing, v)
		}
	}
	return left, missing
}

// merged is one verdict for two questions about one call: the later one counts, and a refusal stays.
func merged(a, b *Verdict) Verdict {
	out := *b
	out.Seq = a.Seq
	return out
}

// judge compares a call with its verdict.
func (in *input) judge(out *outcome, c *transcripts.Call, v *Verdict) {
	switch {
	case v.Blocked && c.State == transcripts.Ran && in.kind.tellsRefusals:
		out.find(wire.FindingDenied, c, v)
	case !slices.Contains(c.Names, v.Tool):
		out.find(wire.FindingChanged, c, v)
	case c.Args == nil && c.Nested: // the log tells what the call did, not its arguments
	case c.Args == nil:
		out.unknown(1, whyArgs)
	case !in.kind.like.same(c.Args, v):
		out.find(wire.FindingChanged, c, v)
	}
}

// pairByArgs pairs calls and verdicts of one tool with the same arguments, in order, where hooks are told no
// id. An altered call is then one without a verdict, beside a verdict without a call.
func (in *input) pairByArgs(calls []*transcripts.Call, verdicts []*Verdict) (left []*transcripts.Call,
	missing []*Verdict) {
	exact := map[string][]*Verdict{}
	var masked []*Verdict
	used := map[*Verdict]bool{}
	for _, v := range verdicts {
		if v.Released != nil || strings.Contains(string(v.Asked), "[redacted:") {
			masked = append(masked, v)
			continue
		}
		key := keyOf(v.Tool, v.Asked)
		exact[key] = append(exact[key], v)
	}
	for _, c := range calls {
		if list := exact[keyOf(c.Names[0], c.Args)]; len(list) > 0 {
			exact[keyOf(c.Names[0], c.Args)] = list[1:]
			used[list[0]] = true
			continue
		}
		i := slices.IndexFunc(masked, func(v *Verdict) bool {
			return !used[v] && v.Tool == c.Names[0] && in.kind.like.same(c.Args, v)
		})
		if i < 0 {
			left = append(left, c)
			continue
		}
		used[masked[i]] = true
	}
	for _, v := range verdicts {
		if !used[v] {
			missing = append(missing, v)
		}
	}
	slices.SortFunc(missing, func(a, b *Verdict) int { return cmp.Compare(a.Seq, b.Seq) })
	return left, missing
}

// keyOf is the tool with its arguments in canonical form.
func keyOf(tool string, args jsontext.Value) string {
	args = args.Clone()
	if args.Canonicalize(jsontext.AllowInvalidUTF8(true)) != nil {
		return tool + "\x00" + string(args)
	}
	return tool + "\x00" + string(args)
}

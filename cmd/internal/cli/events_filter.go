package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// eventFilter are the flags by which events are picked.
type eventFilter struct {
	since, until                                    string
	typ, phase, decision, kind                      string
	hook, tool, agent, session, runtime, invocation string
	all                                             bool
}

func (o *eventFilter) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.since, "since", "", "not before this time: RFC 3339, a date, or how long ago (90m, 2h, 7d)")
	flags.StringVar(&o.until, "until", "", "before this time, in the same forms")
	flags.StringVar(&o.phase, "phase", "", "of this phase, such as pre_tool")
	flags.StringVar(&o.decision, "decision", "",
		"with this decision: allow, ask, block; of hooks also none, transform, grant, error")
	flags.StringVar(&o.kind, "kind", "", "decided by a policy, or blocked by this kind of failure")
	flags.StringVar(&o.hook, "hook", "", "turns of this hook, by the name of its binding")
	flags.StringVar(&o.tool, "tool", "", "about this tool, by its normalised name, such as exec")
	flags.StringVar(&o.agent, "agent", "", "of this agent")
	flags.StringVar(&o.session, "session", "", "of this session")
	flags.StringVar(&o.runtime, "runtime", "", "of this agent runtime")
	flags.StringVar(&o.invocation, "invocation", "", "of the invocation with this id")
	flags.StringVar(&o.typ, "type", "", "of this type: "+joined(phases.EventTypes()))
}

// narrow adds the flags that pick whole sessions; when says what they go with.
func (o *eventFilter) narrow(f *pflag.FlagSet, when string) {
	f.StringVar(&o.since, "since", "", when+": not before this time: RFC 3339, a date, or how long ago (90m, 2h, 7d)")
	f.StringVar(&o.until, "until", "", when+": before this time, in the same forms")
	f.StringVar(&o.session, "session", "", when+": of this session")
	f.StringVar(&o.runtime, "runtime", "", when+": of this agent runtime")
}

// pick adds the flags that pick invocations; when says what they go with.
func (o *eventFilter) pick(f *pflag.FlagSet, when string) {
	f.StringVar(&o.phase, "phase", "", when+": of this phase, such as pre_tool")
	f.StringVar(&o.decision, "decision", "", when+": that came to this decision: allow, ask or block")
	f.StringVar(&o.tool, "tool", "", when+": about this tool, by its normalised name, such as exec")
	f.StringVar(&o.agent, "agent", "", when+": of this agent")
	f.StringVar(&o.invocation, "invocation", "", when+": of the invocation with this id")
}

// joined lists what a flag may say.
func joined[T ~string](list []T) string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

func eventDecisions() []string {
	return []string{"allow", "ask", "block", "none", "transform", "grant", "error", "latched", "cleared",
		"requested", "approved", "denied", "consumed", "expired", "superseded", "refused",
		"minted", "claimed", "renewed", "revoked", "ok", "timeout", "crashed", "unknown", "ordered", "unsound", "configured",
		"accepted", "recovered", "changed", "unasked", "undecided", "agrees", "differs", "pinned", "denied_for_all"}
}

// query turns the flags into a query without a limit. Turns of hooks are left out
// unless something asks for them.
func (o *eventFilter) query(now time.Time) (query wire.Query, err error) {
	query = wire.Query{
		Type: phases.EventType(o.typ), Phase: phases.Phase(o.phase), Decision: o.decision, Kind: phases.Kind(o.kind),
		Binding: o.hook,
		Tool:    o.tool, Agent: o.agent, Session: o.session, Runtime: o.runtime, Invocation: o.invocation,
	}
	switch {
	case o.phase != "" && !query.Phase.Valid():
		return query, usageError(fmt.Sprintf("--phase: there is no phase %q", safe(o.phase)),
			"The phases are "+joined(phases.Phases())+".")
	case o.decision != "" && !slices.Contains(eventDecisions(), o.decision):
		return query, usageError(fmt.Sprintf("--decision: there is no decision %q", safe(o.decision)),
			"The decisions are "+joined(eventDecisions())+".")
	case o.kind != "" && !slices.Contains(phases.Kinds(), query.Kind):
		return query, usageError(fmt.Sprintf("--kind: there is no kind %q", safe(o.kind)),
			"The kinds are "+joined(phases.Kinds())+".")
	case o.typ != "" && !slices.Contains(phases.EventTypes(), query.Type):
		return query, usageError(fmt.Sprintf("--type: there is no type %q", safe(o.typ)),
			"The types are "+joined(phases.EventTypes())+".")
	}
	if query.Since, err = instant("--since", o.since, now); err != nil {
		return query, err
	}
	if query.Until, err = instant("--until", o.until, now); err != nil {
		return query, err
	}
	if !query.Since.IsZero() && !query.Until.IsZero() && !query.Since.Before(query.Until) {
		return query, usageError("--since must be before --until", "")
	}
	if !o.all && query.Type == "" && query.Binding == "" {
		query.Except = phases.EventHook
	}
	return query, nil
}

// maxAgo keeps days and weeks within the range of a duration.
const maxAgo = 100 * 366 * 24 * time.Hour

// instant reads a time that is given as such, or as how long ago it was.
func instant(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, form := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, nil
		}
	}
	if d, ok := ago(text); ok {
		return now.Add(-d), nil
	}
	return time.Time{},
		usageError(fmt.Sprintf("%s: %q is no time", flag, safe(text)),
			"Times look like 2026-03-01T12:00:00Z, 2026-03-01 or 2h (two hours ago); 7d and 2w are days and weeks.")
}

func ago(s string) (time.Duration, bool) {
	for unit, each := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			v, err := strconv.ParseUint(n, 10, 16)
			if err != nil || time.Duration(v) > maxAgo/each {
				return 0, false
			}
			return time.Duration(v) * each, true
		}
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0 && d <= maxAgo
}

// checkLimit refuses what no source answers.
func checkLimit(name string, n int) error {
	if n < 1 || n > wire.MaxLimit {
		return usageError(fmt.Sprintf("%s must be between 1 and %d", name, wire.MaxLimit),
			"`belay events export` writes them all.")
	}
	return nil
}

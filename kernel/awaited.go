package kernel

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// A hook that is killed while it is told of a result leaves that result to the model undecided, and
// nothing says so. Where a runtime tells of every result, belay therefore carries which calls it has
// released, and looks at the agent's next events whether one of them is over without a result.

// Results is what an event tells of calls that were released before it.
type Results struct {
	// Late are the ids of calls whose results the event brings, and Never those of calls that did not
	// run. A result counts as missed where it comes late and was not decided before.
	Late, Never []string
	// Asked: the runtime asks its person about the call of this action, and tells of no result where the
	// person refuses it.
	Asked bool
	// Over: no call of the invocation's agent runs any more. A released one without a result was missed.
	Over bool
	// Told says of the calls by their ids whether the model reads a result of them that belay did not
	// decide, as far as the runtime's own record tells. It is called where a result is missed only, by
	// one goroutine. Nil or a missing id: it is not known, and counts as yes.
	Told func() map[string]bool
}

func (r *Results) clone() *Results {
	if r == nil {
		return nil
	}
	out := *r
	out.Late, out.Never = slices.Clone(r.Late), slices.Clone(r.Never)
	return &out
}

// awaitedRunPrefix begins the names of the runs that stand for a released call without a result: the
// digests of the agent and of the call's id follow.
const awaitedRunPrefix = "\x1fawaited\x1f"

// awaitedCall is a released call whose result has not been decided.
type awaitedCall struct {
	Asked bool         `json:"asked,omitzero"` // the runtime asks its person, who may have refused it
	Call  releasedCall `json:"call"`
}

// awaiting is what an attempt has read about results.
type awaiting struct {
	own    RunState       // of the call that the event tells of
	writes []awaitedWrite // what becomes of other calls
	missed int
}

type awaitedWrite struct {
	run     string
	version int64
	call    *awaitedCall // nil: its result is awaited no more
}

func (k *Kernel) awaitedPrefix(agent string) string {
	return awaitedRunPrefix + k.callDigest("agent", agent) + "\x1f"
}

func (i *invocation) awaitedRun(id string) string {
	return i.kernel.awaitedPrefix(i.inv.Agent) + i.kernel.callDigest("id", id)
}

func (i *invocation) runKey(run string) phases.RunKey {
	return phases.RunKey{Runtime: i.inv.Runtime, Session: i.inv.Session, Run: run}
}

func (i *invocation) awaits() bool { return i.compares() && i.options.Call.Awaited }

// readAwaited fetches what is carried of results, and judges what the event tells of them.
func (i *invocation) readAwaited(ctx context.Context) error {
	i.awaiting = awaiting{}
	store, now := i.kernel.options.Store, i.calmTime()
	if i.awaits() {
		own, err := store.RunState(ctx, i.runKey(i.awaitedRun(i.options.Call.ID)), now)
		if err != nil {
			return err
		}
		i.awaiting.own = own
	}
	if i.options.Results == nil || !i.carries {
		return nil
	}
	list, err := store.RunsOf(ctx, wire.Session{Runtime: i.inv.Runtime, Session: i.inv.Session},
		i.kernel.awaitedPrefix(i.inv.Agent), now)
	if err != nil {
		return err
	}
	i.judgeResults(list)
	if i.awaiting.missed > 0 && i.mismatch.what == "" {
		i.mismatch = mismatch{what: CallUndecided, calls: i.awaiting.missed}
	}
	return nil
}

// judgeResults says of each released call without a result what the event tells of it.
func (i *invocation) judgeResults(list []NamedRun) {
	results, prefix := i.options.Results, i.kernel.awaitedPrefix(i.inv.Agent)
	late, never := i.digestsOf(results.Late), i.digestsOf(results.Never)
	var told map[string]bool // by digest; nil: not read yet
	for n := range list {
		run := &list[n]
		call, known := awaitedOf(run.RunState)
		id := strings.TrimPrefix(run.Run, prefix)
		missed := false
		switch {
		case slices.Contains(never, id):
		case results.Asked:
			if known && !call.Asked && i.isCall(call.Call) {
				call.Asked = true
				i.awaiting.writes = append(i.awaiting.writes, awaitedWrite{run.Run, run.Version, &call})
			}
			continue
		case slices.Contains(late, id):
			missed = !call.Asked
		case results.Over:
			if missed = !call.Asked; missed {
				if told == nil {
					told = i.recorded(results)
				}
				reads, is := told[id]
				missed = reads || !is
			}
		default:
			continue
		}
		if missed {
			i.awaiting.missed++
		}
		i.awaiting.writes = append(i.awaiting.writes, awaitedWrite{run: run.Run, version: run.Version})
	}
}

func (i *invocation) digestsOf(ids []string) []string {
	out := make([]string, len(ids))
	for n, id := range ids {
		out[n] = i.kernel.callDigest("id", id)
	}
	return out
}

func (i *invocation) recorded(r *Results) map[string]bool {
	out := map[string]bool{}
	if r.Told != nil {
		for id, reads := range r.Told() {
			out[i.kernel.callDigest("id", id)] = reads
		}
	}
	return out
}

// isCall reports whether the invocation's action is the released call.
func (i *invocation) isCall(released releasedCall) bool {
	args, _ := phases.Get(i.inv.Action, "/args")
	tool, _ := phases.GetString(i.inv.Action, "/tool")
	released.Args = maps.Clone(released.Args)
	return i.kernel.compareCall(released, tool, args, nil).what == ""
}

// awaitedOf returns what is carried; ok is false where it cannot be read.
func awaitedOf(state RunState) (call awaitedCall, ok bool) {
	entry, ok := state.Metadata[callEntry]
	if !ok || json.Unmarshal(entry.Value, &call, json.RejectUnknownMembers(true)) != nil {
		return awaitedCall{}, false
	}
	return call, true
}

// stageAwaited adds what becomes of calls whose results are awaited. released is what the verdict
// releases, where the event is one before a call.
func (e *ending) stageAwaited(batch *Batch, released *releasedCall) error {
	i := e.invocation
	writes := i.awaiting.writes
	if i.awaits() {
		own := awaitedWrite{run: i.awaitedRun(i.options.Call.ID), version: i.awaiting.own.Version}
		if released != nil && !released.Denied {
			own.call = &awaitedCall{Asked: e.verdict.Enforced == phases.EnforcedDelegated, Call: *released}
		}
		if own.call != nil || len(i.awaiting.own.Metadata) > 0 {
			writes = append(slices.Clip(writes), own)
		}
	}
	for _, w := range writes {
		run := RunWrite{Key: i.runKey(w.run), Version: w.version}
		if w.call != nil {
			value, err := json.Marshal(w.call, json.Deterministic(true))
			if err != nil {
				return err
			}
			run.Metadata = phases.Metadata{callEntry: {Value: value, Hook: kernelName}}
		}
		batch.Calls = append(batch.Calls, run)
	}
	return nil
}

// undecidedReason is the text of a missed result.
func undecidedReason(calls int) string {
	if calls == 1 {
		return "belay released a call, and its result did not come to it when the call was over"
	}
	return "belay released " + strconv.Itoa(calls) + " calls, and their results did not come to it when they were over"
}

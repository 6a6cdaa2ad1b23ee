package kernel

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// Two hooks can stand on one call, and the one that answers last decides what runs. So the arguments
// that belay released before a call are compared with those that its runtime tells of after it. Between
// the two events keyed digests of them are carried in the store, written in the verdict's own
// transaction and dropped MetadataTTL later.

// Call is what a runtime tells twice of one tool call: before it runs, and after it.
type Call struct {
	ID string // the runtime's own id of the call; "" compares nothing
	// Args are the call's arguments of a spawn, which has them in no member, and Prompt is the pointer
	// into them at which the child's prompt stands.
	Args   jsontext.Value
	Prompt string
	// May names the members of the arguments that the runtime itself may change between the events.
	May []string
	// Awaited: the runtime tells of the result of each call that runs. See Results.
	Awaited bool
}

// clone returns a copy that shares no memory with c.
func (c *Call) clone() *Call {
	if c == nil {
		return nil
	}
	return &Call{ID: strings.Clone(c.ID), Args: c.Args.Clone(), Prompt: c.Prompt, May: slices.Clone(c.May),
		Awaited: c.Awaited}
}

// Decisions of events of type phases.EventMismatch.
const (
	CallChanged = "changed" // it ran with other arguments than belay released
	CallDenied  = "denied"  // it ran although belay had refused it
	CallUnasked = "unasked" // it ran, and belay was never asked about it
	// CallUndecided: belay released it, and was never told of its result; see Results.
	CallUndecided = "undecided"
)

// callRunPrefix begins the names of the runs that carry digests of calls. No invocation has such a
// run: names have no control characters.
const callRunPrefix = "\x1fcall\x1f"

// callEntry is the name of the one entry of such a run.
const callEntry = "released"

// maxCallMembers is how many members of the arguments are compared each for itself; of more, all
// together are.
const maxCallMembers = 64

// releasedCall is what belay released, as it is stored.
type releasedCall struct {
	Denied bool              `json:"denied,omitzero"`
	Tool   string            `json:"tool,omitzero"` // keyed digest
	Args   map[string]string `json:"args,omitzero"` // keyed digests of names and values
	All    string            `json:"all,omitzero"`  // of all arguments, where they have too many members
}

// mismatch is what is wrong with a call that has run.
type mismatch struct {
	what    string   // CallChanged, CallDenied, CallUnasked or CallUndecided; "": nothing
	members []string // of the arguments, as far as they can be named
	calls   int      // how many are undecided
}

// withholds reports whether the event is blocked. A result that did not come may have been lost on its way
// without harm, so there the setting decides.
func (i *invocation) withholds() bool {
	switch i.mismatch.what {
	case CallChanged, CallDenied:
		return true
	case CallUndecided:
		return i.snap.changed
	}
	return false
}

func (m mismatch) reason() string {
	switch m.what {
	case CallDenied:
		return "this call has run although belay refused it"
	case CallUnasked:
		return "this call has run, and belay was not asked about it"
	case CallUndecided:
		return undecidedReason(m.calls)
	}
	text := "this call ran with other arguments than belay released"
	if len(m.members) > 0 {
		text += ": " + strings.Join(m.members, ", ")
	}
	return text
}

// compares reports whether the invocation is one of the two that tell of a call.
func (i *invocation) compares() bool {
	return i.options.Call != nil && i.options.Call.ID != "" && i.carries
}

func (i *invocation) callKey() phases.RunKey {
	return phases.RunKey{Runtime: i.inv.Runtime, Session: i.inv.Session,
		Run: callRunPrefix + i.kernel.callDigest("id", i.options.Call.ID)}
}

// callDigest is keyed, and of no use of the same key in events. Kernels that share a store have a key of its own for
// it: what one of them released may be told to another one when it has run.
func (k *Kernel) callDigest(kind, text string) string {
	original := []byte("call\x00" + kind + "\x00" + text)
	if d := k.options.Digester.Digest(audit.UseCall, original); d != "" {
		return d
	}
	return k.options.Digester.Digest(audit.UseInput, original)
}

// released returns what is stored of arguments that belay lets run.
func (k *Kernel) released(tool string, args jsontext.Value) (releasedCall, error) {
	r := releasedCall{Tool: k.callDigest("tool", tool)}
	members, all, err := callMembers(args)
	if err != nil {
		return r, err
	}
	if len(members) > maxCallMembers {
		r.All = k.callDigest("all", string(all))
		return r, nil
	}
	r.Args = map[string]string{}
	for name, value := range members {
		r.Args[k.callDigest("name", name)] = k.callDigest("value", name+"\x00"+string(value))
	}
	return r, nil
}

// callMembers returns the members of the arguments and the whole, in canonical form.
func callMembers(args jsontext.Value) (members map[string]jsontext.Value, all jsontext.Value, err error) {
	all = args.Clone()
	if err := all.Canonicalize(); err != nil {
		return nil, nil, err
	}
	err = json.Unmarshal(all, &members)
	return members, all, err
}

// stageCall adds what belay says about a call before it runs.
func (e *ending) stageCall(batch *Batch) error {
	i := e.invocation
	if !i.compares() || i.inv.Phase != phases.PreTool && i.inv.Phase != phases.Spawn {
		return e.stageAwaited(batch, nil)
	}
	r, err := e.releasedNow()
	if err != nil {
		return err
	}
	if err := e.stageAwaited(batch, &r); err != nil {
		return err
	}
	value, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	batch.Calls = append(batch.Calls, RunWrite{Key: i.callKey(), Version: i.told.Version,
		Metadata: phases.Metadata{callEntry: {Value: value, Hook: kernelName}}})
	return nil
}

// releasedNow is what the verdict releases.
func (e *ending) releasedNow() (releasedCall, error) {
	i, v := e.invocation, &e.verdict
	if v.Decision == phases.Block || v.Decision == phases.Ask && v.Enforced != phases.EnforcedDelegated {
		return releasedCall{Denied: true}, nil
	}
	if i.inv.Phase == phases.PreTool {
		args, _ := phases.Get(v.Action, "/args")
		tool, _ := phases.GetString(v.Action, "/tool")
		return i.kernel.released(tool, args)
	}
	args := i.options.Call.Args
	if prompt, ok := phases.Get(v.Action, "/child/prompt"); ok && i.options.Call.Prompt != "" {
		var err error
		if args, err = phases.Set(args, i.options.Call.Prompt, prompt); err != nil {
			return releasedCall{}, err
		}
	}
	r, err := i.kernel.released("", args)
	if before, ok := i.told.call(); ok { // the tool stays the one of pre_tool
		r.Tool = before.Tool
	}
	return r, err
}

// toldCall is what is carried of a call.
type toldCall struct{ RunState }

// call returns what was stored; ok is false where nothing was, or where it cannot be read.
func (t toldCall) call() (r releasedCall, ok bool) {
	entry, ok := t.Metadata[callEntry]
	if !ok || json.Unmarshal(entry.Value, &r, json.RejectUnknownMembers(true)) != nil {
		return releasedCall{}, false
	}
	return r, true
}

// readCall fetches what was said about the call before.
func (i *invocation) readCall(ctx context.Context) error {
	i.told, i.mismatch = toldCall{}, mismatch{}
	if !i.compares() {
		return nil
	}
	state, err := i.kernel.options.Store.RunState(ctx, i.callKey(), i.calmTime())
	if err != nil {
		return err
	}
	i.told = toldCall{state}
	if i.inv.Phase == phases.PostTool {
		i.mismatch = i.compare()
	}
	return nil
}

// compare judges a call that has run.
func (i *invocation) compare() mismatch {
	before, ok := i.told.call()
	switch {
	case !ok && len(i.told.Metadata) == 0:
		return mismatch{what: CallUnasked}
	case !ok:
		return mismatch{what: CallChanged}
	case before.Denied:
		return mismatch{what: CallDenied}
	}
	args, _ := phases.Get(i.inv.Action, "/args")
	tool, _ := phases.GetString(i.inv.Action, "/tool")
	return i.kernel.compareCall(before, tool, args, i.options.Call.May)
}

func (k *Kernel) compareCall(before releasedCall, tool string, args jsontext.Value, may []string) mismatch {
	members, all, err := callMembers(args)
	now, err2 := k.released(tool, args)
	if err != nil || err2 != nil {
		return mismatch{what: CallChanged}
	}
	var differ []string
	if now.Tool != before.Tool {
		differ = append(differ, "the tool")
	}
	if before.All != "" || now.All != "" {
		if before.All != k.callDigest("all", string(all)) {
			differ = append(differ, "the arguments")
		}
		return changedCall(differ)
	}
	for name := range members {
		digest := k.callDigest("name", name)
		if before.Args[digest] != now.Args[digest] && !slices.Contains(may, name) {
			differ = append(differ, shownMember(name))
		}
		delete(before.Args, digest)
	}
	for _, name := range may {
		delete(before.Args, k.callDigest("name", name))
	}
	if len(before.Args) > 0 {
		differ = append(differ, "a member that is gone")
	}
	slices.Sort(differ)
	return changedCall(slices.Compact(differ))
}

func changedCall(differ []string) mismatch {
	if len(differ) == 0 {
		return mismatch{}
	}
	return mismatch{what: CallChanged, members: differ}
}

var plainMember = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z_]{0,39}$`) })

// shownMember is the name of a member in a text for people: one that looks like a word of a
// protocol. Any other may be text of the caller.
func shownMember(name string) string {
	if plainMember().MatchString(name) {
		return name
	}
	return "another member"
}

// withhold makes the verdict a block where the call that has run is not the one that was released.
func (e *ending) withhold() {
	i := e.invocation
	if !i.withholds() || e.verdict.Decision == phases.Block {
		return
	}
	blockVerdict(&e.verdict, phases.KindMismatch, kernelName, i.mismatch.reason())
	i.applyEnforcement(&e.verdict)
}

// latchesCall reports whether the mismatch holds the session: a setting, because the table of what
// runtimes change themselves may miss something.
func (i *invocation) latchesCall() bool {
	return i.withholds() && i.snap.changed
}

// mismatchEvent is the record of a call that is not the one that was released.
func (e *ending) mismatchEvent() phases.Event {
	i, v := e.invocation, &e.record.Verdict
	m := i.mismatch
	return phases.Event{ID: i.kernel.options.NewID(e.at), Type: phases.EventMismatch, Time: e.at, Invocation: v.Invocation,
		Phase: v.Phase, Runtime: v.Runtime, Session: v.Session, Agent: v.Agent, Run: v.Run, User: v.User, Tool: v.Tool,
		PolicyRevision: v.PolicyRevision, Decision: m.what, Reason: m.reason(), Kind: phases.KindMismatch,
		DecidedBy: kernelName, Enforced: v.Enforced, Changed: m.members}
}

// MismatchCount counts calls by what was wrong with them.
type MismatchCount struct {
	Changed   int // they ran otherwise than belay released them, or although it refused them
	Unasked   int // belay was never asked about them
	Undecided int // events that show missed results
}

// Mismatches counts the calls of the last UnheldFor that ran otherwise than belay released them, that
// belay was never asked about, or whose results it was not told of. It looks at the newest 1000 at most.
// The error is ErrUnavailable.
func (k *Kernel) Mismatches(ctx context.Context) (n MismatchCount, err error) {
	list, err := k.Events(ctx, wire.Query{Type: phases.EventMismatch, Newest: true, Limit: unheldLimit,
		Since: k.options.Clock.Now().Add(-UnheldFor)})
	for _, e := range list {
		switch e.Decision {
		case CallUnasked:
			n.Unasked++
		case CallUndecided:
			n.Undecided++
		default:
			n.Changed++
		}
	}
	return n, err
}

package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

type jsonValue = jsontext.Value

// turnTable is one invocation on its way through a rig.
type turnTable struct {
	run  *recording.Run
	inv  phases.Invocation
	seed [32]byte
	res  *Result
	used []bool // turns that were taken
	got  *kernel.Recording
}

// take returns the recorded turn of a hook, or nil.
func (t *turnTable) take(name string, pass phases.Pass) *recording.Turn {
	for i := range t.run.Turns {
		if turn := &t.run.Turns[i]; !t.used[i] && turn.Binding == name && turn.Pass == pass {
			t.used[i] = true
			return turn
		}
	}
	return nil
}

func where(hook string, pass phases.Pass) string { return hook + " (" + string(pass) + ")" }

// cutShort reports whether the recorded turn ended at a deadline: the rest of it is in no
// recording.
func cutShort(t *recording.Turn) bool { return t.Fault != nil && t.Fault.Kind == phases.KindDeadline }

// run1 is one turn of the rig's kernel.
func (t *turnTable) run1(ctx context.Context, h *rigHook, turn kernel.Turn) (kernel.Outcome, error) {
	rec := t.take(h.name, turn.Session.Pass)
	compare := h.rig.exact
	at := where(h.name, turn.Session.Pass)
	switch {
	case rec == nil && compare:
		t.res.differ(WhatTurn, at, "no such turn", "a turn")
		return kernel.Outcome{}, phases.NewFault(phases.KindProtocol, "the recording has no such turn", nil)
	case rec != nil && !rec.Ran && (compare || h.same && rec.Fault != nil):
		return kernel.Outcome{}, phases.NewFault(rec.Fault.Kind, rec.Fault.Text, nil)
	}
	if compare && rec.InputSHA256 != hexsum(turn.Session.Input) {
		t.res.differ(WhatInput, at, "sha256:"+rec.InputSHA256, phases.ByteDigest(turn.Session.Input))
	}
	if rec != nil && rec.Budget > 0 && (compare || h.same) {
		turn.Fuel = rec.Budget // a turn on behalf of another hook has the fuel that that one had left
	}
	if rec != nil && (compare || h.same) {
		turn.Session.Inject = rec.Injector()
	}
	out, err := t.call(ctx, h.inner, turn, rec, compare, at)
	if rec != nil && cutShort(rec) && (compare || h.same) {
		out.Effects, out.StateWrites = nil, nil
		return out, phases.NewFault(rec.Fault.Kind, rec.Fault.Text, nil)
	}
	return out, err
}

// call runs the module with the ports of the recording.
func (t *turnTable) call(ctx context.Context, hook kernel.Hook, turn kernel.Turn, rec *recording.Turn, compare bool,
	at string) (kernel.Outcome, error) {
	ports := newAnswers(rec, compare)
	turn.Session = ports.attach(turn.Session)
	turn.Session.Tap = nil
	var seen *calls
	if compare {
		seen = newCalls(rec.Calls)
		turn.Session.Tap = seen
	}
	out, err := hook.Run(ctx, turn)
	if errors.Is(err, kernel.ErrOverran) { // the turn may still use its session
		return kernel.Outcome{}, err
	}
	for _, u := range ports.unknown {
		t.res.Unknown = append(t.res.Unknown, at+": "+u)
	}
	if !compare {
		return out, err
	}
	switch {
	case rec.Incomplete:
		t.res.differ(WhatPartial, at, "more calls than a recording keeps", strconv.Itoa(seen.made)+" calls")
	case ports.wrong != nil:
		d := *ports.wrong
		d.Where = at + ", " + d.Where
		t.res.Differences = append(t.res.Differences, d)
	case seen.difference(at, cutShort(rec)) != nil:
		t.res.Differences = append(t.res.Differences, *seen.difference(at, cutShort(rec)))
	case ports.left() != "" && !cutShort(rec):
		t.res.differ(WhatAnswer, at, ports.left(), "no such request")
	}
	if !cutShort(rec) {
		t.compareOutcome(at, &rec.Outcome, &out, rec.Fault, err)
	}
	return out, err
}

// compareOutcome compares the outcomes of a turn, member by member.
func (t *turnTable) compareOutcome(at string, want *recording.Outcome, got *kernel.Outcome, wantFault *recording.Fault,
	err error) {
	now := recording.OutcomeOf(got)
	fault := func(f *recording.Fault) string {
		if f == nil {
			return "no failure"
		}
		return string(f.Kind) + ": " + f.Text
	}
	var gotFault *recording.Fault
	if f := phases.FaultOf(err); f != nil {
		gotFault = &recording.Fault{Kind: f.Kind, Text: f.Text}
	} else if err != nil {
		gotFault = &recording.Fault{Kind: phases.KindTrap, Text: "the hook could not be run"}
	}
	if w, g := fault(wantFault), fault(gotFault); w != g {
		t.res.differ(WhatOutcome, at+", failure", w, g)
	}
	values := func(member string, w, g any, n, m int) {
		if n == 0 && m == 0 {
			return
		}
		if a, b := jsonOf(w), jsonOf(g); a != b {
			t.res.differ(WhatOutcome, at+", "+member, a, b)
		}
	}
	values("effects", want.Effects, now.Effects, len(want.Effects), len(now.Effects))
	values("state writes", want.StateWrites, now.StateWrites, len(want.StateWrites), len(now.StateWrites))
	values("wishes", want.Wishes, now.Wishes, len(want.Wishes), len(now.Wishes))
	values("log", want.Logs, now.Logs, len(want.Logs), len(now.Logs))
	values("notes", want.Notes, now.Notes, len(want.Notes), len(now.Notes))
	if want.FailText != now.FailText || want.LogsDropped != now.LogsDropped {
		t.res.differ(WhatOutcome, at+", last words", fmt.Sprintf("%q, %d lines dropped", want.FailText, want.LogsDropped),
			fmt.Sprintf("%q, %d lines dropped", now.FailText, now.LogsDropped))
	}
	if want.Hostcalls != now.Hostcalls {
		t.res.differ(WhatOutcome, at+", hostcalls", strconv.Itoa(want.Hostcalls), strconv.Itoa(now.Hostcalls))
	}
	if want.Fuel != now.Fuel {
		t.res.differ(WhatFuel, at, strconv.FormatInt(want.Fuel, 10), strconv.FormatInt(now.Fuel, 10))
	}
	if want.MemoryPeak != now.MemoryPeak {
		t.res.differ(WhatMemory, at, strconv.FormatInt(want.MemoryPeak, 10), strconv.FormatInt(now.MemoryPeak, 10))
	}
}

// auditTurn runs an audit hook on the record that it was shown.
func (t *turnTable) auditTurn(ctx context.Context, h *rigHook, b *recording.Binding, home string, rec *recording.Turn,
	ceiling time.Duration) (kernel.Outcome, error) {
	seed, err := seedOf(rec.Seed)
	if err != nil {
		return kernel.Outcome{}, err
	}
	l := h.loaded
	granted, err := hostcalls.ParseGrants(l.Capabilities)
	if err != nil {
		return kernel.Outcome{}, err
	}
	rewrite, grants := phases.GrantsOf(l.Capabilities)
	var digest string
	if h.spec.Config != nil {
		if digest, err = phases.Digest(h.spec.Config); err != nil {
			return kernel.Outcome{}, err
		}
	}
	turn := kernel.Turn{
		Fuel: kernel.FuelOf(h.spec.Budget, l.Budget),
		Session: hostcalls.SessionConfig{
			Phase: phases.Audit, Pass: phases.PassAudit, Input: jsonValue(rec.Input), Action: jsonValue(rec.Action),
			Config: h.spec.Config,
			Actor: phases.Actor{Hook: h.name, Digest: l.Digest, ConfigDigest: digest, Tier: l.Tier, Mode: b.Mode,
				Rewrite: rewrite, Grants: grants},
			Granted: granted, Limits: hostcalls.Limits{Input: max(len(rec.Input), hostcalls.DefaultLimits().Input)},
			Time: t.inv.Time, Seed: seed, Home: home, CWD: t.inv.CWD, Scopes: t.inv.Scopes, Observe: b.Mode == phases.Observe,
		},
	}
	return t.call(ctx, untimed{h.inner, ceiling}, turn, rec, h.rig.exact, where(h.name, phases.PassAudit))
}

// untimed runs turns that no kernel runs.
type untimed struct {
	hook    kernel.Hook
	ceiling time.Duration
}

// Run implements kernel.Hook.
func (u untimed) Run(ctx context.Context, t kernel.Turn) (kernel.Outcome, error) {
	return kernel.RunUntimed(ctx, u.hook, t, u.ceiling)
}

// missed lists recorded turns that did not come again.
func (t *turnTable) missed() {
	for i := range t.run.Turns {
		turn := &t.run.Turns[i]
		if !t.used[i] && turn.Pass != phases.PassAudit && turn.Ran {
			t.res.differ(WhatTurn, where(turn.Binding, turn.Pass), "a turn", "no such turn")
		}
	}
}

// order compares the turns as they counted with the recorded ones.
func (t *turnTable) order() {
	var want, got []string
	for i := range t.run.Turns {
		if turn := &t.run.Turns[i]; turn.Pass != phases.PassAudit {
			want = append(want, where(turn.Binding, turn.Pass)+" "+string(turn.Report.Decision))
		}
	}
	for i := range t.got.Turns {
		if turn := &t.got.Turns[i]; turn.Pass != phases.PassAudit {
			got = append(got, where(turn.Binding, turn.Pass)+" "+string(turn.Report.Decision))
		}
	}
	for i := range max(len(want), len(got)) {
		w, g := "no more turns", "no more turns"
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			t.res.differ(WhatTurn, "turn "+strconv.Itoa(i+1), w, g)
			return
		}
	}
}

// sides pairs the turns of both.
func (t *turnTable) sides(c *recording.Chain) {
	digest := func(name string) string {
		if c == nil {
			return ""
		}
		if i := slices.IndexFunc(c.Bindings, func(b recording.Binding) bool { return b.Name == name }); i >= 0 {
			return c.Bindings[i].Digest
		}
		return ""
	}
	for i := range t.run.Turns {
		turn := &t.run.Turns[i]
		if turn.Pass != phases.PassAudit {
			t.res.Turns = append(t.res.Turns, TurnResult{Hook: turn.Binding, Pass: turn.Pass, NotCompare: cutShort(turn),
				Base: &TurnSide{Digest: digest(turn.Binding), Decision: turn.Report.Decision, Fuel: turn.Outcome.Fuel,
					MemoryPeak: turn.Outcome.MemoryPeak}})
		}
	}
	if t.got == nil {
		return
	}
	for i := range t.got.Turns {
		turn := &t.got.Turns[i]
		if turn.Pass == phases.PassAudit {
			continue
		}
		side := &TurnSide{Digest: turn.Report.Digest, Decision: turn.Report.Decision, Fuel: turn.Outcome.Fuel,
			MemoryPeak: turn.Outcome.MemoryPeak}
		n := slices.IndexFunc(t.res.Turns, func(r TurnResult) bool {
			return r.Hook == turn.Binding && r.Pass == turn.Pass && r.Now == nil
		})
		if n < 0 {
			t.res.Turns = append(t.res.Turns, TurnResult{Hook: turn.Binding, Pass: turn.Pass, Now: side})
		} else {
			t.res.Turns[n].Now = side
		}
	}
}

func seedOf(text string) (seed [32]byte, err error) {
	b, err := hex.DecodeString(text)
	copy(seed[:], b)
	return seed, err
}

func hexsum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func jsonOf(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

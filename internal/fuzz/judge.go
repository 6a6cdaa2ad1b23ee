package fuzz

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// verdictOn is a fault of one result.
type verdictOn struct {
	class, key, text string
}

// judge returns the faults of a result, by the rules for every result.
func judge(plan *plan, result *result) []verdictOn {
	var out []verdictOn
	add := func(class, key, format string, args ...any) {
		out = append(out, verdictOn{class, class + "|" + string(plan.inv.Phase) + "|" + key, fmt.Sprintf(format, args...)})
	}
	if result.panicked != "" {
		add(ClassPanic, "kernel", "the kernel panicked: %s", result.panicked)
		return out
	}
	for i := range result.turns {
		if where := panicIn(&result.turns[i]); where != "" {
			add(ClassPanic, where, "the host panicked in a turn: %s", where)
		}
	}
	verdict := &result.verdict
	if panicIn(&turn{fault: phases.FaultOf(result.err)}) != "" && len(out) == 0 {
		add(ClassPanic, "kernel", "the kernel panicked: %v", phases.FaultOf(result.err).Cause)
	}
	if bad := result.failed(); bad != nil && verdict.Decision != phases.Block {
		add(ClassFailOpen, "turn", "a turn failed (%s) and the verdict is %s", bad.fault.Kind, verdict.Decision)
	}
	if result.err != nil && verdict.Decision != phases.Block {
		add(ClassFailOpen, "error", "there was an error beside the verdict %s: %v", verdict.Decision, result.err)
	}
	switch verdict.Decision {
	case phases.Allow, phases.Ask, phases.Block:
	default:
		add(ClassFailOpen, "none", "the verdict decides nothing: %q", verdict.Decision)
	}
	if plan.store == storeDown || plan.store == storeConflicts {
		if verdict.Decision != phases.Block || verdict.Kind != phases.KindStore {
			add(ClassFailOpen, "store", "the store could not write and the verdict is %s (%s)", verdict.Decision, verdict.Kind)
		}
	}
	if plan.store != storeDown {
		if why := unrecorded(result); why != "" {
			add(ClassUnrecorded, why, "%s", why)
		}
	}
	if plan.plain() && len(out) == 0 {
		if bad := result.failed(); bad != nil {
			class, key, text := failure(bad)
			add(class, key, "%s", text)
		} else if result.blockedByFailure() {
			add(ClassProtocol, string(verdict.Kind)+" "+verdict.Reason, "%s: %s", verdict.Kind, verdict.Reason)
		}
	}
	return out
}

// panicIn returns the panic of the host during a turn; a guest's own panic is a trap.
func panicIn(t *turn) string {
	if t.fault == nil || t.fault.Cause == nil {
		return ""
	}
	text := t.fault.Cause.Error()
	if i := strings.Index(text, `; the hook says "`); i >= 0 {
		text = text[:i]
	}
	if i := strings.Index(text, "panic: "); i >= 0 {
		return text[i:]
	}
	if i := strings.Index(text, "panic in "); i >= 0 {
		return text[i:]
	}
	return ""
}

// unrecorded says why the verdict does not count as recorded, or "".
func unrecorded(result *result) string {
	ref := result.verdict.Event
	if ref == nil {
		return "the verdict names no event"
	}
	for i := range result.events {
		e := &result.events[i]
		if int64(i+1) != ref.Seq {
			continue
		}
		switch {
		case e.ID != ref.ID:
			return "the event at the verdict's number is another one"
		case e.Decision != string(result.verdict.Decision):
			return "the event says " + e.Decision + " and the verdict " + string(result.verdict.Decision)
		case e.Invocation != result.verdict.ID:
			return "the event is about another invocation"
		}
		return ""
	}
	return "the verdict's event is not in the log"
}

// failure names the failure of a turn on valid input.
func failure(turn *turn) (class, key, text string) {
	detail := turn.detail
	if detail == "" && turn.fault.Cause != nil {
		detail = turn.fault.Cause.Error()
	}
	reason := detail
	if i := strings.Index(reason, `; the hook says "`); i >= 0 {
		reason = reason[:i]
	}
	text = string(turn.fault.Kind) + ": " + turn.fault.Text
	if detail != "" {
		text += " (" + phases.SafeLine(detail, 200) + ")"
	}
	key = reason
	switch turn.fault.Kind {
	case phases.KindFuel:
		return ClassFuel, "", text
	case phases.KindMemory:
		return ClassMemory, reason, text
	case phases.KindTrap:
		return ClassTrap, key, text
	case phases.KindHostcall:
		return ClassHostcall, callOf(reason), text
	case phases.KindOutput:
		if strings.Contains(reason, "returned") {
			return ClassGivesUp, phases.SafeLine(turn.fail, 80), text
		}
		return ClassOutput, callOf(reason), text
	}
	return ClassProtocol, string(turn.fault.Kind) + " " + turn.fault.Text, text
}

// callOf cuts a cause down to the call that it begins with: the rest has numbers in it.
func callOf(reason string) string {
	name, _, _ := strings.Cut(reason, ":")
	return name
}

// fingerprint is the same for every run of one plan. Fuel is part of it.
func (r *result) fingerprint() string {
	type one struct {
		Fuel, Peak int64
		Calls      int
		Fault      string
		Fail       string
		Effects    []phases.Effect
		Writes     int
	}
	var list []one
	for i := range r.turns {
		t := &r.turns[i]
		o := one{Fuel: t.fuel, Peak: t.peak, Calls: t.calls, Fail: t.fail, Effects: t.effects, Writes: len(t.writes)}
		if t.fault != nil {
			o.Fault = string(t.fault.Kind) + t.fault.Text
		}
		list = append(list, o)
	}
	b, err := json.Marshal(list, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %s %q %s", r.verdict.Decision, r.verdict.Kind, r.verdict.Reason, b)
}

package claudecode

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// outcome is what the verdicts of one event add up to, before it is put into
// the event's own form.
type outcome struct {
	block    bool
	ask      bool // the runtime is to ask the person
	grant    bool
	latched  bool // the kernel has latched the session already
	reason   string
	contexts []string
	retry    string
	finals   []jsontext.Value // final action of each step
	changed  [][]string       // pointers that really differ, of each step
	notes    []string
}

// weigh combines the verdicts. The error means that they do not fit the event,
// which is answered as a failure.
func weigh(ev adapters.Event, verdicts []phases.Verdict) (*outcome, error) {
	o := &outcome{}
	if len(verdicts) == 0 || len(verdicts) > len(ev.Steps) {
		return nil, misfit(ev, "there is no verdict for each step")
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Decision == phases.Block {
			o.end(blockReason(v))
			o.latched = v.Enforced == phases.EnforcedLatched
			return o, nil
		}
		step, err := stepAt(ev, i, verdicts)
		if err != nil {
			return nil, err
		}
		if err := o.add(ev, step, v); err != nil {
			return nil, err
		}
		if o.block {
			return o, nil
		}
	}
	if len(verdicts) < len(ev.Steps) {
		return nil, misfit(ev, "there is no verdict for each step")
	}
	return o, nil
}

// add counts a verdict that is not a block.
func (o *outcome) add(ev adapters.Event, step adapters.Step, v *phases.Verdict) error {
	inv := &step.Invocation
	if v.Phase != inv.Phase {
		return misfit(ev, "a verdict is of another phase")
	}
	if v.Decision != phases.Allow && v.Decision != phases.Ask {
		return misfit(ev, "a verdict has no decision")
	}
	if waits(step, v) {
		if v.Approval == nil {
			o.stop("a person has to decide, and Claude Code cannot ask here: " + askReason(v))
			return nil
		}
		// The person decides in belay's own queue, and has not yet.
		id := phases.SafeLine(v.Approval.ID, phases.MaxIDBytes)
		o.stop("waiting for approval " + id + ": " + askReason(v) + ". Try the same again once it is approved")
		return nil
	}
	if err := phases.CheckAction(inv.Phase, v.Action); err != nil {
		return err
	}
	o.finals = append(o.finals, v.Action)
	o.changed = append(o.changed, phases.Diff(inv.Action, v.Action))
	o.contexts = append(o.contexts, v.Contexts...)
	if v.Decision == phases.Ask { // Claude Code's own prompt shows the final action
		if !o.ask {
			o.ask, o.reason = true, ""
		}
		o.reason = join(o.reason, askReason(v))
	}
	if v.Grant != nil {
		if inv.Phase != phases.PreTool {
			return misfit(ev, "a grant outside of pre_tool")
		}
		o.grant = true
		if !o.ask {
			o.reason = named("", v.Grant.Hook, v.Grant.Reason, "granted")
		}
	}
	if v.Reply != nil {
		o.end(named("", v.Reply.Hook, v.Reply.Text, "answered without the model"))
		return nil
	}
	if v.Retry != nil {
		if inv.Phase != phases.PostReceive {
			return misfit(ev, "a retry outside of post_receive")
		}
		o.retry = named("", v.Retry.Hook, v.Retry.Instruction, "try again")
	}
	// Claude Code has no place for scopes. For tools the kernel has checked the
	// final action (Step.CarriesScopes is false); what a child or a later state
	// does cannot be checked now, so there a clamp cannot hold.
	if inv.Phase != phases.PreTool && clamped(v) && !v.Scopes.Equal(inv.Scopes) {
		o.stop("a hook narrowed the scopes, which Claude Code cannot carry to " + place(inv.Phase))
	}
	return nil
}

func place(p phases.Phase) string {
	if p == phases.Spawn {
		return "a subagent"
	}
	return "a change of state"
}

// clamped reports whether an enforcing hook asked for a clamp.
func clamped(v *phases.Verdict) bool {
	return slices.ContainsFunc(v.Hooks, func(h phases.HookReport) bool {
		return h.Mode != phases.Observe && slices.ContainsFunc(h.Effects, func(e phases.Effect) bool {
			return e.Kind == phases.EffectClamp
		})
	})
}

// stop makes the outcome a block for a reason of the adapter's own.
func (o *outcome) stop(reason string) { o.end("belay: " + reason) }

// end makes the outcome a block. The first reason stays.
func (o *outcome) end(reason string) {
	if o.block {
		return
	}
	o.block, o.ask, o.grant, o.retry = true, false, false, ""
	o.contexts = nil
	o.reason = reason
}

func (o *outcome) context() string { return strings.Join(o.contexts, "\n\n") }

// only reports whether nothing outside of the pointer has changed in step i.
func (o *outcome) only(i int, ptr string) bool {
	return !slices.ContainsFunc(o.changed[i], func(c string) bool { return !phases.Covers(ptr, c) })
}

func blockReason(v *phases.Verdict) string {
	return named(string(v.Kind), v.DecidedBy, v.Reason, "this is not allowed")
}

func askReason(v *phases.Verdict) string {
	return named("", v.DecidedBy, v.Reason, "a person has to confirm this")
}

// named writes "belay (HOOK): text". Texts come from hooks: they are cleaned,
// cut, and never empty, because an empty reason is no reason to Claude Code.
func named(kind, by, text, otherwise string) string {
	by = strings.TrimSpace(phases.SafeLine(by, 128))
	if text = strings.TrimSpace(phases.SafeText(text, phases.MaxReasonBytes)); text == "" {
		text = otherwise
		if kind != "" && kind != string(phases.KindPolicy) {
			text += " (" + phases.SafeLine(kind, 64) + ")"
		}
	}
	if by == "" || by == "belay" {
		return "belay: " + text
	}
	return "belay (" + by + "): " + text
}

func join(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + "; " + b
}

package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/shell"
	"github.com/belay-hooks/belay/phases"
)

// rest decides what no hook decides: calls of tools that belay does not know, and actions that no
// hook was asked about which could say no.
type rest struct {
	byPhase map[phases.Phase]phases.Decision
	unknown phases.Decision
	known   phases.Scope
	open    phases.Decision // of Config.OpenShells
}

func newRest(cfg *Config) (rest, error) {
	r := rest{byPhase: cfg.Default, unknown: cfg.UnknownTools, known: phases.Scope{},
		open: cmp.Or(cfg.OpenShells, phases.Block)}
	for p, d := range cfg.Default {
		rules := phases.RulesFor(p)
		if !p.Valid() || p == phases.Audit || !decision(d, rules.Legal(phases.EffectAsk)) {
			return r, fmt.Errorf("%w: default: %q cannot be the answer in %q", ErrConfig, string(d), string(p))
		}
	}
	if !decision(r.unknown, true) {
		return r, fmt.Errorf("%w: unknown_tools: %q is no decision", ErrConfig, string(r.unknown))
	}
	if !decision(r.open, true) {
		return r, fmt.Errorf("%w: open_shells: %q is no decision", ErrConfig, string(r.open))
	}
	if cfg.KnownTools != nil {
		r.known = slices.Clone(cfg.KnownTools)
	}
	if err := r.known.Validate(phases.ScopeTool); err != nil {
		return r, fmt.Errorf("%w: known_tools: %w", ErrConfig, err)
	}
	return r, nil
}

func decision(d phases.Decision, asks bool) bool {
	return d == "" || d == phases.Allow || d == phases.Block || d == phases.Ask && asks
}

// decides reports whether something in the phase may be answered with more than an allow.
func (r *rest) decides(p phases.Phase) bool {
	says := func(d phases.Decision) bool { return d == phases.Block || d == phases.Ask }
	return says(r.byPhase[p]) || p == phases.PreTool && says(r.unknown)
}

// knows reports whether a table of belay or the operator names the tool.
func (r *rest) knows(inv *phases.Invocation, tool string) bool {
	if r.known.AllowsTool(tool) {
		return true
	}
	_, known := phases.NormalizeTool(inv.Runtime, tool)
	return known && !strings.HasPrefix(tool, "mcp:")
}

// decideRest adds the kernel's own word; judged says that a hook was asked which could have said no.
// The reasons hold nothing of the action.
func (c *chain) decideRest(judged bool) {
	view, rest := c.words.View(), &c.invocation.snap.rest
	if view.Phase == phases.PreTool && !rest.knows(&view, c.words.Tool()) {
		c.say(rest.unknown, "belay does not know the tool (unknown_tools in belay.yaml; known_tools names more)")
	}
	if view.Phase == phases.PreTool && c.invocation.options.UnseenInput && !c.words.Stopped() {
		if name, open := staysOpen(&view); open {
			c.say(rest.open, name+" stays open, and belay is not shown what is typed into it: run the commands themselves"+
				" (open_shells in belay.yaml)")
		}
	}
	if !judged && !c.words.Stopped() {
		c.say(rest.byPhase[view.Phase], "no hook judges this (default in belay.yaml)")
	}
}

// staysOpen returns the program by name when the call starts one that reads further commands from its
// terminal.
func staysOpen(view *phases.Invocation) (name string, open bool) {
	found, ok := view.Lines()
	if !ok {
		return "", false
	}
	open = found.More
	for _, line := range found.Lines {
		reply, _ := shell.Parse(line.Text)
		if name, stays := reply.StaysOpen(); name != "" {
			return name, true
		} else if stays {
			open = true
		}
	}
	return "it cannot be told whether this", open
}

func (c *chain) say(d phases.Decision, reason string) {
	kind := phases.EffectAsk
	switch d {
	case phases.Block:
		kind = phases.EffectBlock
	case phases.Ask:
	default:
		return
	}
	by := phases.Actor{Hook: kernelName, Grants: map[phases.EffectKind]bool{kind: true}}
	c.words.Add(phases.Turn{By: by, Pass: phases.PassValidate, Effects: []phases.Effect{{Kind: kind, Text: reason}}})
}

// noteJudged says in the verdict what the call is judged as beside its tool's name.
func (c *chain) noteJudged() {
	if names := c.words.ToolNames(); len(names) > 1 {
		c.notes = append(c.notes, "judged as "+strings.Join(names[1:], ", ")+" as well, by what the call carries")
	}
}

// dropGrant takes a permission back that a hook gives to a call which it sees only for what the call
// carries: the hook knows the tool by a name that the tool does not have.
func (c *chain) dropGrant(b *binding, o *Outcome) {
	if !c.carried[b] {
		return
	}
	before := len(o.Effects)
	o.Effects = slices.DeleteFunc(slices.Clone(o.Effects), func(e phases.Effect) bool {
		return e.Kind == phases.EffectGrant
	})
	if len(o.Effects) < before {
		o.Notes = append(slices.Clone(o.Notes), "grant dropped: the hook sees the call only for what it carries")
	}
}

// queued reports whether a hook asks whose questions wait in the queue.
func (c *chain) queued() bool {
	return slices.ContainsFunc(c.words.Asking(), func(a phases.AskRef) bool {
		return slices.ContainsFunc(c.invocation.snap.bindings, func(b *binding) bool {
			return b.spec.Queued && b.spec.Name == a.Hook
		})
	})
}

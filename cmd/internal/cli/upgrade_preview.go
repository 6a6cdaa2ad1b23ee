package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rig"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const previewUpgradeCommand = "preview-upgrade" // hidden, as previewCommand

// upgradeTask is what the preview of an upgrade runs on: both versions, and logged decisions.
type upgradeTask struct {
	Before upgradeSide    `json:"before"`
	After  upgradeSide    `json:"after"`
	Events []phases.Event `json:"events"` // of type verdict
}

type upgradeSide struct {
	Module  []byte         `json:"module"`
	Tier    phases.Tier    `json:"tier"`
	Binding config.Binding `json:"binding"`
}

// UpgradePreview says what two versions of a hook, each alone, decide about logged events. Both see the inputs as they
// are stored: redacted.
type UpgradePreview struct {
	Events  int           `json:"events"`           // that at least one of them was asked about
	Skipped int           `json:"skipped"`          // that neither was, or without a stored input
	Failed  string        `json:"failed,omitzero"`  // why one of them could not be loaded
	Weaker  int           `json:"weaker,omitzero"`  // of Flips and of those left out: the new version stops less
	Flipped int           `json:"flipped,omitzero"` // events about which they differ
	Flips   []UpgradeFlip `json:"flips"`            // the newest first, at most MaxFlips
}

// UpgradeFlip is one event about which the versions differ.
type UpgradeFlip struct {
	Seq    int64               `json:"seq"`
	Phase  phases.Phase        `json:"phase"`
	Tool   string              `json:"tool,omitzero"`
	Was    phases.HookDecision `json:"was"`
	Would  phases.HookDecision `json:"would"`
	Weaker bool                `json:"weaker,omitzero"`
	Reason string              `json:"reason,omitzero"` // of the new version, or else of the one before
	Action string              `json:"action,omitzero"` // the command, or what else says most; redacted
}

// previewUpgrade runs both versions on the newest logged decisions, in a process of its own.
func (a *App) previewUpgrade(ctx context.Context, u *install.Upgrade, n int) (UpgradePreview, error) {
	src, err := a.lookAtRecords(ctx)
	if err != nil {
		return UpgradePreview{}, err
	}
	events, err := src.Events(ctx, wire.Query{Type: phases.EventVerdict, Newest: true, Limit: n})
	src.Close()
	if err != nil {
		return UpgradePreview{}, err
	}
	before, after := u.Files()
	was, would := u.Bindings()
	p, err := runApart[UpgradePreview](ctx, previewUpgradeCommand, &upgradeTask{Events: events,
		Before: upgradeSide{Module: before, Tier: phases.Tier(u.From.Tier), Binding: was},
		After:  upgradeSide{Module: after, Tier: phases.Tier(u.To.Tier), Binding: would}})
	nameUpgradeFlips(p.Flips, events)
	return p, err
}

// runUpgradePreview is the process of previewUpgrade.
func runUpgradePreview(ctx context.Context, task upgradeTask) (UpgradePreview, error) {
	dir, err := os.MkdirTemp("", "belay-preview-") // for compiled code
	if err != nil {
		return UpgradePreview{}, err
	}
	defer os.RemoveAll(dir)
	bench, err := loader.OpenBench(loader.BenchOptions{Dir: dir})
	if err != nil {
		return UpgradePreview{}, err
	}
	defer bench.Close()
	out := UpgradePreview{Flips: []UpgradeFlip{}}
	sides := [2]*rig.Rig{}
	for i, side := range []*upgradeSide{&task.Before, &task.After} {
		if sides[i], err = openSide(ctx, bench, side); err != nil {
			return out, err
		}
		defer sides[i].Close()
		for _, h := range sides[i].Hooks() {
			if h.Problem != "" {
				out.Failed = phases.SafeText(strings.TrimSpace(h.Problem+" "+h.Detail), phases.MaxReasonBytes)
				return out, nil
			}
		}
	}
	for i := range task.Events {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		out.add(ctx, sides, &task.Events[i])
	}
	out.Flips = out.Flips[:min(len(out.Flips), MaxFlips)]
	return out, nil
}

// openSide opens a kernel in which one version runs alone, with the binding's own choice of phases and tools.
func openSide(ctx context.Context, bench *loader.Bench, side *upgradeSide) (*rig.Rig, error) {
	side.Binding.Mode, side.Binding.Disabled, side.Binding.Tier = "", false, "" // its decision is asked for
	spec := loader.Spec(side.Binding)
	load := func(ctx context.Context, spec kernel.BindingSpec) (*kernel.Loaded, error) {
		return bench.Load(ctx, loader.BenchHook{Name: spec.Name, Module: side.Module, Tier: side.Tier,
			Allowed: append([]string{}, spec.Allowed...), Config: spec.Config, MemoryMiB: spec.Budget.MemoryMiB})
	}
	return rig.Open(ctx, rig.Options{Loader: rig.LoaderFunc(load),
		Wrap:   func(_ kernel.BindingSpec, l *kernel.Loaded) kernel.Hook { return l.Hook },
		Config: &kernel.Config{Revision: "preview", Bindings: []kernel.BindingSpec{spec}}, Time: time.Unix(0, 0).UTC()})
}

// sideAnswer is what one version said about one event.
type sideAnswer struct {
	decision phases.HookDecision // "": it was not asked
	reason   string
	action   []byte // afterwards
}

func askSide(ctx context.Context, side *rig.Rig, inv *phases.Invocation) sideAnswer {
	side.Empty() // each event begins without state, for both
	v, _ := side.Decide(ctx, rig.Case{Invocation: *inv, Clock: inv.Time, Options: kernel.InvokeOptions{HoldsScopes: true}})
	var a sideAnswer
	for _, h := range v.Hooks {
		if a.decision == "" || h.Decision != phases.HookNone {
			a.decision, a.reason = h.Decision, h.Reason
		}
	}
	a.action = v.Action
	return a
}

// stops orders decisions by how far they stop an action.
func stops(d phases.HookDecision) int {
	switch d {
	case phases.HookBlock, phases.HookError:
		return 2
	case phases.HookAsk:
		return 1
	}
	return 0
}

func (p *UpgradePreview) add(ctx context.Context, sides [2]*rig.Rig, event *phases.Event) {
	inv, err := invocationOf(event)
	if err != nil || event.Phase == phases.Audit {
		p.Skipped++
		return
	}
	was, would := askSide(ctx, sides[0], &inv), askSide(ctx, sides[1], &inv)
	if was.decision == "" && would.decision == "" {
		p.Skipped++
		return
	}
	p.Events++
	if was.decision == would.decision &&
		(would.decision != phases.HookTransform || bytes.Equal(was.action, would.action)) {
		return
	}
	f := UpgradeFlip{Seq: event.Seq, Phase: event.Phase, Tool: event.Tool, Was: was.decision, Would: would.decision,
		Weaker: stops(would.decision) < stops(was.decision), Reason: would.reason}
	if f.Reason == "" {
		f.Reason = was.reason
	}
	p.Flipped++
	if f.Weaker {
		p.Weaker++
	}
	p.Flips = append(p.Flips, f)
}

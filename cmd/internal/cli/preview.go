package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// Preview holds a proposed hook's verdicts on logged events. The hook ran
// alone, on inputs as they are stored: redacted, so that its verdict on the
// redacted parts is not known. With Recordings it ran on originals.
type Preview struct {
	Events   int    `json:"events"`  // that it was asked about
	Skipped  int    `json:"skipped"` // of phases or tools that it does not serve, or without a stored input
	Blocks   int    `json:"blocks"`
	Asks     int    `json:"asks"`
	Changes  int    `json:"changes"`
	Failures int    `json:"failures"` // it trapped, ran out of budget or answered nonsense
	FuelMax  int64  `json:"fuel_max"`
	FuelSum  int64  `json:"fuel_sum"`
	Failed   string `json:"failed,omitzero"` // why it could not even be loaded
	// what would have come out differently, or failed; the newest first, at most MaxFlips
	Flips []PreviewFlip `json:"flips"`

	// Recordings are the recordings it ran on in place of events. Unknown
	// counts invocations in which it made a hostcall that the recording does
	// not contain.
	Recordings []PreviewRecording `json:"recordings,omitzero"`
	Unknown    int                `json:"unknown,omitzero"`
}

// PreviewRecording is a recording that a preview ran on.
type PreviewRecording struct {
	File   string `json:"file"`
	Digest string `json:"digest"`
	Source string `json:"source"`
	Used   int    `json:"used"` // invocations, the newest
	Of     int    `json:"of"`
}

// PreviewFlip is one event that the hook would have changed.
type PreviewFlip struct {
	Seq    int64               `json:"seq,omitzero"`
	In     int                 `json:"in,omitzero"`     // of recordings, in place of Seq: which one, from 1
	Number int                 `json:"number,omitzero"` // and which invocation in it, from 1
	Phase  phases.Phase        `json:"phase"`
	Tool   string              `json:"tool,omitzero"`
	Was    string              `json:"was"`   // the recorded decision
	Would  phases.HookDecision `json:"would"` // the hook's own
	Kind   phases.Kind         `json:"kind,omitzero"`
	Reason string              `json:"reason,omitzero"`
	Fuel   int64               `json:"fuel"`
	Action string              `json:"action,omitzero"` // the command, or what else says most; redacted
}

// Bounds of a preview.
const (
	MaxPreviewEvents = 1000
	MaxFlips         = 50
)

// PreviewTask is what a preview runs on.
type PreviewTask struct {
	Module  []byte         `json:"module"`
	Binding config.Binding `json:"binding"`
	Events  []phases.Event `json:"events"` // of type verdict
}

// RunPreview runs the hook on recorded inputs, in a state directory of its own
// that it removes afterwards: it logs nothing, and shares nothing with hooks in
// use. It is meant for a process of its own. With an error there is no preview.
func RunPreview(ctx context.Context, task PreviewTask) (Preview, error) {
	dir, err := os.MkdirTemp("", "belay-preview-")
	if err != nil {
		return Preview{}, err
	}
	defer os.RemoveAll(dir)
	task.Binding.Mode, task.Binding.Disabled = "", false // the preview asks for its decision
	src, err := config.AddBinding([]byte(config.Empty), task.Binding)
	if err != nil {
		return Preview{}, err
	}
	if err := os.WriteFile(filepath.Join(dir, config.FileName), src, 0o600); err != nil {
		return Preview{}, err
	}
	if err := statedir.StoreBlob(dir, task.Binding.Module, task.Module); err != nil {
		return Preview{}, err
	}
	host, err := belay.Open(ctx, dir, belay.Options{InMemory: true, Signatures: sigstore.New})
	if err != nil {
		return Preview{}, err
	}
	defer host.Close()
	preview := Preview{Flips: []PreviewFlip{}}
	for _, b := range host.Bindings() {
		if b.Problem != "" {
			preview.Failed = phases.SafeText(b.Problem, phases.MaxReasonBytes)
			return preview, nil
		}
	}
	for i := range task.Events {
		if ctx.Err() != nil {
			return preview, ctx.Err()
		}
		preview.add(ctx, host, &task.Events[i])
	}
	preview.Finish()
	return preview, nil
}

// Finish puts the newest flips first and leaves the rest out.
func (p *Preview) Finish() {
	slices.Reverse(p.Flips)
	p.Flips = p.Flips[:min(len(p.Flips), MaxFlips)]
}

// add runs the hook on one event.
func (p *Preview) add(ctx context.Context, host *belay.Belay, event *phases.Event) {
	inv, err := invocationOf(event)
	if err != nil || event.Phase == phases.Audit {
		p.Skipped++
		return
	}
	o := belay.InvokeOptions{HoldsScopes: true} // nothing runs: the hook alone is looked at
	o.KeepTime(&inv)
	v, _ := host.InvokeWith(ctx, inv, o)
	if len(v.Hooks) == 0 {
		p.Skipped++
		return
	}
	last := v.Hooks[len(v.Hooks)-1]
	f := PreviewFlip{Seq: event.Seq, Phase: event.Phase, Tool: event.Tool, Was: event.Decision, Would: last.Decision,
		Kind:   last.Kind,
		Reason: last.Reason}
	for _, h := range v.Hooks {
		f.Fuel += h.Fuel
		if h.Decision == phases.HookTransform && f.Would == phases.HookNone {
			f.Would = h.Decision // a mutator that was asked again, and had nothing to add
		}
	}
	p.Count(f)
}

// Count adds what the hook said about one invocation.
func (p *Preview) Count(flip PreviewFlip) {
	p.Events++
	p.FuelSum, p.FuelMax = p.FuelSum+flip.Fuel, max(p.FuelMax, flip.Fuel)
	flipped := true
	switch flip.Would {
	case phases.HookBlock:
		p.Blocks++
		flipped = flip.Was != string(phases.Block)
	case phases.HookAsk:
		p.Asks++
		flipped = flip.Was == string(phases.Allow)
	case phases.HookTransform:
		p.Changes++
	case phases.HookError:
		p.Failures++
	default:
		flipped = false
	}
	if flipped {
		p.Flips = append(p.Flips, flip)
	}
}

// invocationOf is the invocation that a verdict's event is about, as far as it is stored.
func invocationOf(event *phases.Event) (phases.Invocation, error) {
	var in struct {
		Action   jsontext.Value            `json:"action"`
		CWD      string                    `json:"cwd"`
		Scopes   phases.Scopes             `json:"scopes"`
		Metadata map[string]jsontext.Value `json:"metadata"`
		Reported time.Time                 `json:"reported_time"`
	}
	if event.Input == nil {
		return phases.Invocation{}, errors.New("the input is not stored")
	}
	if err := json.Unmarshal(event.Input, &in); err != nil {
		return phases.Invocation{}, fmt.Errorf("event %d: %w", event.Seq, err)
	}
	return phases.Invocation{Phase: event.Phase, Runtime: event.Runtime, Session: event.Session, Agent: event.Agent,
			Run:  event.Run,
			User: event.User,
			CWD:  in.CWD, Action: in.Action, Scopes: in.Scopes, Metadata: in.Metadata, Time: event.Time,
			ReportedTime: in.Reported},
		nil
}

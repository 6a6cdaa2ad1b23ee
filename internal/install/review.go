package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Review is what the host finds out about a proposed hook from its bytes, for the
// person who decides. Nothing in it is the proposer's word but Source and the
// manifest's texts.
type Review struct {
	Binding      config.Binding         `json:"binding"` // what an approval writes into belay.yaml
	Hook         loader.Info            `json:"hook"`
	RestrictOnly bool                   `json:"restrict_only"`   // it can say no, ask and cut scopes; else it only reads
	Reads        []string               `json:"reads,omitzero"`  // calls that read more than the action and change nothing
	Beyond       []string               `json:"beyond,omitzero"` // calls that do more than restrict and read
	Nearest      *Nearest               `json:"nearest,omitzero"`
	Source       []approvals.SourceFile `json:"source,omitzero"`
}

// Nearest is the hook of the same name that is bound already, and how the proposed one differs from it.
type Nearest struct {
	Binding      string  `json:"binding"`
	Version      string  `json:"version"`
	Digest       string  `json:"digest"`
	Imports      Changes `json:"imports"`
	Capabilities Changes `json:"capabilities"` // that it holds, and that the proposed one would
	Phases       Changes `json:"phases"`
}

// Changes are the added and the removed entries.
type Changes struct {
	Added   []string `json:"added,omitzero"`
	Removed []string `json:"removed,omitzero"`
}

func changes(old, now []string) (c Changes) {
	for _, s := range now {
		if !slices.Contains(old, s) {
			c.Added = append(c.Added, s)
		}
	}
	for _, s := range old {
		if !slices.Contains(now, s) {
			c.Removed = append(c.Removed, s)
		}
	}
	return c
}

// ReviewProposal reads the bytes of a proposed hook and describes them. It
// works on the state directory alone, runs nothing, and trusts no stored
// description: an entry that does not fit its module is ErrRefused.
func ReviewProposal(ctx context.Context, dir trust.Dir, it *approvals.Item) (Review, []byte, error) {
	if err := queue.CheckProposal(it); err != nil {
		return Review{}, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	d, err := queue.Proposed(it)
	if err != nil {
		return Review{}, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	var r Review
	if err := json.Unmarshal(d.Binding, &r.Binding, json.RejectUnknownMembers(true)); err != nil {
		return r, nil, fmt.Errorf("%w: its binding cannot be read: %w", ErrRefused, err)
	}
	b := &r.Binding
	if b.Module != d.Digest || b.Digest != "" || b.Tier != "" || b.Priority >= config.TrustedPriority ||
		b.Capabilities == nil {
		return r, nil, fmt.Errorf("%w: its binding is not one of a proposal", ErrRefused)
	}
	file, err := readBlob(dir.Path, d.Digest)
	if err != nil {
		return r, nil, err
	}
	if r.Hook, err = loader.InspectIn(ctx, dir, file, nil, b.Capabilities); err != nil {
		return r, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(r.Hook.Problems) > 0 {
		return r, nil, fmt.Errorf("%w: %s", ErrRefused, strings.Join(r.Hook.Problems, "; "))
	}
	for _, c := range b.Capabilities {
		if c, err := tiers.ParseCapability(c); err != nil || !tiers.Ceiling(phases.Proposed, c) {
			return r, nil, fmt.Errorf("%w: no proposed hook may hold %s", ErrRefused, c)
		}
	}
	r.Source = d.Source
	r.Reads, r.Beyond = powers(r.Hook.Imports)
	r.RestrictOnly = len(r.Beyond) == 0
	r.Nearest = nearest(ctx, dir, &r)
	return r, file, nil
}

// readBlob reads a module that is kept under its digest, and makes sure that it is that.
func readBlob(dir, digest string) ([]byte, error) {
	name, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(name) != 2*sha256.Size || strings.Trim(name, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("%w: %q is no digest", ErrRefused, digest)
	}
	file, err := statedir.ReadModule(statedir.Blob(dir, digest))
	if err != nil {
		return nil, fmt.Errorf("%w: the module is not there any more: %w", ErrRefused, err)
	}
	if phases.ByteDigest(file) != digest {
		return nil, fmt.Errorf("%w: what lies under the digest of the module is something else", ErrRefused)
	}
	return file, nil
}

// nearest finds the newest bound hook whose manifest has the same name. A bound
// hook that cannot be read is not it.
func nearest(ctx context.Context, dir trust.Dir, r *Review) *Nearest {
	f, _, err := config.Load(dir.Path)
	if err != nil {
		return nil
	}
	l, err := loader.Look(dir)
	if err != nil {
		return nil
	}
	defer l.Close(func() bool { return false })
	var found *Nearest
	for _, h := range f.Hooks {
		b, err := l.Bound(ctx, loader.Spec(h))
		if err != nil || b.Manifest.Name != r.Hook.Manifest.Name {
			continue
		}
		var would []string
		for _, g := range r.Hook.Capabilities {
			would = append(would, g.Granted...)
		}
		found = &Nearest{Binding: h.Name, Version: b.Manifest.Version, Digest: b.Digest,
			Imports:      changes(b.Imports, r.Hook.Imports),
			Capabilities: changes(b.Capabilities, would), Phases: changes(texts(b.Phases), texts(r.Hook.Phases))}
	}
	return found
}

func texts(list []phases.Phase) []string {
	var out []string
	for _, p := range list {
		out = append(out, string(p))
	}
	return out
}

// bind binds exactly the approved hook, in belay.yaml as it is now. Doing it
// again changes nothing.
func (q *Proposals) bind(ctx context.Context, it *approvals.Item) error {
	r, file, err := ReviewProposal(ctx, q.o.Dir, it)
	if err != nil {
		return err
	}
	if done, err := q.boundAlready(&r); err != nil || done {
		return err
	}
	if err := loader.CompileOnce(ctx, q.o.Dir.Path, file, r.Hook.Manifest, q.o.Compiler); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return config.EditFile(q.o.Dir.Path, func(src []byte) ([]byte, error) {
		if err := statedir.StoreBlob(q.o.Dir.Path, r.Binding.Module, file); err != nil {
			return nil, err
		}
		edited, _, err := withBinding(src, &r)
		return edited, err
	})
}

// Decide takes a person's decision. A proposed hook that is approved is bound;
// changed says that belay.yaml was written and has to be taken into use. If
// that failed after the decision was recorded, handing in the same decision
// again carries on from there. Errors are as of kernel.Kernel.DecideApproval,
// ErrRefused, config.ErrUnusable, or ErrUnbound with what failed after the
// decision.
func (q *Proposals) Decide(ctx context.Context, id string,
	d approvals.Decision) (it approvals.Item, changed bool, err error) {
	if it, err = q.o.Kernel.Approval(ctx, id); err != nil {
		return it, false, err
	}
	if it.Kind == approvals.KindProposal && d.Verdict == approvals.Approve {
		if it.State == approvals.Approved && sameDecision(it.Decision, &d) {
			return q.carryOn(ctx, id)
		}
		if err := q.bindable(ctx, &it); err != nil { // not even recorded
			return it, false, err
		}
	}
	it, err = q.o.Kernel.DecideApproval(ctx, id, d)
	if err != nil {
		return it, false, err
	}
	if it.Kind != approvals.KindProposal {
		return it, false, nil
	}
	if d.Verdict != approvals.Approve {
		q.dropUnneeded(ctx)
		return it, false, nil
	}
	return q.carryOn(ctx, id)
}

// sameDecision reports whether a decision is the stored one. It is no proof:
// the stored decision is verified again before it is carried out.
func sameDecision(have, d *approvals.Decision) bool {
	return have != nil && have.Verdict == d.Verdict && have.Content == d.Content && have.By == d.By &&
		have.At.Equal(d.At) && bytes.Equal(have.Signature, d.Signature)
}

// ErrUnbound: a proposed hook is approved, which is recorded, and not bound.
// Beside it stands the cause: ErrRefused, config.ErrUnusable or an error of the
// file system.
var ErrUnbound = errors.New("the hook is approved and that is logged, but it could not be bound")

// carryOn binds the approved hook.
func (q *Proposals) carryOn(ctx context.Context, id string) (it approvals.Item, changed bool, err error) {
	err = q.Finish(ctx, id)
	it, again := q.o.Kernel.Approval(ctx, id)
	switch {
	case err != nil && it.State == approvals.Approved:
		return it, false, fmt.Errorf("%w: %w", ErrUnbound, err)
	case err != nil:
		return it, false, err
	}
	return it, true, again
}

// bindable reports whether the proposed hook could be bound as things are now.
func (q *Proposals) bindable(ctx context.Context, it *approvals.Item) error {
	r, _, err := ReviewProposal(ctx, q.o.Dir, it)
	if err != nil {
		return err
	}
	_, err = q.boundAlready(&r)
	return err
}

// boundAlready reports whether the proposed hook is bound as it was proposed; with
// an error it cannot be bound as things are now.
func (q *Proposals) boundAlready(r *Review) (done bool, err error) {
	src, err := config.ReadFile(q.o.Dir.Path)
	if errors.Is(err, os.ErrNotExist) {
		return false, config.ErrMissing
	} else if err != nil {
		return false, err
	}
	_, done, err = withBinding(src, r)
	return done, err
}

// withBinding returns belay.yaml with the proposed hook in it, or that it is there already.
func withBinding(src []byte, r *Review) (edited []byte, done bool, err error) {
	if f, err := config.Parse(src); err == nil {
		for _, h := range f.Hooks {
			if h.Name == r.Binding.Name && h.Module == r.Binding.Module {
				return src, true, nil
			}
		}
	}
	if edited, err = config.AddBinding(src, r.Binding); err != nil {
		err = fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	return edited, false, err
}

// Finish carries out a proposal that is approved and not installed yet. The
// approval must count: it is verified again.
func (q *Proposals) Finish(ctx context.Context, id string) error {
	it, err := q.o.Kernel.CheckApproval(ctx, id)
	if err != nil {
		return err
	}
	if err := q.bind(ctx, it); err != nil {
		return err
	}
	return q.o.Kernel.FinishApproval(ctx, id, "installed as "+it.Hooks[0].Hook)
}

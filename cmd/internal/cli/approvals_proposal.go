package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// proposedName is the name under which a proposed hook would be bound.
func proposedName(it *approvals.Item) string {
	name, _ := phases.GetString(it.Details, "/binding/name")
	return name
}

// review is a proposal as the host sees it, for the person who decides.
type review struct {
	Approval approvals.Item  `json:"approval"`
	Review   *install.Review `json:"review,omitzero"`
	Preview  *Preview        `json:"preview,omitzero"`
	Recorded *Preview        `json:"recorded,omitzero"` // the same on recordings: originals
}

// previewWish is what a reviewer wants a proposed hook to be run on.
type previewWish struct {
	events     int // newest, of events and of recorded invocations; 0: no preview
	recordings []string
	identities []string
}

func (o *previewWish) flags(f *pflag.FlagSet) {
	f.IntVar(&o.events, "preview", previewEvents,
		"of a proposed hook: how many recorded decisions to run it on, 0 to 1000")
	f.StringArrayVar(&o.recordings, "recordings", nil,
		"of a proposed hook: also run it on these recordings, which hold originals (files, or a `DIR` of them)")
	f.StringArrayVar(&o.identities, "identity", nil, "open sealed recordings with the age keys of this file")
}

func (o *previewWish) check() error {
	switch {
	case o.events < 0 || o.events > MaxPreviewEvents:
		return usageError(fmt.Sprintf("--preview must be from 0 to %d", MaxPreviewEvents), "")
	case o.events == 0 && len(o.recordings) > 0:
		return usageError("--preview 0 runs nothing, and --recordings says on what", "")
	case len(o.identities) > 0 && len(o.recordings) == 0:
		return usageError("--identity opens recordings: say which with --recordings", "")
	}
	return nil
}

// reviewOf looks at the bytes of a proposed hook and runs its preview. What cannot be
// looked at cannot be approved either, and says why.
func (a *App) reviewOf(ctx context.Context, it approvals.Item, wish previewWish) (review, error) {
	r := review{Approval: it}
	if it.Kind != approvals.KindProposal {
		return r, nil
	}
	dir, err := a.stateDir()
	if err != nil {
		return r, err
	}
	found, module, err := install.ReviewProposal(ctx, trustDir(dir), &it)
	if err != nil {
		return r, err
	}
	r.Review = &found
	if wish.events == 0 {
		return r, nil
	}
	p, err := a.preview(ctx, found.Binding, module, wish.events)
	if err != nil {
		return r, err
	}
	r.Preview = &p
	if len(wish.recordings) > 0 {
		on, err := a.previewRecorded(ctx, found.Binding, module, wish)
		if err != nil {
			return r, err
		}
		r.Recorded = &on
	}
	return r, nil
}

// describeReview prints what the host has found out, then what the proposer says.
func (a *App) describeReview(review *review) {
	a.describeApproval(&review.Approval)
	rv := review.Review
	if rv == nil {
		return
	}
	fmt.Fprintln(a.Out)
	a.describeHook(rv.Hook)
	power := "it can say no, ask a person and cut scopes, and nothing else"
	if !rv.RestrictOnly {
		power = a.palette().yellow("it can do more than restrict: " + oneLine(strings.Join(rv.Beyond, ", "), 200))
	}
	a.rawField("power", power)
	if len(rv.Reads) > 0 {
		a.field("reads", strings.Join(rv.Reads, ", ")+", beside the action: these change nothing")
	}
	a.describeBinding(rv)
	if n := rv.Nearest; n != nil {
		a.field("compared", fmt.Sprintf("with %s %s, bound as %s", rv.Hook.Manifest.Name, n.Version, n.Binding))
		a.change("imports", n.Imports)
		a.change("may", n.Capabilities)
		a.change("phases", n.Phases)
	} else {
		a.field("compared", "no hook of this name is bound")
	}
	if review.Preview != nil {
		fmt.Fprintln(a.Out)
		a.describePreview(review.Preview)
	}
	if review.Recorded != nil {
		fmt.Fprintln(a.Out)
		a.describePreview(review.Recorded)
	}
	for _, f := range rv.Source {
		fmt.Fprintln(a.Out)
		a.field("source", f.Path+"  (the proposer's word: nothing proves that the module was built from it)")
		for _, l := range strings.Split(safe(f.Text), "\n") {
			fmt.Fprintf(a.Out, "  | %s\n", l)
		}
	}
}

// describeBinding prints what an approval would write into belay.yaml.
func (a *App) describeBinding(rv *install.Review) {
	if b, err := encodeJSON(rv.Binding, true); err == nil {
		a.field("binding", string(b)+"\nis what an approval adds to belay.yaml, as a sandboxed hook")
	}
	if m := rv.Hook.Manifest; m != nil {
		a.field("budget",
			fmt.Sprintf("wants fuel %s, %d ms, %d MiB (0: the host's default)", count(m.Budget.Fuel), m.Budget.DeadlineMS,
				m.Budget.MemoryMiB))
	}
}

func (a *App) change(name string, c install.Changes) {
	p := a.palette()
	for _, s := range c.Added {
		a.rawField(name, p.green("+ "+oneLine(s, 100)))
	}
	for _, s := range c.Removed {
		a.rawField(name, p.red("- "+oneLine(s, 100)))
	}
	if len(c.Added)+len(c.Removed) == 0 {
		a.field(name, "the same")
	}
}

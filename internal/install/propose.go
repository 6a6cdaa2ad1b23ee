package belay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/internal/clock"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Propose puts a hook into the queue: its bytes are kept under their digest and
// nothing of it runs. A pending proposal of the same name by the same agent is
// superseded. With single_user.auto_accept a hook that can only restrict is
// installed at once, and changed says that belay.yaml was written. Errors are
// ErrRefused, kernel.ErrApprovalQuota, ErrNoConfig or kernel.ErrUnavailable.
func (b *Belay) Propose(ctx context.Context, p approvals.Proposal, credential string) (it kernel.Approval, changed bool, err error) {
	p = p.Clone()
	if err := p.Validate(); err != nil {
		return it, false, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	binding, info, err := b.proposed(ctx, &p)
	if err != nil {
		return it, false, err
	}
	if it, err = b.proposalItem(&p, &binding, info.Digest, credential); err != nil {
		return it, false, err
	}
	b.mu.Lock()
	auto := b.file.SingleUser.AutoAccept && restrictOnly(info.Imports)
	b.mu.Unlock()
	old, err := b.replaced(ctx, &it)
	if err != nil {
		return it, false, err
	}
	it, err = b.requestProposal(ctx, it, info.Digest, p.Module, old)
	b.dropProposals(ctx)
	if err != nil || !auto || it.State != approvals.Pending {
		return it, false, err
	}
	return b.autoAccept(ctx, it)
}

// requestProposal keeps the module and puts the item into the queue. In between, no
// process drops modules that nothing needs: until the item is there, none seems to.
func (b *Belay) requestProposal(ctx context.Context, it kernel.Approval, digest string, module []byte, old []string) (kernel.Approval, error) {
	unlock, err := statedir.Lock(filepath.Join(b.dir, config.FileName))
	if err != nil {
		return it, err
	}
	defer unlock()
	if err := statedir.KeepBlob(b.dir, digest, module); err != nil {
		return it, err
	}
	return b.kernel.RequestApproval(ctx, it, old...)
}

// proposed finds out what would be bound, and refuses what could never be.
func (b *Belay) proposed(ctx context.Context, p *approvals.Proposal) (config.Binding, loader.Info, error) {
	refuse := func(text string) (config.Binding, loader.Info, error) {
		return config.Binding{}, loader.Info{}, fmt.Errorf("%w: %s", ErrRefused, text)
	}
	info, err := loader.InspectIn(ctx, b.dir, p.Module, nil, p.Capabilities)
	if err != nil {
		return config.Binding{}, info, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(info.Problems) > 0 {
		return refuse(strings.Join(info.Problems, "; "))
	}
	if info.Tier == phases.Trusted {
		return refuse("it comes with belay: `belay hook install builtin:" + path.Base(info.Manifest.Name) + "` binds it")
	}
	for _, c := range info.Capabilities {
		name, err := tiers.ParseCapability(c.Name)
		if err != nil || !tiers.Ceiling(phases.Proposed, name) {
			return refuse("no proposed hook may hold " + c.Name)
		}
	}
	r := InstallRequest{File: p.Module, Name: p.Name, Phases: p.Phases, Priority: p.Priority, Tools: p.Tools, AnyTool: p.AnyTool, Allow: p.Capabilities, Config: p.Config}
	if p.Observe {
		r.Mode = phases.Observe
	}
	binding, err := r.binding(&info)
	if err != nil {
		return binding, info, err
	}
	src, err := config.ReadFile(b.dir)
	if errors.Is(err, os.ErrNotExist) {
		return binding, info, ErrNoConfig
	} else if err != nil {
		return binding, info, err
	}
	if p.Name == "" {
		binding.Name = freeBindingName(src, binding.Name)
	}
	if _, err := config.AddBinding(src, binding); err != nil { // it would be refused later, too
		return binding, info, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if len(p.Config) > 0 {
		if covered, masked, err := b.redact.JSON(p.Config); err != nil || len(masked) > 0 || string(covered) != string(p.Config) {
			return refuse("its configuration holds what looks like a secret; a queue is no place for it")
		}
	}
	return binding, info, nil
}

// freeBindingName keeps what is bound: a proposal stands beside it until somebody takes it out.
func freeBindingName(src []byte, name string) string {
	f, err := config.Parse(src)
	if err != nil {
		return name
	}
	taken := func(n string) bool {
		return slices.ContainsFunc(f.Hooks, func(h config.Binding) bool { return h.Name == n })
	}
	free := name
	for n := 2; taken(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

func (b *Belay) proposalItem(p *approvals.Proposal, binding *config.Binding, digest, credential string) (kernel.Approval, error) {
	var it kernel.Approval
	entry, err := json.Marshal(binding, json.Deterministic(true))
	if err != nil {
		return it, err
	}
	d := approvals.ProposalDetails{Digest: digest, Binding: entry}
	for _, f := range p.Source {
		text, err := b.redact.Text(strings.ToValidUTF8(f.Text, "\uFFFD"))
		if err != nil {
			return it, err
		}
		d.Source = append(d.Source, approvals.SourceFile{Path: phases.SafeLine(f.Path, 256), Text: text})
	}
	it = kernel.Approval{Kind: approvals.KindProposal, By: approvals.Requester{Credential: credential, Runtime: phases.SafeLine(p.Runtime, phases.MaxRuntimeBytes),
		Session: phases.SafeLine(p.Session, phases.MaxIDBytes), Agent: phases.SafeLine(p.Agent, phases.MaxIDBytes)},
		Hooks: []approvals.Asking{{Hook: binding.Name, Digest: digest}}}
	if it.Reason, err = b.redact.Text(phases.SafeText(p.Reason, approvals.MaxReason)); err != nil {
		return it, err
	}
	if it.Details, err = json.Marshal(&d, json.Deterministic(true)); err != nil {
		return it, err
	}
	if len(it.Details) > approvals.MaxDetails {
		return it, fmt.Errorf("%w: the source is too large", ErrRefused)
	}
	it.Key, err = d.Key()
	return it, err
}

// replaced lists what a new proposal takes the place of.
func (b *Belay) replaced(ctx context.Context, it *kernel.Approval) ([]string, error) {
	list, err := b.kernel.Approvals(ctx, kernel.ApprovalQuery{Kind: approvals.KindProposal, State: approvals.Pending, By: &it.By})
	var out []string
	for _, old := range list {
		if old.State == approvals.Pending && old.Key != it.Key && len(old.Hooks) == 1 && old.Hooks[0].Hook == it.Hooks[0].Hook {
			out = append(out, old.ID)
		}
	}
	return out, err
}

// restrictOnly reports whether a module can do nothing but say no, ask, or cut
// scopes: it reads, analyses and restricts. It cannot change an action, speak to
// the agent or the model, keep state, or call anything.
func restrictOnly(imports []string) bool {
	return !slices.ContainsFunc(imports, func(name string) bool {
		c, known := hostcalls.Lookup(name)
		if !known {
			return true
		}
		switch c.Group {
		case hostcalls.GroupFree, hostcalls.GroupAnalysis:
			return false
		}
		return name != "block" && name != "request_approval" && name != "clamp_scopes"
	})
}

// autoAccept installs a hook that nobody has looked at, because the operator has
// said so beforehand. It is on record like any other decision.
func (b *Belay) autoAccept(ctx context.Context, it kernel.Approval) (kernel.Approval, bool, error) {
	d, err := approvals.Draft(&it, approvals.Approve, "auto_accept", "single_user.auto_accept: it can only restrict", b.now(), approvals.DefaultTimeout)
	if err != nil {
		return it, false, err
	}
	if it, err = b.kernel.AcceptApproval(ctx, it.ID, d); err != nil {
		return it, false, err
	}
	if err := b.installProposal(ctx, &it); err != nil {
		return it, false, err
	}
	err = b.kernel.FinishAccepted(ctx, it.ID, "installed")
	it.State = approvals.Consumed
	return it, true, err
}

func (b *Belay) now() time.Time { return b.at().Wall }

// at reads the clocks, as the kernel does: beside a clock of the program's own that is of
// no boot there is no boot clock.
func (b *Belay) at() clock.Instant {
	switch c := b.o.Clock.(type) {
	case nil:
		return clock.At(clock.System{})
	case clock.Clock:
		return clock.At(c)
	default:
		return clock.Instant{Wall: c.Now()}
	}
}

// dropProposals removes the files of proposals that have come to nothing, unless
// something else needs them. It is bounded, and failing at it harms nobody. It holds
// the lock of belay.yaml: a module that is being bound is not dropped.
func (b *Belay) dropProposals(ctx context.Context) {
	unlock, err := statedir.Lock(filepath.Join(b.dir, config.FileName))
	if err != nil {
		return
	}
	defer unlock()
	src, err := config.ReadFile(b.dir)
	if err != nil {
		return
	}
	live, err := b.kernel.Approvals(ctx, kernel.ApprovalQuery{Kind: approvals.KindProposal, Limit: approvals.MaxLimit})
	if err != nil {
		return
	}
	needed, over := map[string]bool{}, map[string]bool{}
	for _, it := range live {
		d, err := it.Proposed()
		if err != nil {
			continue
		}
		switch it.State {
		case approvals.Pending, approvals.Approved, approvals.Consumed:
			needed[d.Digest] = true
		default:
			over[d.Digest] = true
		}
	}
	for digest := range over {
		if needed[digest] || strings.Contains(string(src), digest) {
			continue
		}
		if name, ok := strings.CutPrefix(digest, "sha256:"); ok && len(name) == 64 && !strings.ContainsAny(name, "/.") {
			_ = os.Remove(filepath.Join(b.dir, "blobs", "sha256", name))
		}
	}
}

package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Options are what Proposals are made of; all are needed but Compiler.
type Options struct {
	Dir      trust.Dir
	Compiler []string // as loader.Options.Compiler
	Kernel   *kernel.Kernel
	Redactor kernel.Redactor
}

// Proposals decides what becomes of hooks that agents propose. It is safe for concurrent
// use, as its kernel is; processes take turns by the lock of belay.yaml.
type Proposals struct{ o Options }

// NewProposals returns Proposals of a state directory that is open.
func NewProposals(o Options) *Proposals { return &Proposals{o: o} }

// Propose puts a hook into the queue: its bytes are kept under their digest and
// nothing of it runs. A pending proposal of the same name by the same agent is
// superseded. With auto (single_user.auto_accept) a hook that can only restrict is
// installed at once, and changed says that belay.yaml was written. Errors are
// ErrRefused, approvals.ErrQuota, config.ErrMissing or kernel.ErrUnavailable.
func (q *Proposals) Propose(ctx context.Context, p approvals.Proposal, credential string,
	auto bool) (it approvals.Item, changed bool, err error) {
	p = queue.CloneProposal(p)
	if err := queue.ValidateProposal(&p); err != nil {
		return it, false, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	binding, info, err := q.proposed(ctx, &p)
	if err != nil {
		return it, false, err
	}
	if it, err = q.item(&p, &binding, info.Digest, credential); err != nil {
		return it, false, err
	}
	old, err := q.replaced(ctx, &it)
	if err != nil {
		return it, false, err
	}
	it, err = q.request(ctx, it, info.Digest, p.Module, old)
	q.dropUnneeded(ctx)
	if err != nil || !auto || !acceptable(info.Imports) || it.State != approvals.Pending {
		return it, false, err
	}
	return q.accept(ctx, it)
}

// request keeps the module and puts the item into the queue. In between, no
// process drops modules that nothing needs: until the item is there, none seems to.
func (q *Proposals) request(ctx context.Context, it approvals.Item, digest string, module []byte,
	old []string) (approvals.Item, error) {
	unlock, err := statedir.Lock(filepath.Join(q.o.Dir.Path, config.FileName))
	if err != nil {
		return it, err
	}
	defer unlock()
	if err := statedir.StoreBlob(q.o.Dir.Path, digest, module); err != nil {
		return it, err
	}
	return q.o.Kernel.RequestApproval(ctx, it, old...)
}

// proposed finds out what would be bound, and refuses what could never be.
func (q *Proposals) proposed(ctx context.Context, p *approvals.Proposal) (config.Binding, loader.Info, error) {
	refuse := func(text string) (config.Binding, loader.Info, error) {
		return config.Binding{}, loader.Info{}, fmt.Errorf("%w: %s", ErrRefused, text)
	}
	info, err := loader.InspectIn(ctx, q.o.Dir, p.Module, nil, p.Capabilities)
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
	r := Request{File: p.Module, Name: p.Name, Phases: p.Phases, Priority: p.Priority, Tools: p.Tools, AnyTool: p.AnyTool,
		Allow: p.Capabilities, Config: p.Config}
	if p.Observe {
		r.Mode = phases.Observe
	}
	binding, err := r.binding(&info)
	if err != nil {
		return binding, info, err
	}
	src, err := config.ReadFile(q.o.Dir.Path)
	if errors.Is(err, os.ErrNotExist) {
		return binding, info, config.ErrMissing
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
		if covered, masked, err := q.o.Redactor.JSON(p.Config); err != nil || len(masked) > 0 ||
			string(covered) != string(p.Config) {
			return refuse("its configuration holds what looks like a secret; a queue is no place for it")
		}
	}
	return binding, info, nil
}

// freeBindingName leaves the present binding alone: a proposal gets a name
// beside it until a person removes it.
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

func (q *Proposals) item(p *approvals.Proposal, binding *config.Binding, digest,
	credential string) (approvals.Item, error) {
	var it approvals.Item
	entry, err := json.Marshal(binding, json.Deterministic(true))
	if err != nil {
		return it, err
	}
	d := queue.ProposalDetails{Digest: digest, Binding: entry}
	for _, f := range p.Source {
		text, err := q.o.Redactor.Text(strings.ToValidUTF8(f.Text, "\uFFFD"))
		if err != nil {
			return it, err
		}
		d.Source = append(d.Source, approvals.SourceFile{Path: phases.SafeLine(f.Path, 256), Text: text})
	}
	it = approvals.Item{Kind: approvals.KindProposal,
		By: approvals.Requester{Credential: credential, Runtime: phases.SafeLine(p.Runtime, phases.MaxRuntimeBytes),
			Session: phases.SafeLine(p.Session, phases.MaxIDBytes), Agent: phases.SafeLine(p.Agent, phases.MaxIDBytes)},
		Hooks: []approvals.Asking{{Hook: binding.Name, Digest: digest}}}
	if it.Reason, err = q.o.Redactor.Text(phases.SafeText(p.Reason, phases.MaxReasonBytes)); err != nil {
		return it, err
	}
	if it.Details, err = json.Marshal(&d, json.Deterministic(true)); err != nil {
		return it, err
	}
	if len(it.Details) > queue.MaxDetails {
		return it, fmt.Errorf("%w: the source is too large", ErrRefused)
	}
	it.Key, err = d.Key()
	return it, err
}

// replaced lists what a new proposal takes the place of.
func (q *Proposals) replaced(ctx context.Context, it *approvals.Item) ([]string, error) {
	list, err := q.o.Kernel.Approvals(ctx,
		approvals.Query{Kind: approvals.KindProposal, State: approvals.Pending, By: &it.By})
	var out []string
	for _, old := range list {
		if old.State == approvals.Pending && old.Key != it.Key && len(old.Hooks) == 1 &&
			old.Hooks[0].Hook == it.Hooks[0].Hook {
			out = append(out, old.ID)
		}
	}
	return out, err
}

// accept installs a hook without review, because the operator has said so
// beforehand. It is logged like any other decision.
func (q *Proposals) accept(ctx context.Context, it approvals.Item) (approvals.Item, bool, error) {
	d, err := approvals.Draft(&it, approvals.Approve, "auto_accept", "single_user.auto_accept: it can only restrict",
		q.o.Kernel.Now().Wall, queue.DefaultTimeout)
	if err != nil {
		return it, false, err
	}
	if it, err = q.o.Kernel.AcceptApproval(ctx, it.ID, d); err != nil {
		return it, false, err
	}
	if err := q.bind(ctx, &it); err != nil {
		return it, false, err
	}
	err = q.o.Kernel.FinishAccepted(ctx, it.ID, "installed")
	it.State = approvals.Consumed
	return it, true, err
}

// dropUnneeded removes the files of proposals that have come to nothing, unless
// something else needs them. It is bounded, and a failure harms nothing. It holds
// the lock of belay.yaml: a module that is being bound is not dropped.
func (q *Proposals) dropUnneeded(ctx context.Context) {
	unlock, err := statedir.Lock(filepath.Join(q.o.Dir.Path, config.FileName))
	if err != nil {
		return
	}
	defer unlock()
	src, err := config.ReadFile(q.o.Dir.Path)
	if err != nil {
		return
	}
	live, err := q.o.Kernel.Approvals(ctx, approvals.Query{Kind: approvals.KindProposal, Limit: approvals.MaxLimit})
	if err != nil {
		return
	}
	needed, err := rollbackNeeds(q.o.Dir.Path)
	if err != nil {
		return
	}
	over := map[string]bool{}
	for _, it := range live {
		d, err := queue.Proposed(&it)
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
			_ = os.Remove(filepath.Join(q.o.Dir.Path, "blobs", "sha256", name))
		}
	}
}

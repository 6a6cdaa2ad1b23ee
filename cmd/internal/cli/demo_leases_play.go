package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// What the agents of the demo want to do.
func demoWrite(agent, file string) string {
	return fmt.Sprintf(
		`{"phase":"pre_tool","runtime":"custom","session":"s-1","agent":%q,"action":{"tool":"write","args":{"file_path":%q,"content":"x"}}}`, agent, file)
}

// demoTask writes into the task's directory by a name in it, which lease-broker does not lend for.
func demoTask(agent string) string {
	return fmt.Sprintf(
		`{"phase":"pre_tool","runtime":"custom","session":"s-1","agent":%q,"cwd":"/srv/task","action":{"tool":"write","args":{"file_path":"plan.md","content":"x"}}}`, agent)
}

func demoSpawn(child, passOn string) string {
	return fmt.Sprintf(
		`{"phase":"spawn","runtime":"custom","session":"s-1","agent":"coder","action":{"child":{"agent":%q,"prompt":"write it down","leases":[%s]},"depth":1}}`, child, passOn)
}

// play is the story, in order.
func (d *leaseDemo) play(ctx context.Context) error {
	fmt.Fprintf(d.prose(),
		"Power is lent, never owned: an agent that wants to call write needs a lease (require_lease in belay.yaml).\nEverything happens in %s, with the real hooks, signatures and store.\n", safe(d.dir))
	for _, step := range []func(context.Context) error{d.unsigned, d.signed, d.lent, d.once, d.byHand, d.child, d.revoked,
		d.proposed, d.record} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *leaseDemo) unsigned(ctx context.Context) error {
	d.step("A hook that no signature vouches for lends nothing")
	_, _, err := install.Hook(ctx, trustDir(d.dir), install.Request{File: d.broker, Compiler: d.a.Compiler})
	if !errors.Is(err, install.ErrRefused) {
		return cmp.Or(err, errDemo)
	}
	d.line("install lease-broker, unsigned", "refused", strings.TrimPrefix(err.Error(), install.ErrRefused.Error()+": "))
	if err := d.open(ctx, belay.AdHocHook{Name: "lease-broker", Module: d.broker}); err != nil {
		return err
	}
	d.bound("lease-broker", "")
	if _, err := d.ask(ctx, "coder writes /srv/notes/a.md", demoWrite("coder", "/srv/notes/a.md"),
		phases.Block); err != nil {
		return err
	}
	return d.leases(ctx, "")
}

func (d *leaseDemo) signed(ctx context.Context) error {
	d.step("A key signs the hook, and the operator trusts the key")
	private, public, key, err := signing.GenerateKey([]byte(demoPassword))
	if err != nil {
		return err
	}
	signer, err := signing.OpenKey(private, func() ([]byte, error) { return []byte(demoPassword), nil })
	if err != nil {
		return err
	}
	bundle, err := signer.SignFile(d.broker)
	if err != nil {
		return err
	}
	d.line("key "+key.ID, "made", "a throw-away key of this demo; it signs lease-broker")
	rule, err := ruleFor("release", []tiers.Slot{{Name: "release", PublicKey: &tiers.PublicKey{PEM: string(public)}}}, 0,
		limitFlags{hooks: []string{"lease-broker"}})
	if err != nil {
		return err
	}
	if err := trust.Edit(d.dir, func(src []byte) ([]byte, error) { return config.AddTrustRule(src, rule) }); err != nil {
		return err
	}
	_, _, err = install.Hook(ctx, trustDir(d.dir), install.Request{
		Compiler: d.a.Compiler,
		File:     d.broker,
		Evidence: []tiers.Evidence{{Kind: tiers.EvidenceBundle, Name: "lease-broker.wasm.sigstore.json", Data: bundle}},
		Priority: config.TrustedPriority, Tier: phases.Trusted, Mode: phases.Enforce,
	})
	if err != nil {
		return err
	}
	if err := d.open(ctx); err != nil {
		return err
	}
	d.bound("lease-broker", "trusted for that signature; it may lend now")
	return nil
}

func (d *leaseDemo) lent(ctx context.Context) error {
	d.step("The agent wants to write: a person is asked, and nothing is lent before the yes")
	write := demoWrite("coder", "/srv/notes/a.md")
	v, err := d.ask(ctx, "coder writes /srv/notes/a.md", write, phases.Ask)
	if err != nil {
		return err
	}
	if err := d.leases(ctx, ""); err != nil {
		return err
	}
	d.line("reviewer "+demoReviewer, "wanted",
		"played by this demo, with a throw-away key; at your place a person, with a passphrase")
	if v.Approval == nil {
		return errDemo
	}
	if err := d.approve(ctx, v.Approval.ID, "go ahead"); err != nil {
		return err
	}
	if _, err := d.ask(ctx, "coder writes /srv/notes/a.md", write, phases.Allow); err != nil {
		return err
	}
	return d.leases(ctx, "")
}

func (d *leaseDemo) once(ctx context.Context) error {
	d.step("Once means once, and one path means one path")
	if _, err := d.ask(ctx, "coder writes /srv/notes/a.md", demoWrite("coder", "/srv/notes/a.md"),
		phases.Block); err != nil {
		return err
	}
	_, err := d.ask(ctx, "coder writes /srv/notes/b.md", demoWrite("coder", "/srv/notes/b.md"), phases.Ask)
	return err
}

func (d *leaseDemo) byHand(ctx context.Context) error {
	d.step("A person lends by hand, for a task; that takes a reviewer's signature, too")
	_, err := d.host.MintLease(ctx,
		leases.Request{ID: "s-1/task", Capability: "tool:write", Scope: &leases.Scope{Paths: []string{"/srv/task/**"}},
			TTLS: 600, MaxUses: 5},
		leases.Holder{Runtime: "custom", Session: "s-1", Agent: "coder"}, "")
	var wait *kernel.LeasePending
	if !errors.As(err, &wait) {
		return cmp.Or(err, errDemo)
	}
	d.line("lease mint --id s-1/task", "pending", "in the queue of approvals: an agent with a shell could have typed it")
	if err := d.approve(ctx, wait.Approval.ID, "for this task"); err != nil {
		return err
	}
	if _, err := d.host.MintApproved(ctx, wait.Approval.ID); err != nil {
		return err
	}
	return d.leases(ctx, "s-1/task")
}

func (d *leaseDemo) child(ctx context.Context) error {
	d.step("The agent starts a helper and passes the lease on")
	if _, err := d.ask(ctx, "coder starts helper", demoSpawn("helper", `"s-1/task"`), phases.Allow); err != nil {
		return err
	}
	if _, err := d.ask(ctx, "helper writes /srv/task/plan.md", demoTask("helper"), phases.Allow); err != nil {
		return err
	}
	_, err := d.ask(ctx, "stranger writes /srv/task/plan.md", demoTask("stranger"), phases.Block)
	return err
}

func (d *leaseDemo) revoked(ctx context.Context) error {
	d.step("Everything at or below s-1/task is taken back: the helper is cut off at once")
	if err := d.host.RevokeLease(ctx, "s-1/task", true, ""); err != nil {
		return err
	}
	if err := d.leases(ctx, "s-1/task"); err != nil {
		return err
	}
	_, err := d.ask(ctx, "helper writes /srv/task/plan.md", demoTask("helper"), phases.Block)
	return err
}

func (d *leaseDemo) proposed(ctx context.Context) error {
	d.step("An agent proposes a hook: queue, review, active, disabled")
	module, err := own("refuse-deep-spawn")
	if err != nil {
		return err
	}
	item, _, err := d.host.Propose(ctx, approvals.Proposal{
		Module: module, Name: "no-helpers", Reason: "helpers only make a mess", Config: []byte(`{"max_depth":0}`),
		Runtime: "custom", Session: "s-1", Agent: "coder",
	}, peercred.Credential(os.Getuid()))
	if err != nil {
		return err
	}
	d.line("coder proposes no-helpers", string(item.State), item.Reason+"; kept under its digest, nothing of it runs")
	r, err := d.a.reviewOf(ctx, item, previewWish{events: previewEvents})
	if err != nil {
		return err
	}
	if r.Review == nil || r.Preview == nil || len(r.Preview.Flips) == 0 {
		return errDemo
	}
	d.line("review: it may", strings.Join(r.Review.Binding.Capabilities, " "),
		"read by the host from the module's bytes, not taken from the agent's words")
	for _, f := range r.Preview.Flips {
		d.line(fmt.Sprintf("review: it would flip event %d", f.Seq), string(f.Would),
			fmt.Sprintf("%s, was %s: %s", f.Phase, f.Was, f.Reason))
	}
	if err := d.approve(ctx, item.ID, "let us try that"); err != nil {
		return err
	}
	d.bound("no-helpers", "bound in belay.yaml with exactly what the review showed")
	if _, err := d.ask(ctx, "coder starts helper-2", demoSpawn("helper-2", ""), phases.Block); err != nil {
		return err
	}
	if err := d.a.editConfig(func(src []byte) ([]byte, error) {
		return config.SetDisabled(src, "no-helpers", true)
	}); err != nil {
		return err
	}
	if err := d.host.Reload(ctx); err != nil {
		return err
	}
	d.bound("no-helpers", "belay hook disable no-helpers")
	_, err = d.ask(ctx, "coder starts helper-2", demoSpawn("helper-2", ""), phases.Allow)
	return err
}

// record prints the events of all that, and that none is missing.
func (d *leaseDemo) record(ctx context.Context) error {
	events, err := d.host.Events(ctx, wire.Query{Limit: 200})
	if err != nil {
		return err
	}
	d.step("Each step is logged: who lent what to whom, who used it, who took it back")
	table := newTable("   SEQ", "WHAT", "DECISION", "BY", "AGENT", "ABOUT").alignRight(0)
	for i := range events {
		e := &events[i]
		if e.Type == phases.EventHook {
			continue
		}
		what, by, about := string(e.Phase), e.DecidedBy, glance(e)
		if e.Type != phases.EventVerdict {
			what, by, about = string(e.Type), cmp.Or(e.User, e.Binding, e.DecidedBy), e.Reason
		}
		table.row(fmt.Sprint(e.Seq), what, d.p.decision(oneLine(e.Decision, 12)), oneLine(by, 16), oneLine(e.Agent, 10),
			oneLine(about, 64))
	}
	table.print(d.prose(), d.p)
	report, err := statelog.Of(d.host.Log()).Verify(ctx, statelog.Evidence{})
	if err != nil {
		return err
	}
	fmt.Fprintf(d.prose(),
		"\nTo look at them:\n  belay events query --type lease --state %s\n  belay lease list --all --state %s\n\n",
		safe(d.dir), safe(d.dir))
	printLogReport(d.prose(), report)
	if d.json {
		d.lineJSON("events", "recorded", "belay events query --json --state "+d.dir)
	}
	return nil
}

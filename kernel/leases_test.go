package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// boot is a clock that tests move with the wall clock, or not.
type boot struct {
	clock *fakeClock
	id    atomic.Pointer[string]
	start time.Time
	skew  atomic.Int64 // what the wall clock was set by
}

func (b *boot) Boot() (string, time.Duration) {
	id := "boot"
	if p := b.id.Load(); p != nil {
		id = *p
	}
	return id, b.clock.Now().Sub(b.start) - time.Duration(b.skew.Load())
}

// required makes write calls take a lease of tool:write, and exec one of tool:exec.
func required(c *kernel.Config, _ *kernel.Options) {
	c.RequireLease = []kernel.RequireLease{{Tools: phases.Scope{"write", "exec"}, Capability: "tool:*"}}
}

// onBoot gives the kernel a boot clock that follows the fake one.
func onBoot(b *boot) change {
	return func(_ *kernel.Config, o *kernel.Options) {
		b.clock = o.Clock.(*fakeClock)
		b.start = b.clock.Now().Add(-time.Hour)
		o.Boot = b
	}
}

func write(path string) phases.Invocation {
	inv := invocation(phases.PreTool)
	inv.Action = jsontext.Value(fmt.Sprintf(`{"tool":"write","args":{"file_path":%q,"content":"x"}}`, path))
	return inv
}

var ours = leases.Holder{Runtime: "custom", Session: "s-1", Agent: "coder"}

func (h *host) lend(t *testing.T, r leases.Request) *leases.View {
	t.Helper()
	if r.Capability == "" {
		r.Capability = "tool:write"
	}
	if r.Scope == nil {
		r.Scope = &leases.Scope{Paths: phases.Scope{"/srv/**"}}
	}
	if r.TTLS == 0 {
		r.TTLS = 60
	}
	v, err := h.MintLease(t.Context(), r, ours, "dev")
	var wait *kernel.LeasePending
	if errors.As(err, &wait) {
		if err := h.decide(t, wait.Approval.ID, approvals.Approve, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		v, err = h.MintApproved(t.Context(), wait.Approval.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (h *host) leaseEvents(t *testing.T) string {
	t.Helper()
	var out []string
	for _, e := range h.events(t, wire.Query{Type: phases.EventLease}) {
		out = append(out, e.Decision)
	}
	return strings.Join(out, " ")
}

// blocked expects a block by policy with the text in its reason.
func (h *host) blocked(t *testing.T, inv phases.Invocation, text string, o ...kernel.InvokeOptions) phases.Verdict {
	t.Helper()
	v := h.invoke(t, inv, o...)
	if v.Decision != phases.Block || v.Kind != phases.KindPolicy || v.DecidedBy != "belay" ||
		!strings.Contains(v.Reason, text) {
		t.Fatalf("%s kind %s by %s: %q, want a block with %q", v.Decision, v.Kind, v.DecidedBy, v.Reason, text)
	}
	return v
}

func (h *host) allowed(t *testing.T, inv phases.Invocation, o ...kernel.InvokeOptions) phases.Verdict {
	t.Helper()
	v := h.invoke(t, inv, o...)
	if v.Decision != phases.Allow {
		t.Fatalf("%s: %s", v.Decision, v.Reason)
	}
	return v
}

// While leases cannot be read, only what takes one is blocked: a kernel may share leases on another machine, and that
// be away.
func TestOnlyWhatTakesALeaseReadsLeases(t *testing.T) {
	s := &timeless{Store: memory.New(), fails: 1 << 30}
	h := newHost(t, nil, required, func(_ *kernel.Config, o *kernel.Options) { o.Store = s })
	read := invocation(phases.PreTool)
	read.Action = jsontext.Value(`{"tool":"read","args":{"file_path":"/srv/a"}}`)
	h.allowed(t, read)
	if v, err := h.Invoke(t.Context(), write("/srv/a")); err == nil || v.Decision != phases.Block ||
		v.Kind != phases.KindStore {
		t.Errorf("write: %s %s %s, %v", v.Decision, v.Kind, v.Reason, err)
	}
}

func TestRequiredLease(t *testing.T) {
	h := newHost(t, nil, required)
	if v := h.blocked(t, write("/srv/a"), "tool:write"); !strings.Contains(v.Reason, "belay lease mint") {
		t.Errorf("the reason does not say how to get one: %s", v.Reason)
	}
	l := h.lend(t, leases.Request{ID: "s-1/a", MaxUses: 2})
	h.blocked(t, write("/etc/a"), "needs a lease")
	h.blocked(t, write("/srv/../etc/a"), "needs a lease")
	other := write("/srv/a")
	other.Agent = "other"
	h.blocked(t, other, "needs a lease")
	h.blocked(t, invocation(phases.PreTool), "tool:exec")
	v := h.allowed(t, write("/srv/a"))
	if len(v.Notes) != 1 || !strings.Contains(v.Notes[0], "lease s-1/a") {
		t.Errorf("notes %q", v.Notes)
	}
	h.allowed(t, write("/srv/b"))
	h.blocked(t, write("/srv/a"), "needs a lease")
	if got, err := h.Lease(t.Context(), l.ID); err != nil || got.State != leases.Exhausted || got.UsesLeft != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got := h.leaseEvents(t); got != "minted claimed claimed" {
		t.Errorf("events: %s", got)
	}
	e := h.events(t, wire.Query{Type: phases.EventLease})[1]
	if e.Invocation != v.ID || e.Agent != "coder" || e.User != "dev" || e.Tool != "write" ||
		!strings.Contains(string(e.Output), `"id":"s-1/a"`) {
		t.Errorf("event %+v", e)
	}
	for _, e := range h.events(t, wire.Query{}) {
		if strings.Contains(fmt.Sprintf("%+v", e)+string(e.Output), l.Token) || strings.Contains(string(e.Output), "blt_") {
			t.Errorf("a token in the log: %+v", e)
		}
	}
	// A tool that the rule does not name needs none.
	read := invocation(phases.PreTool)
	read.Action = jsontext.Value(`{"tool":"read","args":{"file_path":"/etc/a"}}`)
	h.allowed(t, read)
}

func TestCommandNeedsAllOrThisVeryCall(t *testing.T) {
	h := newHost(t, nil, required)
	exec := invocation(phases.PreTool)
	h.lend(t, leases.Request{Capability: "tool:exec"})
	h.blocked(t, exec, leases.ArgsDigest(exec))
	h.lend(t, leases.Request{Capability: "tool:exec",
		Scope: &leases.Scope{Paths: phases.Scope{"/srv/**"}, Args: leases.Digests{leases.ArgsDigest(exec)}}})
	h.allowed(t, exec)
	h.blocked(t, exec, "needs a lease")
	h.lend(t, leases.Request{Capability: "tool:*", Scope: &leases.Scope{}})
	h.allowed(t, exec)
}

// The action that will run is judged, not the action that was asked about.
func TestLeaseCoversTheFinalAction(t *testing.T) {
	mover := hook{name: "mover", caps: []string{"rewrite:/args"}, mutates: preTool,
		run: effects(rewrite("/args/file_path", `"/etc/a"`))}
	h := newHost(t, []hook{mover}, required)
	h.lend(t, leases.Request{})
	h.blocked(t, write("/srv/a"), "needs a lease")
}

func TestBlockedCallsUseNoLease(t *testing.T) {
	var say atomic.Value
	say.Store(block("no"))
	h := newHost(t,
		[]hook{{name: "guard", caps: []string{"block", "request_approval"}, run: func(kernel.Turn) (kernel.Outcome, error) {
			return kernel.Outcome{Effects: []phases.Effect{say.Load().(phases.Effect)}}, nil
		}}}, required, reviewed)
	l := h.lend(t, leases.Request{})
	uses := func(want int64) {
		t.Helper()
		if got, err := h.Lease(t.Context(), l.ID); err != nil || got.UsesLeft != want {
			t.Errorf("%+v, %v; want %d uses left", got, err, want)
		}
	}
	if v := h.invoke(t, write("/srv/a")); v.DecidedBy != "guard" {
		t.Errorf("decided by %s", v.DecidedBy)
	}
	uses(1)
	say.Store(ask("may it?"))
	id := h.pending(t, write("/srv/a"))
	uses(1)
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	h.allowed(t, write("/srv/a"))
	uses(0)
	// The runtime asks the person itself, and does not come back: the use is taken now.
	h.blocked(t, write("/srv/a"), "needs a lease", kernel.InvokeOptions{Delegated: true})
	l = h.lend(t, leases.Request{})
	if v := h.invoke(t, write("/srv/a"), kernel.InvokeOptions{Delegated: true}); v.Decision != phases.Ask {
		t.Errorf("%s: %s", v.Decision, v.Reason)
	}
	uses(0)
}

func TestLeaseIsUsedOnceUnderContention(t *testing.T) {
	h := newHost(t, nil, required)
	h.lend(t, leases.Request{MaxUses: 10})
	var allowed, other atomic.Int64
	var wg sync.WaitGroup
	for range 40 {
		wg.Go(func() {
			v, err := h.Invoke(t.Context(), write("/srv/a"))
			switch {
			case err == nil && v.Decision == phases.Allow:
				allowed.Add(1)
			case err != nil || v.Kind != phases.KindPolicy:
				other.Add(1)
			}
		})
	}
	wg.Wait()
	if allowed.Load() != 10 || other.Load() != 0 {
		t.Errorf("%d allowed of 10 uses, %d other answers", allowed.Load(), other.Load())
	}
}

// The wall clock set back and forth by an hour lengthens no lease.
func TestLeaseAgainstTheClock(t *testing.T) {
	b := &boot{}
	h := newHost(t, nil, required, onBoot(b))
	set := func(d time.Duration) { h.clock.add(d); b.skew.Add(int64(d)) }
	h.lend(t, leases.Request{MaxUses: 100})
	set(time.Hour)
	h.allowed(t, write("/srv/a"))
	set(-2 * time.Hour)
	h.clock.add(30 * time.Second)
	h.allowed(t, write("/srv/a"))
	h.clock.add(30 * time.Second)
	h.blocked(t, write("/srv/a"), "needs a lease")
	set(-time.Hour)
	h.blocked(t, write("/srv/a"), "needs a lease")
	set(time.Hour)
	h.lend(t, leases.Request{MaxUses: 100})
	again := "another"
	b.id.Store(&again)
	h.clock.add(2 * time.Minute)
	h.blocked(t, write("/srv/a"), "needs a lease") // which the store has seen
	set(-2 * time.Minute)
	h.blocked(t, write("/srv/a"), "needs a lease")
}

func TestLeaseByCredential(t *testing.T) {
	h := newHost(t, nil, required)
	mine := ours
	mine.Credential = "uid 1000"
	if _, err := h.MintLease(t.Context(), leases.Request{Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 60}, mine,
		"dev"); err != nil {
		t.Fatal(err)
	}
	h.blocked(t, write("/srv/a"), "needs a lease", kernel.InvokeOptions{Credential: "uid 1001"})
	h.allowed(t, write("/srv/a"), kernel.InvokeOptions{Credential: "uid 1000"})
}

// links is a file system of links; every other name is a plain file.
type links map[string]string

func (l links) Readlink(_ context.Context, path string) (string, error) {
	switch to := l[path]; {
	case to == "?":
		return "", fs.ErrPermission
	case to != "":
		return to, nil
	case strings.Contains(path, "absent"):
		return "", fs.ErrNotExist
	}
	return "", hostcalls.ErrNotLink
}

func TestLeaseFollowsLinks(t *testing.T) {
	h := newHost(t, nil, required, func(_ *kernel.Config, o *kernel.Options) {
		o.Files = links{"/srv/out": "/etc", "/srv/up": "../etc", "/in": "srv/data", "/srv/loop": "loop", "/srv/locked": "?",
			"/srv/climbs": "absent/../data", "/srv/inside": "data/../other"}
	})
	h.lend(t, leases.Request{MaxUses: 100})
	for path, want := range map[string]bool{
		"/srv/a": true, "/srv/absent/b": true, "/in/a": true, "/srv/out/a": false, "/srv/up/a": false, "/srv/loop": false,
		"/srv/locked/a": false, "/srv/out": false,
		"/srv/locked/absent/a": false, "/srv/climbs/a": false, "/srv/inside/a": true,
	} {
		if v := h.invoke(t, write(path)); (v.Decision == phases.Allow) != want {
			t.Errorf("%s: %s", path, v.Decision)
		}
	}
}

func TestRequireLeaseInOtherPhases(t *testing.T) {
	h := newHost(t, nil, func(c *kernel.Config, _ *kernel.Options) {
		c.RequireLease = []kernel.RequireLease{
			{Phases: []phases.Phase{phases.PreSend}, Capability: "model:*"},
			{Phases: []phases.Phase{phases.Spawn}, Capability: "spawn"},
		}
	})
	h.blocked(t, invocation(phases.PreSend), "model:m")
	h.lend(t, leases.Request{Capability: "model:m", Scope: &leases.Scope{}})
	h.allowed(t, invocation(phases.PreSend))
	h.blocked(t, invocation(phases.Spawn), "spawn")
	h.lend(t, leases.Request{Capability: "spawn", Scope: &leases.Scope{}})
	h.allowed(t, invocation(phases.Spawn))
	h.allowed(t, invocation(phases.PreTool))
}

func TestRequireLeaseRefuses(t *testing.T) {
	for name, c := range map[string]func(*kernel.Config){
		"no capability": func(c *kernel.Config) { c.RequireLease = []kernel.RequireLease{{}} },
		"no phases": func(c *kernel.Config) {
			c.RequireLease = []kernel.RequireLease{{Capability: "a:b", Phases: []phases.Phase{}}}
		},
		"audit": func(c *kernel.Config) {
			c.RequireLease = []kernel.RequireLease{{Capability: "a:b", Phases: []phases.Phase{phases.Audit}}}
		},
		"tools": func(c *kernel.Config) {
			c.RequireLease = []kernel.RequireLease{{Capability: "a:b", Tools: phases.Scope{"e*"}}}
		},
		"decision": func(c *kernel.Config) { c.LeaseRules = []kernel.LeaseRule{{Capability: "a:b"}} },
		"scope": func(c *kernel.Config) {
			c.LeaseRules = []kernel.LeaseRule{{Capability: "a:b", Decision: kernel.LeaseGrant,
				Scope: leases.Scope{Paths: phases.Scope{"x"}}}}
		},
		"uses": func(c *kernel.Config) {
			c.LeaseRules = []kernel.LeaseRule{{Capability: "a:b", Decision: kernel.LeaseGrant, MaxUses: -1}}
		},
	} {
		if _, err := tryHost(t, nil, func(cfg *kernel.Config, _ *kernel.Options) { c(cfg) }); !errors.Is(err,
			kernel.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckLease(t *testing.T) {
	h := newHost(t, nil)
	l := h.lend(t, leases.Request{ID: "s-1/a"})
	gone := h.lend(t, leases.Request{ID: "s-1/gone"})
	if err := h.RevokeLease(t.Context(), "s-1/gone", false, "dev"); err != nil {
		t.Fatal(err)
	}
	act := write("/srv/a")
	check := func(change func(*kernel.LeaseCheck)) error {
		q := kernel.LeaseCheck{Holder: ours, Capability: "tool:write", Action: &act}
		change(&q)
		_, err := h.CheckLease(t.Context(), q)
		return err
	}
	var texts []string
	for name, f := range map[string]func(*kernel.LeaseCheck){
		"unknown token":      func(q *kernel.LeaseCheck) { q.Token = "blt_nobody" },
		"revoked token":      func(q *kernel.LeaseCheck) { q.Token = gone.Token },
		"another's token":    func(q *kernel.LeaseCheck) { q.Token, q.Holder.Agent = l.Token, "other" },
		"another capability": func(q *kernel.LeaseCheck) { q.Capability = "tool:exec" },
		"another path":       func(q *kernel.LeaseCheck) { a := write("/etc/a"); q.Action = &a },
		"another agent":      func(q *kernel.LeaseCheck) { q.Holder.Agent = "other" },
	} {
		err := check(f)
		if !errors.Is(err, leases.ErrUnknown) {
			t.Errorf("%s: %v", name, err)
		}
		texts = append(texts, fmt.Sprintf("%#v", err))
	}
	for _, s := range texts {
		if s != texts[0] {
			t.Errorf("answers differ: %s, %s", s, texts[0])
		}
	}
	if err := check(func(q *kernel.LeaseCheck) { q.Token = l.Token }); err != nil {
		t.Error(err)
	}
	if err := check(func(q *kernel.LeaseCheck) { q.Claim = true }); err != nil {
		t.Error(err)
	}
	if err := check(func(q *kernel.LeaseCheck) { q.Token, q.Claim = l.Token, true }); !errors.Is(err,
		leases.ErrUnknown) {
		t.Errorf("a token that was used up: %v", err)
	}
	if err := check(func(q *kernel.LeaseCheck) { q.Action = nil }); !errors.Is(err, leases.ErrInvalid) {
		t.Error(err)
	}
	if got := h.leaseEvents(t); got != "minted minted revoked claimed" {
		t.Errorf("events: %s", got)
	}
}

// Where there are reviewers, no lease is lent by hand without one's signature.
func TestMintByHandTakesAReviewer(t *testing.T) {
	h := newHost(t, nil, required, reviewed)
	r := leases.Request{Capability: "tool:write", Scope: &leases.Scope{}, TTLS: 60}
	mint := func() string {
		t.Helper()
		v, err := h.MintLease(t.Context(), r, ours, "uid 1000")
		var wait *kernel.LeasePending
		if v != nil || !errors.As(err, &wait) {
			t.Fatalf("%+v, %v", v, err)
		}
		return wait.Approval.ID
	}
	id := mint()
	if again := mint(); again != id {
		t.Errorf("the same question twice: %s, %s", id, again)
	}
	if _, err := h.MintApproved(t.Context(), id); err == nil {
		t.Error("minted while nobody has decided")
	}
	if err := h.decide(t, id, approvals.Approve, reviewerKey(2)); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("a decision with another key: %v", err)
	}
	h.blocked(t, write("/srv/a"), "needs a lease")
	if err := h.decide(t, id, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if v, err := h.MintApproved(t.Context(), id); err != nil || v.Issuer.Person != "dev" {
		t.Fatalf("%+v, %v", v, err)
	}
	if _, err := h.MintApproved(t.Context(), id); !errors.Is(err, approvals.ErrDecided) {
		t.Errorf("minted twice: %v", err)
	}
	h.allowed(t, write("/srv/a"))
	h.blocked(t, write("/srv/a"), "needs a lease")
	denied := mint()
	if err := h.decide(t, denied, approvals.Deny, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.MintLease(t.Context(), r, ours, "uid 1000"); !errors.Is(err, leases.ErrWider) {
		t.Errorf("after a denial: %v", err)
	}
	if got := h.leaseEvents(t); got != "minted claimed" {
		t.Errorf("events: %s", got)
	}
}

package belay_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// A state directory whose rule has a person asked before packages are installed.
const (
	asking = `version: belay/v1
hooks:
  - {name: rules, module: "rules:rules.yaml", priority: 50}
`
	askingRules = `version: rules/v1
rules:
  - name: ask-package-installs
    when: {command: [npm install]}
    ask: new packages run code on this machine
`
)

// kernelsOf opens a kernel for each name, each with a state directory of its own, on one database.
func kernelsOf(t *testing.T, reviewers string, names ...string) (out []*belay.Belay, dirs []string) {
	t.Helper()
	o := pgtest.Options(t, "")
	for _, name := range names {
		dir := state(t, asking+reviewers)
		write(t, filepath.Join(dir, "rules.yaml"), askingRules)
		o.Kernel = name
		out, dirs = append(out, open(t, dir, belay.Options{Store: pgtest.Open(t, o)})), append(dirs, dir)
	}
	return out, dirs
}

// A token that one kernel hands out is worth its uses on all of them together.
func TestKernelsShareLeases(t *testing.T) {
	b, _ := kernelsOf(t, "", "a", "b")
	h := leases.Holder{Runtime: "custom", Session: "s-1", Agent: "coder", Credential: "c"}
	v, err := b[0].MintLease(t.Context(), leases.Request{Capability: "deploy:site", Scope: &leases.Scope{}, TTLS: 60,
		MaxUses: 2}, h, "person")
	if err != nil {
		t.Fatal(err)
	}
	action := exec("make deploy")
	check := kernel.LeaseCheck{Holder: h, Token: v.Token, Capability: "deploy:site", Action: &action, Claim: true}
	for _, k := range []int{1, 0} {
		if got, err := b[k].CheckLease(t.Context(), check); err != nil || got.ID != v.ID {
			t.Fatalf("kernel %d: %+v, %v", k, got, err)
		}
	}
	for k := range b {
		if _, err := b[k].CheckLease(t.Context(), check); !errors.Is(err, leases.ErrUnknown) {
			t.Errorf("kernel %d: a third use of two: %v", k, err)
		}
	}
}

// reviewer is a person with a key, and the lines of belay.yaml that say so.
func reviewer(t *testing.T) (ed25519.PrivateKey, string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return private, fmt.Sprintf(
		"reviewers: [{name: dev, key: \"ed25519:%s\"}]\n",
		base64.StdEncoding.EncodeToString(public),
	)
}

// approve decides about an item as the reviewer, on a kernel.
func approve(t *testing.T, b *belay.Belay, id string, key ed25519.PrivateKey) error {
	t.Helper()
	it, err := b.Approval(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	d, err := approvals.Draft(&it, approvals.Approve, "dev", "", time.Now(), time.Minute)
	if err == nil {
		err = approvals.Sign(&it, &d, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = b.Decide(t.Context(), id, d)
	return err
}

// A question that is asked on one kernel and decided on another one lets exactly one action pass, on whichever of them.
// It is the same question where a secret in it was redacted.
func TestKernelsShareApprovals(t *testing.T) {
	key, lines := reviewer(t)
	b, _ := kernelsOf(t, lines, "a", "b", "c")
	for n, c := range []struct{ asked, decided, used int }{{0, 1, 2}, {0, 1, 0}, {1, 1, 0}, {2, 0, 0}} {
		inv := exec(fmt.Sprintf("TOKEN=ghp_16C7e42F292c6912E7710c838347Ae178B4a npm install package-%d", n))
		v := invoke(t, b[c.asked], inv)
		if v.Decision != phases.Ask || v.Approval == nil {
			t.Fatalf("%s: %+v", v.Decision, v)
		}
		if again := invoke(t, b[c.used], inv); again.Approval == nil || again.Approval.ID != v.Approval.ID {
			t.Errorf("kernel %d asks the question of kernel %d anew: %+v", c.used, c.asked, again.Approval)
		}
		if err := approve(t, b[c.decided], v.Approval.ID, key); err != nil {
			t.Fatal(err)
		}
		if v := invoke(t, b[c.used], inv); v.Decision != phases.Allow {
			t.Errorf("%+v: %s: %s", c, v.Decision, v.Reason)
		}
		for k := range b {
			if again := invoke(t, b[k], inv); again.Decision != phases.Ask || again.Approval.ID == v.Approval.ID {
				t.Errorf("kernel %d, a second time: %s: %s", k, again.Decision, again.Reason)
			}
		}
	}
	for k := range b {
		if list, err := b[k].Approvals(t.Context(), approvals.Query{}); err != nil || len(list) != 8 {
			t.Errorf("kernel %d: %d items, %v", k, len(list), err)
		}
		verified(t, b[k])
	}
}

// What is told of a call when it has run is compared with what another kernel released.
func TestKernelsShareCalls(t *testing.T) {
	b, _ := kernelsOf(t, "", "a", "b")
	before, after := exec("ls"), exec("ls")
	after.Phase = phases.PostTool
	after.Action = []byte(`{"tool":"exec","call_id":"c-1","args":{"command":"ls"},"result":{"text":"x"}}`)
	call := belay.InvokeOptions{Call: &kernel.Call{ID: "c-1"}}
	if v, err := b[0].InvokeWith(t.Context(), before, call); err != nil || v.Decision != phases.Allow {
		t.Fatalf("%+v, %v", v, err)
	}
	v, err := b[1].InvokeWith(t.Context(), after, call)
	if err != nil || v.Decision != phases.Allow || strings.Contains(fmt.Sprint(v.Notes, v.Reason), "never asked") {
		t.Errorf("%s: %s %v, %v", v.Decision, v.Reason, v.Notes, err)
	}
}

// While kernels share a store, a decision at a terminal does not count: its key says which directory it came from, and
// no person of that machine decides for the others.
func TestNoTerminalDecidesForAllKernels(t *testing.T) {
	b, dirs := kernelsOf(t, "", "a", "b")
	v := invoke(t, b[0], exec("npm install x"))
	if v.Decision != phases.Ask || !strings.Contains(fmt.Sprint(v.Notes), "belay reviewer init") ||
		strings.Contains(fmt.Sprint(v.Notes), "terminal") {
		t.Errorf("%s: %v", v.Decision, v.Notes)
	}
	key, err := keyring.Terminal(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := approve(t, b[0], v.Approval.ID, key); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("%v", err)
	}
}

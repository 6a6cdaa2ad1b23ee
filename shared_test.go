package belay_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// sharedStore is a store that other kernels share, as far as their keys go.
type sharedStore struct {
	*memory.Store
	keys map[string][]byte
	err  error
}

func (sharedStore) Durable() bool { return true }

func (s sharedStore) SharedKeys(context.Context) (map[string][]byte, error) { return s.keys, s.err }

func (s sharedStore) EventElsewhere(context.Context, string) (*phases.Event, error) {
	return nil, s.err
}

func someKeys(first byte) map[string][]byte {
	out := map[string][]byte{}
	for n, u := range keyring.SharedUses() {
		out[u] = bytes.Repeat([]byte{first + byte(n)}, statedir.KeySize)
	}
	return out
}

// The keys that kernels share are remembered in the state directory, where only its owner reads them, for a start while
// the store cannot be reached. A kernel that has never been handed any is not opened then, nor with half of them.
func TestSharedKeysAreRemembered(t *testing.T) {
	dir := state(t, "version: belay/v1\n")
	store := sharedStore{Store: memory.New(), keys: someKeys(1)}
	away := store
	away.keys, away.err = nil, kernel.ErrUnavailable
	refused := func(s sharedStore, want string) {
		t.Helper()
		b, err := belay.Open(t.Context(), dir, belay.Options{Store: s})
		if err == nil {
			b.Close()
		}
		if !errors.Is(err, kernel.ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	refused(away, "")
	half := store
	half.keys = someKeys(1)
	half.keys["call"] = half.keys["call"][:31]
	refused(half, `no key for the use "call"`)

	h := leases.Holder{Runtime: "custom", Session: "s-1", Agent: "coder", Credential: "c"}
	b := open(t, dir, belay.Options{Store: store})
	v, err := b.MintLease(t.Context(), leases.Request{Capability: "deploy:site", Scope: &leases.Scope{}, TTLS: 60,
		MaxUses: 9}, h, "p")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	claim := func(b *belay.Belay) error {
		action := exec("make deploy")
		_, err := b.CheckLease(t.Context(), kernel.LeaseCheck{Holder: h, Token: v.Token, Capability: "deploy:site",
			Action: &action, Claim: true})
		return err
	}
	if err := claim(open(t, dir, belay.Options{Store: away})); err != nil {
		t.Errorf("with the keys of before: %v", err)
	}
	other := store
	other.keys = someKeys(9)
	if err := claim(open(t, state(t, "version: belay/v1\n"), belay.Options{Store: other})); !errors.Is(
		err,
		leases.ErrUnknown,
	) {
		t.Errorf("with other keys: %v", err)
	}
	file := filepath.Join(statedir.Keys(dir), "organisation.keys")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	write(t, file, "cut short")
	refused(away, "")
}

// A state directory whose store is its own keeps the keys that it has, and is handed none.
func TestKeysOfASingleKernelStay(t *testing.T) {
	dir := state(t, "version: belay/v1\n")
	before, err := keyring.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := open(t, dir, belay.Options{})
	h := leases.Holder{Runtime: "custom", Session: "s-1", Agent: "coder", Credential: "c"}
	v, err := b.MintLease(t.Context(), leases.Request{Capability: "deploy:site", Scope: &leases.Scope{}, TTLS: 60},
		h, "p")
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	if _, err := os.Stat(filepath.Join(statedir.Keys(dir), "organisation.keys")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	after, err := keyring.Open(dir)
	if err != nil || !bytes.Equal(before.Lease, after.Lease) ||
		!bytes.Equal(after.Digests["call"], before.Digests["event-input"]) {
		t.Errorf("other keys: %v", err)
	}
	action := exec("make deploy")
	if _, err := open(t, dir, belay.Options{}).CheckLease(t.Context(), kernel.LeaseCheck{Holder: h, Token: v.Token,
		Capability: "deploy:site", Action: &action, Claim: true}); err != nil {
		t.Error(err)
	}
}

// A decision at a terminal does not count where kernels share a store; see TestNoTerminalDecidesForAllKernels.
func TestSharedStoreTakesNoTerminal(t *testing.T) {
	dir := state(t, asking)
	write(t, filepath.Join(dir, "rules.yaml"), askingRules)
	b := open(t, dir, belay.Options{Store: sharedStore{Store: memory.New(), keys: someKeys(1)}})
	v := invoke(t, b, exec("npm install x"))
	if v.Approval == nil {
		t.Fatalf("%+v", v)
	}
	key, err := keyring.Terminal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := approve(t, b, v.Approval.ID, key); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("%v", err)
	}
}

// What is not as it should be with a store that works makes the status yellow.
func TestStatusWarnsOfTheStore(t *testing.T) {
	b := open(t, state(t, "version: belay/v1\n"), belay.Options{Store: warningStore{memory.New()}})
	st, err := b.Status(t.Context())
	if err != nil || st.Health != wire.HealthDegraded || !slices.Contains(st.Warnings, "the new password does not work") {
		t.Errorf("%s: %q, %v", st.Health, st.Warnings, err)
	}
}

type warningStore struct{ *memory.Store }

func (warningStore) Durable() bool { return true }

func (warningStore) Warning() string { return "the new password does not work" }

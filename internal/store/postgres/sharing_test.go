package postgres_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// The keys of digests that kernels compare are made once, one for each use, and every kernel is handed the same ones.
func TestKernelsHaveKeysInCommon(t *testing.T) {
	o := pgtest.Options(t, "a")
	keys, err := pgtest.Open(t, o).SharedKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Kernel = "b"
	same, err := pgtest.Open(t, o).SharedKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	distinct := map[string]bool{}
	for _, use := range keyring.SharedUses() {
		if len(keys[use]) != 32 || string(keys[use]) != string(same[use]) {
			t.Errorf("the key of %s has %d bytes, or differs", use, len(keys[use]))
		}
		distinct[string(keys[use])] = true
	}
	if len(distinct) != len(keyring.SharedUses()) || len(keys) != len(distinct) {
		t.Errorf("%d keys of %d uses", len(distinct), len(keys))
	}
	other, err := pgtest.Open(t, pgtest.Options(t, "a")).SharedKeys(t.Context())
	if err != nil || string(other["lease"]) == string(keys["lease"]) {
		t.Errorf("two organisations have the same keys: %v", err)
	}
}

// An event about an item of the queue is found from every kernel, if it is in the log of one. Other events are not, and
// the same event is not written twice in the organisation.
func TestEventsOfOtherKernels(t *testing.T) {
	o := pgtest.Options(t, "a")
	a := pgtest.Open(t, o)
	o.Kernel = "b"
	b := pgtest.Open(t, o)
	item := approvals.Item{ID: "q", Kind: approvals.KindAsk, Key: "key", State: approvals.Pending,
		By: approvals.Requester{Credential: "c"}, Created: storetest.T0, Expires: storetest.T0.AddDate(1, 0, 0)}
	asked := batch("verdict", "asked")
	asked.Events[1].Type = phases.EventApproval
	asked.Approvals = []approvals.Op{{Create: &item, Quota: 5}}
	commit(t, a, batch("before"))
	commit(t, a, asked)
	for id, want := range map[string]int64{"asked": 3, "verdict": 0, "before": 0, "none": 0} {
		e, err := b.EventElsewhere(t.Context(), id)
		if err != nil || (e != nil) != (want > 0) || e != nil && (e.ID != id || e.Seq != want) {
			t.Errorf("%s: %+v, %v", id, e, err)
		}
	}
	again := batch("asked")
	again.Events[0].Type = phases.EventApproval
	again.Approvals = []approvals.Op{{Change: &approvals.Change{ID: "q", From: approvals.Pending,
		To: approvals.Superseded, At: storetest.Wall(storetest.T0)}}}
	if _, err := b.Commit(t.Context(), again); err == nil {
		t.Error("what happens once happened twice")
	}
	if n, err := b.LogSize(t.Context()); err != nil || n != 0 {
		t.Errorf("the log has %d events, %v", n, err)
	}
	pgtest.Exec(t, o.Schema, "UPDATE events SET body = replace(encode(body, 'escape'), 'asked', 'moved')::bytea WHERE seq = 3")
	if e, err := b.EventElsewhere(t.Context(), "asked"); e != nil || err != nil {
		t.Errorf("an event that was edited by hand: %+v, %v", e, err)
	}
}

// A kernel's name belongs to the key that signs its log: a process with another one is refused, with what to do, until
// the owner of the schema has the key forgotten.
func TestANameBelongsToAKey(t *testing.T) {
	o := pgtest.Options(t, "one")
	open := func(key string) (*postgres.Store, error) {
		o.CheckpointKey = key
		return postgres.Open(t.Context(), o)
	}
	take := func(key string) {
		t.Helper()
		s, err := open(key)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, kernel.Batch{Now: storetest.T0})
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(key string) {
		t.Helper()
		s, err := open(key)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "signed by the key belay-1, and this state directory has another one") ||
			!strings.Contains(err.Error(), "belay migrate --forget-key one") {
			t.Errorf("%q: %v", key, err)
		}
	}
	take("")
	take("belay-1+hash+key")
	take("belay-1+hash+key")
	refused("belay-2+hash+key")
	refused("")
	if err := postgres.ForgetKey(t.Context(), o, "none"); err == nil || !strings.Contains(err.Error(), "no kernel") {
		t.Errorf("of a kernel that is not there: %v", err)
	}
	if err := postgres.ForgetKey(t.Context(), o, "one"); err != nil {
		t.Fatal(err)
	}
	take("belay-2+hash+key")
}

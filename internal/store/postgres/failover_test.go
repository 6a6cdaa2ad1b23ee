package postgres_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
)

// recovers goes on from the database as it is, as `belay recover` does.
func (m *markedKernel) recovers(event string) marked.Stand {
	m.t.Helper()
	var stand marked.Stand
	err := m.Recover(m.t.Context(), nil, func(now marked.Stand) (d marked.Decision, err error) {
		stand = now
		d.Event = batch(event).Events[0]
		d.Mark = &highwater.State{Store: now.Store, Epoch: 1, Head: now.Database, Uses: map[string]highwater.Use{}}
		if now.Mark != nil {
			d.Mark.Store, d.Mark.Epoch, d.Mark.Uses = now.Mark.Store, now.Mark.Epoch+1, now.Mark.Uses
		}
		return d, nil
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return stand
}

// wantTakenBack checks what a recovery makes of an approval that was used, one that was not, and a lease.
func (m *markedKernel) wantTakenBack(used, unused, lease string) {
	m.t.Helper()
	for id, state := range map[string]approvals.State{used: approvals.Consumed, unused: approvals.Superseded} {
		if it, err := m.Approval(m.t.Context(), id); err != nil || it == nil || it.State != state {
			m.t.Errorf("approval %s: %+v, %v", id, it, err)
		}
	}
	if l, err := m.Lease(m.t.Context(), lease); err != nil || l == nil || l.State != leases.Revoked || l.Uses != 1 {
		m.t.Errorf("%+v, %v", l, err)
	}
	if r, err := m.Restrictions(m.t.Context()); err != nil || r.Tampered != nil {
		m.t.Errorf("%+v, %v", r.Tampered, err)
	}
	storetest.CheckLog(m.t, m.Store)
}

// looks changes nothing, and has the kernel look at what restricts.
func (m *markedKernel) looks() {
	m.t.Helper()
	b := batch("looks")
	key := (&kernel.Latch{Runtime: "r", Session: "other"}).Key()
	b.ClearLatch = &key
	if err := m.commit(b); !errors.Is(err, kernel.ErrConflict) {
		m.t.Fatal(err)
	}
	if err := m.CheckMark(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
}

// A replica takes over that lacks the last transactions. A process that runs notices it by its log, another one by what
// it has seen of the first, and a third one after a restart. They are recovered one after the other, and what was used
// stays used.
func TestFailoverToAReplicaThatLags(t *testing.T) {
	pair, p, o := pgtest.NewPair(t, "a")
	a := openMarked(t, o)
	o.Kernel = "b"
	b := openMarked(t, o)
	o.Kernel = "c"
	c := openMarked(t, o)
	for _, step := range []kernel.Batch{approved("used"), approved("unused"), mint("l", 3)} {
		a.must(step)
	}
	b.must(batch("b1"))
	c.must(batch("c1"))
	time.Sleep(500 * time.Millisecond) // the replica has it all
	pair.Lag()
	a.must(use("used"))
	a.must(claim("l", "claimed"))
	b.looks()
	c.must(batch("c2"))
	c.close()
	pair.Fail(p)
	a.wantRollback(`the log of kernel "a" holds 3 events, and held 5: events 4 to 5 are gone`)
	b.wantRollback(`of kernel "a" records: a server took over that lacks it`)
	c = c.again()
	c.wantRollback(`the log of kernel "c" holds 1 events, and held 2: events 2 to 2 are gone`)

	if stand := a.recovers("recovered-a"); stand.Mark == nil || stand.Wrong == nil || stand.Database.Size != 3 {
		t.Errorf("%+v", stand)
	}
	a.wantTakenBack("used", "unused", "l")
	if err := a.commit(use("used")); !errors.Is(err, kernel.ErrConflict) {
		t.Errorf("the second use answers %v", err)
	}
	a.must(batch("a-goes-on"))
	b.wantRollback("took over that lacks it")
	c.recovers("recovered-c")
	b.recovers("recovered-b")
	for _, m := range []*markedKernel{a, b, c} {
		m.must(batch("on"))
		storetest.CheckLog(t, m.Store)
	}
	a.close()
	a.again().must(batch("again"))
}

// A replica takes over that lacks nothing: everything goes on without a hand.
func TestFailoverToAReplicaThatLacksNothing(t *testing.T) {
	pair, p, o := pgtest.NewPair(t, "a")
	a := openMarked(t, o)
	o.Kernel = "b"
	b := openMarked(t, o)
	a.must(approved("x"))
	b.must(latched("latch"))
	a.must(use("x"))
	a.looks()
	pair.Fail(p)
	for n, m := range []*markedKernel{a, b} {
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			err := m.commit(batch("after"))
			if err == nil {
				break
			}
			if errors.Is(err, kernel.ErrRollback) || time.Now().After(deadline) {
				t.Fatalf("kernel %d: %v", n, err)
			}
		}
		storetest.CheckLog(t, m.Store)
	}
}

// A dump is restored that is older than what was acknowledged. The kernel is blocked until it is recovered, and what it
// used since the dump stays used.
func TestARestoredDump(t *testing.T) {
	o := pgtest.Options(t, "k")
	m := openMarked(t, o)
	for _, step := range []kernel.Batch{approved("used"), approved("unused"), mint("l", 3)} {
		m.must(step)
	}
	file := filepath.Join(t.TempDir(), "belay.dump")
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	run("pg_dump", "--format=custom", "--schema="+o.Schema, "--file="+file, o.DSN)
	m.must(use("used"))
	m.must(claim("l", "claimed"))
	m.close()
	pgtest.Exec(t, "public", "DROP SCHEMA "+o.Schema+" CASCADE")
	run("pg_restore", "--exit-on-error", "--dbname="+o.DSN, file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	m = m.again()
	m.wantRollback(`the log of kernel "k" holds 3 events, and held 5: events 4 to 5 are gone`)
	m.recovers("recovered")
	m.wantTakenBack("used", "unused", "l")
	m.must(batch("on"))
}

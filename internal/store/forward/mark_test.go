package forward_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/forward"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/internal/store/postgres/pgtest"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// forwarding is a kernel whose log is local, with its mark about PostgreSQL in a directory of its own.
type forwarding struct {
	t     *testing.T
	dir   string
	o     postgres.Options
	guard *highwater.Guard
	*forward.Store
}

func openForwarding(t *testing.T, o postgres.Options) *forwarding {
	t.Helper()
	k := &forwarding{t: t, dir: t.TempDir(), o: o}
	return k.again(nil)
}

// again is another process of the kernel.
func (k *forwarding) again(fault func(string) error) *forwarding {
	k.t.Helper()
	next := &forwarding{t: k.t, dir: k.dir, o: k.o}
	next.guard = highwater.New(highwater.Options{Dir: filepath.Join(k.dir, "marks"), Name: "there",
		Record: filepath.Join(k.dir, "high-water.k.json")})
	next.o.Mark = next.guard
	own := highwater.New(highwater.Options{Dir: filepath.Join(k.dir, "own"), Name: "here",
		Record: filepath.Join(k.dir, "high-water.json")})
	local, err := sqlite.Open(k.t.Context(), filepath.Join(k.dir, "belay.db"), sqlite.Options{Mark: own})
	if err != nil {
		k.t.Fatal(err)
	}
	if fault == nil {
		fault = func(string) error { return nil }
	}
	often := forward.Options{Probe: 10 * time.Millisecond}
	next.Store, err = forward.OpenFaulty(k.t.Context(), local, next.o, often, fault)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = next.Close() })
	return next
}

func (k *forwarding) sent() {
	k.t.Helper()
	until(k.t, "forwarded", func() bool { st := k.State(); return st.Waiting == 0 && st.Away.IsZero() })
}

// wantLost checks that what kernels share is refused with a text, and that the rest goes on.
func (k *forwarding) wantLost(says string) {
	k.t.Helper()
	until(k.t, "told", func() bool { return k.State().Lost != "" })
	err := refused(k.t, k, claimed("refused", "l"))
	if !errors.Is(err, kernel.ErrRollback) || !strings.Contains(err.Error(), says) ||
		!strings.Contains(err.Error(), "belay recover") {
		k.t.Fatalf("a claim answers %v, want a rollback that says %q", err, says)
	}
	if _, err := k.Lease(k.t.Context(), "l"); !errors.Is(err, kernel.ErrRollback) {
		k.t.Errorf("a lease: %v", err)
	}
	if st := k.State(); !st.Red() {
		k.t.Errorf("it is not red: %+v", st)
	}
	b := batch("local-" + says)
	b.Latch = &kernel.Latch{Runtime: "r", Session: says, Since: storetest.T0}
	commit(k.t, k, b)
	if l, err := k.Latches(k.t.Context()); err != nil || len(l) == 0 {
		k.t.Errorf("latches: %v, %v", l, err)
	}
}

// wellError is a class of errors for errors.Is.
type wellError struct{}

func (wellError) Error() string { return "nothing is to be recovered" }

// recovers goes on from PostgreSQL as it is, as `belay recover` does.
func (k *forwarding) recovers(event string) (stand marked.Stand, err error) {
	k.t.Helper()
	plans := 0
	err = k.Recover(k.t.Context(), nil, func(now marked.Stand) (d marked.Decision, err error) {
		if stand = now; now.Wrong == nil {
			return d, wellError{}
		}
		plans++
		id := fmt.Sprint(event, "-", plans) // each plan has an event of its own
		d.Event = batch(id).Events[0]
		d.Event.Type = phases.EventRecovery
		d.Mark = &highwater.State{Store: now.Store, Epoch: 1, Head: now.Database, Uses: map[string]highwater.Use{}}
		if now.Mark != nil {
			d.Mark.Store, d.Mark.Epoch, d.Mark.Uses = now.Mark.Store, now.Mark.Epoch+1, now.Mark.Uses
		}
		order := highwater.Use{ID: highwater.Statement + event, Event: id, Until: time.Now().Add(time.Hour).Unix()}
		uses := map[string]highwater.Use{order.ID: order} // of a reviewer; the recovery is what it was used for
		maps.Copy(uses, d.Mark.Uses)
		d.Mark.Uses = uses
		if d.Mark.Store == "" {
			d.Mark.Store = marked.NewID()
		}
		d.Mark.Recovery = &highwater.Recovery{Size: now.Database.Size, Body: `{"id":"` + id + `"}`}
		return d, nil
	})
	return stand, err
}

// approved makes an item of the queue that lets one action pass.
func approved(id string) kernel.Batch {
	d := &approvals.Decision{Verdict: approvals.Approve, At: storetest.T0, Until: storetest.T0.Add(10 * time.Minute)}
	b := batch("made-" + id)
	b.Approvals = []approvals.Op{
		{Create: &approvals.Item{ID: id, Kind: approvals.KindAsk, Key: id, State: approvals.Pending, Created: storetest.T0,
			Expires: storetest.T0.Add(10 * time.Minute)}, Quota: 10},
		{Change: &approvals.Change{ID: id, From: approvals.Pending, To: approvals.Approved, Decision: d,
			At: storetest.Wall(storetest.T0)}},
	}
	return b
}

func used(id string) kernel.Batch {
	b := kernel.Batch{Now: storetest.T0,
		Events: []phases.Event{{ID: "use-" + id, Type: phases.EventApproval, Decision: "consumed", Time: storetest.T0,
			Output: []byte(`{"approval":"` + id + `"}`)}}}
	b.Approvals = []approvals.Op{{Change: &approvals.Change{ID: id, From: approvals.Approved, To: approvals.Consumed,
		At: storetest.Wall(storetest.T0)}}}
	return b
}

// save keeps what PostgreSQL holds; restore brings it back, as a failover to a replica does that lacks the rest.
func save(t *testing.T, schema string) (restore func()) {
	t.Helper()
	tables := []string{"shared", "changes", "approvals", "leases", "once", "events", "tiles"}
	for _, name := range append(tables, "kernels") {
		pgtest.Exec(t, schema, "CREATE TABLE saved_"+name+" AS TABLE "+name)
	}
	return func() {
		t.Helper()
		back := "BEGIN; "
		for _, name := range tables {
			back += "DELETE FROM " + name + "; INSERT INTO " + name + " SELECT * FROM saved_" + name + "; "
		}
		pgtest.Exec(t, schema, back+"UPDATE kernels k SET size = s.size, tail = s.tail, mark = s.mark FROM saved_kernels s "+
			"WHERE s.id = k.id; COMMIT")
	}
}

// PostgreSQL goes back: it loses forwarded events, or what this kernel has seen of another one, or only a use. What it
// decides is refused until a person agrees, in the process that was there and after a restart. The rest goes on.
func TestPostgreSQLWentBack(t *testing.T) {
	for name, c := range map[string]struct {
		loses func(k, other *forwarding) // what is lost
		says  string
	}{
		"forwarded events": {func(k, _ *forwarding) { commit(k.t, k, batch("plain")) },
			`the log of kernel "k" holds 2 events, and held 3: events 3 to 3 are gone`},
		"a use": {func(k, _ *forwarding) { commit(k.t, k, claimed("claim", "l")) },
			`the log of kernel "k" holds 2 events, and held 3`},
		"what another has done": {func(k, other *forwarding) {
			commit(k.t, other, minted("l2", 1))
			// A commit that conflicts has looked at what is shared, and adds nothing to the log.
			if _, err := k.Commit(k.t.Context(), claimed("looks", "none")); !errors.Is(err, kernel.ErrConflict) {
				k.t.Fatal(err)
			}
		}, `event 1 of kernel "other" records`},
	} {
		for _, while := range []string{"open", "closed"} {
			t.Run(name+" while it is "+while, func(t *testing.T) {
				o := pgtest.Options(t, "k")
				p := pgtest.NewProxy(t)
				o.DSN = p.DSN(t)
				k := openForwarding(t, o)
				commit(t, k, minted("l", 3))
				commit(t, k, batch("before"))
				k.sent()
				o.Kernel = "other"
				other := openForwarding(t, o)
				restore := save(t, o.Schema)
				c.loses(k, other)
				k.sent()
				if while == "closed" {
					// The mark of a process that ends says what it has seen.
					kill(t, k.Store)
				}
				restore()
				if while == "closed" {
					k = k.again(nil)
				} else {
					p.Cut()
				}
				k.wantLost(c.says)
			})
		}
	}
}

// A person agrees to go on: what PostgreSQL lost is sent again, used stays used, and what a lost event may have used is
// taken back. One event says so, and the logs are the same.
func TestRecoverPostgreSQL(t *testing.T) {
	o := pgtest.Options(t, "k")
	k := openForwarding(t, o)
	for _, b := range []kernel.Batch{minted("l", 3), approved("used"), approved("unused")} {
		commit(t, k, b)
	}
	k.sent()
	restore := save(t, o.Schema)
	commit(t, k, used("used"))
	commit(t, k, claimed("claim", "l"))
	commit(t, k, batch("plain"))
	k.sent()
	kill(t, k.Store)
	restore()
	k = k.again(nil)
	k.wantLost("events 4 to 6 are gone")
	before := len(events(t, k))
	// Actions go on beside it. What a recovery says names the size of the log, so it is planned anew meanwhile.
	grows := once("again", func() error {
		commit(t, k, batch("beside"))
		before++
		return nil
	})
	k.SetFault(grows)
	stand, err := k.recovers("recovered")
	if err != nil || !stand.Forwarded || stand.Database.Size != 3 || stand.Next.Size != int64(before) ||
		stand.Mark == nil || !errors.Is(stand.Wrong, kernel.ErrRollback) {
		t.Fatalf("%+v, %v", stand, err)
	}
	recoveredAs(t, k, before)
	for _, e := range events(t, k) {
		if strings.Contains(e.Reason, "statement") {
			t.Errorf("the statement counts as used by event %s, and the recovery has used it: %+v", e.ID, e)
		}
	}
	kill(t, k.Store)
	k = k.again(nil)
	k.sent()
	commit(t, k, minted("new", 1))
	if _, err := k.recovers("once more"); !errors.Is(err, wellError{}) {
		t.Errorf("what is well was recovered: %v", err)
	}
	commit(t, k, minted("newer", 1))
}

func events(t *testing.T, k *forwarding) []phases.Event {
	t.Helper()
	es, err := k.Events(t.Context(), wire.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return es
}

// recoveredAs checks what came of the recovery of a kernel that had so many events.
func recoveredAs(t *testing.T, k *forwarding, before int) {
	t.Helper()
	for id, state := range map[string]approvals.State{"used": approvals.Consumed, "unused": approvals.Superseded} {
		if it, err := k.Approval(t.Context(), id); err != nil || it == nil || it.State != state {
			t.Errorf("approval %s: %+v, %v", id, it, err)
		}
	}
	if l, err := k.Lease(t.Context(), "l"); err != nil || l == nil || l.State != leases.Revoked || l.Uses != 1 {
		t.Errorf("the lease: %+v, %v", l, err)
	}
	if _, err := k.Commit(t.Context(), used("used")); !errors.Is(err, kernel.ErrConflict) && err != nil {
		t.Errorf("the second use answers %v", err)
	} else if err == nil {
		t.Error("an approval was used twice")
	}
	if st := k.State(); st.Red() || st.Lost != "" {
		t.Errorf("the state is %+v", st)
	}
	es := events(t, k)
	if len(es) < before+4 || es[before].Type != phases.EventRecovery {
		t.Fatalf("%d events, and before it were %d", len(es), before)
	}
	same(t, k.Store, k.o)
}

// A recovery that ends in the middle is not ended by itself: a person agrees anew.
func TestRecoveryIsCutOff(t *testing.T) {
	for _, step := range []string{"reset", "sent", "decided", "recorded"} {
		t.Run(step, func(t *testing.T) {
			o := pgtest.Options(t, "k")
			k := openForwarding(t, o)
			for _, b := range []kernel.Batch{minted("l", 3), approved("used"), approved("unused")} {
				commit(t, k, b)
			}
			k.sent()
			restore := save(t, o.Schema)
			commit(t, k, used("used"))
			commit(t, k, claimed("claim", "l"))
			k.sent()
			kill(t, k.Store)
			restore()
			before := 0
			k = k.again(nil)
			until(t, "told", func() bool { return k.State().Lost != "" })
			k.SetFault(once(step, func() error { return errors.New("failed by the test") }))
			_, err := k.recovers("first")
			if recorded := step == "recorded"; (err == nil) != recorded {
				t.Fatalf("it answers %v", err)
			}
			kill(t, k.Store)
			k = k.again(nil)
			if step != "recorded" {
				k.wantLost("")
				before = len(events(t, k))
				if stand, err := k.recovers("second"); err != nil || stand.Wrong == nil {
					t.Fatalf("%+v, %v", stand, err)
				}
				recoveredAs(t, k, before)
				return
			}
			k.sent()
			recoveredAs(t, k, 5)
		})
	}
}

// A recovery is cut off in another process. The one that ran all the time notices it, and keeps nothing that the next
// recovery needs.
func TestARecoveryThatWasCutOffIsEndedBesideADaemon(t *testing.T) {
	o := pgtest.Options(t, "k")
	p := pgtest.NewProxy(t)
	direct := o.DSN
	o.DSN = p.DSN(t)
	k := openForwarding(t, o)
	for _, b := range []kernel.Batch{minted("l", 3), approved("used"), approved("unused")} {
		commit(t, k, b)
	}
	k.sent()
	restore := save(t, o.Schema)
	commit(t, k, used("used"))
	commit(t, k, claimed("claim", "l"))
	k.sent()
	restore()
	p.Cut()
	k.wantLost("events 4 to 5 are gone")
	beside := &forwarding{t: t, dir: k.dir, o: o}
	beside.o.DSN = direct
	first := beside.again(nil)
	first.SetFault(once("decided", func() error { return errors.New("failed by the test") }))
	if _, err := first.recovers("first"); err == nil {
		t.Fatal("it was not cut off")
	}
	kill(t, first.Store)
	until(t, "noticed", func() bool { return strings.Contains(k.State().Lost, marked.ErrBegun.Error()) })
	before := len(events(t, k))
	second := beside.again(nil)
	if stand, err := second.recovers("second"); err != nil || stand.Wrong == nil {
		t.Fatalf("%+v, %v", stand, err)
	}
	recoveredAs(t, second, before)
	kill(t, second.Store)
	k.sent()
	commit(t, k, minted("new", 1))
}

// Without a mark nothing tells a recovery that was cut off from one that has ended: none begins.
func TestNoRecoveryWithoutAMark(t *testing.T) {
	o := pgtest.Options(t, "k")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.Mark = highwater.New(highwater.Options{Dir: filepath.Join(file, "marks"), Name: "there"})
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, o, forward.Options{})
	commit(t, s, minted("l", 3))
	restore := save(t, o.Schema)
	commit(t, s, claimed("claim", "l"))
	if err := s.MarkTrouble(); !errors.Is(err, highwater.ErrNoPlace) || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Errorf("the trouble is %v", err)
	}
	kill(t, s)
	restore()
	k := &forwarding{t: t, o: o, Store: open(t, path, o, forward.Options{Probe: 10 * time.Millisecond})}
	defer func() { kill(t, k.Store) }()
	k.wantLost("lost event 2")
	if stand, err := k.recovers("recovered"); !errors.Is(err, marked.ErrRefused) || stand.Wrong != nil ||
		!strings.Contains(err.Error(), "high_water") {
		t.Errorf("%+v, %v", stand, err)
	}
	k.wantLost("event 2 of kernel")
	// A directory for it is named.
	kill(t, k.Store)
	o.Mark = highwater.New(highwater.Options{Dir: filepath.Join(t.TempDir(), "marks"), Name: "there"})
	k.Store = open(t, path, o, forward.Options{Probe: 10 * time.Millisecond})
	if _, err := k.recovers("recovered"); err != nil {
		t.Fatal(err)
	}
	if n := uses(t, k, "l"); n != 0 { // no mark has noted the use
		t.Errorf("the lease has %d uses", n)
	}
	same(t, k.Store, o)
}

// A use that was noted and is not in PostgreSQL counts: its process ended in between, or PostgreSQL went back.
func TestANotedUseCounts(t *testing.T) {
	o := pgtest.Options(t, "k")
	k := openForwarding(t, o)
	for _, b := range []kernel.Batch{minted("l", 3), approved("a"), approved("b")} {
		commit(t, k, b)
	}
	k.sent()
	st, _, err := k.guard.Look()
	if err != nil || st == nil || st.Head.Size != 3 || st.Head.Seen.Version == 0 {
		t.Fatalf("the mark says %+v, %v", st, err)
	}
	kill(t, k.Store)
	until := storetest.T0.Add(time.Hour).Unix()
	err = k.guard.Intend(st.Epoch, st.Head, []highwater.Use{{ID: highwater.Approval + "a", Event: "use-a", Until: until},
		{ID: highwater.Lease + "l", Count: 2, Until: until}}, storetest.T0)
	if err != nil {
		t.Fatal(err)
	}
	k = k.again(nil)
	k.sent()
	if _, err := k.Commit(t.Context(), used("a")); !errors.Is(err, kernel.ErrConflict) {
		t.Errorf("the second use answers %v", err)
	}
	if n := uses(t, k, "l"); n != 2 {
		t.Errorf("the lease has %d uses", n)
	}
	if es := events(t, k); len(es) != 5 || es[3].ID != "use-a" || !strings.Contains(es[4].Notes[0], "counts as used") {
		t.Errorf("%+v", es)
	}
	commit(t, k, used("b"))
	same(t, k.Store, k.o)
}

// Before a use is committed it is in the mark, and when the mark cannot be written nothing is used.
func TestAUseIsInTheMarkFirst(t *testing.T) {
	o := pgtest.Options(t, "k")
	k := openForwarding(t, o)
	commit(t, k, minted("l", 3))
	k.SetFault(func(at string) error {
		if st, _, err := k.guard.Look(); at == "recorded" && (err != nil || st.Uses[highwater.Lease+"l"].Count != 1) {
			t.Errorf("it is committed, and the mark says %+v, %v", st, err)
		}
		return nil
	})
	commit(t, k, claimed("claim", "l"))
	k.SetFault(func(string) error { return nil })
	if err := os.RemoveAll(filepath.Join(k.dir, "marks")); err != nil {
		t.Fatal(err)
	}
	err := refused(t, k, claimed("another", "l"))
	if !errors.Is(err, kernel.ErrRollback) || !strings.Contains(err.Error(), highwater.ErrMissing.Error()) {
		t.Errorf("without the mark: %v", err)
	}
	commit(t, k, batch("local"))
	if _, err := k.recovers("recovered"); err != nil {
		t.Fatal(err)
	}
	if n := uses(t, k, "l"); n != 1 {
		t.Errorf("the lease has %d uses", n)
	}
	same(t, k.Store, k.o)
}

// Actions that need nothing of PostgreSQL write no record into its mark, and so sync nothing.
func TestLocalActionsSyncNoMark(t *testing.T) {
	o := pgtest.Options(t, "k")
	k := openForwarding(t, o)
	commit(t, k, batch("first"))
	k.sent()
	files, err := filepath.Glob(filepath.Join(k.dir, "marks", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	size := func() int64 {
		fi, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return fi.Size()
	}
	before := size()
	for _, id := range []string{"a", "b", "c"} {
		commit(t, k, batch(id))
	}
	k.sent()
	if now := size(); now != before {
		t.Errorf("the mark has grown from %d to %d bytes", before, now)
	}
	if st, _, err := k.guard.Look(); err != nil || st.Head.Size != 4 {
		t.Errorf("the mark says %+v, %v", st, err)
	}
}

func pgtestDirect(t *testing.T, o postgres.Options) postgres.Options {
	o.DSN = pgtest.DSN(t)
	return o
}

// Of checkpoints that PostgreSQL has, none is sent again over a new connection.
func TestCheckpointsAreSentOnce(t *testing.T) {
	p := pgtest.NewProxy(t)
	o := pgtest.Options(t, "k")
	o.DSN = p.DSN(t)
	k := openForwarding(t, o)
	for _, id := range []string{"a", "b", "c"} {
		r := commit(t, k, batch(id))
		if err := k.AddCheckpoint(t.Context(), r.Last, []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := postgres.OpenAuditor(t.Context(), pgtestDirect(t, o))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	has := func(note string) bool {
		rows, err1 := a.Kernels(t.Context())
		notes, err2 := a.Log(rows[0].ID).Checkpoints(t.Context())
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(notes, func(n []byte) bool { return string(n) == note })
	}
	until(t, "there", func() bool { return has("c") })
	pgtest.Exec(t, o.Schema, "DELETE FROM checkpoints WHERE note = 'a'") // it would come again with all of them
	p.Cut()
	r := commit(t, k, batch("d"))
	if err := k.AddCheckpoint(t.Context(), r.Last, []byte("d")); err != nil {
		t.Fatal(err)
	}
	until(t, "there", func() bool { return has("d") })
	if has("a") {
		t.Error("all checkpoints were sent again")
	}
}

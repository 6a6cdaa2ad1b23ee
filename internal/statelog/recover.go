package belay

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/approvals"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// highWater is the mark outside of belay.db. The zero value is for a store that has none.
type highWater struct {
	guard *highwater.Guard
	db    *sqlite.Store
}

func (h *highWater) close() error {
	if h.guard == nil {
		return nil
	}
	return h.guard.Close()
}

// openMarked opens belay.db with its mark. A database that went back is no error: it
// blocks everything, and `belay recover` needs it open.
func (b *Belay) openMarked(ctx context.Context) error {
	path := filepath.Join(b.dir, "belay.db")
	if b.o.NoMark {
		db, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err == nil {
			b.store, b.water = db, highWater{db: db}
		}
		return err
	}
	want := b.file.Events.HighWater
	guard, err := highwater.ForState(b.dir, want, os.Getenv)
	if err != nil {
		return fmt.Errorf("%w: events.high_water: %w", ErrConfig, err)
	}
	if want != "" && !b.o.NoHooks {
		if _, err := guard.Move(want); err != nil {
			return errors.Join(stateError("the high-water mark", err), guard.Close())
		}
	}
	db, err := sqlite.Open(ctx, path, sqlite.Options{Mark: guard})
	if err != nil {
		return errors.Join(err, guard.Close())
	}
	b.store, b.water = db, highWater{guard, db}
	if err := db.CheckMark(ctx); errors.Is(err, kernel.ErrRollback) {
		b.log.LogAttrs(ctx, slog.LevelError, "the database went back behind its high-water mark: everything is blocked until `belay recover`", slog.String("why", highwater.Reason(err)))
	}
	return nil
}

// behind compares the log with its mark by reading alone. The error is kernel.ErrRollback;
// a mark that is missing is none here, since the directory may be a copy.
func (b *Belay) behind(ctx context.Context) error {
	if b.water.guard == nil {
		return nil
	}
	st, _, err := b.water.guard.Look()
	if err != nil || st == nil {
		return nil
	}
	// The mark before the size: what others append meanwhile is beyond the mark.
	size, err := b.store.LogSize(ctx)
	if err == nil {
		err = st.Behind(size, func(n int64) ([32]byte, error) { return eventlog.Root(ctx, b.store, n) })
	}
	if errors.Is(err, highwater.ErrBehind) {
		return fmt.Errorf("%w: %w: %w", kernel.ErrUnavailable, kernel.ErrRollback, err)
	}
	return err
}

// marked adds to a report that the log is behind its mark, if nothing else is wrong.
func (b *Belay) marked(ctx context.Context, r LogReport, err error) (LogReport, error) {
	if err != nil || r.Wrong != nil {
		return r, err
	}
	err = b.behind(ctx)
	if errors.Is(err, kernel.ErrRollback) {
		r.Wrong, err = &eventlog.Finding{Text: highwater.Reason(err)}, nil
	}
	return r, err
}

// HighWater says how belay.db stands to the mark outside of it.
type HighWater struct {
	Path    string `json:"path,omitzero"`    // of the mark
	Seq     int64  `json:"seq,omitzero"`     // the last event that it knows of
	Behind  bool   `json:"behind,omitzero"`  // the database went back, or the mark is missing or damaged: everything is blocked
	Problem string `json:"problem,omitzero"` // why, or why there is no mark
}

// HighWater compares belay.db with its mark. Nil: there is none, and none is wanted.
func (b *Belay) HighWater(ctx context.Context) *HighWater {
	if b.water.guard == nil {
		return nil
	}
	out := &HighWater{Path: b.water.guard.Path()}
	if err := b.water.db.CheckMark(ctx); errors.Is(err, kernel.ErrRollback) {
		out.Behind, out.Problem = true, phases.SafeText(highwater.Reason(err), 1<<10)
		return out
	}
	switch err := b.water.db.MarkTrouble(); {
	case err != nil:
		out.Problem = phases.SafeText(err.Error(), 1<<10)
	case out.Path == "":
		out.Problem = highwater.ErrNoPlace.Error() + ": neither XDG_DATA_HOME nor HOME names one outside of the state directory; belay.yaml can (events: {high_water: DIR})"
	default:
		if st, _, err := b.water.guard.Look(); err == nil && st != nil {
			out.Seq = st.Head.Size
		}
	}
	return out
}

// Recovery is what a recovery of belay.db is about.
type Recovery struct {
	Store    string `json:"store"`          // the state directory's name in the statements of reviewers
	Mark     string `json:"mark"`           // head that the mark says: number of events and root hash; "none"
	Database string `json:"database"`       // head of belay.db
	Lost     int64  `json:"lost,omitzero"`  // events that the mark knows of and belay.db does not hold
	Wrong    string `json:"wrong,omitzero"` // why belay.db is not used; "" when it is, and nothing is to be recovered
	Rows     *Rows  `json:"rows,omitzero"`  // that restrict, and are not those that the log records; nil when they are
	Event    int64  `json:"event,omitzero"` // that records it; 0 before
}

// recoverArgs is what an order of a reviewer says about a recovery.
type recoverArgs struct {
	Mark     string `json:"mark"`
	Database string `json:"database"`
	Recorded string `json:"recorded,omitzero"`
	Found    string `json:"found,omitzero"`
}

// Args returns what a reviewer's order for this recovery says.
func (r *Recovery) Args() any {
	a := recoverArgs{Mark: r.Mark, Database: r.Database}
	if r.Rows != nil {
		a.Recorded, a.Found = r.Rows.Recorded, r.Rows.Found
	}
	return a
}

// ErrNothingToRecover: belay.db is not behind its mark, and its rows are those that the log records.
var ErrNothingToRecover = errors.New("belay.db is not behind its high-water mark, and its rows are those that the log records: there is nothing to recover")

// errOnlyLook ends a recovery that only says what it would be about.
var errOnlyLook = errors.New("only a look")

// PlanRecovery says what Recover would be about. The error is kernel.ErrUnavailable.
func (b *Belay) PlanRecovery(ctx context.Context) (Recovery, error) {
	var r Recovery
	if b.water.db == nil {
		return r, ErrNothingToRecover
	}
	err := b.water.db.Recover(ctx, b.adviser(ctx), func(s sqlite.Stand) (sqlite.Decision, error) {
		r = b.recovery(s)
		return sqlite.Decision{}, errOnlyLook
	})
	if errors.Is(err, errOnlyLook) {
		err = nil
	}
	return r, err
}

func (b *Belay) recovery(s sqlite.Stand) Recovery {
	r := Recovery{Store: b.StoreID(), Mark: "none", Database: s.Database.String()}
	if s.Mark != nil {
		r.Mark = s.Mark.Head.String()
		r.Lost = max(0, s.Mark.Head.Size-s.Database.Size)
	}
	r.Rows = rowsOf(s.Repair)
	r.Wrong = phases.SafeText(whyRecovered(s, r.Rows), 1<<10)
	return r
}

// RecoverOptions say who wants a recovery.
type RecoverOptions struct {
	Order *kernel.Order // of a reviewer, over Recovery.Args; needed where one is registered
	Want  Recovery      // as it was shown: another one is refused
	By    string        // for the record; "" means the user of this process
	Why   string        // for the record; one line
}

// Recover makes belay.db as it is the database from which everything goes on. What was
// used up stays used up; approvals that were not used and leases are taken back where they
// may have been used. What becomes of rows is in Recovery.Rows. Errors
// are ErrNothingToRecover, *kernel.OrderError, kernel.ErrConflict when it is not the
// recovery that was wanted, ErrConfig or kernel.ErrUnavailable.
func (b *Belay) Recover(ctx context.Context, o RecoverOptions) (Recovery, error) {
	if err := b.reviewersKnown(); err != nil {
		return Recovery{}, err
	}
	if b.water.db == nil {
		return Recovery{}, ErrNothingToRecover
	}
	if o.By == "" {
		o.By = "uid " + strconv.Itoa(os.Getuid())
	}
	var r Recovery
	err := b.water.db.Recover(ctx, b.adviser(ctx), func(s sqlite.Stand) (d sqlite.Decision, err error) {
		r = b.recovery(s)
		if r.Wrong == "" {
			return d, ErrNothingToRecover
		}
		if r.Args() != o.Want.Args() {
			return d, fmt.Errorf("%w: it is about other heads or rows than were shown", kernel.ErrConflict)
		}
		if err := b.mayRecover(&r, s.Mark, o.Order); err != nil {
			return d, err
		}
		r.Event = s.Next.Size + 1
		return b.recovered(&r, s, o)
	})
	if err != nil {
		r.Event = 0
	}
	return r, err
}

func headSize(head string) int64 {
	h, _ := highwater.ParseHead(head)
	return h.Size
}

// mayRecover checks the order of a reviewer. It is asked inside of the transaction: the
// log cannot say whether the order was used before, since it went back; the mark does.
func (b *Belay) mayRecover(r *Recovery, mark *highwater.State, o *kernel.Order) error {
	b.mu.Lock()
	who := b.authority()
	b.mu.Unlock()
	switch {
	case o == nil && !who.Protected():
		return nil
	case o == nil:
		return &kernel.OrderError{Class: kernel.ErrApprovalSignature, Text: "there is none, and recover takes one: a reviewer is registered"}
	}
	if err := who.CheckOrder(o, approvals.VerbRecover, b.StoreID(), r.Args(), b.at()); err != nil {
		return err
	}
	if mark != nil && mark.Uses[highwater.Statement+o.ID].ID != "" {
		return &kernel.OrderError{Class: kernel.ErrApprovalDecided, Text: "it was used before"}
	}
	return nil
}

func (b *Belay) authority() approvals.Authority {
	return approvals.Authority{Reviewers: b.file.Authorities(), Unsigned: b.file.Approvals.Settings().Unsigned}
}

// recovered makes the mark of a recovered database, and the event that records it.
func (b *Belay) recovered(r *Recovery, s sqlite.Stand, o RecoverOptions) (out sqlite.Decision, err error) {
	now := b.now()
	next := &highwater.State{Store: s.Store, Epoch: 1, Head: s.Database, Uses: map[string]highwater.Use{}}
	if s.Mark != nil {
		next.Store, next.Epoch, next.Uses, next.Recovery = s.Mark.Store, s.Mark.Epoch+1, s.Mark.Uses, s.Mark.Recovery
	}
	if next.Store == "" {
		next.Store = newStore()
	}
	if out.Event, err = b.recoveryEvent(r, s, o, now, r.Rows); err != nil {
		return out, err
	}
	if s.Wrong != nil { // after a crash the heads count; rows wait for another recovery, since nothing was repaired
		heads, err := b.recoveryEvent(r, s, o, now, nil)
		if err != nil {
			return out, err
		}
		heads.ID = out.Event.ID
		body, err := json.Marshal(&heads, json.Deterministic(true))
		if err != nil {
			return out, err
		}
		next.Recovery = &highwater.Recovery{Size: s.Database.Size, Body: string(body)}
	}
	if o.Order != nil {
		used := highwater.Statement + o.Order.ID
		uses := map[string]highwater.Use{used: {ID: used, Event: out.Event.ID, Until: o.Order.Expires.Unix()}}
		for id, u := range next.Uses {
			uses[id] = u
		}
		next.Uses = uses
	}
	out.Mark = next
	return out, nil
}

// recoveryEvent makes the event that records a recovery, with what became of rows.
func (b *Belay) recoveryEvent(r *Recovery, s sqlite.Stand, o RecoverOptions, now time.Time, rows *Rows) (phases.Event, error) {
	statement, err := eventlog.SignRecovery(b.keys.events, eventlog.Recovery{
		Checkpoint: eventlog.Checkpoint{Size: s.Next.Size, Root: s.Next.Root, Time: now}, Mark: markFor(r, s), By: o.By, Why: o.Why,
	})
	if err != nil {
		return phases.Event{}, err
	}
	e := phases.Event{
		ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Type: phases.EventRecovery, Time: now.UTC(), User: phases.SafeLine(o.By, phases.MaxIDBytes), Decision: "recovered",
		Reason:         phases.SafeText(fmt.Sprintf("the database counts as it is, with %d events: %s", s.Database.Size, whyRecovered(s, rows)), phases.MaxReasonBytes),
		PolicyRevision: b.revision(),
	}
	if o.Order != nil {
		e.DecidedBy, e.Signer = o.Order.By, o.Order.Key
	}
	e.Output, err = json.Marshal(struct {
		Mark      string        `json:"mark"`
		Database  string        `json:"database"`
		First     int64         `json:"first_lost,omitzero"`
		Last      int64         `json:"last_lost,omitzero"`
		Rows      *Rows         `json:"rows,omitzero"`
		Statement string        `json:"statement"`
		Order     *kernel.Order `json:"order,omitzero"`
	}{r.Mark, r.Database, lostFrom(r), lostTo(r), rows, string(statement), o.Order}, json.Deterministic(true))
	return e, err
}

func lostFrom(r *Recovery) int64 {
	if r.Lost == 0 {
		return 0
	}
	return headSize(r.Database) + 1
}

func lostTo(r *Recovery) int64 {
	if r.Lost == 0 {
		return 0
	}
	return headSize(r.Mark)
}

// newStore makes the id of a database that has none.
func newStore() string {
	u := uuid.Must(uuid.NewV4())
	return hex.EncodeToString(u[:])
}

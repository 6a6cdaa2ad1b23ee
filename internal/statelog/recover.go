package statelog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Recovery is what a recovery of belay.db is about, or of what a kernel has in PostgreSQL.
type Recovery struct {
	Store    string `json:"store"`           // the state directory's name in the statements of reviewers
	Place    string `json:"place,omitzero"`  // PostgreSQL, its schema and the kernel; "" for belay.db
	Mark     string `json:"mark"`            // head that the mark says: number of events and root hash; "none"
	Database string `json:"database"`        // head of the log
	Behind   bool   `json:"behind,omitzero"` // the database went back, or the mark is of no use
	Lost     int64  `json:"lost,omitzero"`   // events that the mark knows of and the database does not hold
	// the database is a copy of the log, which has all events: belay.db is forwarded to it, and sends again what is lost
	Forwarded bool `json:"forwarded,omitzero"`
	// what the mark and the database say of the rows that all kernels share; "" where nothing is shared
	MarkShared string `json:"mark_shared,omitzero"`
	Shared     string `json:"shared,omitzero"`
	// why the database is not used; "" when it is, and nothing is to be recovered
	Wrong string `json:"wrong,omitzero"`
	// that restrict, and are not those that the log records; nil when they are
	Rows  *marked.Repair `json:"rows,omitzero"`
	Event int64          `json:"event,omitzero"` // that records it; 0 before
}

// recoverArgs is what an order of a reviewer says about a recovery.
type recoverArgs struct {
	Mark     string `json:"mark"`
	Database string `json:"database"`
	// of PostgreSQL
	MarkShared string `json:"mark_shared,omitzero"`
	Shared     string `json:"shared,omitzero"`
	Recorded   string `json:"recorded,omitzero"`
	Found      string `json:"found,omitzero"`
	Forwarded  bool   `json:"forwarded,omitzero"` // it is about the copy of the log there
}

// Args returns what a reviewer's order for this recovery says.
func (r *Recovery) Args() any {
	a := recoverArgs{Mark: r.Mark, Database: r.Database, MarkShared: r.MarkShared, Shared: r.Shared,
		Forwarded: r.Forwarded}
	if r.Rows != nil {
		a.Recorded, a.Found = r.Rows.Recorded, r.Rows.Found
	}
	return a
}

// errOnlyLook ends a recovery that only describes itself.
var errOnlyLook = errors.New("only a look")

// PlanRecovery says what Recover would be about. The error is kernel.ErrUnavailable.
func (l *Live) PlanRecovery(ctx context.Context) (Recovery, error) {
	var r Recovery
	if l.db == nil {
		return r, ErrNothingToRecover
	}
	err := l.db.Recover(ctx, l.adviser(ctx), func(s marked.Stand) (marked.Decision, error) {
		r = l.recovery(s)
		return marked.Decision{}, errOnlyLook
	})
	if errors.Is(err, errOnlyLook) {
		err = nil
	}
	return r, err
}

func (l *Live) recovery(s marked.Stand) Recovery {
	r := Recovery{Store: l.StoreID(), Place: l.db.place(), Mark: "none", Database: s.Database.String(),
		Shared: s.Database.Seen.String(), Behind: s.Wrong != nil, Forwarded: s.Forwarded}
	if s.Forwarded {
		r.Place = l.db.thereWhere
	}
	if s.Mark != nil {
		r.Mark, r.MarkShared = s.Mark.Head.String(), s.Mark.Head.Seen.String()
		r.Lost = max(0, s.Mark.Head.Size-s.Database.Size)
	}
	r.Rows = rowsOf(s.Repair)
	r.Wrong = phases.SafeText(whyRecovered(s, r.Rows), 1<<10)
	return r
}

// RecoverOptions say who wants a recovery.
type RecoverOptions struct {
	Order *approvals.Order // of a reviewer, over Recovery.Args; needed where one is registered
	Want  Recovery         // as it was shown: another one is refused
	By    string           // for the record; "" means the user of this process
	Why   string           // for the record; one line
}

// Recover makes belay.db as it is the database from which everything goes on.
// Used approvals and uses stay used; unused approvals and leases are revoked
// where the lost part may have used them. Recovery.Rows lists the repaired
// rows. Errors are ErrNothingToRecover, *queue.OrderError, kernel.ErrConflict
// when it is not the recovery that was wanted, config.ErrUnusable or
// kernel.ErrUnavailable.
func (l *Live) Recover(ctx context.Context, o RecoverOptions) (Recovery, error) {
	if err := l.reviewersKnown(); err != nil {
		return Recovery{}, err
	}
	if l.db == nil {
		return Recovery{}, ErrNothingToRecover
	}
	if o.By == "" {
		o.By = peercred.Credential(os.Getuid())
	}
	var r Recovery
	err := l.db.Recover(ctx, l.adviser(ctx), func(s marked.Stand) (d marked.Decision, err error) {
		r = l.recovery(s)
		if r.Wrong == "" {
			return d, ErrNothingToRecover
		}
		if r.Args() != o.Want.Args() {
			return d, fmt.Errorf("%w: it is about other heads or rows than were shown", kernel.ErrConflict)
		}
		if err := l.mayRecover(&r, s.Mark, o.Order); err != nil {
			return d, err
		}
		r.Event = s.Next.Size + 1
		return l.recovered(&r, s, o)
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
func (l *Live) mayRecover(r *Recovery, mark *highwater.State, o *approvals.Order) error {
	who := l.authority()
	switch {
	case o == nil && !who.Protected():
		return nil
	case o == nil:
		return &queue.OrderError{Class: approvals.ErrSignature,
			Text: "there is none, and recover takes one: a reviewer is registered"}
	}
	if err := who.CheckOrder(o, queue.VerbRecover, l.StoreID(), r.Args(), l.kernel.Now()); err != nil {
		return err
	}
	if mark != nil && mark.Uses[highwater.Statement+o.ID].ID != "" {
		return &queue.OrderError{Class: approvals.ErrDecided, Text: "it was used before"}
	}
	return nil
}

// recovered makes the mark of a recovered database, and the event that records it.
func (l *Live) recovered(r *Recovery, s marked.Stand, o RecoverOptions) (out marked.Decision, err error) {
	now := l.kernel.Now().Wall
	next := &highwater.State{Store: s.Store, Epoch: 1, Head: s.Database, Uses: map[string]highwater.Use{}}
	if s.Mark != nil {
		next.Store, next.Epoch, next.Uses, next.Recovery = s.Mark.Store, s.Mark.Epoch+1, s.Mark.Uses, s.Mark.Recovery
	}
	if next.Store == "" {
		next.Store = marked.NewID()
	}
	if out.Event, err = l.recoveryEvent(r, s, o, now, r.Rows); err != nil {
		return out, err
	}
	if s.Wrong != nil { // after a crash the heads count; rows wait for another recovery, since nothing was repaired
		heads, err := l.recoveryEvent(r, s, o, now, nil)
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
func (l *Live) recoveryEvent(r *Recovery, s marked.Stand, o RecoverOptions, now time.Time,
	rows *marked.Repair) (phases.Event, error) {
	statement, err := eventlog.SignRecovery(l.key, eventlog.Recovery{
		Checkpoint: eventlog.Checkpoint{Size: s.Next.Size, Root: s.Next.Root, Time: now}, Mark: markFor(r, s), By: o.By,
		Why: o.Why,
	})
	if err != nil {
		return phases.Event{}, err
	}
	e := phases.Event{
		ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Type: phases.EventRecovery, Time: now.UTC(),
		User: phases.SafeLine(o.By, phases.MaxIDBytes), Decision: "recovered",
		Reason:         phases.SafeText(whatCounts(s)+": "+whyRecovered(s, rows), phases.MaxReasonBytes),
		PolicyRevision: l.inForce().Revision,
	}
	if o.Order != nil {
		e.DecidedBy, e.Signer = o.Order.By, o.Order.Key
	}
	e.Output, err = json.Marshal(struct {
		Mark      string           `json:"mark"`
		Database  string           `json:"database"`
		First     int64            `json:"first_lost,omitzero"`
		Last      int64            `json:"last_lost,omitzero"`
		Place     string           `json:"place,omitzero"`
		Forwarded bool             `json:"forwarded,omitzero"`
		Rows      *marked.Repair   `json:"rows,omitzero"`
		Statement string           `json:"statement"`
		Order     *approvals.Order `json:"order,omitzero"`
	}{r.Mark, r.Database, lostFrom(r), lostTo(r), placeOfCopy(r), r.Forwarded, rows, string(statement), o.Order},
		json.Deterministic(true))
	return e, err
}

func whatCounts(s marked.Stand) string {
	if s.Forwarded {
		return fmt.Sprintf("PostgreSQL counts as it is, with %d of %d events of this log; it gets the others again",
			s.Database.Size, s.Next.Size)
	}
	return fmt.Sprintf("the database counts as it is, with %d events", s.Database.Size)
}

func placeOfCopy(r *Recovery) string {
	if r.Forwarded {
		return r.Place
	}
	return ""
}

func lostFrom(r *Recovery) int64 {
	if r.Lost == 0 || r.Forwarded {
		return 0
	}
	return headSize(r.Database) + 1
}

func lostTo(r *Recovery) int64 {
	if r.Lost == 0 || r.Forwarded {
		return 0
	}
	return headSize(r.Mark)
}

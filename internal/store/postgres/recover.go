package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/belay-hooks/belay/internal/highwater"
	"github.com/belay-hooks/belay/internal/store/marked"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Recover makes the database as it is the one that counts for this kernel, as plan decides, in one transaction. Every
// use that the mark holds stays used up. Where the database went back, approvals that count and active leases of the
// organisation are withdrawn. Other kernels that notice it are recovered one by one, each with its own mark. Rows
// that no log records are not repaired: the error is kernel.ErrTampered then. After an error of plan nothing has
// changed. Other errors are kernel.ErrUnavailable.
func (s *Store) Recover(ctx context.Context, advise func() (marked.Advice, error),
	plan func(marked.Stand) (marked.Decision, error)) error {
	err := s.submit(ctx, &request{recover: &marked.Plan{Advise: advise, Decide: plan}})
	if err != nil && !errors.Is(err, marked.ErrRefused) {
		return unavailable("recover", err)
	}
	return err
}

// recover decides about a request to recover.
func (w *writer) recover(r *request) {
	ctx, cancel := w.bounded()
	defer cancel()
	edge, set, version, followed := w.edge, w.set, w.version, w.followed
	if r.err = w.anew(ctx); r.err == nil {
		r.err = w.reset(ctx, r.recover)
	}
	if w.dropBroken(); r.err == nil {
		return
	}
	w.edge, w.set, w.version, w.followed = edge, set, version, followed // what was seen before counts still
	if w.store.sets.forget(); w.lost != nil {
		w.end() // the name is for others again
	} else {
		w.drop()
	}
}

// anew connects, and takes what is in the database as it is.
func (w *writer) anew(ctx context.Context) error {
	w.drop()
	e, err := w.take(ctx)
	if err != nil {
		return err
	}
	w.edge, w.set, w.version, w.followed = e, nil, 0, shared{}
	w.store.sets.forget()
	if err := w.load(ctx); err != nil {
		return err
	}
	w.compared = true
	return nil
}

// reset is one recovery.
func (w *writer) reset(ctx context.Context, plan *marked.Plan) error {
	g := &w.guarded
	now := marked.Stand{Database: w.head(), Store: g.store}
	kept := w.store.o.Mark != nil && !(now.Store == "" && w.store.bare.Load() != nil)
	if kept {
		var err error // that is none of the mark
		kept = now.Compare(w.store.o.Mark, func(st *highwater.State) error {
			behind := w.behindMark(ctx, st)
			if behind != nil && !errors.Is(behind, kernel.ErrRollback) {
				behind, err = nil, behind
			}
			return behind
		})
		if err != nil {
			return err
		}
	}
	withdraw := now.Wrong != nil
	var events []phases.Event
	now.Next = now.Database
	if now.Mark != nil && now.Wrong == nil {
		earlier, err := marked.Unwritten(now.Mark, w.edge.size)
		if err != nil {
			return err
		}
		if earlier != nil { // without a digest of rows, so that dry runs and the recovery find the same head
			events, withdraw = append(events, *earlier), true
			if now.Next, err = w.headWith(earlier); err != nil {
				return err
			}
		}
	}
	next, err := plan.Decide(now)
	if err != nil {
		return marked.Refused(err)
	}
	events = append(events, next.Event)
	if !kept {
		return w.alone(ctx, &needs{}, func(_ *world, d *deeds) error { d.add(nil, events...); return nil })
	}
	if err := w.store.o.Mark.Reset(next.Mark); err != nil {
		return err
	}
	st, looks, err := w.store.o.Mark.Look()
	if err != nil {
		return err
	}
	g.mark, g.head, g.voided, g.settled = st, st.Head, nil, false
	n, ids := needsOf(st)
	n.inForce = withdraw
	logged, err := w.logs(ctx, ids)
	if err != nil {
		return err
	}
	err = w.alone(ctx, &n, func(_ *world, d *deeds) error {
		d.store = st.Store
		d.add(nil, events...)
		err := marked.Settle(st, time.Now(), settler{d, logged})
		if err == nil && withdraw {
			err = d.takeBack(time.Now())
		}
		return err
	})
	if err == nil {
		g.store, g.looks, g.settled, g.compared, w.lost = st.Store, looks, true, true, nil
	}
	return err
}

// headWith returns the head of the log with one more event.
func (w *writer) headWith(e *phases.Event) (highwater.Head, error) {
	body, err := plainBody(e, w.edge.size+1)
	if err != nil {
		return highwater.Head{}, err
	}
	grown := w.edge.clone()
	grown.add(body)
	h := w.head()
	h.Size, h.Root = grown.size, grown.root()
	return h, nil
}

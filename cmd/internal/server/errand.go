package server

import (
	"context"
	"net/http"
)

// mostErrands is how many requests of one user are worked on at once that are no question of an agent, such as for
// events. Each of them has a turn among the turns of all users, as a decision has.
const mostErrands = 2

// mostUnread is how many answers of lists, which can be large, one user may have that are not read yet. Who does not
// read has no further ones made.
const mostUnread = 4

// errand is a request of a user of system mode, with what it holds of that user's shares. A nil one, of any other
// caller, holds nothing. One goroutine uses it.
type errand struct {
	s       *Server
	list    bool     // its answer can be large
	unread  bool     // among mostUnread
	place   bool     // among mostErrands
	turn    bool     // it works: with a turn among those of all users, or without
	without bool     // it has no turn to give back
	free    []func() // gives back the places of bytes
}

type errandKey struct{}

// beginErrand returns the request with its errand, which the caller ends.
func (s *Server) beginErrand(r *http.Request, list bool) (*http.Request, *errand) {
	if s.errands == nil || !s.isTenant(peerOf(r.Context()).uid) {
		return r, nil
	}
	e := &errand{s: s, list: list}
	return r.WithContext(context.WithValue(r.Context(), errandKey{}, e)), e
}

func errandOf(ctx context.Context) *errand {
	e, _ := ctx.Value(errandKey{}).(*errand)
	return e
}

// take waits for a place and a turn, before the work of a request. It holds neither while its caller sends or reads:
// both take as long as the caller likes. The error is that of ctx.
func (e *errand) take(ctx context.Context) error {
	if e == nil || e.turn {
		return nil
	}
	if e.list && !e.unread {
		select {
		case e.s.unread <- struct{}{}:
			e.unread = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if !e.place {
		select {
		case e.s.errands <- struct{}{}:
			e.place = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if share := e.s.gate.share; share != nil && !share.enterUnless(ctx, e.s.gate.awayNow()) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.without = true // who has the turns waits for the store, and this one has only to say so
	}
	e.turn = true
	return nil
}

// rest gives the turn back, and keeps the place.
func (e *errand) rest() {
	if e == nil || !e.turn {
		return
	}
	has := !e.without
	e.turn, e.without = false, false
	if has && e.s.gate.share != nil {
		e.s.gate.share.leave()
	}
}

// leave gives the turn and the place back.
func (e *errand) leave() {
	e.rest()
	if e != nil && e.place {
		e.place = false
		<-e.s.errands
	}
}

// hold waits for a place for so many bytes, which end gives back. The error is that of ctx.
func (e *errand) hold(ctx context.Context, n int64) error {
	if e == nil {
		return nil
	}
	e.rest() // so that others work meanwhile
	free, err := e.s.inflight.hold(ctx, n)
	e.free = append(e.free, free)
	return err
}

// letGo gives back the places of bytes that are not looked at any more.
func (e *errand) letGo() {
	if e == nil {
		return
	}
	for _, free := range e.free {
		free()
	}
	e.free = nil
}

// isRead gives back the place of a large answer: it is read, or there is none.
func (e *errand) isRead() {
	if e != nil && e.unread {
		e.unread = false
		<-e.s.unread
	}
}

// end gives back all that it holds.
func (e *errand) end() {
	e.leave()
	e.isRead()
	e.letGo()
}

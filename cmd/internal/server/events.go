package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// Of a stream of events.
const (
	maxListed   = 16 << 20               // bytes of events in one answer; the last piece may go beyond it
	firstPiece  = 16                     // events read from the store at once, and more when they are small
	streamBatch = 200                    // events sent at once
	streamPoll  = 500 * time.Millisecond // other processes write to the same log
	streamBeat  = 15 * time.Second       // a comment, so that a dead client shows
)

func eventParams() []string {
	return []string{"after", "before", "since", "until", "id", "type", "except", "phase", "runtime", "session", "agent",
		"tool",
		"invocation", "binding", "decision", "kind", "newest", "limit", "follow"}
}

func eventQuery(p *params) wire.Query {
	return wire.Query{
		After: p.sequence("after"), Before: p.sequence("before"), Since: p.instant("since"), Until: p.instant("until"),
		ID: p.text("id"), Type: choice(p, "type", phases.EventTypes()), Except: choice(p, "except", phases.EventTypes()),
		Phase: choice(p, "phase", phases.Phases()), Kind: choice(p, "kind", phases.Kinds()), Decision: p.text("decision"),
		Runtime: p.text("runtime"), Session: p.text("session"), Agent: p.text("agent"), Tool: p.text("tool"),
		Invocation: p.text("invocation"), Binding: p.text("binding"),
		Newest: p.boolean("newest"), Limit: int(p.number("limit", 0, wire.MaxLimit)),
	}
}

// events answers GET /v1/events: a list, or a stream that goes on.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	params := given(r)
	query, follow := eventQuery(params), params.boolean("follow")
	last := r.Header.Get("Last-Event-ID")
	if last != "" {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil && params.err == nil {
			params.err = errors.New("Last-Event-ID must be the number of an event")
		}
		query.After = int64(n)
	}
	if !follow || params.err != nil {
		s.list(w, r, query)
		return
	}
	if s.streams.Add(1) > int64(s.o.Streams) {
		s.streams.Add(-1)
		s.problem(w, r, http.StatusServiceUnavailable,
			wire.ProblemBody{Code: wire.CodeOverloaded, Message: "too many are following the events"})
		return
	}
	defer s.streams.Add(-1)
	if !params.has("after") && last == "" {
		// Without a place to begin, it begins now.
		newest, err := s.host.Events(r.Context(), wire.Query{Newest: true, Limit: 1})
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
		if len(newest) > 0 {
			query.After = newest[0].Seq
		}
	}
	query.Newest, query.Limit = false, streamBatch
	errandOf(r.Context()).leave() // it goes on for long, and takes a turn for each look
	errandOf(r.Context()).isRead()
	s.stream(w, r, query)
}

// list answers with as many of the events as one answer holds, and says whether
// there are more.
func (s *Server) list(w http.ResponseWriter, r *http.Request, q wire.Query) {
	if err := given(r).err; err != nil {
		s.invalidRequest(w, r, err)
		return
	}
	events, more, err := s.some(r.Context(), q)
	if err != nil {
		s.unavailable(w, r, err)
		return
	}
	s.write(w, r, http.StatusOK, struct {
		Events []phases.Event `json:"events"`
		More   bool           `json:"more,omitzero"`
	}{events, more})
}

// some reads events until it has as many as requested, or all, or enough for
// one answer: events can be large, and no request may fill the memory. more
// says that the answer may not be complete.
func (s *Server) some(ctx context.Context, query wire.Query) (list []phases.Event, more bool, err error) {
	list = []phases.Event{}
	want, piece, size := query.Limit, firstPiece, 0
	if want == 0 {
		want = wire.DefaultLimit
	}
	for want > 0 && size < maxListed {
		query.Limit = min(piece, want)
		part, err := s.host.Events(ctx, query)
		if err != nil {
			return nil, false, err
		}
		was := size
		for i := range part {
			size += len(part[i].Input) + len(part[i].Output) + 1<<10
		}
		if query.Newest {
			list = append(part, list...)
		} else {
			list = append(list, part...)
		}
		if len(part) < query.Limit {
			return list, false, nil
		}
		if want -= len(part); size-was < maxListed/16 {
			piece *= 4
		}
		if query.Newest {
			query.Before = part[0].Seq
		} else {
			query.After = part[len(part)-1].Seq
		}
	}
	return list, want > 0, nil
}

// stream sends events as they come. Nothing is kept for a client: each reads the
// log at its own pace, and one that takes nothing for writeTime is let go.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, query wire.Query) {
	rc := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	send := func(b []byte) bool {
		_ = rc.SetWriteDeadline(time.Now().Add(writeTime))
		if _, err := w.Write(b); err != nil {
			return false
		}
		return rc.Flush() == nil
	}
	if !send([]byte(": events\n\n")) {
		return
	}
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	poll := time.NewTicker(streamPoll)
	defer poll.Stop()
	for {
		woken := s.notifications.wait()
		if errandOf(r.Context()).take(r.Context()) != nil {
			return
		}
		list, more, err := s.some(r.Context(), query)
		errandOf(r.Context()).leave()
		if err != nil {
			return // the client comes back with Last-Event-ID
		}
		if len(list) > 0 {
			b, err := frames(list)
			if err != nil || !send(b) {
				return
			}
			query.After = list[len(list)-1].Seq
		}
		errandOf(r.Context()).isRead()
		if more || len(list) == streamBatch {
			continue
		}
		if !s.pause(r.Context(), woken, poll.C, beat.C, send) {
			return
		}
	}
}

// pause waits for something to do, and reports false when there is nothing more.
func (s *Server) pause(ctx context.Context, woken <-chan struct{}, poll, beat <-chan time.Time,
	send func([]byte) bool) bool {
	for {
		select {
		case <-woken:
			return true
		case <-poll:
			return true
		case <-beat:
			if !send([]byte(": still here\n\n")) {
				return false
			}
		case <-ctx.Done():
			return false
		case <-s.notifications.done():
			return false
		}
	}
}

// frames writes events as server-sent events. JSON on one line has no line breaks
// that could end a frame early.
func frames(list []phases.Event) ([]byte, error) {
	var b bytes.Buffer
	for i := range list {
		doc, err := json.Marshal(&list[i], json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "id: %d\nevent: belay\ndata: %s\n\n", list[i].Seq, bytes.ReplaceAll(doc, []byte("\n"), nil))
	}
	return b.Bytes(), nil
}

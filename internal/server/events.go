package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Of a stream of events.
const (
	streamBatch = 200                    // events read from the store at once
	streamPoll  = 500 * time.Millisecond // other processes write to the same log
	streamBeat  = 15 * time.Second       // a comment, so that a dead client shows
)

// query reads the parameters of GET /v1/events. Unknown, doubled and malformed
// ones are refused: a filter that is not understood would show too much.
func query(values url.Values) (q kernel.EventQuery, follow bool, err error) {
	for name, v := range values {
		if len(v) != 1 || len(v[0]) > phases.MaxIDBytes {
			return q, false, fmt.Errorf("the parameter %q must be given once and be short", phases.SafeLine(name, 40))
		}
		if err := parameter(&q, &follow, name, v[0]); err != nil {
			return q, false, fmt.Errorf("the parameter %q %w", phases.SafeLine(name, 40), err)
		}
	}
	return q, follow, nil
}

func parameter(q *kernel.EventQuery, follow *bool, name, v string) (err error) {
	switch name {
	case "after":
		q.After, err = sequence(v)
	case "before":
		q.Before, err = sequence(v)
	case "limit":
		var n int64
		if n, err = sequence(v); err == nil && n > kernel.MaxEventLimit {
			err = fmt.Errorf("must be %d at most", kernel.MaxEventLimit)
		}
		q.Limit = int(n)
	case "newest":
		q.Newest, err = boolean(v)
	case "follow":
		*follow, err = boolean(v)
	case "since":
		q.Since, err = instant(v)
	case "until":
		q.Until, err = instant(v)
	case "type":
		q.Type = phases.EventType(v)
	case "except":
		q.Except = phases.EventType(v)
	case "phase":
		if q.Phase = phases.Phase(v); !q.Phase.Valid() {
			err = errors.New("names no phase")
		}
	case "kind":
		q.Kind = phases.Kind(v)
	default:
		text := map[string]*string{"id": &q.ID, "runtime": &q.Runtime, "session": &q.Session, "agent": &q.Agent, "tool": &q.Tool,
			"invocation": &q.Invocation, "binding": &q.Binding, "decision": &q.Decision}
		p, known := text[name]
		if !known {
			return errors.New("is not known")
		}
		*p = v
	}
	return err
}

func sequence(v string) (int64, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, errors.New("must be a whole number")
	}
	return n, nil
}

func boolean(v string) (bool, error) {
	switch v {
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

func instant(v string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return t, errors.New("must be a time in RFC 3339")
	}
	return t, nil
}

// events answers GET /v1/events: a list, or a stream that goes on.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = errors.New("the parameters cannot be read")
	}
	var q kernel.EventQuery
	var follow bool
	if err == nil {
		q, follow, err = query(values)
	}
	last := r.Header.Get("Last-Event-ID")
	if err == nil && last != "" {
		if q.After, err = sequence(last); err != nil {
			err = errors.New("Last-Event-ID must be the number of an event")
		}
	}
	if err != nil {
		s.problem(w, r, http.StatusBadRequest, client.ProblemBody{Code: client.CodeRequest, Message: err.Error()})
		return
	}
	if !follow {
		list, err := s.host.Events(r.Context(), q)
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
		if list == nil {
			list = []phases.Event{}
		}
		s.write(w, r, http.StatusOK, struct {
			Events []phases.Event `json:"events"`
		}{list})
		return
	}
	if s.streams.Add(1) > int64(s.o.Streams) {
		s.streams.Add(-1)
		s.problem(w, r, http.StatusServiceUnavailable, client.ProblemBody{Code: client.CodeOverloaded, Message: "too many are following the events"})
		return
	}
	defer s.streams.Add(-1)
	if !values.Has("after") && last == "" {
		// Without a place to begin, it begins now.
		newest, err := s.host.Events(r.Context(), kernel.EventQuery{Newest: true, Limit: 1})
		if err != nil {
			s.unavailable(w, r, err)
			return
		}
		if len(newest) > 0 {
			q.After = newest[0].Seq
		}
	}
	q.Newest, q.Limit = false, streamBatch
	s.stream(w, r, q)
}

// stream sends events as they come. Nothing is kept for a client: each reads the
// log at its own pace, and one that takes nothing for writeTime is let go.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, q kernel.EventQuery) {
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
		woken := s.news.wait()
		list, err := s.host.Events(r.Context(), q)
		if err != nil {
			return // the client comes back with Last-Event-ID
		}
		if len(list) > 0 {
			b, err := frames(list)
			if err != nil || !send(b) {
				return
			}
			q.After = list[len(list)-1].Seq
		}
		if len(list) == streamBatch {
			continue
		}
		if !s.pause(r.Context(), woken, poll.C, beat.C, send) {
			return
		}
	}
}

// pause waits for something to do, and reports false when there is nothing more.
func (s *Server) pause(ctx context.Context, woken <-chan struct{}, poll, beat <-chan time.Time, send func([]byte) bool) bool {
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
		case <-s.news.done():
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

package front

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

const (
	mostRefusing = 64                     // connections that are being told why at once; others are closed at once
	mostTold     = 16                     // of one user in each second; others are closed at once
	refuseTime   = 250 * time.Millisecond // for the answer, and as long for the rest of the question
	maxRest      = 64 << 10               // bytes of a question that are read and not looked at
	sayEvery     = 10 * time.Second       // how often the log names one user at most
	mostNamed    = 1024                   // users whose last line in the log is remembered
	mostSaid     = 64                     // lines in as long, of all users together
)

// refusals tells callers that they are not served, and the log, which no caller can flood. Safe for concurrent use.
type refusals struct {
	log   *slog.Logger
	told  func(Refusal) // nil: none is told
	slots chan struct{}

	mu      sync.Mutex
	since   time.Time   // of the second in which telling counts
	telling map[int]int // by uid
	named   map[int]*refused
	window  time.Time // since when said counts
	said    int       // lines
	unsaid  int       // refusals without one, and of users who are not remembered
}

type refused struct {
	since time.Time // of the last line in the log
	count int       // after it
}

func newRefusals(log *slog.Logger, told func(Refusal)) *refusals {
	return &refusals{log: log, told: told, slots: make(chan struct{}, mostRefusing), named: map[int]*refused{},
		telling: map[int]int{}}
}

// refuse ends a connection with the reason, without waiting for it.
func (r *refusals) refuse(conn net.Conn, framed bool, uid int, why error) {
	r.say(uid, why)
	if r.told != nil {
		r.told(refusalOf(uid, framed, why))
	}
	if !r.tells(uid) {
		_ = conn.Close()
		return
	}
	select {
	case r.slots <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	go func() {
		defer func() { <-r.slots }()
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(refuseTime))
		if _, err := conn.Write(refusal(framed, why)); err != nil {
			return
		}
		// A client that is still sending would not read the answer if the connection were closed at once.
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_ = conn.SetDeadline(time.Now().Add(refuseTime))
		_, _ = io.CopyN(io.Discard, conn, maxRest)
	}()
}

// tells reports whether a user is told why, and counts it: one who connects without end costs no more than accepting
// that, and keeps no place from another one who is to be told.
func (r *refusals) tells(uid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); now.Sub(r.since) >= time.Second {
		clear(r.telling)
		r.since = now
	}
	r.telling[uid]++
	return r.telling[uid] <= mostTold
}

// refusal is what stands on the connection: a problem, in the form of its socket.
func refusal(framed bool, why error) []byte {
	p := wire.Problem{Error: wire.ProblemBody{Code: wire.CodeForbidden, Message: phases.SafeText(why.Error(), 1<<10),
		Decision: phases.Block}}
	if framed {
		body, err := json.Marshal(wire.FramedProblem{Status: http.StatusForbidden, Problem: p}, json.Deterministic(true))
		if err != nil {
			return nil
		}
		return append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: daemonapi.FrameProblem, Length: len(body)}), body...)
	}
	body, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"Connection: close\r\nCache-Control: no-store\r\n\r\n%s", len(body), body)
}

// say logs a refusal, and of further ones of the same user their number.
func (r *refusals) say(uid int, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.named[uid]
	if of != nil && time.Since(of.since) < sayEvery {
		of.count++
		return
	}
	before := 0
	if of != nil {
		before = of.count
	}
	if time.Since(r.window) >= sayEvery {
		if r.unsaid > 0 {
			r.log.LogAttrs(context.Background(), slog.LevelWarn, "more callers were refused", slog.Int("refused", r.unsaid))
		}
		r.window, r.said, r.unsaid = time.Now(), 0, 0
	}
	if r.said++; r.said > mostSaid { // a flood under many uids
		r.unsaid++
		return
	}
	if len(r.named) >= mostNamed {
		clear(r.named)
	}
	r.named[uid] = &refused{since: time.Now()}
	r.log.LogAttrs(context.Background(), slog.LevelWarn, "a caller was refused", slog.Int("uid", uid),
		slog.String("why", why.Error()), slog.Int("refused_before", before))
}

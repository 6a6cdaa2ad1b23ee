package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/belay-hooks/belay/client/wire"
)

// warnEvery is how often the log says at most that there are too many connections. The
// status warns as long after the last time.
const warnEvery = time.Minute

// limit bounds the connections of a listener by Options.Conns.
func (s *Server) limit(l net.Listener) net.Listener {
	out := newLimited(l, s.o.Conns, s.exhausted)
	s.limits = append(s.limits, out)
	return out
}

// Quiet says how long no connection has been open on any address: 0 while one is. It never blocks for long.
func (s *Server) Quiet() time.Duration {
	last := s.since
	for _, l := range s.limits {
		open, since := l.quietSince()
		if open > 0 {
			return 0
		}
		if since.After(last) {
			last = since
		}
	}
	return time.Since(last)
}

// limitTenant is limit for a listener of the tenant's.
func (s *Server) limitTenant(l net.Listener) net.Listener {
	s.limit(l)
	return s.limits[len(s.limits)-1].paced(s.pace)
}

// exhausted logs that a new connection found no place, or no descriptor.
func (s *Server) exhausted(cause want, err error) {
	now, last := time.Now().UnixNano(), s.warned.Load()
	if now-last < int64(warnEvery) || !s.warned.CompareAndSwap(last, now) {
		return
	}
	text := "all connections are taken: the oldest that idles gives way to a new one"
	if cause == wantsDescriptor {
		text = "no connection can be accepted: the process or the system has no file descriptors or no memory left; the oldest connection that idles is closed"
	}
	c := s.Connections()
	s.log.LogAttrs(context.Background(), slog.LevelWarn, text, slog.Any("error", err), slog.Int("open", c.Open),
		slog.Int64("gave_way", c.GaveWay),
		slog.Int64("found_all_taken", c.Connections), slog.Int64("without_descriptors", c.Descriptors))
}

// Connections says how many connections there are on all addresses, and what became of
// those that were too many since the start. For metrics; it never blocks for long.
func (s *Server) Connections() (sum ConnCounts) {
	for _, l := range s.limits {
		c := l.counted()
		sum.Open += c.Open
		sum.GaveWay += c.GaveWay
		sum.Connections += c.Connections
		sum.Descriptors += c.Descriptors
		if c.Last.After(sum.Last) {
			sum.Last = c.Last
		}
	}
	return sum
}

// tellConnections puts them into a status, with a warning while there are too many.
func (s *Server) tellConnections(out *wire.Status) {
	c := s.Connections()
	out.Daemon.Connections, out.Daemon.GaveWay = c.Open, c.GaveWay
	out.Daemon.Exhausted, out.Daemon.AllTaken, out.Daemon.Descriptors = c.Connections+c.Descriptors, c.Connections,
		c.Descriptors
	out.Daemon.Limit = max(1, s.o.Conns)
	for _, l := range s.limits {
		out.Daemon.Busiest = max(out.Daemon.Busiest, l.counted().Open)
	}
	if !c.Last.IsZero() {
		out.Daemon.ExhaustedMS = max(1, time.Since(c.Last).Milliseconds())
	}
	if c.Last.IsZero() || time.Since(c.Last) > warnEvery {
		return
	}
	what := "connections"
	if c.Descriptors > 0 {
		what = "connections or file descriptors"
	}
	out.Warnings = append(out.Warnings,
		fmt.Sprintf(
			"the daemon ran out of %s within the last minute: %d are open, %d that idled gave way to others since the start",
			what, c.Open, c.GaveWay))
	if out.Health == wire.HealthOK {
		out.Health = wire.HealthDegraded
	}
}

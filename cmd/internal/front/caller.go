package front

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/belay-hooks/belay/internal/system"
)

const (
	// lookEvery is how old an answer of MayAsk gets before the next connection has it looked up anew, and oldest how old
	// before a connection waits for that: users and groups stand in files, and an agent connects for each event.
	lookEvery = time.Second
	oldest    = 3 * time.Second
	// mostCallers are remembered. Who has no server and is not being looked at is forgotten first.
	mostCallers = 4096
)

// caller is what is known of one uid. The front's mutex guards it.
type caller struct {
	uid     int
	config  *system.Config // by which may was looked up; nil: it was not
	at      time.Time      // when
	may     error          // what MayAsk said
	looking bool
	waiting []arrival // for the end of the look
	tenant  *tenant   // nil: has no server
}

// arrival is a connection that was accepted.
type arrival struct {
	conn   net.Conn
	framed bool
}

// tenant is a user whose server is open, or being opened.
type tenant struct {
	http, frames *conduit
	drop         context.CancelFunc
	begins       bool      // had no state directory when the server was begun
	server       Tenant    // nil: not open yet
	resting      bool      // connections wait: the server is being closed because none asks, or that is looked at
	until        time.Time // set: the server could not be opened; connections are refused until then
	why          error
}

// serving reports whether connections can be handed over, or refused, without another try to open a server.
func (t *tenant) serving(now time.Time) bool {
	return t != nil && (t.why == nil || now.Before(t.until))
}

// give hands a connection over, has it wait for what is not known of its user yet, or returns why it is refused.
func (f *Front) give(ctx context.Context, uid int, in arrival) error {
	config, err := f.o.Config()
	if err != nil {
		return because(CodeUnsound, "the machine's belay is not configured as it should be: root finds the reason with `belay system status`")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return because(CodeStopping, "belay is being stopped")
	}
	c := f.caller(uid)
	if c.tenant != nil && c.tenant.resting {
		if len(c.waiting) >= 2*config.Limits.Connections {
			return because(CodeConnections, "all connections of this user are taken: limits.connections of "+system.ConfigFile)
		}
		c.waiting = append(c.waiting, in)
		return nil
	}
	now := time.Now()
	known := c.config == config && now.Sub(c.at) < oldest
	if known && c.may == nil {
		if err := f.held(uid, config); err != nil {
			return err
		}
	}
	if !known || c.may == nil && !c.tenant.serving(now) {
		if len(c.waiting) >= 2*config.Limits.Connections {
			return because(CodeConnections, "all connections of this user are taken: limits.connections of "+system.ConfigFile)
		}
		c.waiting = append(c.waiting, in)
		f.look(ctx, c, config)
		return nil
	}
	if now.Sub(c.at) >= lookEvery {
		f.look(ctx, c, config)
	}
	return f.pass(c, config, in)
}

// pass hands a connection to the user's server, by what is known. Preconditions: f.mu is held.
func (f *Front) pass(c *caller, config *system.Config, in arrival) error {
	if c.may != nil {
		return because(CodeNotAllowed, c.may.Error())
	}
	if err := f.held(c.uid, config); err != nil {
		return err
	}
	t := c.tenant
	switch {
	case t == nil:
		return because(CodeServer, "the server of this user is being stopped")
	case t.why != nil:
		return t.why
	}
	to := t.http
	if in.framed {
		to = t.frames
	}
	if !to.give(in.conn) {
		return because(CodeConnections, "all connections of this user are taken, or their server is being stopped: "+
			"limits.connections of "+system.ConfigFile)
	}
	return nil
}

func (f *Front) held(uid int, config *system.Config) error {
	if f.o.Held == nil {
		return nil
	}
	if err := f.o.Held(uid, config); err != nil {
		return because(CodeSpace, err.Error())
	}
	return nil
}

// caller returns what is known of a uid. Preconditions: f.mu is held.
func (f *Front) caller(uid int) *caller {
	if c := f.callers[uid]; c != nil {
		return c
	}
	if len(f.callers) >= mostCallers {
		f.forget(time.Now())
	}
	c := &caller{uid: uid}
	f.callers[uid] = c
	return c
}

// forget forgets who has no server, is not being looked at and has nothing to wait for. Preconditions: f.mu is held.
func (f *Front) forget(now time.Time) {
	for uid, c := range f.callers {
		if !c.looking && (c.tenant == nil || !c.tenant.serving(now)) {
			delete(f.callers, uid)
		}
	}
}

// look finds out what takes time: whether the user may ask and, where no server is open, whether one can be. Then it
// hands over the connections that wait. Others go on meanwhile. Preconditions: f.mu is held.
func (f *Front) look(ctx context.Context, c *caller, config *system.Config) {
	if c.looking {
		return
	}
	c.looking = true
	f.work.Go(func() {
		may := config.MayAsk(c.uid, f.o.Directory)
		f.mu.Lock()
		opens := may == nil && !f.ending && !c.tenant.serving(time.Now())
		f.mu.Unlock()
		var refused error
		if opens {
			if refused = f.held(c.uid, config); refused == nil {
				refused = f.admit(ctx, c, config)
			}
		}
		f.mu.Lock()
		c.config, c.at, c.may, c.looking = config, time.Now(), may, false
		waiting := c.waiting
		c.waiting = nil
		why := make([]error, len(waiting))
		for i, in := range waiting {
			if why[i] = refused; refused == nil {
				why[i] = f.pass(c, config, in)
			}
		}
		f.mu.Unlock()
		for i, in := range waiting {
			if why[i] != nil {
				f.refusals.refuse(in.conn, in.framed, c.uid, why[i])
			}
		}
	})
}

// admit has a server opened for a user who has none.
func (f *Front) admit(ctx context.Context, c *caller, config *system.Config) error {
	f.admitting.Lock()
	defer f.admitting.Unlock()
	begins := !f.o.Has(c.uid)
	if begins {
		if n, err := f.o.Known(); err != nil || n+f.begun() >= config.Users.Max {
			why := because(CodeUsers, "as many users as may ask have a state directory: users.max of "+system.ConfigFile)
			f.mu.Lock()
			defer f.mu.Unlock()
			c.tenant = &tenant{why: why, until: time.Now().Add(f.o.Retry)} // so that it is not counted for each connection
			return why
		}
	}
	t := &tenant{http: newConduit(f.o.HTTP.Addr(), config.Limits.Connections),
		frames: newConduit(f.o.Frames.Addr(), config.Limits.Connections), begins: begins}
	serving, drop := context.WithCancel(ctx)
	t.drop = drop
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		drop()
		return because(CodeStopping, "belay is being stopped")
	}
	c.tenant = t
	f.work.Go(func() {
		defer drop()
		f.run(serving, c.uid, config, t)
		if serving.Err() == nil || ctx.Err() != nil {
			return
		}
		f.mu.Lock() // dropped: the next connection opens the server again, unless the user is held
		defer f.mu.Unlock()
		if c.tenant == t {
			c.tenant = nil
			f.resume(ctx, c)
		}
	})
	return nil
}

// begun counts the users whose first server is being opened, and who have no state directory yet.
func (f *Front) begun() (n int) {
	f.mu.Lock()
	var begin []int
	for uid, c := range f.callers {
		if c.tenant != nil && c.tenant.why == nil && c.tenant.begins {
			begin = append(begin, uid)
		}
	}
	f.mu.Unlock()
	for _, uid := range begin {
		if !f.o.Has(uid) {
			n++
		}
	}
	return n
}

// run serves a user until the end. A server that cannot be opened, or ends, refuses the user's connections for a while:
// opening it costs more than asking.
func (f *Front) run(ctx context.Context, uid int, config *system.Config, t *tenant) {
	defer t.http.Close()
	defer t.frames.Close()
	server, err := f.o.Open(ctx, uid, config, t.http, t.frames)
	if err == nil {
		f.mu.Lock()
		t.server = server
		f.mu.Unlock()
		err = errors.Join(server.Serve(ctx), server.Close())
	}
	if ctx.Err() != nil {
		return
	}
	f.log.LogAttrs(ctx, slog.LevelError, "the server of a user cannot go on", slog.Int("uid", uid), slog.Any("error", err))
	why := because(CodeServer, "the server of this user cannot be opened: root finds the reason with `belay system status`")
	if held := (*HeldError)(nil); errors.As(err, &held) {
		why = because(CodeSpace, held.Why)
	}
	f.mu.Lock()
	t.why, t.until = why, time.Now().Add(f.o.Retry)
	f.mu.Unlock()
	for _, conn := range t.http.end() {
		f.refusals.refuse(conn, false, uid, why)
	}
	for _, conn := range t.frames.end() {
		f.refusals.refuse(conn, true, uid, why)
	}
}

// HeldError says why no server is opened for a user, in the words that the user reads.
type HeldError struct{ Why string }

// Error implements error.
func (e *HeldError) Error() string { return e.Why }

// Drop ends the server of a user, if it is open. What has begun is decided first.
func (f *Front) Drop(uid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.callers[uid]; c != nil && c.tenant != nil && c.tenant.drop != nil {
		c.tenant.drop()
	}
}

// Users returns the uids whose servers are open, in no order.
func (f *Front) Users() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []int
	for uid, c := range f.callers {
		if c.tenant != nil && c.tenant.why == nil {
			out = append(out, uid)
		}
	}
	return out
}

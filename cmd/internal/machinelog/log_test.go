package machinelog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/front"
	"github.com/belay-hooks/belay/cmd/internal/machinelog"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/kernel"
)

// dir is a state directory whose disk may be full.
type dir struct {
	mu     sync.Mutex
	events []string
	full   bool
	sick   bool // it can be written, and something else is wrong
	closed bool
}

func (d *dir) add(format string, args ...any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full {
		return errors.New("the disk is full")
	}
	d.events = append(d.events, fmt.Sprintf(format, args...))
	return nil
}

func (d *dir) NoteAccess(_ context.Context, a kernel.Access) error {
	return d.add("%s %s %s %d of %d", a.Decision, a.Facts.Code, a.User, a.Facts.Count, a.Facts.UID)
}

func (d *dir) NoteMachine(_ context.Context, decision, _ string, n kernel.MachineNote) error {
	return d.add("%s %s %s", decision, n.Revision, n.Before)
}

func (d *dir) Status(context.Context) (wire.Status, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return wire.Status{Healthy: !d.full && !d.sick}, nil
}

func (d *dir) Close() error { d.closed = true; return nil }

func (d *dir) set(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// taken returns the events since the last call.
func (d *dir) taken() []string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.events
	d.events = nil
	return out
}

func begin(t *testing.T, d *dir, open func() error) (l *machinelog.Log, troubles *[]string, stop func()) {
	t.Helper()
	troubles = new([]string)
	l = machinelog.New(machinelog.Options{Version: "v1", PID: 7, Revision: "r1",
		Name: func(uid int) string { return fmt.Sprintf("u%d", uid) }, Open: func(context.Context) (machinelog.Host, error) {
			if err := open(); err != nil {
				return nil, err
			}
			return d, nil
		}, Trouble: func(why string) { *troubles = append(*troubles, why) }})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	return l, troubles, func() { cancel(); <-done }
}

func opens() error { return nil }

// Start and end, refused callers, users who come, are held and served again, and changes of system.yaml are events,
// each of them once.
func TestWhatIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dir{}
		l, troubles, stop := begin(t, d, opens)
		want := func(what string, events ...string) {
			t.Helper()
			if got := d.taken(); !slices.Equal(got, events) {
				t.Errorf("%s: %q, want %q", what, got, events)
			}
		}
		want("start", "started r1 ")
		l.Refused(front.Refusal{UID: 1503, Code: front.CodeNotAllowed, Socket: "belay.sock", Why: "not listed"})
		want("the first refusal", "refused not_allowed u1503 1 of 1503")
		for range 5 {
			l.Refused(front.Refusal{UID: 1503, Code: front.CodeNotAllowed, Socket: "belay.sock", Why: "not listed"})
		}
		want("more of them")
		time.Sleep(time.Minute + time.Second)
		want("a minute later", "refused not_allowed u1503 5 of 1503")
		l.Refused(front.Refusal{UID: -1, Code: front.CodePeer})
		want("without a uid", "refused peer  1 of -1")
		l.Began(1501)
		want("a user comes", "began began u1501 1 of 1501")
		l.Served(1501)
		want("served as before")
		l.Held(1501, errors.New("512 MiB"))
		want("held", "held held u1501 1 of 1501")
		l.Refused(front.Refusal{UID: 1501, Code: front.CodeSpace})
		want("and refused", "refused space u1501 1 of 1501")
		l.Served(1501)
		l.Served(1501)
		want("served again", "served served u1501 1 of 1501")
		l.Believes(&system.Config{Revision: "r1"}, nil)
		want("the same file")
		l.Believes(&system.Config{Revision: "r2"}, nil)
		want("changed", "believed r2 r1")
		l.Believes(nil, errors.New("not root's"))
		l.Believes(nil, errors.New("not root's"))
		want("not believed", "not_believed  ")
		l.Believes(&system.Config{Revision: "r2"}, nil)
		want("believed again", "believed r2 ")
		if n := l.Refusals(); n[front.CodeNotAllowed] != 6 || n[front.CodePeer] != 1 || len(n) != len(front.Codes()) {
			t.Errorf("%v", n)
		}
		l.Refused(front.Refusal{UID: 1503, Code: front.CodeNotAllowed, Socket: "belay.sock", Why: "not listed"})
		stop()
		want("the end", "refused not_allowed u1503 1 of 1503", "stopped  ")
		if !d.closed || len(*troubles) != 0 {
			t.Errorf("closed %t, %q", d.closed, *troubles)
		}
	})
}

// While the log cannot be opened or written, that shows, nothing is lost, and memory is bounded.
func TestALogThatCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dir{}
		var away sync.Mutex
		bad := errors.New("it is not belay's")
		l, troubles, stop := begin(t, d, func() error {
			away.Lock()
			defer away.Unlock()
			return bad
		})
		for n := range 500 {
			l.Refused(front.Refusal{UID: 1503, Code: front.CodeNotAllowed, Socket: "belay.sock"})
			l.Believes(&system.Config{Revision: fmt.Sprint("r", n)}, nil)
			time.Sleep(100 * time.Millisecond)
		}
		if got := l.Problem(); got != "it is not belay's" || len(d.taken()) != 0 {
			t.Errorf("%q", got)
		}
		away.Lock()
		bad = nil
		away.Unlock()
		time.Sleep(3 * time.Second)
		got := d.taken()
		if len(got) > 40 || !slices.Contains(got, "refused not_allowed u1503 500 of 1503") || got[0] != "started r1 " ||
			!slices.ContainsFunc(got, func(e string) bool { return strings.HasPrefix(e, "believed r499 ") }) {
			t.Errorf("%d: %q", len(got), got)
		}
		if l.Problem() != "" {
			t.Errorf("%q", l.Problem())
		}
		d.set(true)
		time.Sleep(10 * time.Second) // with nothing to write
		if l.Problem() == "" {
			t.Error("a full disk does not show")
		}
		d.set(false)
		time.Sleep(10 * time.Second)
		stop()
		if want := []string{"it is not belay's", "", "it is not healthy", ""}; !slices.Equal(*troubles, want) {
			t.Errorf("%q", *troubles)
		}
	})
}

// A write that succeeds does not end what else is wrong with the state directory: it is told once.
func TestWritesDoNotHideWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dir{sick: true}
		l, troubles, stop := begin(t, d, opens)
		for uid := range 5 {
			time.Sleep(6 * time.Second)
			l.Began(1501 + uid)
			if synctest.Wait(); l.Problem() == "" {
				t.Errorf("user %d: nothing is wrong", uid)
			}
		}
		stop()
		if want := []string{"it is not healthy"}; !slices.Equal(*troubles, want) {
			t.Errorf("%q", *troubles)
		}
	})
}

package server_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// slowHost takes its time before it decides.
type slowHost struct {
	server.Host
	begun chan struct{}
	wait  func(ctx context.Context)
}

func (h *slowHost) InvokeWith(ctx context.Context, inv phases.Invocation,
	o kernel.InvokeOptions) (phases.Verdict, error) {
	h.begun <- struct{}{}
	h.wait(ctx)
	return h.Host.InvokeWith(ctx, inv, o)
}

// A daemon that ends blocks and records its undecided actions: by their own end
// when they obey their context, else by a note.
func TestUndecidedActionsAreBlockedAndRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		ends  bool
		notes int
	}{"ends with its context": {true, 0}, "never ends": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			hang := make(chan struct{})
			defer close(hang)
			h := &slowHost{begun: make(chan struct{}, 1), wait: func(ctx context.Context) {
				if c.ends {
					<-ctx.Done()
					return
				}
				<-hang
			}}
			d := startDaemon(t, withServer(func(o *server.Options) { o.Drain = time.Second }),
				withHost(func(in server.Host) server.Host { h.Host = in; return h }))
			answered := make(chan phases.Verdict, 1)
			go func() {
				v, _ := dial(t, d.dir).Invoke(context.Background(), invocation("late", "ls"))
				answered <- v
			}()
			<-h.begun
			start := time.Now()
			d.stop(t)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("ended after %v", took)
			}
			if v := <-answered; v.Decision != phases.Block {
				t.Errorf("answered %v", v)
			}
			left, _ := notes.Read(filepath.Join(d.dir, notes.SpoolName))
			if c.notes == 0 {
				left = nil // there is no file
			}
			if len(left) != c.notes || c.notes == 1 && (left[0].Session != "late" || left[0].Kind != phases.KindDeadline) {
				t.Errorf("notes: %v", left)
			}
			all, err := d.host.Events(t.Context(), wire.Query{Session: "late", Limit: 10})
			if err != nil || c.ends && (len(all) == 0 || all[0].Decision != string(phases.Block)) {
				t.Errorf("logged: %v, %v", all, err)
			}
		})
	}
}

// The note of a runtime's event says that the daemon was stopped and of which phases the
// event is: the next process frees its session if no hook would have judged it.
func TestNoteOfAStoppedDaemonSaysItsCause(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	h := &slowHost{begun: make(chan struct{}, 1), wait: func(context.Context) { <-hang }}
	d := startDaemon(t, withServer(func(o *server.Options) { o.Drain = time.Second }),
		withHost(func(in server.Host) server.Host { h.Host = in; return h }))
	go func() {
		resp, err := d.overSocket().Post("http://belay/adapters/claude-code?event=SessionStart", "application/json",
			strings.NewReader(claude("s-1", "SessionStart")))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-h.begun
	d.stop(t)
	left, _ := notes.Read(filepath.Join(d.dir, notes.SpoolName))
	if len(left) != 1 || !left[0].Unblockable || left[0].Cause != phases.LatchStopped ||
		!slices.Equal(left[0].Phases, []phases.Phase{phases.PrePlan}) {
		t.Fatalf("notes: %+v", left)
	}
	if st, err := d.host.Status(t.Context()); err != nil || len(st.Latches) != 0 {
		t.Errorf("latched for good: %+v, %v", st.Latches, err)
	}
}

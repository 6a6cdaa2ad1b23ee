package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func openOne(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "belay.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A caller may lose the connection, or a read, between the moment in which the writer finds the log long and the one in
// which it moves it.
func TestTheLogIsMovedWithoutAConnection(t *testing.T) {
	s := openOne(t)
	if _, err := s.Commit(t.Context(), many(0, 3)); err != nil {
		t.Fatal(err)
	}
	s.writes.busy.Lock()
	s.writes.lose()
	s.writes.busy.Unlock()
	s.writes.checkpoint()
	if _, err := s.Commit(t.Context(), many(3, 3)); err != nil {
		t.Error(err)
	}
}

// The kernel survives a panic. A caller that panics in the middle of a commit leaves no transaction behind in which
// others would read what was never committed, and that would keep other processes out.
func TestAPanicOfACallerUndoesItsTransaction(t *testing.T) {
	s := openOne(t)
	session := wire.Session{Runtime: "r", Session: "s"}
	latch := many(0, 1)
	latch.Latch = &kernel.Latch{Runtime: session.Runtime, Session: session.Session, Reason: "held"}
	if _, err := s.Commit(t.Context(), latch); err != nil {
		t.Fatal(err)
	}
	panics := func(call func(func(*conn) error), f func(*conn)) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Error("the panic is not passed on")
			}
		}()
		call(func(c *conn) error {
			f(c)
			panic("in the middle")
		})
	}
	write := func(work func(*conn) error) { _ = s.do(t.Context(), "change", work) }
	read := func(work func(*conn) error) { _ = s.read(t.Context(), "read", work) }
	for name, f := range map[string]func(){
		"a commit": func() {
			panics(write, func(c *conn) {
				if err := c.exec("DELETE FROM latches"); err != nil {
					t.Error(err)
				}
			})
		},
		"a read": func() {
			panics(read, func(c *conn) {
				if err := c.exec("BEGIN"); err != nil {
					t.Error(err)
				}
			})
		},
	} {
		f()
		if l, err := s.Latch(t.Context(), session); err != nil || l == nil {
			t.Errorf("after %s: %v, %v", name, l, err)
		}
		b := many(1+len(name), 1)
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// A reader that gives up in the middle, or finds rows that cannot be decoded, says nothing about the connection that it
// had lent: to open the database anew takes a sync and waits for the readers of other processes.
func TestAReadThatFailsLeavesTheWriterItsConnection(t *testing.T) {
	s := openOne(t)
	if _, err := s.Commit(t.Context(), many(0, 1)); err != nil {
		t.Fatal(err)
	}
	for _, cause := range []error{context.Canceled, kernel.ErrTampered, errors.New("not JSON")} {
		before := s.writes.conn
		if err := s.readRows(t.Context(), "read", func(*view) error { return cause }); !errors.Is(err, cause) {
			t.Fatal(err)
		}
		if s.writes.conn != before || before == nil {
			t.Errorf("%v: the writer has lost its connection", cause)
		}
	}
	wrong := func(c *conn) error { return c.exec("SELECT nothing") }
	if err := s.read(t.Context(), "read", wrong); err == nil || s.writes.conn != nil {
		t.Errorf("after %v the connection is kept", err)
	}
	if _, err := s.RunState(t.Context(), phases.RunKey{Runtime: "r", Session: "s", Run: "x"}, many(0, 0).Now); err != nil {
		t.Error(err)
	}
}

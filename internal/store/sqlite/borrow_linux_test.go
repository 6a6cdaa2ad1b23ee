package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
)

// A process that reads little and writes once opens the database once. One that goes on has a connection that
// only reads, and a reader that finds rows changed leaves the writer its own.
func TestFirstReadsOpenNoConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	session := wire.Session{Runtime: "r", Session: "s-1"}
	read := func() {
		t.Helper()
		if _, err := s.Events(t.Context(), wire.Query{Newest: true, Limit: 1}); err != nil {
			t.Fatal(err)
		}
		if l, err := s.Latch(t.Context(), session); err != nil || (l == nil) {
			t.Fatalf("%v, %v", l, err)
		}
	}
	b := batch("a")
	b.Latch = &kernel.Latch{Runtime: session.Runtime, Session: session.Session, Reason: "x"}
	if _, err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		read()
	}
	if n := opened(t, path); n != 1 {
		t.Errorf("%d connections for the first reads", n)
	}
	if _, err := s.LogLeaves(t.Context(), 0, 10); err != nil { // which may take long
		t.Fatal(err)
	}
	if n := opened(t, path); n != 2 {
		t.Errorf("%d connections once much was read", n)
	}
	for range 100 {
		read()
	}
	if _, err := s.Commit(t.Context(), batch("b")); err != nil {
		t.Fatal(err)
	}
	if n := opened(t, path); n != 2 {
		t.Errorf("%d connections later", n)
	}
}

// opened is how many descriptors of the process lead to the file.
func opened(t *testing.T, path string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && to == path {
			n++
		}
	}
	return n
}

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/sqlite"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// The test binary runs itself as a second process that writes until it is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("BELAY_TEST_WRITER"); path != "" {
		if err := writeEvents(path, os.Getenv("BELAY_TEST_NAME"), os.Getenv("BELAY_TEST_COUNT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv("BELAY_TEST_CLAIMER"); path != "" {
		n, err := strconv.Atoi(os.Getenv("BELAY_TEST_COUNT"))
		taken, cerr := claimAll(path, os.Getenv("BELAY_TEST_NAME"), n)
		if err = errors.Join(err, cerr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(taken)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// writeEvents commits count events (forever when it is 0) and prints each acknowledged id.
func writeEvents(path, name, count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	s, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	for i := 0; n == 0 || i < n; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		if _, err := s.Commit(context.Background(), batch(id)); err != nil {
			return err
		}
		fmt.Println(id)
	}
	return nil
}

func batch(ids ...string) kernel.Batch {
	b := kernel.Batch{Now: storetest.T0}
	for _, id := range ids {
		b.Events = append(b.Events, phases.Event{ID: id, Type: phases.EventVerdict, Time: storetest.T0})
	}
	return b
}

func writer(t *testing.T, path, name string, count int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), "BELAY_TEST_WRITER="+path, "BELAY_TEST_NAME="+name,
		"BELAY_TEST_COUNT="+strconv.Itoa(count))
	c.Stderr = os.Stderr
	return c
}

func open(t *testing.T, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func allIDs(t *testing.T, s kernel.Store) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	after := int64(0)
	for {
		es, err := s.Events(t.Context(), wire.Query{After: after, Limit: wire.MaxLimit})
		if err != nil {
			t.Fatalf("Events: %v", err)
		}
		if len(es) == 0 {
			return out
		}
		for _, e := range es {
			if e.Seq != after+1 {
				t.Fatalf("event %d follows event %d", e.Seq, after)
			}
			out[e.ID], after = true, e.Seq
		}
	}
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) kernel.Store {
		return open(t, filepath.Join(t.TempDir(), "belay.db"), sqlite.Options{})
	})
}

// A process that is killed while it writes loses nothing that was acknowledged.
func TestKilledWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	acknowledged := map[string]bool{}
	for round := range 3 {
		c := writer(t, path, fmt.Sprintf("round%d", round), 0)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(out)
		for n := 0; sc.Scan(); n++ {
			acknowledged[sc.Text()] = true
			if n == 40 {
				c.Process.Kill() // lines still in the pipe were acknowledged, too
			}
		}
		c.Wait()
	}
	if len(acknowledged) < 3*40 {
		t.Fatalf("only %d events were acknowledged", len(acknowledged))
	}
	s := open(t, path, sqlite.Options{})
	stored := allIDs(t, s)
	for id := range acknowledged {
		if !stored[id] {
			t.Errorf("event %s was acknowledged and is lost", id)
		}
	}
	if n := storetest.CheckLog(t, s); n != int64(len(stored)) {
		t.Errorf("%d leaves and %d events", n, len(stored))
	}
}

// Several processes create and fill one database together.
func TestSeveralProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	const processes, each = 4, 25
	var cmds []*exec.Cmd
	for i := range processes {
		c := writer(t, path, "p"+strconv.Itoa(i), each)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, c)
	}
	for _, c := range cmds {
		if err := c.Wait(); err != nil {
			t.Errorf("a writer failed: %v", err)
		}
	}
	s := open(t, path, sqlite.Options{})
	if n := len(allIDs(t, s)); n != processes*each {
		t.Errorf("%d events, want %d", n, processes*each)
	}
	if n := storetest.CheckLog(t, s); n != processes*each {
		t.Errorf("one tree of %d leaves, want %d", n, processes*each)
	}
}

func TestFileModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	// A database that was made readable to others is made private again.
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{})
	if _, err := s.Commit(t.Context(), batch("a")); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		fi, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", fi.Name(), fi.Mode())
		}
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Open of a missing file: %v, want ErrUnavailable", err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("opening for reading created a file: %v", err)
	}
	rw := open(t, path, sqlite.Options{})
	if _, err := rw.Commit(t.Context(), batch("a")); err != nil {
		t.Fatal(err)
	}
	ro := open(t, path, sqlite.Options{ReadOnly: true})
	if ids := allIDs(t, ro); !ids["a"] {
		t.Errorf("events seen by the reader: %v", ids)
	}
	if _, err := ro.Commit(t.Context(), batch("b")); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Commit: %v, want ErrUnavailable", err)
	}
	if _, err := rw.Commit(t.Context(), batch("c")); err != nil {
		t.Fatal(err)
	}
	if ids := allIDs(t, ro); !ids["c"] {
		t.Errorf("the reader does not see what was written after it opened: %v", ids)
	}
}

func TestForeignDatabases(t *testing.T) {
	for name, sql := range map[string]string{
		"another program's": "CREATE TABLE t (x); PRAGMA application_id = 1",
		"unmarked":          "CREATE TABLE t (x)",
		"of the future":     "PRAGMA application_id = 0x62656c79; PRAGMA user_version = 9999",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "belay.db")
			c, err := sqlite3.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Exec(sql); err != nil {
				t.Fatal(err)
			}
			c.Close()
			if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, kernel.ErrUnavailable) {
				t.Errorf("Open: %v, want ErrUnavailable", err)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "belay.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database\n", 400)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, kernel.ErrUnavailable) {
		t.Errorf("Open of text: %v, want ErrUnavailable", err)
	}
}

// While another process holds the write lock a commit waits; one whose caller
// gives up before the writer has taken it is never written.
func TestGivenUpCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "belay.db")
	s := open(t, path, sqlite.Options{})
	c, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() { // occupies the writer
		_, err := s.Commit(context.Background(), batch("first"))
		first <- err
	}()
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = s.Commit(ctx, batch("second"))
	if !errors.Is(err, kernel.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Commit: %v, want ErrUnavailable by the deadline", err)
	}
	if err := c.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-first; err != nil {
		t.Errorf("the waiting commit: %v", err)
	}
	if ids := allIDs(t, s); !ids["first"] || ids["second"] {
		t.Errorf("events: %v, want only the first", ids)
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, parallel := range []int{1, 64} {
		b.Run(strconv.Itoa(parallel), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "belay.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.SetParallelism(parallel)
			var n = make(chan int, 1)
			n <- 0
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := <-n
					n <- i + 1
					if _, err := s.Commit(context.Background(), batch(strconv.Itoa(i))); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

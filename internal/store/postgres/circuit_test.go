package postgres

import (
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/store/marked"
)

// asked sends a request to a writer that does nothing, and returns what its caller is told.
func asked(t *testing.T, s *Store, r *request) <-chan error {
	t.Helper()
	told, queued := make(chan error, 1), len(s.requests)
	go func() { told <- s.submit(t.Context(), r) }()
	for range 1000 {
		if len(s.requests) > queued || len(told) > 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return told
}

func wantTold(t *testing.T, what string, told <-chan error, want error) {
	t.Helper()
	select {
	case err := <-told:
		if !errors.Is(err, want) {
			t.Errorf("%s is told %v", what, err)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("%s waits", what)
	}
}

func wantWaits(t *testing.T, what string, told <-chan error) {
	t.Helper()
	select {
	case err := <-told:
		t.Errorf("%s is told %v", what, err)
	case <-time.After(20 * time.Millisecond):
	}
}

// While the database is away, a caller whose request is not begun is told at once, and the writer skips the request.
// One whose request is begun waits for what comes of it. A recovery waits for the database.
func TestCallersBehindADatabaseThatIsAway(t *testing.T) {
	s := &Store{requests: make(chan *request, 8)}
	s.writes = &writer{store: s}
	gone := errors.New("gone")
	begun, behind := &request{}, &request{}
	first := asked(t, s, begun)
	if !begun.take() {
		t.Fatal("the writer is not the first")
	}
	second := asked(t, s, behind)
	wantWaits(t, "one behind it", second)
	s.circuit.open(errors.New("the first reason"))
	s.circuit.open(gone)
	select {
	case err := <-second:
		if err == nil || behind.take() {
			t.Errorf("one behind it is told %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("one behind it waits")
	}
	queued := len(s.requests)
	wantTold(t, "one that comes later", asked(t, s, &request{}), gone)
	if len(s.requests) != queued {
		t.Error("what is refused is in the queue")
	}
	recovers := asked(t, s, &request{recover: &marked.Plan{}})
	wantWaits(t, "one who recovers", recovers)
	wantWaits(t, "one whose request is begun", first)
	begun.err = nil
	close(begun.done)
	wantTold(t, "one whose request is begun", first, nil)

	s.circuit.shut()
	wantWaits(t, "one that comes when it is back", asked(t, s, &request{}))
}

// What a server says without being asked shows without reading it, and so does the end of the connection.
func TestWhatAServerSaysUnasked(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if heard(c) {
		t.Error("it hears a server that says nothing")
	}
	if _, err := server.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if b := make([]byte, 1); !heard(c) {
		t.Error("it does not hear what the server says")
	} else if n, err := c.Read(b); n != 1 || err != nil || b[0] != 'x' || heard(c) {
		t.Errorf("it reads %q, %v", b, err)
	}
	read, asked := make(chan int, 1), make(chan bool, 1)
	go func() { // as the client library does after a write that took long
		n, _ := c.Read(make([]byte, 1))
		read <- n
	}()
	time.Sleep(20 * time.Millisecond)
	go func() { asked <- heard(c) }()
	select {
	case something := <-asked:
		if something {
			t.Error("it hears a server that says nothing")
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it waits for who reads")
	}
	if _, err := server.Write([]byte("y")); err != nil || <-read != 1 {
		t.Error(err)
	}
	server.Close()
	if !heard(c) {
		t.Error("it does not hear that the server has closed the connection")
	}
}

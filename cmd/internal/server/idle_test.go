package server

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serve answers each request when it is let go; "/now" at once.
func serve(t *testing.T, most int) (l *limitedListener, warned *atomic.Int64, letGo chan struct{}) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	warned, letGo = new(atomic.Int64), make(chan struct{})
	l = newLimited(inner, most, func(want, error) { warned.Add(1) })
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/now" {
			<-letGo
		}
		_, _ = io.WriteString(w, "well")
	}))
	s.Listener.Close()
	s.Listener = l
	s.Config.ConnState = connState
	s.Start()
	t.Cleanup(s.Close)
	return l, warned, letGo
}

func ask(t *testing.T, c *http.Client, l *limitedListener, path string) error {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.ReadAll(resp.Body)
	return err
}

func caller(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// Callers that keep their connections take none away from those who come later.
func TestTheOldestIdleGivesWay(t *testing.T) {
	l, warned, _ := serve(t, 2)
	callers := []*http.Client{caller(t), caller(t), caller(t), caller(t)}
	for n, c := range callers {
		if err := ask(t, c, l, "/now"); err != nil {
			t.Fatalf("caller %d: %v", n, err)
		}
	}
	if got := l.counted(); got.Open != 2 || got.GaveWay != 2 || got.Connections != 2 || got.Last.IsZero() ||
		warned.Load() != 2 {
		t.Errorf("%+v, %d warnings", got, warned.Load())
	}
	if err := ask(t, callers[3], l, "/now"); err != nil || l.counted().GaveWay != 2 {
		t.Errorf("the newest has given way: %v, %+v", err, l.counted())
	}
}

// A connection on which something was asked is never ended: who comes later waits.
func TestWhatIsAskedIsAnswered(t *testing.T) {
	l, _, letGo := serve(t, 2)
	answers := make(chan error, 4)
	for range 4 {
		c := caller(t)
		go func() { answers <- ask(t, c, l, "/") }()
	}
	for until := time.Now().Add(10 * time.Second); l.counted().Connections == 0 &&
		time.Now().Before(until); time.Sleep(time.Millisecond) {
	}
	time.Sleep(20 * time.Millisecond)
	if got := l.counted(); got.Open != 2 || got.GaveWay != 0 {
		t.Errorf("%+v", got)
	}
	for range 4 {
		letGo <- struct{}{}
	}
	for range 4 {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
}

// Who connects and asks nothing keeps its place for a second, while others want it.
func TestWhoAsksNothingGivesWay(t *testing.T) {
	l, _, _ := serve(t, 2)
	for range 2 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if err := ask(t, caller(t), l, "/now"); err != nil {
		t.Fatal(err)
	}
	if got := l.counted(); got.GaveWay != 1 {
		t.Errorf("%+v", got)
	}
}

// scripted is a listener whose Accept fails as it is told.
type scripted struct {
	net.Listener
	fails []error
	calls int
}

func (s *scripted) Accept() (net.Conn, error) {
	if s.calls++; s.calls <= len(s.fails) {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", s.fails[s.calls-1])}
	}
	a, _ := net.Pipe()
	return a, nil
}

func (s *scripted) Close() error { return nil }

// Without descriptors or memory Accept waits, warns and goes on. Other errors are its own.
func TestAcceptGoesOnWithoutDescriptors(t *testing.T) {
	var warned []error
	l := newLimited(&scripted{fails: []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}}, 1,
		func(c want, err error) {
			if c == wantsDescriptor {
				warned = append(warned, err)
			}
		})
	if _, err := l.Accept(); err != nil || len(warned) != 4 || l.counted().Descriptors != 4 {
		t.Errorf("%v, warned %v, %+v", err, warned, l.counted())
	}
	l = newLimited(&scripted{fails: []error{syscall.EINVAL}}, 1, func(want, error) { t.Error("warned") })
	if _, err := l.Accept(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("%v", err)
	}
}

// Close ends an Accept that waits for a place or for a descriptor.
func TestCloseEndsAccept(t *testing.T) {
	for name, inner := range map[string]*scripted{"a place": {}, "a descriptor": {fails: make([]error, 1000)}} {
		t.Run(name, func(t *testing.T) {
			for n := range inner.fails {
				inner.fails[n] = syscall.EMFILE
			}
			l := newLimited(inner, 1, func(want, error) {})
			if len(inner.fails) == 0 {
				c, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				connState(c, http.StateActive)
			}
			ended := make(chan error, 1)
			go func() { _, err := l.Accept(); ended <- err }()
			time.Sleep(10 * time.Millisecond)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("Accept does not end")
			}
		})
	}
}

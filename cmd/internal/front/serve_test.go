package front_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/front"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/system"
)

// echo is a server that answers each line with its user's uid and the line.
type echo struct {
	uid   int
	ls    []net.Listener
	conns atomic.Int64
	since atomic.Int64 // when the last connection ended, ns
	// how long the end of Serve takes
	lingers time.Duration
	breaks  chan struct{} // closed: it ends by itself
}

// Quiet implements front.Tenant.
func (e *echo) Quiet() time.Duration {
	if e.conns.Load() > 0 {
		return 0
	}
	return time.Since(time.Unix(0, e.since.Load()))
}

func (e *echo) Serve(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range e.ls {
		all.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				e.conns.Add(1)
				go func() {
					defer func() {
						_ = c.Close()
						e.since.Store(time.Now().UnixNano())
						e.conns.Add(-1)
					}()
					for in := bufio.NewScanner(c); in.Scan(); {
						fmt.Fprintf(c, "%d %s\n", e.uid, in.Text())
					}
				}()
			}
		})
	}
	var err error
	select {
	case <-ctx.Done():
	case <-e.breaks:
		err = errors.New("it broke")
	}
	for _, l := range e.ls {
		_ = l.Close()
	}
	all.Wait()
	time.Sleep(e.lingers)
	return err
}

func (e *echo) Close() error { return nil }

// rig is a front whose callers say in their first connection's name who they are.
type rig struct {
	dir     string
	uid     atomic.Int64 // of the next connections
	config  atomic.Pointer[system.Config]
	opened  atomic.Int64
	users   sync.Map // uid -> true: has a state directory
	servers sync.Map // uid -> *echo, the newest
	fail    atomic.Bool
	silent  atomic.Bool                   // servers accept nothing
	slow    atomic.Pointer[chan struct{}] // when not nil: no server opens before it is closed
	held    atomic.Bool                   // of user 1000
	lingers atomic.Int64                  // ns that the end of a server takes
	front   *front.Front
}

func start(t *testing.T) *rig { return startWith(t, func(*front.Options) {}) }

func startWith(t *testing.T, change func(*front.Options)) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "front") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{dir: dir}
	c, err := system.Parse([]byte("version: belay-system/v1\nusers: {max: 3}\nlimits: {connections: 4}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.config.Store(c)
	listen := func(name string) net.Listener {
		l, err := net.Listen("unix", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	options := front.Options{HTTP: listen(daemonapi.SocketName), Frames: listen(daemonapi.FrameSocketName),
		Config: func() (*system.Config, error) {
			if c := r.config.Load(); c != nil {
				return c, nil
			}
			return nil, errors.New("not to be believed")
		},
		Open: func(_ context.Context, uid int, _ *system.Config, http, frames net.Listener) (front.Tenant, error) {
			r.opened.Add(1)
			if slow := r.slow.Load(); slow != nil {
				<-*slow
			}
			if r.fail.Load() {
				return nil, errors.New("broken")
			}
			r.users.Store(uid, true)
			e := &echo{uid: uid, ls: []net.Listener{http, frames}, breaks: make(chan struct{})}
			e.since.Store(time.Now().UnixNano())
			r.servers.Store(uid, e)
			e.lingers = time.Duration(r.lingers.Load())
			if r.silent.Load() {
				e.ls = nil
			}
			return e, nil
		},
		Known: func() (n int, err error) { r.users.Range(func(any, any) bool { n++; return true }); return n, nil },
		Has:   func(uid int) bool { _, ok := r.users.Load(uid); return ok },
		Held: func(uid int, _ *system.Config) error {
			if uid == 1000 && r.held.Load() {
				return errors.New("no space")
			}
			return nil
		},
		Retry: 30 * time.Millisecond,
		Peer:  func(syscall.Conn) (int, error) { return int(r.uid.Load()), nil },
	}
	change(&options)
	f := front.New(options)
	r.front = f
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Error("the front does not end")
		}
		os.RemoveAll(dir)
	})
	return r
}

// quiet is how long a user's server has had no connection.
func (r *rig) quiet(uid int) time.Duration {
	e, ok := r.servers.Load(uid)
	if !ok {
		return 0
	}
	return e.(*echo).Quiet()
}

// ask sends a line as a user, over one of the sockets, and returns what comes back.
func (r *rig) ask(t *testing.T, uid int, socket, line string) string {
	t.Helper()
	c := r.dial(t, uid, socket)
	defer c.Close()
	_, _ = io.WriteString(c, line+"\n")
	in := bufio.NewReader(c)
	if got, err := in.Peek(1); err == nil && got[0] == daemonapi.FrameMagic || strings.HasPrefix(string(got), "H") {
		rest, _ := io.ReadAll(in) // a refusal is the last thing on its connection
		return string(rest)
	}
	got, _ := in.ReadString('\n')
	return got
}

func (r *rig) dial(t *testing.T, uid int, socket string) net.Conn {
	t.Helper()
	r.uid.Store(int64(uid))
	c, err := net.Dial("unix", filepath.Join(r.dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	return c
}

// Each user's connections, on both sockets, come to the server of that user, which is opened once.
func TestEachUserHasAServer(t *testing.T) {
	r := start(t)
	for range 3 {
		for _, uid := range []int{1000, 1001} {
			for _, socket := range []string{daemonapi.SocketName, daemonapi.FrameSocketName} {
				if got := r.ask(t, uid, socket, "hello"); got != strconv.Itoa(uid)+" hello\n" {
					t.Errorf("uid %d: %q", uid, got)
				}
			}
		}
	}
	if n := r.opened.Load(); n != 2 {
		t.Errorf("%d servers were opened", n)
	}
}

// Who may not ask is told why, in the form of the socket, and no server is opened for them.
func TestRefused(t *testing.T) {
	r := start(t)
	for _, c := range []struct {
		uid    int
		config *system.Config
		says   string
	}{
		{999, r.config.Load(), "no ordinary user"},
		{system.OverflowUID(), r.config.Load(), "no uid on this machine"},
		{1000, nil, "not configured as it should be"},
	} {
		r.config.Store(c.config)
		for _, socket := range []string{daemonapi.SocketName, daemonapi.FrameSocketName} {
			got := r.ask(t, c.uid, socket, "hello")
			if !strings.Contains(got, c.says) || !strings.Contains(got, `"decision":"block"`) ||
				(socket == daemonapi.SocketName) != strings.HasPrefix(got, "HTTP/1.1 403 Forbidden\r\n") {
				t.Errorf("uid %d on %s: %q, want %s", c.uid, socket, got, c.says)
			}
		}
	}
	if n := r.opened.Load(); n != 0 {
		t.Errorf("%d servers were opened", n)
	}
}

// No more users get a state directory than system.yaml says; those who have one are served.
func TestUsersAreBounded(t *testing.T) {
	r := start(t)
	for uid := 1000; uid < 1005; uid++ {
		got := r.ask(t, uid, daemonapi.SocketName, "hello")
		if served := strings.HasPrefix(got, strconv.Itoa(uid)); served != (uid < 1003) {
			t.Errorf("uid %d: %q", uid, got)
		}
	}
	if got := r.ask(t, 1001, daemonapi.SocketName, "again"); got != "1001 again\n" {
		t.Errorf("%q", got)
	}
}

// Users who come at the same time count, too, before any of them has a state directory.
func TestUsersWhoComeAtOnceAreBounded(t *testing.T) {
	r := start(t)
	slow := make(chan struct{})
	r.slow.Store(&slow)
	var waiting []net.Conn
	for uid := 1000; uid < 1003; uid++ {
		c := r.dial(t, uid, daemonapi.SocketName)
		defer c.Close()
		waiting = append(waiting, c)
		for deadline := time.Now().Add(5 * time.Second); int(r.opened.Load()) < len(waiting); {
			if time.Now().After(deadline) {
				t.Fatal("no server is opened")
			}
			time.Sleep(time.Millisecond)
		}
	}
	if got := r.ask(t, 1003, daemonapi.SocketName, "hello"); !strings.Contains(got, "users.max") {
		t.Errorf("%q", got)
	}
	close(slow)
	for i, c := range waiting {
		_, _ = io.WriteString(c, "hello\n")
		if got, _ := bufio.NewReader(c).ReadString('\n'); got != strconv.Itoa(1000+i)+" hello\n" {
			t.Errorf("%d: %q", i, got)
		}
	}
}

// A user whose server takes no connection has theirs refused when the places are taken. Others are served meanwhile.
func TestOneUserKeepsNoOtherWaiting(t *testing.T) {
	r := start(t)
	if got := r.ask(t, 1001, daemonapi.SocketName, "hello"); got != "1001 hello\n" {
		t.Fatalf("%q", got)
	}
	r.silent.Store(true)
	full := ""
	for range 50 {
		c := r.dial(t, 1000, daemonapi.SocketName)
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if b, _ := io.ReadAll(c); len(b) > 0 {
			full = string(b)
			break
		}
	}
	if !strings.Contains(full, "all connections of this user are taken") {
		t.Errorf("%q", full)
	}
	if got := r.ask(t, 1001, daemonapi.SocketName, "hello"); got != "1001 hello\n" {
		t.Errorf("the other user: %q", got)
	}
}

// A server that cannot be opened refuses, is not tried for each connection, and is tried again.
func TestServerThatCannotBeOpened(t *testing.T) {
	r := start(t)
	r.fail.Store(true)
	deadline := time.Now().Add(5 * time.Second)
	said := ""
	for !strings.Contains(said, "cannot be opened") && time.Now().Before(deadline) {
		said = r.ask(t, 1000, daemonapi.SocketName, "hello") // the first ones may find the server being opened
	}
	if !strings.Contains(said, "cannot be opened") {
		t.Fatalf("%q", said)
	}
	r.fail.Store(false)
	for said = ""; said != "1000 hello\n" && time.Now().Before(deadline); {
		said = r.ask(t, 1000, daemonapi.SocketName, "hello")
	}
	if said != "1000 hello\n" {
		t.Errorf("%q after %d tries", said, r.opened.Load())
	}
}

// A user who is held is refused with the reason, loses the connections that are open, and is served again afterwards.
// Others are served all the time.
func TestHeld(t *testing.T) {
	r := start(t)
	open := r.dial(t, 1000, daemonapi.SocketName)
	defer open.Close()
	fmt.Fprintln(open, "hello")
	in := bufio.NewReader(open)
	if got, err := in.ReadString('\n'); err != nil || got != "1000 hello\n" {
		t.Fatalf("%q, %v", got, err)
	}
	r.held.Store(true)
	r.front.Drop(1000)
	if got := r.ask(t, 1000, daemonapi.SocketName, "hello"); !strings.Contains(got, "no space") {
		t.Errorf("%q", got)
	}
	if got := r.ask(t, 1001, daemonapi.SocketName, "hello"); got != "1001 hello\n" {
		t.Errorf("the other user: %q", got)
	}
	r.held.Store(false)
	got := ""
	for deadline := time.Now().Add(5 * time.Second); got != "1000 hello\n" && time.Now().Before(deadline); {
		got = r.ask(t, 1000, daemonapi.SocketName, "hello")
	}
	if n := r.opened.Load(); got != "1000 hello\n" || n != 3 {
		t.Errorf("%q; %d servers were opened", got, n)
	}
}

// While it takes long to find out about one user, such as who is in a group, others are served, and the connections of
// that one wait.
func TestLookingKeepsNoOtherWaiting(t *testing.T) {
	slow, looks := make(chan struct{}), make(chan struct{}, 1)
	r := startWith(t, func(o *front.Options) {
		o.Directory = system.Directory{ByUID: func(uid string) (*user.User, error) {
			if uid == "1000" {
				looks <- struct{}{}
				<-slow
			}
			return &user.User{Uid: uid, Username: "u" + uid}, nil
		}, Groups: func(*user.User) ([]string, error) { return nil, nil }}
	})
	config, err := system.Parse([]byte("version: belay-system/v1\nusers: {allow: [u1000, u1001]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.config.Store(config)
	c := r.dial(t, 1000, daemonapi.SocketName)
	defer c.Close()
	fmt.Fprintln(c, "hello")
	<-looks // before that, the next uid would be this connection's
	if got := r.ask(t, 1001, daemonapi.SocketName, "hello"); got != "1001 hello\n" {
		t.Errorf("the other user: %q", got)
	}
	close(slow)
	if got, err := bufio.NewReader(c).ReadString('\n'); err != nil || got != "1000 hello\n" {
		t.Errorf("the user: %q, %v", got, err)
	}
}

// Of connections that wait, those of a socket without a place are refused. Those of the other socket have places of
// their own.
func TestWaitingOnOneSocketTakesNoPlaceOfTheOther(t *testing.T) {
	slow := make(chan struct{})
	r := startWith(t, func(o *front.Options) {
		o.Directory = system.Directory{ByUID: func(uid string) (*user.User, error) {
			<-slow
			return &user.User{Uid: uid, Username: "u" + uid}, nil
		}, Groups: func(*user.User) ([]string, error) { return nil, nil }}
	})
	config, err := system.Parse([]byte("version: belay-system/v1\nusers: {allow: [u1000]}\nlimits: {connections: 4}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r.config.Store(config)
	r.silent.Store(true)
	var last net.Conn
	for range 5 {
		last = r.dial(t, 1000, daemonapi.SocketName)
		defer last.Close()
	}
	framed := r.dial(t, 1000, daemonapi.FrameSocketName)
	defer framed.Close()
	time.Sleep(50 * time.Millisecond) // until all wait
	close(slow)
	if got, _ := io.ReadAll(last); !strings.Contains(string(got), "limits.connections") {
		t.Errorf("the fifth: %q", got)
	}
	_ = framed.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if got, err := io.ReadAll(framed); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the framed one was refused: %q, %v", got, err)
	}
}

// Those who wait while a server is being opened that cannot be are told why.
func TestWaitingAreToldWhy(t *testing.T) {
	r := start(t)
	slow := make(chan struct{})
	r.slow.Store(&slow)
	r.fail.Store(true)
	c := r.dial(t, 1000, daemonapi.SocketName)
	defer c.Close()
	for deadline := time.Now().Add(5 * time.Second); r.opened.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	close(slow)
	if got, _ := io.ReadAll(c); !strings.Contains(string(got), "cannot be opened") {
		t.Errorf("%q", got)
	}
}

// Who connects without end is told why a few times a second, and closed at once beyond that; another one is told.
func TestTellingIsBounded(t *testing.T) {
	r := start(t)
	told := 0
	began := time.Now()
	for range 100 {
		if r.ask(t, 999, daemonapi.SocketName, "hello") != "" {
			told++
		}
	}
	if most := 16 * (1 + int(time.Since(began)/time.Second+1)); told == 0 || told > most {
		t.Errorf("%d were told, at most %d", told, most)
	}
	if got := r.ask(t, 998, daemonapi.SocketName, "hello"); !strings.Contains(got, "no ordinary user") {
		t.Errorf("the other one: %q", got)
	}
}

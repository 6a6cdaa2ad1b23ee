package front_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// A server without connections rests after its time, and not before. The next connection has it opened again, and no
// question that comes meanwhile is lost or refused.
func TestServersOfIdleUsersRest(t *testing.T) {
	r := start(t)
	r.lingers.Store(int64(50 * time.Millisecond)) // in which connections wait
	ask := func() {
		t.Helper()
		if got := r.ask(t, 1000, daemonapi.SocketName, "hello"); got != "1000 hello\n" {
			t.Errorf("%q", got)
		}
	}
	ask()
	r.front.Rest(t.Context(), 1000, time.Hour)
	r.front.Rest(t.Context(), 1001, 1) // who has none
	ask()
	if n := r.opened.Load(); n != 1 {
		t.Errorf("it rested too soon: %d were opened", n)
	}
	open := r.dial(t, 1000, daemonapi.FrameSocketName)
	defer open.Close()
	in := bufio.NewReader(open)
	said := func(word string) {
		t.Helper()
		fmt.Fprintln(open, word)
		if got, err := in.ReadString('\n'); err != nil || !strings.HasSuffix(got, word+"\n") {
			t.Errorf("%q, %v", got, err)
		}
	}
	said("one")
	r.front.Rest(t.Context(), 1000, 1)
	said("two")
	_ = open.Close()
	for range 5 {
		for end := time.Now().Add(5 * time.Second); r.quiet(1000) == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.front.Rest(t.Context(), 1000, 1)
		}()
		for asked := false; !asked; {
			ask()
			select {
			case <-done:
				asked = true
			default:
			}
		}
		ask()
	}
	for end := time.Now().Add(5 * time.Second); len(r.front.Users()) > 0 &&
		time.Now().Before(end); time.Sleep(time.Millisecond) {
		r.front.Rest(t.Context(), 1000, 1)
	}
	if left := r.front.Users(); len(left) > 0 {
		t.Errorf("servers stay open: %v", left)
	}
	before := r.opened.Load()
	ask()
	if n := r.opened.Load(); n != before+1 {
		t.Errorf("%d servers were opened for a user who comes back", n-before)
	}
}

// A server that ends by itself while it is looked at leaves no connection waiting: the user is served again later.
func TestAServerThatBreaksWhileItRests(t *testing.T) {
	r := start(t)
	if got := r.ask(t, 1000, daemonapi.SocketName, "hello"); got != "1000 hello\n" {
		t.Fatalf("%q", got)
	}
	for end := time.Now().Add(5 * time.Second); r.quiet(1000) == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	e, _ := r.servers.Load(1000)
	time.AfterFunc(20*time.Millisecond, func() { close(e.(*echo).breaks) })
	r.front.Rest(t.Context(), 1000, 1)
	got := ""
	for end := time.Now().Add(5 * time.Second); got != "1000 hello\n" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		got = r.ask(t, 1000, daemonapi.SocketName, "hello")
	}
	if got != "1000 hello\n" {
		t.Errorf("%q", got)
	}
}

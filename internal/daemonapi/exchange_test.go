package daemonapi_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/daemonapi"
)

// asked is what Post makes of a daemon that answers with these bytes, and what it was told.
func asked(t *testing.T, ctx context.Context, answer string, body []byte) (daemonapi.Reply, string, error) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	told := make(chan string, 1)
	go func() {
		defer there.Close()
		var request strings.Builder
		b := make([]byte, 64<<10)
		for !strings.HasSuffix(request.String(), "\r\n\r\n"+string(body)) {
			n, err := there.Read(b)
			request.Write(b[:n])
			if err != nil {
				break
			}
		}
		told <- request.String()
		if answer == "hangs" {
			<-ctx.Done()
			return
		}
		_, _ = io.WriteString(there, answer)
	}()
	r, err := daemonapi.Post(ctx, here, daemonapi.Question{Path: "/adapters/claude-code?event=Stop", Accept: "a/b",
		Headless: len(body) == 0, Body: body})
	here.Close()
	return r, <-told, err
}

// The question is one request of HTTP with the whole payload, and the answer what came whole.
func TestPost(t *testing.T) {
	r, told, err := asked(t, t.Context(),
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-type: application/json; charset=utf-8\r\n\r\n{}", []byte(`{"a":1}`))
	if err != nil || r.Status != 200 || !r.JSON || string(r.Body) != "{}" {
		t.Errorf("%+v, %v", r, err)
	}
	if want := "POST /adapters/claude-code?event=Stop HTTP/1.0\r\nHost: belay\r\nContent-Type: application/json\r\n" +
		"Accept: a/b\r\nContent-Length: 7\r\n\r\n{\"a\":1}"; told != want {
		t.Errorf("told %q", told)
	}
	r, told, err = asked(t, t.Context(), "HTTP/1.0 503 No\r\n\r\n", nil)
	if err != nil || r.Status != 503 || r.JSON || len(r.Body) != 0 ||
		!strings.HasSuffix(told, "\r\nContent-Length: 0\r\nBelay-Headless: 1\r\n\r\n") {
		t.Errorf("%+v, %v, told %q", r, err, told)
	}
}

// Whatever is no whole answer is an error, and never a reply.
func TestAnswersThatAreNone(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"nothing":                "",
		"garbage":                "{}",
		"an unfinished status":   "HTTP/1.1 200",
		"no end of the headers":  ok + "Content-Length: 2\r\n",
		"another protocol":       "HTTP/2 200 OK\r\n\r\n{}",
		"a status with a sign":   "HTTP/1.1 +20 OK\r\n\r\n{}",
		"a status of two digits": "HTTP/1.1 20 OK\r\n\r\n{}",
		"not the last answer":    "HTTP/1.1 100 Continue\r\n\r\n",
		"a header without colon": ok + "Content-Length 2\r\n\r\n{}",
		"a header without name":  ok + ": 2\r\n\r\n{}",
		"a folded header":        ok + "A: b\r\n c: d\r\n\r\n{}",
		"two lengths":            ok + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"a length below zero":    ok + "Content-Length: -2\r\n\r\n{}",
		"a length with a sign":   ok + "Content-Length: +2\r\n\r\n{}",
		"an empty length":        ok + "Content-Length:\r\n\r\n{}",
		"less than it says":      ok + "Content-Length: 3\r\n\r\n{}",
		"more than it says":      ok + "Content-Length: 1\r\n\r\n{}",
		"chunks":                 ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"compressed":             ok + "Content-Encoding: gzip\r\n\r\n{}",
		"too large":              ok + "Content-Length: 67108865\r\n\r\n{}",
		"headers without end":    ok + strings.Repeat("A: b\r\n", 4<<10) + "\r\n{}",
	} {
		r, _, err := asked(t, t.Context(), answer, []byte("x"))
		if !errors.Is(err, daemonapi.ErrSick) || len(r.Body) != 0 || r.Status != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// A daemon that hangs keeps the caller no longer than its context.
func TestPostEndsInTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := asked(t, ctx, "hangs", []byte("x")); !errors.Is(err, daemonapi.ErrSick) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A directory without a daemon is told from one whose daemon does not answer.
func TestDialDir(t *testing.T) {
	dir, err := os.MkdirTemp("", "sock") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if _, err := daemonapi.DialDir(t.Context(), dir); !errors.Is(err, daemonapi.ErrNotRunning) {
		t.Errorf("no socket: %v", err)
	}
	path := filepath.Join(dir, daemonapi.SocketName)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := daemonapi.DialDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	l.SetUnlinkOnClose(false)
	l.Close()
	if _, err := daemonapi.DialDir(t.Context(), dir); !errors.Is(err, daemonapi.ErrNotRunning) {
		t.Errorf("a socket that was left behind: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := daemonapi.DialDir(t.Context(), dir); err == nil || errors.Is(err, daemonapi.ErrSick) &&
		errors.Is(err, daemonapi.ErrNotRunning) {
		t.Errorf("a file: %v", err)
	}
}

// FuzzReply: no bytes of a daemon panic, and a reply is never larger than they are.
func FuzzReply(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.0 500 x\n\n", "HTTP/1.1 200\r\na:b\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		defer here.Close()
		go func() {
			_, _ = there.Read(make([]byte, 4<<10))
			_, _ = there.Write(b)
			there.Close()
		}()
		r, err := daemonapi.Post(t.Context(), here, daemonapi.Question{Path: "/"})
		if err != nil && !errors.Is(err, daemonapi.ErrSick) || err == nil && (r.Status < 200 || len(r.Body) > len(b)) {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

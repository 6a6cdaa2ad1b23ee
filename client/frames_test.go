//go:build unix

package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// framing serves frames in a directory: each question gets what answer says, and none without it.
func framing(t *testing.T, dir string, answer func(h daemonapi.Header, body []byte) []byte) (conns *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.FrameSocketName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conns = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() {
				defer c.Close()
				for {
					var header [daemonapi.FrameHeader]byte
					if _, err := io.ReadFull(c, header[:]); err != nil {
						return
					}
					h, err := daemonapi.DecodeQuestion(header)
					if err != nil {
						t.Error(err)
						return
					}
					body, err := daemonapi.ReadBody(c, h.Length)
					if err != nil {
						return
					}
					out := answer(h, body)
					if out == nil {
						return
					}
					_, _ = c.Write(out)
				}
			}()
		}
	}()
	return conns
}

func framedAnswer(kind daemonapi.FrameKind, body string) []byte {
	return append(daemonapi.AppendHeader(nil, daemonapi.Header{Kind: kind, Length: len(body)}), body...)
}

// noHTTP fails a test whose questions go over HTTP.
func noHTTP(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked over HTTP: %s", r.URL)
		w.WriteHeader(http.StatusTeapot)
	}
}

const slim = `{"id":"01a1fc35-e999-778a-8ada-7a335a915e53","phase":"pre_tool","decision":"allow","enforced":"direct","event":{"seq":1,"id":"e"}}`

// An action that was not changed is the one that was asked about; a changed one is the daemon's.
func TestSlimVerdict(t *testing.T) {
	var answer atomic.Value
	dir := shortDir(t)
	conns := framing(t, dir, func(daemonapi.Header, []byte) []byte { return answer.Load().([]byte) })
	c := fake(t, dir, noHTTP(t))
	for name, want := range map[string]struct{ answer, action string }{
		"unchanged": {slim, string(inv().Action)},
		"changed": {strings.Replace(slim, `"enforced"`, `"action":{"tool":"exec"},"changed":["/args"],"enforced"`, 1),
			`{"tool":"exec"}`},
		"blocked": {strings.Replace(slim, `"allow"`, `"block"`, 1), ""},
		"waits":   {strings.Replace(slim, `"allow"`, `"ask","approval":{"id":"a"}`, 1), ""},
	} {
		answer.Store(framedAnswer(daemonapi.FrameVerdict, want.answer))
		v, err := c.Invoke(t.Context(), inv())
		if err != nil || string(v.Action) != want.action || v.Hooks == nil || v.Changed == nil || v.Contexts == nil {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Only a complete allow for this very invocation is one, as over HTTP.
func TestFramedInvokeFailsClosed(t *testing.T) {
	var answer atomic.Value
	dir := shortDir(t)
	framing(t, dir, func(daemonapi.Header, []byte) []byte { return answer.Load().([]byte) })
	c := fake(t, dir, noHTTP(t))
	verdict := func(s string) []byte { return framedAnswer(daemonapi.FrameVerdict, s) }
	for name, a := range map[string][]byte{
		"nothing":            {},
		"HTTP":               []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + slim),
		"an empty verdict":   verdict("{}"),
		"null":               verdict("null"),
		"cut off":            verdict(slim)[:len(slim)],
		"two":                append(verdict(slim), verdict(slim)...),
		"two decisions":      verdict(strings.Replace(slim, `{`, `{"decision":"block",`, 1)),
		"no record":          verdict(strings.Replace(slim, `,"event":{"seq":1,"id":"e"}`, ``, 1)),
		"another invocation": verdict(strings.Replace(slim, `e53"`, `e54"`, 1)),
		"another phase":      verdict(strings.Replace(slim, `pre_tool`, `post_tool`, 1)),
		"another word":       verdict(strings.Replace(slim, `allow`, `Allow`, 1)),
		"changed to nothing": verdict(strings.Replace(slim, `"enforced"`, `"changed":["/args"],"enforced"`, 1)),
		"an answer":          framedAnswer(daemonapi.FrameAnswer, slim),
		"no problem":         framedAnswer(daemonapi.FrameProblem, slim),
	} {
		answer.Store(a)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if v, err := c.Invoke(ctx, inv()); v.Decision != phases.Block || !errors.Is(err, client.ErrSick) || v.Action != nil {
			t.Errorf("%s: %s, %v", name, v.Decision, err)
		}
		cancel()
	}
	answer.Store(framedAnswer(daemonapi.FrameProblem,
		`{"status":503,"error":{"code":"overloaded","message":"too many","decision":"block"},"event":{"seq":9,"id":"e"}}`))
	v, err := c.Invoke(t.Context(), inv())
	var p *client.Error
	if !errors.As(err, &p) || p.Status != 503 || v.Reason != "too many" || v.Event == nil || v.Event.Seq != 9 {
		t.Errorf("%+v, %v", v, err)
	}
}

// A connection that the daemon has ended meanwhile is replaced before anything is sent.
func TestEndedConnectionIsReplaced(t *testing.T) {
	dir := shortDir(t)
	l, err := net.Listen("unix", filepath.Join(dir, daemonapi.FrameSocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ended := make(chan struct{})
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			q := make([]byte, 64<<10)
			_, _ = conn.Read(q)
			_, _ = conn.Write(framedAnswer(daemonapi.FrameVerdict, slim))
			_ = conn.Close()
			ended <- struct{}{}
		}
	}()
	c := fake(t, dir, noHTTP(t))
	for i := range 3 {
		if v, err := c.Invoke(t.Context(), inv()); err != nil || v.Decision != phases.Allow {
			t.Errorf("question %d: %s, %v", i, v.Decision, err)
		}
		<-ended
	}
}

// A daemon without a framed socket is asked over HTTP, and so is what is too large for a frame.
func TestQuestionsThatGoOverHTTP(t *testing.T) {
	earlier := fake(t, shortDir(t), answering(200, "application/json", good))
	if v, err := earlier.Invoke(t.Context(), inv()); err != nil || v.Decision != phases.Allow {
		t.Errorf("an earlier daemon: %s, %v", v.Decision, err)
	}
	dir := shortDir(t)
	framing(t, dir, func(daemonapi.Header, []byte) []byte {
		t.Error("a frame came")
		return nil
	})
	c := fake(t, dir, answering(200, "application/json", `{"stdout":"{}","stderr":"","exit":0,"notes":[],"verdicts":[]}`))
	a, err := c.Ask(t.Context(), "claude-code", "", bytes.Repeat([]byte(" "), daemonapi.MaxQuestion))
	if err != nil || a.Stdout != "{}" {
		t.Errorf("%+v, %v", a, err)
	}
}

// An event is asked about with its names, and with the wish of a session without a person.
func TestFramedAsk(t *testing.T) {
	dir := shortDir(t)
	framing(t, dir, func(h daemonapi.Header, body []byte) []byte {
		r, e, p, err := daemonapi.DecodeEvent(body)
		if h.Kind != daemonapi.FrameEvent || h.Flags != daemonapi.FlagWhole|daemonapi.FlagHeadless || r != "claude-code" ||
			e != "Stop" || string(p) != "{}" || err != nil {
			t.Errorf("%+v %q %q %q, %v", h, r, e, p, err)
		}
		return framedAnswer(daemonapi.FrameAnswer, `{"stdout":"{}","stderr":"","exit":0,"notes":[],"verdicts":[]}`)
	})
	a, err := fake(t, dir, noHTTP(t)).AskHeadless(t.Context(), "claude-code", "Stop", []byte("{}"))
	if err != nil || a.Stdout != "{}" {
		t.Errorf("%+v, %v", a, err)
	}
}

package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// saying answers every request with the same.
type saying struct {
	status int
	kind   string
	body   []byte
}

func (s saying) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: http.Header{"Content-Type": {s.kind}},
		Body: io.NopCloser(bytes.NewReader(s.body))}, nil
}

func answeredBy(t testing.TB, s saying) *Client {
	c, err := New(Options{Socket: "/nothing"})
	if err != nil {
		t.Fatal(err)
	}
	c.http.Transport = s
	return c
}

// Whatever answers at the daemon's address, anything but a complete verdict about this
// very action is a block, and every error has a class.
func FuzzAnswers(f *testing.F) {
	const id = "01a1fc35-e999-778a-8ada-7a335a915e53"
	for _, s := range []string{
		`{"id":"` + id + `","phase":"pre_tool","decision":"allow","action":{"tool":"exec"},"event":{"seq":1,"id":"e"}}`,
		`{"id":"` + id + `","phase":"pre_tool","decision":"block","decision":"allow"}`,
		`{"id":"x","phase":"pre_tool","decision":"ask","action":{},"event":{"seq":1,"id":"e"}}`,
		`{"error":{"code":"overloaded","message":"too many","decision":"block"},"event":{"seq":1,"id":"e"}}`,
		`{"stdout":"{}","stderr":"","exit":0,"notes":[],"verdicts":[]}`, `{"exit":2,"stderr":""}`, `{"exit":1}`, `[]`, `{`,
		``,
	} {
		f.Add(200, "application/json", []byte(s))
	}
	f.Add(503, "application/json; charset=utf-8", []byte(`{"error":{"code":"store","message":"m"}}`))
	f.Add(200, "text/html", []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		c := answeredBy(t, saying{status, kind, body})
		inv := phases.Invocation{ID: id, Phase: phases.PreTool, Runtime: "custom", Session: "s",
			Action: []byte(`{"tool":"exec","call_id":"c","args":{"command":"ls"}}`)}
		v, err := c.Invoke(t.Context(), inv)
		classed(t, err)
		switch {
		case v.Decision != phases.Block &&
			(err != nil || status != http.StatusOK || v.ID != id || v.Phase != phases.PreTool || v.Event == nil ||
				(len(v.Action) == 0) == v.Runs()):
			t.Fatalf("%d %q is taken for %s, %v", status, body, v.Decision, err)
		case v.Decision == "":
			t.Fatalf("%d %q is taken for no decision", status, body)
		}
		a, err := c.Ask(t.Context(), "claude-code", "PreToolUse", []byte(`{}`))
		classed(t, err)
		if err == nil && (status != http.StatusOK || a.Exit != 0 && (a.Exit != 2 || a.Stderr == "")) || err != nil &&
			(a.Exit != 0 || a.Stdout != "") {
			t.Fatalf("%d %q is taken for %+v, %v", status, body, a, err)
		}
		_, err = c.Status(t.Context())
		classed(t, err)
		_, err = c.Approvals(t.Context(), ApprovalQuery{})
		classed(t, err)
		_, err = c.Leases(t.Context(), LeaseQuery{})
		classed(t, err)
	})
}

// A stream of events gives each event once and then its end, whatever comes.
func FuzzFollow(f *testing.F) {
	f.Add([]byte(": events\n\nid: 1\nevent: belay\ndata: {\"seq\":1,\"id\":\"e\"}\n\ndata: {\"seq\":2}\n\n"))
	f.Add([]byte("data: {\"seq\":1,\"seq\":2}\n"))
	f.Add([]byte("data: {\ndata:{}\ndata: []\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		c := answeredBy(t, saying{http.StatusOK, "text/event-stream", body})
		n := 0
		err := c.Follow(t.Context(), wire.Query{}, func(phases.Event) error { n++; return nil })
		if err == nil {
			t.Fatal("a stream that ended is no error")
		}
		classed(t, err)
		if max := bytes.Count(body, []byte("data: ")); n > max {
			t.Fatalf("%d events in %d lines", n, max)
		}
	})
}

func classed(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrSick) && !errors.Is(err, ErrRefused) && !errors.Is(err, context.Canceled) {
		t.Fatalf("error without class: %T %v", err, err)
	}
}

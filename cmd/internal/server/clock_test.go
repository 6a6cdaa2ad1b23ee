package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// optionSpy keeps with which options the daemon has its host decide.
type optionSpy struct {
	server.Host
	mu      sync.Mutex
	options []belay.InvokeOptions
}

func (s *optionSpy) InvokeWith(ctx context.Context, inv phases.Invocation,
	o kernel.InvokeOptions) (phases.Verdict, error) {
	s.mu.Lock()
	s.options = append(s.options, o)
	s.mu.Unlock()
	return s.Host.InvokeWith(ctx, inv, o)
}

type stillClock time.Time

func (c stillClock) Now() time.Time { return time.Time(c) }

// No route, member, parameter or header of the wire sets the clock of hooks, in
// either form: a caller's time is refused, or logged as a claim.
func TestClockIsNotOnTheWire(t *testing.T) {
	spy := &optionSpy{}
	now := time.Now().UTC().Truncate(time.Second)
	d := startDaemon(t, func(s *setup) { s.belay.Clock = stillClock(now) },
		withHost(func(h server.Host) server.Host { spy.Host = h; return spy }))
	_, document := d.do(t, call{method: http.MethodGet, path: "/v1/openapi.json"})
	var api struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(document), &api); err != nil || len(api.Paths) < 10 {
		t.Fatalf("%d paths: %v", len(api.Paths), err)
	}
	const claim = `"2020-06-07T08:09:10Z"`
	bodies := []string{""}
	for _, member := range []string{"time", "at", "clock", "hook_clock", "HookClock", "hookClock", "reported_time",
		"ReportedTime", "options"} {
		extra := `"` + member + `":` + claim
		if member == "options" {
			extra = `"options":{"hook_clock":` + claim + `,"HookClock":` + claim + `}`
		}
		bodies = append(bodies, strings.Replace(asking("ls"), "{", "{"+extra+",", 1),
			`{`+extra+`,"session_id":"s-1","transcript_path":"/t","cwd":"/","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`)
	}
	header := bearer(d.token(t, client.RoleAdmin))
	for k, v := range map[string]string{"X-Belay-At": claim, "X-Belay-Hook-Clock": claim,
		"Date": "Sun, 07 Jun 2020 08:09:10 GMT"} {
		header[k] = v
	}
	asked := map[string]bool{}
	for path, methods := range api.Paths {
		path = strings.NewReplacer("{runtime}", "claude-code", "{id}", "x").Replace(path)
		for method := range methods {
			for _, body := range bodies {
				for _, query := range []string{"", "?at=2020-06-07T08:09:10Z", "?hook_clock=2020-06-07T08:09:10Z",
					"?event=PreToolUse", "?event=PreToolUse&time=2020-06-07T08:09:10Z"} {
					if strings.Contains(path, "recording") ||
						strings.Contains(query, "event=") != strings.HasPrefix(path, "/adapters/") && query != "" {
						continue // the first streams
					}
					before := len(spy.options)
					d.do(t, call{method: strings.ToUpper(method), path: path + query, body: body, header: header})
					if len(spy.options) > before {
						asked[path] = true
					}
				}
			}
		}
	}
	if !asked["/v1/invoke"] || !asked["/adapters/claude-code"] {
		t.Fatalf("asked by %v, want both forms", asked)
	}
	for _, o := range spy.options {
		if o.HookClock != nil {
			t.Fatalf("the wire has set the clock of hooks: %s", o.HookClock)
		}
	}
	events, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventVerdict, Limit: wire.MaxLimit})
	if err != nil || len(events) == 0 {
		t.Fatalf("%d events: %v", len(events), err)
	}
	claims := 0
	for _, e := range events {
		said, ok := phases.GetString(e.Input, "/time")
		if ok && said != now.Format(time.RFC3339) {
			t.Errorf("event %d: hooks read %s, and the host's clock says %s", e.Seq, said, now)
		}
		if claimed, ok := phases.GetString(e.Input, "/reported_time"); ok {
			claims++
			if `"`+claimed+`"` != claim {
				t.Errorf("event %d: reported as %s", e.Seq, claimed)
			}
		}
	}
	if claims == 0 {
		t.Error("no claim is logged")
	}
}

package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/phases"
)

// accesses waits for so many events about callers in the daemon's log, and returns them with what they hold.
func (d *daemon) accesses(t *testing.T, want int) (events []phases.Event, facts []wire.Access) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var err error
		if events, err = d.host.Events(t.Context(), wire.Query{Type: phases.EventAccess}); err != nil {
			t.Fatal(err)
		}
		if len(events) >= want || time.Now().After(end) {
			break
		}
	}
	for _, e := range events {
		var a wire.Access
		if err := json.Unmarshal(e.Output, &a, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		facts = append(facts, a)
	}
	if len(events) != want {
		t.Fatalf("%d events, want %d: %+v", len(events), want, facts)
	}
	return events, facts
}

// What a user of system mode tries and may not is an event in the log of that user, as is a connection of another one
// that came here. A flood of one kind leaves one event at once, and its number at the end.
func TestTriesAreEvents(t *testing.T) {
	const uid = 4242
	from := uid
	d, path := asTenant(t, uid, &from)
	for _, c := range []struct {
		method, path, body, token string
		code, request             string
	}{
		{"POST", "/v1/reload", "", "", "wrong_role", "POST /v1/reload"},
		{"POST", "/v1/events/compact", `{}`, "", "wrong_role", "POST /v1/events/compact"},
		{"GET", "/v1/recording?seconds=1", "", "", "wrong_role", "GET /v1/recording"},
		{"POST", "/v1/leases", `{}`, "", "wrong_role", "POST /v1/leases"},
		{"GET", "/v1/events", "", "guessed", "unauthenticated", "GET /v1/events"},
		{"POST", "/v1/latches/clear", `{"runtime":"custom","session":"s"}`, "", "not_signed", "POST /v1/latches/clear"},
		{"GET", "/v1/approvals/0190b6c0-0000-7000-8000-000000000000", "", "", "not_found", "GET /v1/approvals/{id}"},
		{"GET", "/users/1502", "", "", "not_found", "/"},
		{"PUT", "/v1/reload", "", "", "method_not_allowed", "/v1/reload"},
	} {
		events, _ := d.host.Events(t.Context(), wire.Query{Type: phases.EventAccess})
		if got := overPath(t, path, c.method, c.path, c.body, c.token); got.status/100 != 4 {
			t.Fatalf("%s %s: %d", c.method, c.path, got.status)
		}
		all, facts := d.accesses(t, len(events)+1)
		e, a := all[len(all)-1], facts[len(facts)-1]
		if e.Decision != wire.AccessRefused || a.Code != c.code || a.Request != c.request || a.UID != uid || a.Count != 1 ||
			e.Reason == "" {
			t.Errorf("%s %s: %s %+v, want %s, %s", c.method, c.path, e.Reason, a, c.code, c.request)
		}
	}
	before, _ := d.accesses(t, 9)
	for range 200 {
		overPath(t, path, "POST", "/v1/reload", "", "")
	}
	from = uid + 1
	overPath(t, path, "GET", "/v1/status", "", "")
	_, facts := d.accesses(t, len(before)+1)
	if a := facts[len(facts)-1]; a.UID != uid+1 || a.Code != "forbidden" {
		t.Errorf("another user's connection: %+v", a)
	}
	from = uid
	if got := overPath(t, path, "POST", "/v1/reload", "", d.token(t, client.RoleAdmin)); got.status != 200 {
		t.Errorf("with the token of root: %d", got.status)
	}
	dir := d.dir
	d.stop(t)
	d = serveDir(t, dir)
	_, facts = d.accesses(t, len(before)+2)
	if a := facts[len(facts)-1]; a.Count != 200 || a.Request != "POST /v1/reload" {
		t.Errorf("the flood: %+v", a)
	}
}

// Without system mode, and for what the tenant may do, there is no such event.
func TestNoEventOfWhatIsNoTry(t *testing.T) {
	d := startDaemon(t)
	overPath(t, d.server.Socket(), "POST", "/v1/reload", "", "guessed")
	d.accesses(t, 0)
	const uid = 4242
	from := uid
	d, path := asTenant(t, uid, &from)
	overPath(t, path, "POST", "/v1/invoke", asking("ls"), "")
	overPath(t, path, "POST", "/v1/invoke", `{"phase":"none"}`, "") // an event of its own kind
	overPath(t, path, "GET", "/v1/status", "", "")
	time.Sleep(20 * time.Millisecond)
	d.accesses(t, 0)
}

// A frame that is no question is an event, too.
func TestFramesThatAreNoQuestions(t *testing.T) {
	d, dial := asCaller(t)
	conn := dial()
	if _, err := conn.Write(frame(daemonapi.FrameFound, 0, "\x02")); err != nil {
		t.Fatal(err)
	}
	answerOn(t, conn)
	if _, facts := d.accesses(t, 1); facts[0].Request != "frame" || facts[0].Code != "invalid_request" {
		t.Errorf("%+v", facts[0])
	}
}

// Lies about the caller's files are one event, bound to the question: its session, and the verdict that they did not
// change. An honest caller leaves none.
func TestLiesAreEvents(t *testing.T) {
	d, dial := asCaller(t)
	question := strings.Replace(readsNotes, `{"phase"`, `{"runtime":"custom","session":"s-1","phase"`, 1)
	conn := dial()
	if _, _, err := daemonapi.Exchange(t.Context(), conn, frame(daemonapi.FrameInvoke, daemonapi.FlagFiles, question),
		daemonapi.LookFunc(aliceLooks)); err != nil {
		t.Fatal(err)
	}
	d.accesses(t, 0)
	if _, err := conn.Write(frame(daemonapi.FrameInvoke, daemonapi.FlagFiles, question)); err != nil {
		t.Fatal(err)
	}
	answerOn(t, conn)
	_, _ = conn.Write(frame(daemonapi.FrameFound, 0, "\x03"))
	answerOn(t, conn)
	events, facts := d.accesses(t, 1)
	verdicts, err := d.host.Events(t.Context(), wire.Query{Type: phases.EventVerdict, Newest: true, Limit: 1})
	if err != nil || len(verdicts) != 1 {
		t.Fatalf("%v, %v", verdicts, err)
	}
	if e := events[0]; e.Decision != wire.AccessUntold || e.Session != "s-1" || e.Runtime != "custom" ||
		e.Invocation != verdicts[0].Invocation || facts[0].Code != "files" || facts[0].UID != 4242 {
		t.Errorf("%+v, %+v; the verdict is of %s", e, facts[0], verdicts[0].Invocation)
	}
}

// A token that is shown for something which its lease does not cover is an event, the owner's token as well as
// another's. An honest program that asks whether there is a lease leaves none.
func TestTokensOfLeasesThatAreNotHeldAreTries(t *testing.T) {
	const uid = 4242
	from := uid
	d, path := asTenant(t, uid, &from)
	check := func(token string) {
		t.Helper()
		got := overPath(
			t,
			path,
			"POST",
			"/v1/leases/check",
			`{"capability":"tool:exec"`+token+`,"invocation":`+asking("ls")+`}`,
			"",
		)
		if got.status != 200 || !strings.Contains(got.body, `"active":false`) {
			t.Errorf("%d %s", got.status, got.body)
		}
	}
	check("")
	check(`,"token":"blt_` + strings.Repeat("A", 43) + `"`)
	_, facts := d.accesses(t, 1)
	if a := facts[0]; a.Code != wire.CodeNotFound || a.Request != "POST /v1/leases/check" || a.Count != 1 {
		t.Errorf("%+v", a)
	}
}

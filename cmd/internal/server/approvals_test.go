package server_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/peercred"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

func reviewer(t *testing.T) (ed25519.PrivateKey, string) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key, `version: belay/v1
hooks:
  - name: ask-push
    module: builtin:ask-push
    priority: 50
    match: {tools: "^exec$"}
    capabilities: [request_approval, block, shell_parse]
reviewers:
  - name: dev
    key: "` + queue.FormatReviewerKey(public) + `"
`
}

func ask(t *testing.T, c *client.Client) phases.Verdict {
	t.Helper()
	v, err := c.InvokeJSON(t.Context(), []byte(asking("git push")))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func signed(t *testing.T, it approvals.Item, v approvals.Verdict, key ed25519.PrivateKey) approvals.Decision {
	t.Helper()
	d, err := approvals.Draft(&it, v, "dev", "fine", time.Now(), time.Minute)
	if err == nil {
		err = approvals.Sign(&it, &d, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestApprovalsOverTheDaemon(t *testing.T) {
	key, config := reviewer(t)
	d := startDaemon(t, withConfig(config), withListener)
	c := dial(t, d.dir)
	v := ask(t, c)
	if v.Decision != phases.Ask || v.Approval == nil {
		t.Fatalf("%+v", v)
	}
	list, err := c.Approvals(t.Context(), client.ApprovalQuery{State: approvals.Pending, Kind: approvals.KindAsk})
	if err != nil || len(list) != 1 || list[0].ID != v.Approval.ID || list[0].Action == nil {
		t.Fatalf("%+v, %v", list, err)
	}
	path := "/v1/approvals/" + v.Approval.ID
	// What an agent sees of its own, and of another's.
	own, body := d.do(t, call{method: "GET", path: path})
	if own.StatusCode != http.StatusOK || strings.Contains(body, "git push") ||
		!strings.Contains(body, `"state":"pending"`) {
		t.Errorf("an agent's own: %d %s", own.StatusCode, body)
	}
	other, body := d.do(t, call{tcp: true, method: "GET", path: path, header: bearer(d.token(t, client.RoleInvoke))})
	none, nothing := d.do(t,
		call{tcp: true, method: "GET", path: "/v1/approvals/01890a5d-ac96-774b-bcce-b302099a8057",
			header: bearer(d.token(t, client.RoleInvoke))})
	if other.StatusCode != http.StatusNotFound || none.StatusCode != http.StatusNotFound || body != nothing {
		t.Errorf("another's: %d %s, none: %d %s", other.StatusCode, body, none.StatusCode, nothing)
	}
	for _, role := range []client.Role{client.RoleReview, client.RoleAdmin} {
		if r, body := d.do(t,
			call{tcp: true, method: "GET", path: path, header: bearer(d.token(t, role))}); r.StatusCode != http.StatusOK ||
			!strings.Contains(body, "git push") {
			t.Errorf("%s: %d %s", role, r.StatusCode, body)
		}
	}
	// Only a reviewer may decide, and only by a valid decision.
	good := signed(t, list[0], approvals.Approve, key)
	bad := good
	bad.Signature = append([]byte{1}, good.Signature[1:]...)
	foreign := signed(t, list[0], approvals.Approve, ed25519.NewKeyFromSeed(make([]byte, 32)))
	elsewhere := good
	elsewhere.Content = "sha256:0"
	text := func(d approvals.Decision) string {
		b, err := json.Marshal(&d)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	review := bearer(d.token(t, client.RoleReview))
	for name, w := range map[string]struct {
		c    call
		want int
		code string
	}{
		"an agent": {call{body: text(good)}, 403, wire.CodeRole},
		"the admin": {call{body: text(good), header: bearer(d.token(t, client.RoleAdmin))}, 403,
			wire.CodeRole},
		"a signature that does not hold": {call{body: text(bad), header: review}, 403, wire.CodeSignature},
		"another key's signature":        {call{body: text(foreign), header: review}, 403, wire.CodeSignature},
		"about something else":           {call{body: text(elsewhere), header: review}, 409, wire.CodeConflict},
		"no decision":                    {call{body: `{"verdict":"yes"}`, header: review}, 400, wire.CodeRequest},
		"an unknown member": {call{body: `{"verdict":"approved","force":true}`, header: review}, 400,
			wire.CodeRequest},
		"a name twice": {call{body: `{"verdict":"denied","verdict":"approved"}`, header: review}, 400,
			wire.CodeRequest},
		"too much": {call{body: `{"reason":"` + strings.Repeat("x", 20<<10) + `"}`, header: review},
			413, wire.CodeTooLarge},
		"an id of nothing": {call{path: "/v1/approvals/x/decide", body: text(good), header: review}, 404,
			wire.CodeNotFound},
		"over the loopback, no token": {call{tcp: true, body: text(good)}, 401, wire.CodeToken},
	} {
		w.c.method = "POST"
		if w.c.path == "" {
			w.c.path = path + "/decide"
		}
		if r, body := d.do(t, w.c); r.StatusCode != w.want || !strings.Contains(body, `"`+w.code+`"`) {
			t.Errorf("%s: %d %s, want %d %s", name, r.StatusCode, body, w.want, w.code)
		}
	}
	if v := ask(t, c); v.Decision != phases.Ask {
		t.Fatalf("no person has decided, and it is %s", v.Decision)
	}
	// A wait ends with the decision.
	waited := make(chan approvals.Item, 1)
	go func() {
		it, err := c.Approval(t.Context(), v.Approval.ID, time.Minute)
		if err != nil {
			t.Error(err)
		}
		waited <- it
	}()
	time.Sleep(100 * time.Millisecond)
	if _, err := c.Decide(t.Context(), v.Approval.ID, good); err != nil {
		t.Fatal(err)
	}
	select {
	case it := <-waited:
		if it.State != approvals.Approved || it.Decision == nil || it.Decision.Reason != "fine" {
			t.Errorf("%+v", it)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the wait does not end")
	}
	var p *client.Error
	if _, err := c.Decide(t.Context(), v.Approval.ID, signed(t, list[0], approvals.Deny, key)); !errors.As(err, &p) ||
		p.Code != wire.CodeConflict {
		t.Errorf("decided twice: %v", err)
	}
	// Over the loopback it is another caller, with a question of its own.
	if r, body := d.do(t,
		call{tcp: true, method: "POST", path: "/v1/invoke", body: asking("git push"),
			header: bearer(d.token(t, client.RoleInvoke))}); r.StatusCode != 200 || !strings.Contains(body, `"decision":"ask"`) {
		t.Errorf("another credential: %d %s", r.StatusCode, body)
	}
	if v := ask(t, c); v.Decision != phases.Allow {
		t.Errorf("approved, and it is %s", v.Decision)
	}
	if v := ask(t, c); v.Decision != phases.Ask {
		t.Errorf("used, and it is %s", v.Decision)
	}
}

func TestApprovalRequestsAreChecked(t *testing.T) {
	_, config := reviewer(t)
	d := startDaemon(t, withConfig(config), withServer(func(o *server.Options) { o.Streams = 1 }))
	review := bearer(d.token(t, client.RoleReview))
	for _, query := range []string{"?kind=x", "?state=x", "?limit=0", "?limit=1001", "?limit=x", "?x=1",
		"?kind=ask&kind=ask", "?kind=", "?%zz"} {
		if r, body := d.do(t, call{method: "GET", path: "/v1/approvals" + query, header: review}); r.StatusCode != 400 {
			t.Errorf("%s: %d %s", query, r.StatusCode, body)
		}
	}
	id := ask(t, dial(t, d.dir)).Approval.ID
	for _, query := range []string{"?wait=x", "?wait=61s", "?wait=-1s", "?wait=1s&wait=1s", "?x=1", "?%zz"} {
		if r, body := d.do(t, call{method: "GET", path: "/v1/approvals/" + id + query}); r.StatusCode != 400 {
			t.Errorf("%s: %d %s", query, r.StatusCode, body)
		}
	}
	if r, _ := d.do(t, call{method: "GET", path: "/v1/approvals"}); r.StatusCode != 403 {
		t.Errorf("an agent lists the queue: %d", r.StatusCode)
	}
	start := time.Now()
	if r, body := d.do(t, call{method: "GET", path: "/v1/approvals/" + id + "?wait=150ms"}); r.StatusCode != 200 ||
		!strings.Contains(body, "pending") || time.Since(start) < 150*time.Millisecond {
		t.Errorf("%d %s after %v", r.StatusCode, body, time.Since(start))
	}
	// Only so many wait, and a stop ends every wait.
	done := make(chan string, 1)
	c := dial(t, d.dir)
	go func() {
		for {
			it, err := c.Approval(t.Context(), id, time.Minute)
			var p *client.Error
			switch {
			case errors.As(err, &p) && p.Code == wire.CodeOverloaded:
				continue // the look below was there first
			case err != nil:
				done <- err.Error()
			default:
				done <- string(it.State)
			}
			return
		}
	}()
	eventually(t, "one who waits is one too many", func() bool {
		r, _ := d.do(t, call{method: "GET", path: "/v1/approvals/" + id + "?wait=1ms"})
		return r.StatusCode == 503
	})
	d.stop(t)
	select {
	case got := <-done:
		if got != "pending" {
			t.Errorf("the one who waited hears %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("the wait outlives the daemon")
	}
	if peercred.Credential(7) != "uid 7" {
		t.Error("credentials are in the keys of questions: another form is another question")
	}
}

func TestProposalsAreChecked(t *testing.T) {
	_, config := reviewer(t)
	d := startDaemon(t, withConfig(config), withListener)
	guard, err := os.ReadFile("../../../examples-wasm/command-guard/command-guard.wasm")
	if err != nil {
		t.Fatal(err)
	}
	module := base64.StdEncoding.EncodeToString(guard)
	for name, c := range map[string]struct {
		call call
		want int
		says string
	}{
		"nothing":             {call{body: `{}`}, 400, "no module"},
		"not JSON":            {call{body: `{`}, 400, "not strict JSON"},
		"an unknown member":   {call{body: `{"module":"AA==","tier":"trusted"}`}, 400, "not a proposal"},
		"a name twice":        {call{body: `{"module":"AA==","module":"AA=="}`}, 400, "not strict JSON"},
		"bytes that are none": {call{body: `{"module":"AA=="}`}, 400, "refused"},
		"a trusted priority":  {call{body: `{"module":"` + module + `","priority":100}`}, 400, "from -1000 to 99"},
		"what comes with it":  {call{body: `{"module":"` + module + `"}`}, 400, "comes with belay"},
		"too much source": {call{body: `{"module":"AA==","source":[{"path":"a","text":"` + strings.Repeat("x", 200<<10) +
			`"}]}`}, 400, "source has more"},
		"too much": {call{body: `{"module":"` + strings.Repeat("A", 5<<20) + `"}`}, 413, wire.CodeTooLarge},
		"no token": {call{tcp: true, body: `{"module":"AA=="}`}, 401, wire.CodeToken},
		"a reviewer's token": {call{tcp: true, body: `{"module":"AA=="}`, header: bearer(d.token(t, client.RoleReview))},
			403, wire.CodeRole},
	} {
		c.call.method, c.call.path = "POST", "/v1/proposals"
		if r, body := d.do(t, c.call); r.StatusCode != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %.300s, want %d %s", name, r.StatusCode, body, c.want, c.says)
		}
	}
	if list, err := dial(t, d.dir).Approvals(t.Context(), client.ApprovalQuery{}); err != nil || len(list) != 0 {
		t.Errorf("in the queue: %v, %v", list, err)
	}
}

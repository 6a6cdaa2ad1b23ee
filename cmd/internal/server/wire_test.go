package server_test

import (
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
)

// What the daemon answers is the type that clients decode, and nothing beside it: decoded
// strictly and encoded again it is the same bytes.
func TestAnswersAreTheTypesOfClients(t *testing.T) {
	d := startDaemon(t, withConfig(startGuard))
	d.do(t, call{method: "POST", path: "/adapters/claude-code?event=SubagentStart",
		body: `{"session_id":"s","a":1,"a":2}`})
	review := map[string]string{"Authorization": "Bearer " + d.token(t, client.RoleReview)}
	for _, c := range []struct {
		path   string
		status int
		into   any
	}{
		{"/v1/status", 200, new(wire.Status)},
		{"/v1/hooks", 200, new(client.List)},
		{"/v1/latches", 200, new(client.List)},
		{"/healthz", 200, new(wire.Health)},
		{"/v1/nothing", 404, new(wire.Problem)},
		{"/v1/events?limit=x", 400, new(wire.Problem)},
	} {
		resp, body := d.do(t, call{method: "GET", path: c.path, header: review})
		if resp.StatusCode != c.status {
			t.Errorf("%s: status %d: %s", c.path, resp.StatusCode, body)
			continue
		}
		if err := json.Unmarshal([]byte(body), c.into, json.RejectUnknownMembers(true)); err != nil {
			t.Errorf("%s: %v: %s", c.path, err, body)
		}
		if reflect.ValueOf(c.into).Elem().IsZero() {
			t.Errorf("%s: nothing was decoded from %s", c.path, body)
		}
		if again, err := json.Marshal(c.into); err != nil || string(again)+"\n" != body {
			t.Errorf("%s: answered\n%s\ndecoded and encoded again (%v)\n%s", c.path, body, err, again)
		}
	}
}

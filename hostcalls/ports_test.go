package hostcalls

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// fakePort answers every port alike.
type fakePort struct {
	reply jsontext.Value
	err   error
	actor phases.Actor
	calls []string
}

func (p *fakePort) call(name string, a phases.Actor) (jsontext.Value, error) {
	p.calls, p.actor = append(p.calls, name), a
	return p.reply, p.err
}

func (p *fakePort) RunTool(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("tool", a)
}
func (p *fakePort) Request(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("request", a)
}
func (p *fakePort) Check(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("check", a)
}
func (p *fakePort) Mint(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("mint", a)
}
func (p *fakePort) Revoke(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("revoke", a)
}
func (p *fakePort) DoHTTP(_ context.Context, a phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return p.call("http", a)
}

func TestPorts(t *testing.T) {
	calls := []string{"request_tool_call", "request_lease", "check_lease", "mint_lease", "revoke_lease", "http_request"}
	with := func(p *fakePort) func(*SessionConfig) {
		return func(c *SessionConfig) { c.Tools, c.Leases, c.HTTP = p, p, p }
	}
	for _, name := range calls {
		newTurn(t, nil).code(Unavailable, name, "{}")
		newTurn(t, nil).code(Invalid, name, "[]")
		newTurn(t, nil).code(Invalid, name, "{")
		newTurn(t, func(c *SessionConfig) { c.Granted = Grants{} }).code(Denied, name, "{}")
		newTurn(t, forPhase(phases.Audit)).code(Denied, name, "{}")
		u := newTurn(t, func(c *SessionConfig) { c.Actor.Tier = phases.Sandboxed })
		if least, _ := leastTier(name); least == phases.Trusted {
			u.code(Denied, name, "{}")
		} else {
			u.code(Unavailable, name, "{}")
		}
		p := &fakePort{reply: jsontext.Value(`{"ok":true}`)}
		u = newTurn(t, with(p))
		if r := u.do(name, "{}"); r.Code != 11 || u.reply() != `{"ok":true}` || p.actor.Hook != "h" || len(p.calls) != 1 {
			t.Errorf("%s: %d %s %+v", name, r.Code, u.reply(), p)
		}
		newTurn(t, with(&fakePort{err: Pending})).code(Pending, name, "{}")
		for _, bad := range []*fakePort{{err: errors.New("secret detail")}, {reply: jsontext.Value("{")}} {
			_, err := newTurn(t, with(bad)).try(name, "{}")
			if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindHostcall || strings.Contains(f.Text, "secret") {
				t.Errorf("%s with a failing port: %v", name, err)
			}
		}
		p = &fakePort{}
		u = newTurn(t, func(c *SessionConfig) {
			with(p)(c)
			c.Observe, c.Actor.Mode, c.Pass = true, phases.Observe, phases.PassObserve
		})
		u.code(Unavailable, name, `{"a":1}`)
		if len(p.calls) != 0 || len(u.Wishes()) != 1 || u.Wishes()[0].Call != name ||
			string(u.Wishes()[0].Request) != `{"a":1}` {
			t.Errorf("%s observed: %v %v", name, p.calls, u.Wishes())
		}
	}
}

package hostcalls

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// portFunc answers request_tool_call.
type portFunc func(context.Context) (jsontext.Value, error)

func (f portFunc) RunTool(ctx context.Context, _ phases.Actor, _ jsontext.Value) (jsontext.Value, error) {
	return f(ctx)
}

func TestChargedCalls(t *testing.T) {
	for _, err := range []error{nil, Denied} {
		u := newTurn(t, func(c *SessionConfig) {
			c.Tools = portFunc(func(ctx context.Context) (jsontext.Value, error) {
				if n, ok := FuelLeft(ctx); !ok || n != 100 {
					t.Errorf("left %d %v", n, ok)
				}
				Charge(ctx, 30)
				Charge(ctx, -5)
				Charge(ctx, 12)
				if n, _ := FuelLeft(ctx); n != 58 || Charged(ctx) != 42 {
					t.Errorf("left %d after charges of %d", n, Charged(ctx))
				}
				return jsontext.Value(`{}`), err
			})
		})
		c, _ := Lookup("request_tool_call")
		a := &Args{Fuel: 100}
		a.In[0] = []byte("{}")
		res, ferr := u.Do(t.Context(), &c, a)
		if ferr != nil || res.Fuel != 42 {
			t.Errorf("with error %v: %+v, %v", err, res, ferr)
		}
	}
	if n, ok := FuelLeft(t.Context()); ok || n != 0 || Charged(t.Context()) != 0 {
		t.Error("fuel out of nowhere")
	}
}

func TestRefusalExplainsItself(t *testing.T) {
	with := func(err error) turn {
		return newTurn(t, func(c *SessionConfig) {
			c.Tools = portFunc(func(context.Context) (jsontext.Value, error) { return nil, err })
		})
	}
	u := with(&Refusal{Errno: Pending, Reply: jsontext.Value(`{"reason":"r"}`)})
	if u.code(Pending, "request_tool_call", "{}"); u.reply() != `{"reason":"r"}` {
		t.Errorf("reply %q", u.reply())
	}
	for _, bad := range []jsontext.Value{nil, jsontext.Value("{"), make(jsontext.Value, 2<<20)} {
		u := with(&Refusal{Errno: Denied, Reply: bad})
		if u.code(Denied, "request_tool_call", "{}"); u.reply() != "" {
			t.Errorf("reply %q", u.reply())
		}
	}
	for _, k := range []phases.Kind{phases.KindStore, phases.KindAudit} {
		if _, err := with(phases.NewFault(k, "text", nil)).try("request_tool_call", "{}"); phases.FaultOf(err) == nil ||
			phases.FaultOf(err).Kind != k {
			t.Errorf("%s became %v", k, err)
		}
	}
	if _, err := with(phases.NewFault(phases.KindPolicy, "text", nil)).try("request_tool_call",
		"{}"); phases.FaultOf(err) == nil || phases.FaultOf(err).Kind != phases.KindHostcall {
		t.Errorf("%v", err)
	}
}

// A trace holds all that a replay of the call needs.
func TestTraceOfAPortThatChargesAndExplains(t *testing.T) {
	var tr Trace
	u := newTurn(t, func(c *SessionConfig) {
		c.Tools = portFunc(func(ctx context.Context) (jsontext.Value, error) {
			Charge(ctx, 9)
			return nil, &Refusal{Errno: Denied, Reply: jsontext.Value(`{"reason":"r"}`)}
		})
		*c = c.Record(&tr)
	})
	u.code(Denied, "request_tool_call", "{}")
	if len(tr.Answers) != 1 || tr.Answers[0].Errno != Denied || string(tr.Answers[0].Reply) != `{"reason":"r"}` ||
		tr.Answers[0].Fuel != 9 || tr.Answers[0].Err != "" {
		t.Errorf("%+v", tr.Answers)
	}
	if len(tr.Calls) != 1 || tr.Calls[0].Fuel != 9 || string(tr.Calls[0].Reply.Bytes) != `{"reason":"r"}` {
		t.Errorf("%+v", tr.Calls)
	}
}

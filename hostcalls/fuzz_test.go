package hostcalls

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Whatever a guest hands to whatever call: it gets a result that fits the table, a
// refusal adds no effect, and what ends the turn is a fault.
func FuzzCalls(f *testing.F) {
	table := Table()
	number := func(name string) uint8 {
		return uint8(slices.IndexFunc(table, func(c Call) bool { return c.Name == name }))
	}
	for name, a := range map[string][2]string{
		"input_get": {"/args/command"}, "input_keys": {"/args"}, "config_get": {"/a/0"}, "log": {"text"}, "fail": {"no"},
		"block": {"because"}, "request_approval": {`{"reason":"may it?","ttl_s":60,"details":{"a":1}}`},
		"rewrite": {"/args/command", `"ls"`},
		"redact":  {"/args", "label"}, "clamp_scopes": {`{"fs_write":["/home/dev/**"]}`}, "annotate": {"key", `{"a":[1]}`},
		"add_context": {"context"},
		"retry":       {`{"instruction":"again","max":2}`}, "reply": {`{"text":"so"}`},
		"put_artifact": {`{"name":"a","media_type":"text/plain","text":"t"}`},
		"grant":        {"because"}, "state_put": {"key", `1`}, "lease_mint": {`{"capability":"exec","scope":{},"ttl_s":60}`},
		"http_request":      {`{"url":"https://example.com/"}`},
		"request_tool_call": {`{"tool":"exec","args":{}}`},
	} {
		f.Add(number(name), uint8(0), a[0], a[1], int32(0), uint32(1<<16))
	}
	f.Add(number("rewrite"), uint8(3), "/content", `{"a":1,"a":2}`, int32(1), uint32(0))
	f.Fuzz(func(t *testing.T, call, phase uint8, first, second string, n int32, room uint32) {
		c := table[int(call)%len(table)]
		in := [2]string{first, second}
		all := phases.Phases()
		turn := newTurn(t, func(cfg *SessionConfig) {
			if p := all[int(phase)%len(all)]; p != phases.PreTool {
				cfg.Phase = p
			}
		})
		var a Args
		a.I32, a.Cap = n, min(room, 1<<20)
		next := 0
		for _, p := range c.Params {
			if p == ParamIn {
				b := []byte(in[next%2])
				if len(b) > c.MaxIn[next] {
					b, a.Long[next] = b[:c.MaxIn[next]], true
				}
				a.In[next] = b
				next++
			}
		}
		turn.EndInit()
		r, err := turn.Do(t.Context(), &c, &a)
		effects := len(turn.Effects())
		if err != nil {
			var fault *phases.Fault
			if !errors.As(err, &fault) {
				t.Fatalf("%s: %T %v is no fault", c.Name, err, err)
			}
			return
		}
		reply := turn.reply()
		switch {
		case r.Fuel < 0:
			t.Fatalf("%s gives fuel back: %d", c.Name, r.Fuel)
		case r.Code < 0 && effects > 0:
			t.Fatalf("%s is refused with %v and has an effect", c.Name, Errno(r.Code))
		case r.Code >= 0 && c.Replies && (!jsontext.Value(reply).IsValid() || int64(len(reply)) != r.Code):
			t.Fatalf("%s: %d %.100q", c.Name, r.Code, reply)
		}
	})
}

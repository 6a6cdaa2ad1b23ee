package hostcalls

import (
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// A session that is renewed is the one that NewSession would make: nothing of the turn before is in it. What that turn
// returned stays.
func TestARenewedSessionIsANewOne(t *testing.T) {
	u := newTurn(t, func(c *SessionConfig) {
		c.Config = nil
		c.State = &store{}
		c.Random = []byte{1}
	})
	u.BeginInit()
	u.EndInit()
	u.do("annotate", "k", "1")
	u.do("input_keys", "/args")
	u.do("state_put", "k", "v")
	u.do("log", 1, "line")
	u.do("fail", "why")
	u.do("config_kind", "")
	u.Random(7)
	u.WASIClock()
	effects, logs := u.Effects(), u.Logs()
	if len(effects) != 1 || len(logs) != 1 || u.Session.reply == nil || u.Hostcalls() == 0 {
		t.Fatalf("the turn did less than the test is for: %v, %v", effects, logs)
	}
	cfg := SessionConfig{Phase: phases.PrePlan, Pass: phases.PassValidate, Input: jsontext.Value(`{"kind":"message"}`),
		Action: jsontext.Value(`{"kind":"message","text":"x"}`), Time: time.Unix(1, 0)}
	var err error
	if cfg.Checked.Input, err = phases.NewStrict(cfg.Input, len(cfg.Input)); err != nil {
		t.Fatal(err)
	}
	want, err := NewSession(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Renew(&cfg); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, u.Session) {
		t.Errorf("a new session is\n%+v, the renewed one\n%+v", want, u.Session)
	}
	if effects[0].Kind != phases.EffectAnnotate || logs[0].Text != "line" {
		t.Errorf("what was returned has changed: %v, %v", effects, logs)
	}
	cfg.Input, cfg.Checked = jsontext.Value("{"), Documents{}
	if u.Renew(&cfg) == nil {
		t.Error("a document that is not JSON is taken")
	}
}

// To renew a session allocates nothing, with a configuration and without.
func TestRenewAllocatesNothing(t *testing.T) {
	document := func(text string) *phases.Strict {
		known, err := phases.NewStrict(jsontext.Value(text), len(text))
		if err != nil {
			t.Fatal(err)
		}
		return known
	}
	known := Documents{Input: document(`{"kind":"message"}`), Action: document(`{"kind":"message","text":"x"}`),
		Config: document(`{"on":true}`)}
	cfg := SessionConfig{Phase: phases.PrePlan, Pass: phases.PassValidate, Input: known.Input.Bytes(),
		Action: known.Action.Bytes(), Checked: known, Time: time.Unix(1, 0)}
	with := cfg
	with.Config = known.Config.Bytes()
	s := new(Session)
	if n := testing.AllocsPerRun(100, func() {
		for _, c := range []*SessionConfig{&with, &cfg} {
			if err := s.Renew(c); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := s.config.raw; string(got) != "null" {
		t.Errorf("no configuration is %q", got)
	}
}

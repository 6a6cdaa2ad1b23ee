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

// Whatever a turn has left in a session, no member of it is there after Renew.
func TestRenewResetsEachMember(t *testing.T) {
	cfg := SessionConfig{Phase: phases.PrePlan, Pass: phases.PassValidate, Input: jsontext.Value(`{"kind":"message"}`),
		Action: jsontext.Value(`{"kind":"message","text":"x"}`), Time: time.Unix(1, 0)}
	want, err := NewSession(cfg)
	if err != nil {
		t.Fatal(err)
	}
	used := new(Session)
	v := reflect.ValueOf(used).Elem()
	for i := range v.NumField() {
		if v.Type().Field(i).Name == "null" { // what it says is always the same
			continue
		}
		f := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem()
		if fill(f, 0); f.IsZero() {
			t.Errorf("the test leaves %s empty", v.Type().Field(i).Name)
		}
	}
	if err := used.Renew(&cfg); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, used) {
		t.Errorf("a new session is\n%+v, the renewed one\n%+v", want, used)
	}
}

// fill gives a value something in each of its parts that can be filled.
func fill(v reflect.Value, depth int) {
	if depth > 6 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("left")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 2))
		fill(v.Index(0), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { panic("called") }))
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			fill(reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem(), depth+1)
		}
	}
}

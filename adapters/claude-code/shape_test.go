package claudecode

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
)

func TestSameShape(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"stdout":"a","n":1}`, `{"n":2,"stdout":"b"}`, true},
		{`{"stdout":"a","n":1}`, `{"stdout":"b"}`, false},
		{`{"stdout":"a"}`, `{"stdout":"b","more":1}`, false},
		{`{"stdout":"a"}`, `{"stdout":1}`, false},
		{`{"stdout":"a"}`, `"a"`, false},
		{`{"x":true}`, `{"x":false}`, true},
		{`{"x":null}`, `{"x":null}`, true},
		{`{"x":null}`, `{"x":"a"}`, false},
		{`{"x":"a"}`, `{"x":null}`, false},
		{`["a","b"]`, `["c"]`, true},
		{`["a"]`, `["c","d","e"]`, true},
		{`["a"]`, `[1]`, false},
		{`["a",{"t":1}]`, `[{"t":2},{"t":3}]`, true},
		{`["a",{"t":1}]`, `[{"u":2}]`, false},
		{`[]`, `["a"]`, false},
		{`[]`, `[]`, true},
		{`{"type":"text","text":"a"}`, `{"type":"text","text":"b"}`, true},
		{`{"type":"text","text":"a"}`, `{"type":"image","text":"b"}`, false},
		{`{"type":"text","text":"a"}`, `{"type":"[redacted]","text":"b"}`, false},
		{`{"type":"kitchen","text":"a"}`, `{"type":"garden","text":"b"}`, true},
		{`{"type":"kitchen","text":"a"}`, `{"type":"image","text":"b"}`, false},
		{`{"status":"completed"}`, `{"status":"failed"}`, false},
	} {
		if got := sameShape(jsontext.Value(c.a), jsontext.Value(c.b)); got != c.want {
			t.Errorf("sameShape(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

// TestSameShapeBounded: outputs of tools are not ours, so a comparison must not
// grow with the square of their length.
func TestSameShapeBounded(t *testing.T) {
	var shapes []string
	for i := range maxShapes + 1 {
		shapes = append(shapes, `{"`+strings.Repeat("k", i+1)+`":1}`)
	}
	many := jsontext.Value("[" + strings.Join(shapes, ",") + "]")
	if sameShape(many, many) {
		t.Error("an array with too many shapes was compared")
	}
	few := jsontext.Value("[" + strings.Join(shapes[:maxShapes], ",") + "]")
	if !sameShape(few, few) {
		t.Error("an array within the bound was refused")
	}
	long := jsontext.Value("[" + strings.Repeat(`1,`, 100_000) + `"x"]`)
	texts := jsontext.Value("[" + strings.Repeat(`"x",`, 100_000) + `"x"]`)
	done := make(chan bool, 1)
	go func() { done <- sameShape(long, texts) }()
	select {
	case ok := <-done:
		if !ok {
			t.Error("texts among texts and numbers were refused")
		}
	case <-time.After(time.Minute):
		t.Fatal("still comparing")
	}
}

func TestHide(t *testing.T) {
	for in, want := range map[string]string{
		`{"stdout":"k","n":1,"ok":true,"x":null}`: `{"stdout":"R","n":1,"ok":true,"x":null}`,
		`[{"type":"text","text":"k"},"k"]`:        `[{"type":"text","text":"R"},"R"]`,
		`{"type":"a secret","status":"k"}`:        `{"type":"R","status":"R"}`,
		`{"text":"text"}`:                         `{"text":"R"}`,
		`"k"`:                                     `"R"`,
		`7`:                                       `7`,
	} {
		if got := hide(jsontext.Value(in), "R"); string(got) != want {
			t.Errorf("hide(%s) = %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]bool{
		`{"n":1}`: false, `{"type":"text"}`: false, `[{"type":"text"}]`: false, `{"type":"x"}`: true, `[[["a"]]]`: true,
		`""`: true, `null`: false,
	} {
		if got := hasText(jsontext.Value(in)); got != want {
			t.Errorf("hasText(%s) = %v", in, got)
		}
	}
}

func TestUnparts(t *testing.T) {
	form := jsontext.Value(`{"account":"42","limit":100}`)
	for final, want := range map[string]string{
		string(parts(form)): `{"account":"42","limit":100}`,
		`[{"type":"text","name":"account","text":"x"},{"type":"value","name":"limit","value":7}]`: `{"account":"x","limit":7}`,
		`[{"type":"text","name":"account","text":"x"}]`:                                           "",
		`[]`:  "",
		`"x"`: "",
		`[{"type":"text","name":"other","text":"x"},{"type":"value","name":"limit","value":7}]`:     "",
		`[{"type":"text","name":"account","text":7},{"type":"value","name":"limit","value":7}]`:     "",
		`[{"type":"text","name":"account","text":"x"},{"type":"value","name":"limit","value":"7"}]`: "",
		`[{"type":"text","name":"account"},{"type":"value","name":"limit","value":7}]`:              "",
	} {
		got, err := unparts(form, jsontext.Value(final))
		if (err != nil) != (want == "") || string(got) != want {
			t.Errorf("unparts(%s) = %s, %v", final, got, err)
		}
	}
}

// TestFailureWithoutEvent: an event that is named twice, or not at all, is no
// event, and then exit 2 is all there is.
func TestFailureWithoutEvent(t *testing.T) {
	for _, b := range []string{
		``, `{}`, `[`, `{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`, `{"hook_event_name":7}`,
		`{"hook_event_name":"Unheard"}`,
		`{"x":{"hook_event_name":"Stop"}}`, `"hook_event_name"`,
	} {
		ans := adapter{}.Failure([]byte(b), adapters.Options{}, nil)
		if ans.Exit != 2 || ans.Stderr == "" || len(ans.Stdout) != 0 || ans.Latch == "" {
			t.Errorf("%s: %+v", b, ans)
		}
	}
	ans := adapter{}.Failure([]byte(`{"session_id":"s","hook_event_name":"Stop","cut`), adapters.Options{}, nil)
	if ans.Exit != 0 || ans.Session != "s" || !strings.Contains(string(ans.Stdout), `"continue":false`) {
		t.Errorf("a cut payload: %+v", ans)
	}
}

// TestCauseStaysInside: what went wrong inside is not for the agent.
func TestCauseStaysInside(t *testing.T) {
	ans := adapter{}.Failure([]byte(`{"hook_event_name":"PreToolUse"}`), adapters.Options{}, &secretError{})
	if strings.Contains(string(ans.Stdout)+ans.Stderr, "/home") {
		t.Errorf("the cause shows: %+v", ans)
	}
}

type secretError struct{}

func (*secretError) Error() string { return "open /home/dev/.config/key: permission denied" }

package eventbytes

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// same fails unless Append and the library come to the same.
func same(t *testing.T, e *phases.Event) {
	t.Helper()
	want, wantErr := json.Marshal(e, json.Deterministic(true))
	got, err := Append([]byte("before"), e)
	if (err == nil) != (wantErr == nil) || err == nil && string(got) != "before"+string(want) {
		t.Fatalf("%v\n%s\nthe library: %v\n%s", err, got, wantErr, want)
	}
	if err != nil && string(got) != "before" {
		t.Fatalf("after an error: %q", got)
	}
}

// The stored bytes of an event are those that they have always been.
func TestAppend(t *testing.T) {
	every := full()
	same(t, &every)
	same(t, &phases.Event{})
	utc := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	for _, at := range []time.Time{utc.In(time.FixedZone("X", 3600)), utc.In(time.FixedZone("", 0)),
		utc.Truncate(time.Second),
		time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Now(), time.Now().UTC()} {
		same(t, &phases.Event{Seq: -4, Time: at})
	}
	for _, s := range []string{"\x7f", "\u0080", "\xff", "a\xc3", "<&>\u2028", "\b\f\v\x1f", `\u0041/`, "🧗"} {
		same(t, &phases.Event{ID: s, Time: utc, Reason: s, Notes: []string{"", s}, Logs: []string{}})
	}
	for _, v := range []string{`{}`, `[]`, `""`, `{"a":{"b":[1,2,{"c":null}]}}`, ` {"a":1}`, `{"a": 1}`, `{"a":1,"a":2}`,
		`"\u0041"`, `"\/"`, `"\u000a"`, `"\n\t\"\\"`, `"\u001f"`, `"ä"`, "\"\xff\"", `1e400`, `-0`, `1.50`, `{`, ``, `01`,
		`nul`,
		`"\ud83e\uddd7"`, `"\ud83e"`, "\"\u007f\"", strings.Repeat("[", 40) + strings.Repeat("]", 40)} {
		same(t, &phases.Event{ID: "x", Time: utc, Input: jsontext.Value(v)})
		same(t, &phases.Event{ID: "x", Time: utc, Output: jsontext.Value(v)})
	}
}

// Each member by itself, and any of them together.
func TestAppendMembers(t *testing.T) {
	every := reflect.ValueOf(full())
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 400 {
		e := phases.Event{Time: time.Unix(int64(i), int64(i)).UTC()}
		v := reflect.ValueOf(&e).Elem()
		for j := range v.NumField() {
			if j == i || i >= v.NumField() && r.IntN(3) == 0 {
				v.Field(j).Set(every.Field(j))
			}
		}
		same(t, &e)
	}
}

func FuzzAppend(f *testing.F) {
	f.Add("text", `{"a":["b",1.5e3,true,null,{}]}`, int64(7), int64(1_700_000_000_123_456_789))
	f.Add("\xff\u2028\"", `"\u0041"`, int64(-1), int64(0))
	f.Fuzz(func(t *testing.T, s, v string, n, ns int64) {
		same(t, &phases.Event{Seq: n, ID: s, Type: phases.EventType(s), Time: time.Unix(0, ns).UTC(), Session: s, Fuel: n,
			Input: jsontext.Value(v), Notes: []string{s}})
	})
}

// A record is its verdict with the member hooks behind the others.
func TestAppendRecord(t *testing.T) {
	every := full()
	for _, hooks := range [][]phases.Event{{}, {every}, {every, every}} {
		want, err := json.Marshal(struct {
			phases.Event
			Hooks []phases.Event `json:"hooks"`
		}{every, hooks}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		got, err := AppendRecord(nil, &every, hooks)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v\n%s\n%s", err, got, want)
		}
	}
	bad := phases.Event{Input: jsontext.Value(`{`)}
	if got, err := AppendRecord([]byte("x"), &every, []phases.Event{every, bad}); err == nil || string(got) != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	var e phases.Event
	if err := json.Unmarshal([]byte(usual), &e); err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			var err error
			if buf, err = Append(buf[:0], &e); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(&e, json.Deterministic(true)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

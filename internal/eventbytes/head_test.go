package eventbytes

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

// full has a value in every member.
func full() phases.Event {
	var e phases.Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch f := v.Field(i).Addr().Interface().(type) {
		case *time.Time:
			*f = time.Date(2026, 11, 23, 15, 41, 0, 564707660, time.UTC)
		case *jsontext.Value:
			*f = jsontext.Value(`{"a":[1,2.50,{"b":"]}"}],"c":null}`)
		case *[]string:
			*f = []string{name, `,"],`, "ü\n"}
		default:
			switch v.Field(i).Kind() {
			case reflect.String:
				v.Field(i).SetString(name + ` "quoted" <&> ` + "\u2028\x00")
			default:
				v.Field(i).SetInt(int64(i) + 1)
			}
		}
	}
	return e
}

// headOf leaves what Head decodes.
func headOf(e phases.Event) phases.Event {
	e.Input, e.Output, e.Masked, e.Changed, e.Logs, e.Notes = nil, nil, nil, nil, nil, nil
	e.Fuel, e.MemoryPeak, e.Hostcalls, e.DurationUS = 0, 0, 0, 0
	return e
}

func encoded(t testing.TB, e *phases.Event) []byte {
	t.Helper()
	b, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The table has every member of an event, in the order in which they are written.
func TestMembers(t *testing.T) {
	typ := reflect.TypeFor[phases.Event]()
	if typ.NumField() != len(members) {
		t.Fatalf("%d members, an event has %d", len(members), typ.NumField())
	}
	forms := map[reflect.Type]form{reflect.TypeFor[time.Time](): aTime, reflect.TypeFor[jsontext.Value](): aValue,
		reflect.TypeFor[[]string](): aList}
	for i, m := range members {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want, ok := forms[f.Type]
		if !ok && f.Type.Kind() == reflect.String {
			want = aText
		}
		if m.name != `"`+name+`":` || m.form != want || (m.text != nil) != (want == aText) {
			t.Errorf("member %d is %s of form %d, want %q of form %d", i, m.name, m.form, name, want)
		}
		var e phases.Event
		if m.text != nil {
			*m.text(&e) = "x"
			if reflect.ValueOf(e).Field(i).String() != "x" {
				t.Errorf("%s is put elsewhere", m.name)
			}
		}
	}
}

// Bodies as belay writes them are read without the JSON library, and come to the same.
func TestHead(t *testing.T) {
	every := full()
	some := phases.Event{Seq: 7, ID: "e", Type: phases.EventVerdict, Time: every.Time, Output: jsontext.Value(`12`)}
	list := phases.Event{Seq: 8, ID: "e", Type: phases.EventVerdict, Changed: []string{}, Time: time.Unix(0, 0).UTC()}
	for _, e := range []phases.Event{every, some, list} {
		body := encoded(t, &e)
		var fast, got, same, other phases.Event
		if !head(body, &fast, &fast) {
			t.Errorf("%s is left to the library", body)
		}
		// What the event before says makes no difference.
		err1, err2, err3 := Head(body, &got), HeadAfter(body, &same, &got), HeadAfter(body, &other, &every)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Error(err)
		}
		for _, x := range []phases.Event{fast, got, same, other} {
			if diff := cmp.Diff(headOf(e), x); diff != "" {
				t.Errorf("%s (-want +got):\n%s", body, diff)
			}
		}
	}
}

// Whatever a body is, Head says of it what the library says.
func FuzzHead(f *testing.F) {
	e := full()
	body := string(encoded(f, &e))
	for _, s := range []string{body, `{}`, `{"seq":1}`, `{"seq":1,"id":null}`, `{"seq":01,"id":"a"}`, `{"seq":1,"seq":2}`,
		`{"id":"a","seq":1}`, `{"seq":1,"id":"\ud800"}`, `{"seq":1,"id":"a","time":"2026-11-23T15:41:00Z"}`,
		`{"seq":1,"id":"a","time":"2026-11-23T15:41:00,5Z"}`, `{"seq":1,"id":"a","time":"2026-11-23T24:00:00Z"}`,
		`{"seq":1,"id":"a","masked":["a","b"],"changed":[]}`, `{"seq":1,"id":"a","masked":[1]}`, `{"seq":1,"id":"a",}`,
		`{"seq":99999999999999999999,"id":"a"}`, `{"seq":1,"id":"a","input":{"a":1,"a":2}}`, `{"seq":1,"hostcalls":-1}`,
		`{"seq":1,"id":"a","input":[1,-2.5e+7,"\u00e4\n",{"a":{},"b":[[]]},true,false,null]}`,
		`{"seq":1,"id":"a","input":[1,]}`, `{"seq":1,"id":"a","input":{"a":1,}}`, `{"seq":1,"id":"a","input":-}`,
		`{"seq":1,"id":"a","input":01}`, `{"seq":1,"id":"a","input":1.}`, `{"seq":1,"id":"a","input":1e}`,
		"{\"seq\":1,\"id\":\"a\x01\"}", "{\"seq\":1,\"id\":\"\xff\"}", `{"seq":1,"id":"\x"}`,
		`{"seq":1,"id":"a","input":nul}`,
		`{"seq":1,"id":"a","input":{"a":1,"\u0061":2}}`, `{"seq":1,"id":"a","input":{"a" :1}}`, `{"seq":1,"id":"\udc00"}`,
		`{"seq":1,"id":"a"} `, `{"seq":1,"id":"a","input":}`, `{"seq":1,"other":2}`, `{"seq":1,"id":"a","fuel":1.0}`,
		`{"seq":1,"tier":"x","mode":"y","input":true}`, strings.Replace(body, `,"`, `, "`, 1), "\x00", ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var want, got phases.Event
		wantErr := json.Unmarshal([]byte(body), &want)
		err := Head([]byte(body), &got)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, the library says %v", body, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(headOf(want), got) {
			t.Fatalf("%q (-want +got):\n%s", body, cmp.Diff(headOf(want), got))
		}
		var after phases.Event
		other := full()
		errAfter := HeadAfter([]byte(body), &after, &other)
		if (errAfter == nil) != (err == nil) || err == nil && !reflect.DeepEqual(after, got) {
			t.Fatalf("%q after another event (-alone +after):\n%s", body, cmp.Diff(got, after))
		}
	})
}

// BenchmarkHead compares Head with the library, on an event as belay writes most of them.
func BenchmarkHead(b *testing.B) {
	body := []byte(usual)
	b.Run("head", func(b *testing.B) {
		for b.Loop() {
			var e phases.Event
			if Head(body, &e) != nil {
				b.Fatal()
			}
		}
	})
	b.Run("valid", func(b *testing.B) {
		for b.Loop() {
			if !jsontext.Value(body).IsValid() {
				b.Fatal()
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		for b.Loop() {
			var e phases.Event
			if json.Unmarshal(body, &e) != nil {
				b.Fatal()
			}
		}
	})
}

const usual = `{"seq":12,"restrictions":"sha256:6f3948e4bb3d878a60d4eb6d28059a5bd44bc3a9f838a0c5b28a1ca6e4fe34e6",` +
	`"id":"01a20911-5514-77e8-99a1-58e9d22cb512","type":"verdict","time":"2026-11-23T15:41:00.56470766Z",` +
	`"invocation":"01a20911-5511-767a-910f-d75a40510586","phase":"pre_tool","runtime":"claude-code",` +
	`"session":"8f0e5d2c-6f38-4a63-9a3e-0d6b1a0c1234","agent":"coder","run":"r-1","user":"dev","tool":"exec",` +
	`"policy_revision":"sha256:8ab6325a87f58fccba939814a2c5283455c574c906a577c28e13814739fca9e7","enforced":"direct",` +
	`"decision":"allow","input":{"action":{"tool":"exec","call_id":"c-3","args":{"command":"git status && ls -la src",` +
	`"description":"Look at the tree"}},"cwd":"/home/dev/project","scopes":{"fs_read":["/home/dev/project/**"],` +
	`"fs_write":["/home/dev/project/**"],"net":["proxy.example:443"],"tools":["*"]},` +
	`"time":"2026-11-23T15:41:00.561340694Z"},"output":{"scopes":{"fs_read":["/home/dev/project/**"],` +
	`"fs_write":["/home/dev/project/**"],"net":["proxy.example:443"],"tools":["*"]},"contexts":[],"artifacts":[]},` +
	`"input_digest":"hmac-sha256:d539ef5c550bf867bf5e4d66c94b089554aadb9741bfd1e07eb6f273112bfde6",` +
	`"output_digest":"hmac-sha256:821e65a707cdea24b3ca3af4224837c4d8e5403a57b2544273d1f503c58b3451","changed":[],` +
	`"notes":["a caller that holds actions to their scopes itself says so (holds_scopes); this one did not"],` +
	`"fuel":1254750,"memory_peak":262144,"hostcalls":39,"duration_us":1754,` +
	`"seed":"10b29522363cbe60c211fa6ca7de7d7ff87111a0b81ec59cca50e7c9626b9b28"}`

// The usual event takes the short way.
func TestUsual(t *testing.T) {
	var e phases.Event
	if !head([]byte(usual), &e, &e) || e.Seq != 12 || len(e.Seed) != 64 {
		t.Errorf("%+v", e)
	}
}

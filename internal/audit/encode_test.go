package audit

import (
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// sameBytes fails unless the encoding by hand is the library's.
func sameBytes(t *testing.T, got []byte, err error, v any) {
	t.Helper()
	want, wantErr := encoded(v)
	if string(got) != string(want) || (err == nil) != (wantErr == nil) {
		t.Errorf("%s, %v\nthe library: %s, %v", got, err, want, wantErr)
	}
}

func sameInput(t *testing.T, in input) {
	t.Helper()
	got, err := in.encoded()
	sameBytes(t, got, err, in)
}

func sameOutput(t *testing.T, out output) {
	t.Helper()
	got, err := out.encoded()
	sameBytes(t, got, err, out)
}

func oddValues() []string {
	return []string{`{}`, `[]`, `""`, ` { "a" : [ 1 , -0 , 1.50e+3 ] ,"b":"\u0041\/\n\"\\ é✓" } `,
		`"\ud83e\uddd7"`, "\"\u007f\u2028\"",
		`"\u001f\u000a"`, `null`, `true`, `{`, ``, `"`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, "\"\xff\"",
		`1 2`, "[\"a b\",\t\"\\\\\"]"}
}

// Digests are of the bytes that the library would write.
func TestDocumentsAreTheLibrarys(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	all := phases.Scopes{FSRead: phases.Scope{"/a/**", "*"}, FSWrite: phases.Scope{}, Net: phases.Scope{"ä\"\n"},
		Tools: phases.Scope{"x\xff"}}
	sameInput(t, input{})
	sameOutput(t, output{})
	for _, value := range oddValues() {
		v := jsontext.Value(value)
		sameInput(t, input{Action: v, CWD: "/a\tb", Time: at})
		sameInput(t, input{Action: jsontext.Value(`{}`), Metadata: map[string]jsontext.Value{"b": v, "a": v,
			"c.d": jsontext.Value(`1`)},
			Time: at, Reported: at.Truncate(time.Second)})
		sameInput(t, input{Action: jsontext.Value(`{}`), Carried: phases.Metadata{"k2": {Value: v, Hook: "h\"",
			Tier: phases.Trusted}, "k1": {}}})
		sameOutput(t, output{Action: v, Metadata: phases.Metadata{"k": {Value: v}}})
	}
	for _, s := range []phases.Scopes{all, {Net: phases.Scope{"a"}}, {FSRead: phases.Scope{"/"},
		Tools: phases.Scope{}}} {
		sameInput(t, input{Action: jsontext.Value(`1`), Scopes: s, Time: at})
		sameOutput(t, output{Scopes: s, Contexts: []string{"a", "\x01ä"}})
	}
	for _, when := range []time.Time{at.In(time.FixedZone("X", 3600)), time.Date(10000, 1, 1, 0, 0, 0, 0,
		time.UTC), at.Local()} {
		sameInput(t, input{Action: jsontext.Value(`1`), Time: when})
		sameInput(t, input{Action: jsontext.Value(`1`), Time: at, Reported: when})
	}
	for _, name := range []string{"é", "z", "", "\xff", "\""} {
		sameInput(t, input{Action: jsontext.Value(`1`), Time: at,
			Metadata: map[string]jsontext.Value{name: jsontext.Value(`1`), "y": nil}})
	}
	sameInput(t, input{Action: jsontext.Value(`1`), Metadata: map[string]jsontext.Value{},
		Carried: phases.Metadata{}})
	sameOutput(t, output{Metadata: phases.Metadata{}, Contexts: []string{}, Artifacts: []phases.Artifact{}})
	sameOutput(t, output{Reply: &phases.Reply{Text: "x"}})
	sameOutput(t, output{Retry: &phases.Retry{Max: 1}})
	sameOutput(t, output{Artifacts: []phases.Artifact{{Name: "a"}}})
	sameOutput(t, output{Grant: &phases.Grant{Hook: "h"}})
}

func FuzzDocuments(f *testing.F) {
	for _, v := range oddValues() {
		f.Add(v, "key", "/a")
	}
	f.Fuzz(func(t *testing.T, value, name, text string) {
		v := jsontext.Value(value)
		sameInput(t, input{Action: v, CWD: text, Metadata: map[string]jsontext.Value{name: v},
			Scopes: phases.Scopes{Net: phases.Scope{text}}})
		sameOutput(t, output{Action: v, Contexts: []string{text}, Metadata: phases.Metadata{name: {Value: v,
			Hook: text}}})
	})
}

// An event takes no more bytes than is said of it, whichever members it has.
func TestFitsCountsEveryMember(t *testing.T) {
	long := strings.Repeat("\x01", 5000)
	e := reflect.ValueOf(&phases.Event{}).Elem()
	for i := range e.NumField() {
		var event phases.Event
		field := reflect.ValueOf(&event).Elem().Field(i)
		switch field.Interface().(type) {
		case jsontext.Value:
			field.SetBytes([]byte(`["` + strings.Repeat("x", 5000) + `"]`))
		case []string:
			field.Set(reflect.ValueOf([]string{long, long}))
		default:
			if field.Kind() == reflect.String {
				field.SetString(long)
			}
		}
		size := 0
		if !fits(&event, &size) {
			t.Errorf("%s does not fit", e.Type().Field(i).Name)
		}
		doc, err := (&Record{Verdict: event}).Document()
		if err != nil || len(doc) > size {
			t.Errorf("%s: %d bytes, counted as %d, %v", e.Type().Field(i).Name, len(doc), size, err)
		}
	}
	for _, deep := range []phases.Event{{Input: jsontext.Value(strings.Repeat("[",
		maxDepth) + strings.Repeat("]", maxDepth))},
		{Output: jsontext.Value(strings.Repeat(`{"a":`, maxDepth-2) + `"[{\"[{"` + strings.Repeat("}",
			maxDepth-2))}, {Reason: "\xff"}} {
		if size := 0; fits(&deep, &size) {
			t.Errorf("%.40s%.40s%q fits", deep.Input, deep.Output, deep.Reason)
		}
	}
	if n := nests([]byte(`{"a[[[\"[[":[1,{"\\":[]}],"b":{}}`)); n != 4 {
		t.Error(n)
	}
}

// A Hasher says what its keys say, again and again, also to many callers.
func TestHasher(t *testing.T) {
	keys := Keys{UseInput: []byte(strings.Repeat("k", 32)), UseOutput: []byte(strings.Repeat("l", 100)),
		UseApproval: []byte("short")}
	h := NewHasher(keys)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range 50 {
				for _, use := range append(Uses(), "none") {
					original := []byte(strings.Repeat("x", n*7))
					if got, want := h.Digest(use, original), keys.Digest(use, original); got != want {
						t.Errorf("%s of %d bytes: %s, want %s", use, len(original), got, want)
					}
				}
			}
		})
	}
	wg.Wait()
	if h.Digest(UseInput, nil) == h.Digest(UseOutput, nil) || h.Digest(UseApproval, nil) != "" {
		t.Error("keys are not what makes the digest")
	}
}

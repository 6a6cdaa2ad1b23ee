package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// The input document of a checked invocation is that of one which is checked here; only the carried metadata, which
// others have stored, is always looked at.
func TestCheckedInputIsEncodedAsOthers(t *testing.T) {
	inv := &Invocation{Invocation: phases.Invocation{Phase: phases.PreTool, Runtime: "r",
		Action:   jsontext.Value(` { "tool" : "exec", "args" : { "a" : "\u0041\/ä\n" , "b" : [ 1 , 2 ] } } `),
		Metadata: map[string]jsontext.Value{"k": jsontext.Value(` { "x" : 1 } `)}, Time: time.Unix(5, 0).UTC()},
		Carried: phases.Metadata{"c": {Value: jsontext.Value(` 1 `), Hook: "h", Tier: phases.Trusted}}}
	want, err := InputDocument(inv)
	if err != nil {
		t.Fatal(err)
	}
	if inv.Checked, err = inv.Check(); err != nil {
		t.Fatal(err)
	}
	if !inputOf(inv).strict {
		t.Error("a checked invocation is not known to be")
	}
	if got, err := InputDocument(inv); err != nil || string(got) != string(want) {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	compact := *inv
	compact.Action = jsontext.Value(`{"tool":"exec","args":{"a":"\n\"ä\\","b":[1,-2.50]}}`)
	if want, err = InputDocument(&compact); err != nil {
		t.Fatal(err)
	}
	if compact.Checked, err = compact.Check(); err != nil {
		t.Fatal(err)
	}
	if got, err := InputDocument(&compact); err != nil || string(got) != string(want) || !inputOf(&compact).compact ||
		inputOf(inv).compact {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	inv.Carried["c"] = phases.Entry{Value: jsontext.Value(`{"a":1,"a":2}`)}
	if got, err := InputDocument(inv); err == nil {
		t.Errorf("carried metadata that is not strict: %s", got)
	}
	inv.Action = jsontext.Value(`{"a":1,"a":2}`) // another one than was checked
	if inputOf(inv).strict {
		t.Error("what was said of one action holds of another")
	}
}

// Events may share memory with the record, and two of them with each other never do.
func TestEventsOfARecord(t *testing.T) {
	rec := Record{Hooks: make([]phases.Event, 0, 3), Verdict: phases.Event{ID: "v"}}
	rec.Hooks = append(rec.Hooks, phases.Event{ID: "a"}, phases.Event{ID: "b"})
	events := rec.Events()
	more := append(events, phases.Event{ID: "m"})
	if len(rec.Hooks) != 2 || len(events) != 3 || events[2].ID != "v" || more[2].ID != "v" || more[3].ID != "m" ||
		rec.Hooks[1].ID != "b" || rec.Events()[2].ID != "v" {
		t.Errorf("%v, %v", events, more)
	}
	if alone := (&Record{Verdict: phases.Event{ID: "v"}}).Events(); len(alone) != 1 || alone[0].ID != "v" {
		t.Errorf("%v", alone)
	}
}

// Turns that saw one document have one digest of it, and a turn that saw another its own.
func TestTurnsThatSawOneDocument(t *testing.T) {
	b := Builder{Redactor: blind{}, Digester: Keys{UseInput: []byte(strings.Repeat("k", 32))}}
	one, two := jsontext.Value(`{"a":1}`), jsontext.Value(`{"a":2}`)
	turns := []Turn{{Input: one}, {Input: one}, {Input: two}, {Input: two[:4]}, {}, {Input: one}}
	rec, err := b.Build(NewInput(&Invocation{}), &phases.Verdict{}, nil, turns, "v", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range turns {
		if got, want := rec.Hooks[i].InputDigest, b.Digester.Digest(UseInput, turns[i].Input); got != want || got == "" {
			t.Errorf("turn %d: %s, want %s", i, got, want)
		}
	}
}

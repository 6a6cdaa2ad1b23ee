package payload_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
	"github.com/belay-hooks/belay/phases"
)

// One strict object within the limit, and nothing else, is a payload; the error says what is wrong.
func TestParse(t *testing.T) {
	deep := strings.Repeat("[", phases.MaxInputDepth+1) + strings.Repeat("]", phases.MaxInputDepth+1)
	for in, want := range map[string]string{
		`{}`: "", ` {"a":{"b":1}} `: "", `[]`: "not a JSON object", ``: "not a JSON object", `{"a":1,"a":2}`: "occurs twice",
		`{"a":{"b":1,"b":2}}`: "occurs twice", `{"a":"` + "\xff" + `"}`: "UTF-8", `{"a":1`: "ends too early",
		`{} {}`: "after the JSON", `{"a":` + deep + `}`: "nest deeper", `{"a":"` + strings.Repeat("x", 100) + `"}`: "",
		`{"a":"` + strings.Repeat("x", 200) + `"}`: "larger than", `{"a":01}`: "strict JSON",
	} {
		limit := 200
		if strings.Contains(want, "nest") {
			limit = 1 << 20
		}
		p, err := payload.Parse([]byte(in), limit)
		if want == "" && (err != nil || p.Err() != nil) ||
			want != "" && (!errors.Is(err, adapters.ErrPayload) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.40q: %v, want %q", in, err, want)
		}
	}
}

// The first failed read stays, and names event and member.
func TestTheFirstFaultStays(t *testing.T) {
	p, err := payload.Parse([]byte(`{"n":null,"s":"x","e":"","b":true,"o":{"k":"v"},"l":[1]}`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	p.Named("Event")
	if p.Str("s") != "x" || p.OptStr("n") != "" || p.OptStr("absent") != "" || !p.Boolean("b") ||
		string(p.Container("o", '{')) != `{"k":"v"}` || p.Err() != nil {
		t.Fatalf("%v", p.Err())
	}
	if rest, _ := p.Rest(1000, 100); string(rest) != `{"e":"","l":[1]}` {
		t.Errorf("unused: %s", rest)
	}
	if rest, omitted := p.Rest(6, 100); string(rest) != `{"e":""}` ||
		string(omitted) != `["l"]` {
		t.Errorf("unused, little room: %s, omitted %s", rest, omitted)
	}
	p.Name("e")
	p.Str("l")
	if err := p.Err(); err == nil || err.Error() != "Event: a member is empty at /e" {
		t.Errorf("%v", err)
	}
}

// An object keeps the order and the bytes of its members.
func TestObject(t *testing.T) {
	o := new(payload.Object).Str("b", "x\n").Raw("a", []byte(` {"k": 1} `)).Opt("c", "").Boolean("d", false)
	if got := string(o.Value()); got != `{"b":"x\n","a":{"k": 1},"d":false}` {
		t.Error(got)
	}
	if got := string(new(payload.Object).Value()); got != "{}" {
		t.Error(got)
	}
}

// TakeUnused leaves what was read already; Refuse does not replace the first failed read.
func TestTakeUnused(t *testing.T) {
	p := payload.Of("Event", []byte(`{"a":"x","b":2,"c":[3]}`))
	if p.Str("a") != "x" || string(p.TakeUnused(func(name string) bool { return name != "c" })) != `{"b":2}` {
		t.Error("a member that was read is taken again, or one that was not is left")
	}
	if rest := p.Unused(); len(rest) != 1 || rest[0].Name != "c" {
		t.Errorf("left: %v", rest)
	}
	p.Fail("c", "first")
	p.Refuse(errors.New("second"))
	if err := p.Err(); !errors.Is(err, adapters.ErrPayload) || p.Event() != "Event" {
		t.Errorf("%v", err)
	}
}

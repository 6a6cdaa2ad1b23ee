package hostcalls

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// The price of a look grows with everything that it has to pass: many small
// entries, names that have to be decoded, escapes.
func TestLooksArePaidFor(t *testing.T) {
	const n = 100_000
	list := func(entry string) string { return strings.TrimSuffix(strings.Repeat(entry+",", n), ",") }
	names := func(format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"`+format+`":1,`, i)
		}
		return b.String()
	}
	last := fmt.Sprintf("/a/%d", n-1)
	for _, tc := range []struct {
		name, doc, path, call string
		least                 int64 // the time that it takes, in nanoseconds where nothing else runs
	}{
		{"small entries", `{"a":[` + list("1") + `]}`, last, "input_get", 10 * n},
		{"empty strings", `{"a":[` + list(`""`) + `]}`, last, "input_kind", 10 * n},
		{"nothing there", `{"a":[` + list("1") + `]}`, fmt.Sprintf("/a/%d", n), "input_get", 10 * n},
		{"entries within", `{"b":[` + list("[]") + `],"a":[1]}`, "/a/0", "input_get", n},
		{"names", `{` + names("x%05d") + `"a":[1]}`, "/a/0", "input_get", 15 * n},
		{"names with escapes", `{` + names(`\u0061%05d`) + `"a":[1]}`, "/a/0", "input_get", 100 * n},
		{"names to list", `{"a":{` + strings.TrimSuffix(names("x%05d"), ",") + `}}`, "/a", "input_keys", 40 * n},
		{"entries to count", `{"a":[` + list("1") + `]}`, "/a", "input_keys", 30 * n},
		{"escapes to decode", `{"a":"` + strings.Repeat(`\u00e9`, n) + `"}`, "/a", "input_get", 10 * n},
	} {
		u := newTurn(t, func(c *SessionConfig) { c.Input, c.Limits.Input = jsontext.Value(tc.doc), 4<<20 })
		if r := u.do(tc.call, tc.path); r.Fuel < tc.least || r.Fuel > 8*tc.least {
			t.Errorf("%s: %d, %d fuel for %d ns", tc.name, r.Code, r.Fuel, tc.least)
		}
	}
	if _, _, took, err := phases.FindCounted(jsontext.Value(`{}`), "x"); err == nil || took != (phases.Looked{}) {
		t.Errorf("a bad pointer: %+v, %v", took, err)
	}
}

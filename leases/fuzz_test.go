package leases_test

import (
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/leases"
)

// A valid scope contains itself and equals its normal form. A scope that is narrowed by
// another is contained in both.
func FuzzScope(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"paths":["/srv/**"],"hosts":["*.example:443"],"tools":["mcp:*"],"args":["` + digest(1) + `"]}`,
		`{"paths":[]}`, `{"args":["*"]}`, `{"paths":null}`,
		`{"paths":["/srv/../etc/**","/**/a"],"hosts":["[::1]:1-2"]}`, `{"tools":["a","a"]}`,
	} {
		f.Add([]byte(s), []byte(`{"paths":["/srv/a/**"],"args":["`+digest(1)+`","`+digest(2)+`"]}`))
	}
	read := func(src []byte) (s leases.Scope, ok bool) {
		err := json.Unmarshal(src, &s, json.RejectUnknownMembers(true))
		return s, err == nil && s.Validate() == nil
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, ok := read(a)
		if !ok {
			return
		}
		n := x.Normalize()
		if !x.Contains(x) || !x.Equal(n) || n.Validate() != nil {
			t.Fatalf("%s is not itself: %+v", a, n)
		}
		y, ok := read(b)
		if !ok {
			return
		}
		if z := x.Narrow(y); !x.Contains(z) || !y.Contains(z) || !z.Equal(y.Narrow(x)) {
			t.Fatalf("%s narrowed by %s is %+v", a, b, z)
		}
	})
}

package hostcalls

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// A charge of one counts, nothing and less does not.
func TestSmallCharges(t *testing.T) {
	ctx, spent := withMeter(t.Context(), 10)
	for _, fuel := range []int64{0, -1, 1} {
		Charge(ctx, fuel)
	}
	if left, ok := FuelLeft(ctx); spent() != 1 || Charged(ctx) != 1 || left != 9 || !ok {
		t.Errorf("%d charged, %d left", spent(), left)
	}
}

// Beside the table's price, a call pays for the bytes that it may have looked at and for those of its answer.
func TestFuelOfCalls(t *testing.T) {
	doc := `{"a":[1,2,3],"s":"` + strings.Repeat("x", 400) + `"}`
	with := func(c *SessionConfig) { c.Config = jsontext.Value(doc) }
	all := int64(len(doc)) / 8
	for _, tc := range []struct {
		call, arg string
		want      int64
	}{
		{"config_get", "/a", all + int64(len(`[1,2,3]`))/4},
		{"config_get", "/s", all + 402/4},
		{"config_get", "/none", all},
		{"config_kind", "/s", all},
		{"config_keys", "/a", all + int64(len(`[1,2,3]`))},
		{"config_keys", "/none", all},
		{"config_keys", "/s", all + 402},
	} {
		u := newTurn(t, with)
		if r := u.do(tc.call, tc.arg); r.Fuel != tc.want {
			t.Errorf("%s %s costs %d, want %d", tc.call, tc.arg, r.Fuel, tc.want)
		}
	}
	u := newTurn(t, nil)
	for _, tc := range []struct {
		call string
		args []any
		want int64
	}{
		{"annotate", []any{"k", "1"}, 0},
		{"rewrite", []any{"/args/command", "ls", 1}, 5 * int64(len(preToolAction))},
		{"block", []any{"no"}, 0},
		{"find_secrets", []any{"text"}, 0},
	} {
		if r := u.do(tc.call, tc.args...); r.Fuel != tc.want {
			t.Errorf("%s costs %d, want %d", tc.call, r.Fuel, tc.want)
		}
	}
}

// The fuel of path_resolve counts its paths, the lookups, the elements walked and the text of its answer.
func TestFuelOfPaths(t *testing.T) {
	l := &linkTree{targets: map[string]string{"/w": "", "/w/a": "", "/w/b": "a"}}
	scoped := phases.Scopes{FSRead: phases.Scope{"/w/**", "/x"}, FSWrite: phases.Scope{"/w/**"}}
	for _, tc := range []struct {
		name, request        string
		change               func(*SessionConfig)
		paths, reads, walked int
		text                 int // bytes of paths, resolved paths and keys in the answer
	}{
		{"none", `{"paths":[]}`, nil, 0, 0, 0, 0},
		{"without files", `{"paths":["/w/a","/w"]}`, nil, 2, 0, 0, 2*len("/w/a") + 2*len("/w")},
		{"with files", `{"paths":["/w/a"]}`, func(c *SessionConfig) { c.Files = l }, 1, 2, 2, 3 * len("/w/a")},
		{"twice the same", `{"paths":["/w/a","/w/a"]}`, func(c *SessionConfig) { c.Files = l }, 2, 2, 4, 6 * len("/w/a")},
		{"a link", `{"paths":["/w/b"]}`, func(c *SessionConfig) { c.Files = l }, 1, 3, 3, 4 * len("/w/a")},
		{"up and back", `{"paths":["/w/../w/a"]}`, func(c *SessionConfig) { c.Files = l }, 1, 2, 4 + 2, 3 * len("/w/a")},
	} {
		for patterns, scopes := range map[int]phases.Scopes{0: {}, 3: scoped} {
			u := newTurn(t, func(c *SessionConfig) {
				c.Scopes = scopes
				if tc.change != nil {
					tc.change(c)
				}
			})
			want := int64((tc.paths+1)*pathFuel + tc.reads*fileReadFuel + tc.walked*(elementFuel+patterns*patternFuel) +
				tc.text*pathByteFuel)
			if r := u.do("path_resolve", tc.request); r.Fuel != want {
				t.Errorf("%s, %d patterns: costs %d, want %d: %s", tc.name, patterns, r.Fuel, want, u.reply())
			}
		}
	}
	many := newTurn(t, nil)
	list := strings.TrimSuffix(strings.Repeat(`"/a",`, maxPaths), ",")
	if r := many.do("path_resolve", `{"paths":[`+list+`]}`); r.Code <= 0 {
		t.Errorf("as many paths as there may be: %d", r.Code)
	}
	many.code(TooLarge, "path_resolve", `{"paths":[`+list+`,"/a"]}`)
	if r := many.do("path_resolve", `{"paths":["/`+strings.Repeat("a", maxPathText-1)+`"]}`); r.Code <= 0 {
		t.Errorf("the longest path: %d", r.Code)
	}
	many.code(TooLarge, "path_resolve", `{"paths":["/`+strings.Repeat("a", maxPathText)+`"]}`)
	for _, bad := range []string{`{"paths":["a"],"cwd":"w"}`, `{"paths":["a"],"x":1}`, `[]`} {
		many.code(Invalid, "path_resolve", bad)
	}
	relative := newTurn(t, func(c *SessionConfig) { c.CWD = "/w" })
	for request, want := range map[string]string{`{"paths":["a"]}`: "/w/a", `{"paths":["a"],"cwd":"/x"}`: "/x/a"} {
		relative.do("path_resolve", request)
		if reply := decodeReply[pathReply](relative); reply.Results[0].Path != want || reply.Results[0].Links != "unknown" {
			t.Errorf("%s: %+v, want %s", request, reply.Results[0], want)
		}
	}
}

// What every call costs is part of the contract: a turn costs the same everywhere. Base, per byte in, per byte out.
func TestCostsOfCalls(t *testing.T) {
	want := map[string]Cost{
		"input_read": {500, 0, 1}, "input_get": {500, 1, 1}, "input_kind": {500, 1, 1}, "input_keys": {500, 1, 1},
		"config_read": {500, 0, 1}, "config_get": {500, 1, 1}, "config_kind": {500, 1, 1}, "config_keys": {500, 1, 1},
		"reply_read": {500, 0, 1}, "log": {500, 1, 0}, "fail": {500, 1, 0},
		"shell_parse": {20_000, 200, 0}, "path_resolve": {5_000, 20, 0}, "pattern_match": {5_000, 20, 0},
		"find_secrets": {5_000, 100, 0},
		"state_get":    {5_000, 1, 1}, "state_put": {5_000, 2, 0}, "time_now": {100, 0, 0}, "random": {500, 0, 2},
	}
	for _, c := range Table() {
		cost, ok := want[c.Name]
		if !ok && c.Group == GroupEffects {
			cost = Cost{1000, 2, 0}
		} else if !ok {
			cost = Cost{100_000, 5, 0} // what a port carries out
		}
		if c.Cost != cost {
			t.Errorf("%s costs %+v, want %+v", c.Name, c.Cost, cost)
		}
	}
}

package hostcalls

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
)

// The core signatures of guest ABI version 1: number of i32 parameters, and r for
// a result of i64. They must never change.
const signatures = `input_read 2, input_get 4, input_kind 2, input_keys 2, config_read 2, config_get 4, config_kind 2, config_keys 2, reply_read 2,
log 3, fail 2, block 2, request_approval 2, rewrite 5, redact 4, clamp_scopes 2, annotate 4, add_context 2, retry 2, reply 2, put_artifact 2, grant 2,
shell_parse 2, path_resolve 2, pattern_match 2, find_secrets 2, request_tool_call 2, request_lease 2, check_lease 2, mint_lease 2, revoke_lease 2,
http_request 2, state_get 4, state_put 4, time_now 0r, random 2`

func TestTable(t *testing.T) {
	var got []string
	for _, c := range Table() {
		s := c.Name + " " + string(rune('0'+c.Arity()))
		if c.Result == ResultI64 {
			s += "r"
		}
		got = append(got, s)
		if c.Handle == nil || c.Doc == "" || c.Group == "" || c.LeastTier == "" || c.Cost.Base <= 0 {
			t.Errorf("%s: incomplete row", c.Name)
		}
		if (c.Capability == "") != (c.Group == GroupFree) || c.Capability != "" && c.Capability != c.Name {
			t.Errorf("%s: capability %q", c.Name, c.Capability)
		}
		if c.Waits != (c.Group == GroupCalls || c.Name == "path_resolve") {
			t.Errorf("%s: waits: %v", c.Name, c.Waits)
		}
		if c.InInit != (c.Name == "log" || c.Name == "fail") {
			t.Errorf("%s: during init", c.Name)
		}
		ins := 0
		for _, p := range c.Params {
			if p == ParamIn {
				if c.MaxIn[ins] <= 0 {
					t.Errorf("%s: argument %d has no limit", c.Name, ins)
				}
				ins++
			}
		}
	}
	want := strings.Split(strings.ReplaceAll(signatures, "\n", " "), ", ")
	if !slices.Equal(got, want) {
		t.Errorf("table:\ngot  %q\nwant %q", got, want)
	}
}

// The phases in which each call is legal, as the ABI document lists them.
func TestLegality(t *testing.T) {
	legalIn := func(name string) string {
		c, _ := Lookup(name)
		var out []string
		for _, p := range phases.Phases() {
			if c.LegalIn(p) {
				out = append(out, string(p))
			}
		}
		return strings.Join(out, " ")
	}
	const all = "pre_plan pre_send post_receive pre_tool post_tool state_transition spawn audit"
	live := strings.TrimSuffix(all, " audit")
	const act = "pre_plan post_receive pre_tool post_tool state_transition spawn"
	for name, want := range map[string]string{
		"log": all, "redact": all, "shell_parse": all, "random": all, "time_now": all, "input_get": all,
		"block": live, "annotate": live, "add_context": live, "state_get": live, "state_put": live, "http_request": live,
		"rewrite":          live,
		"request_approval": "pre_plan pre_send pre_tool state_transition spawn",
		"clamp_scopes":     "pre_tool state_transition spawn",
		"grant":            "pre_tool", "retry": "post_receive", "reply": "pre_plan pre_send",
		"put_artifact":      "pre_plan post_receive post_tool state_transition",
		"request_tool_call": act, "request_lease": act, "check_lease": act, "mint_lease": act, "revoke_lease": act,
	} {
		if got := legalIn(name); got != want {
			t.Errorf("%s is legal in %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"grant", "mint_lease", "revoke_lease", "http_request"} {
		if tier, _ := leastTier(name); tier != phases.Trusted {
			t.Errorf("%s is for %s", name, tier)
		}
	}
}

// abi.json is what SDKs in every language are checked against; the table must
// say the same.
func TestAgainstABI(t *testing.T) {
	raw, err := os.ReadFile("../hooks-sdk/abi/abi.json")
	if err != nil {
		t.Fatal(err)
	}
	type function struct {
		Name       string         `json:"name"`
		Group      Group          `json:"group"`
		Capability string         `json:"capability"`
		LeastTier  phases.Tier    `json:"least_tier"`
		Phases     []phases.Phase `json:"phases"`
		Params     []string       `json:"params"`
		Results    []string       `json:"results"`
		Reply      bool           `json:"reply"`
		Counted    bool           `json:"counted"`
		Init       bool           `json:"init"`
		Doc        string         `json:"doc"`
	}
	var abi struct {
		Functions []function `json:"functions"`
	}
	if err := json.Unmarshal(raw, &abi); err != nil {
		t.Fatal(err)
	}
	var want []function
	for _, c := range Table() {
		f := function{Name: c.Name, Group: c.Group, Capability: c.Capability, LeastTier: c.LeastTier, Phases: c.Phases,
			Reply: c.Replies, Counted: c.Counted, Init: c.InInit, Doc: c.Doc, Results: []string{"i32"}, Params: []string{}}
		if c.Result == ResultI64 {
			f.Results = []string{"i64"}
		}
		for range c.Arity() {
			f.Params = append(f.Params, "i32")
		}
		want = append(want, f)
	}
	if diff := cmp.Diff(want, abi.Functions); diff != "" {
		t.Errorf("abi.json and the table differ (-table +abi.json):\n%s", diff)
	}
}

func TestCapabilities(t *testing.T) {
	for _, s := range []string{"block", "rewrite", "rewrite:/args", "rewrite:/a~1b/c", "http_request", "state_get"} {
		c, err := parseCapability(s)
		if err != nil || c.String() != s {
			t.Errorf("%q: %v %v", s, c, err)
		}
	}
	for _, s := range []string{"", "Block", "blok", "block:", "block:x", "rewrite:", "rewrite:args", "rewrite:/a~",
		"rewrite:/\xff", "input_get", "log", " block", "http_request:x", "rewrite:/" + strings.Repeat("x", MaxPath)} {
		if c, err := parseCapability(s); !errors.Is(err, ErrCapability) {
			t.Errorf("%q: %v %v", s, c, err)
		}
	}
	if len(Known()) != 25 || slices.Contains(Known(), "log") || !slices.IsSorted(Known()) {
		t.Errorf("known: %q", Known())
	}
	g, err := ParseGrants([]string{"block", "rewrite:/b", "rewrite:/a", "block"})
	if err != nil || !g.has("block") || !g.has("rewrite") || g.has("redact") ||
		!slices.Equal(g.rewritePrefixes(), []string{"/a", "/b"}) {
		t.Errorf("%+v %v", g, err)
	}
	if g, _ := ParseGrants([]string{"rewrite:/a", "rewrite"}); !slices.Equal(g.rewritePrefixes(), []string{""}) {
		t.Errorf("plain rewrite: %q", g.rewritePrefixes())
	}
	if (Grants{}).has("block") || (Grants{}).rewritePrefixes() != nil {
		t.Error("the zero value grants something")
	}
}

func TestCapabilityProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.StringMatching(`(rewrite|block|grant|log)(:[/a-z~01]{0,8})?`)).Draw(t, "s")
		c, err := parseCapability(s)
		if err != nil {
			if !errors.Is(err, ErrCapability) || len(err.Error()) > 600 {
				t.Fatalf("%v", err)
			}
			return
		}
		if c.String() != s || !slices.Contains(Known(), c.Name) {
			t.Fatalf("%q gives %+v", s, c)
		}
		g, err := ParseGrants([]string{s})
		if err != nil || !g.has(c.Name) {
			t.Fatalf("%q: %v", s, err)
		}
	})
}

// Replies must stay decodable by the types that document them, and members
// without omitzero must be there even when empty.
func TestReplyShapes(t *testing.T) {
	for doc, want := range map[any]string{
		&secretsReply{Secrets: []secretPlace{}}: `{"secrets":[],"truncated":false}`,
		&patternReply{Matches: []patternHit{}}:  `{"any":false,"matches":[]}`,
		&pathReply{Results: []pathResult{}}:     `{"results":[]}`,
	} {
		got, err := json.Marshal(doc)
		if err != nil || string(got) != want {
			t.Errorf("%s %v, want %s", got, err, want)
		}
	}
}

package suite_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

const file = `cases:
  - name: first
    phase: pre_tool
    action: {tool: exec, args: {command: ls}}
    want: {decision: allow, changed: []}
  - name: second
    phase: pre_tool
    action: {tool: exec, args: {command: ls}}
    before:
      - phase: pre_plan
        action: {kind: message, text: hi}
    want: {decision: block, reason_contains: no}
`

func TestReadSuite(t *testing.T) {
	s, err := suite.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cases) != 2 || len(s.Cases[1].Before) != 1 || s.Cases[0].Want.Changed == nil {
		t.Errorf("got %+v", s)
	}
	for _, c := range []struct{ old, new, want string }{
		{"name: second", "name: first", "line 6"},
		{"want: {decision: allow", "want: {decison: allow", "line 5"},
		{"decision: allow", "decision: maybe", "allow, ask or block"},
		{"phase: pre_tool", "phase: pre_tol", "not a phase"},
		{file, "cases: []\n", "no case"},
		{"changed: []", "absent: [args/x]", `line 5, column 38: /cases/0/want/absent/0: "args/x" is not a JSON Pointer`},
		{"changed: []", "changed: [args]", "/cases/0/want/changed/0: "},
		{"changed: []", "masked: [args]", "/cases/0/want/masked/0: "},
		{"changed: []", "action: {args/x: 1}", "line 5, column 29: /cases/0/want/action: "},
	} {
		_, err := suite.Parse([]byte(strings.Replace(file, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.new, err, c.want)
		}
	}
}

// Every member of Want can fail: a checker that accepts everything proves nothing.
func TestCheckFindsEachDifference(t *testing.T) {
	v := phases.Verdict{
		Decision: phases.Allow, Kind: phases.KindPolicy, Reason: "because",
		Action: jsontext.Value(`{"args":{"a":1}}`), Changed: []string{"/args/a"},
		Metadata:  phases.Metadata{"k": {Value: jsontext.Value(`"v"`)}},
		Contexts:  []string{"[belay hook x] text"},
		Reply:     &phases.Reply{Text: "hello"},
		Retry:     &phases.Retry{Instruction: "again"},
		Artifacts: []phases.Artifact{{Name: "a.txt"}},
		Masked:    []string{"/input/action/args/a"},
		Hooks: []phases.HookReport{{Fuel: 100, MemoryPeak: 65536,
			Effects: []phases.Effect{{Kind: phases.EffectRewrite, Path: "/args/a"}}}},
	}
	fits := suite.Want{
		Decision: phases.Allow, Kind: phases.KindPolicy, ReasonContains: "cause", Changed: []string{"/args/a"},
		Action: map[string]jsontext.Value{"/args/a": jsontext.Value("1.0")}, Absent: []string{"/args/b"},
		Metadata: map[string]jsontext.Value{"k": jsontext.Value(`"v"`)}, Scopes: &phases.Scopes{}, Contexts: []string{"text"},
		Effects: []suite.WantEffect{{Kind: phases.EffectRewrite}}, Reply: "hell", Retry: "again",
		Artifacts: []string{"a.txt"},
		Masked:    []string{"/args/a"}, MaxFuel: 100, MaxMemory: 65536,
		Verdict: jsontext.Value(`{"retry":{"instruction":"again"},"hooks":[{"fuel":100}]}`),
	}
	if bad := fits.Check(v); len(bad) != 0 {
		t.Fatalf("a fitting verdict is refused: %q", bad)
	}
	for name, w := range map[string]suite.Want{
		"decision":  {Decision: phases.Block},
		"kind":      {Decision: phases.Allow, Kind: phases.KindFuel},
		"reason":    {Decision: phases.Allow, ReasonContains: "other"},
		"changed":   {Decision: phases.Allow, Changed: []string{}},
		"value":     {Decision: phases.Allow, Action: map[string]jsontext.Value{"/args/a": jsontext.Value("2")}},
		"no value":  {Decision: phases.Allow, Action: map[string]jsontext.Value{"/args/z": jsontext.Value("2")}},
		"absent":    {Decision: phases.Allow, Absent: []string{"/args/a"}},
		"metadata":  {Decision: phases.Allow, Metadata: map[string]jsontext.Value{"z": jsontext.Value("1")}},
		"scopes":    {Decision: phases.Allow, Scopes: &phases.Scopes{Tools: phases.Scope{}}},
		"contexts":  {Decision: phases.Allow, Contexts: []string{}},
		"effects":   {Decision: phases.Allow, Effects: []suite.WantEffect{}},
		"reply":     {Decision: phases.Allow, Reply: "bye"},
		"retry":     {Decision: phases.Allow, Retry: "stop"},
		"artifacts": {Decision: phases.Allow, Artifacts: []string{}},
		"masked":    {Decision: phases.Allow, Masked: []string{"/text"}},
		"an effect": {Decision: phases.Allow,
			Effects: []suite.WantEffect{{Kind: phases.EffectRewrite,
				Rest: jsontext.Value(`{"kind":"rewrite","path":"/args/b"}`)}}},
		"fuel":    {Decision: phases.Allow, MaxFuel: 99},
		"memory":  {Decision: phases.Allow, MaxMemory: 65535},
		"verdict": {Decision: phases.Allow, Verdict: jsontext.Value(`{"retry":{"max":3}}`)},
	} {
		if bad := w.Check(v); len(bad) != 1 {
			t.Errorf("%s: got %q, want one difference", name, bad)
		}
	}
}

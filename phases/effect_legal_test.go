package phases_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// The failure of a refused effect names the phase, the effect, the pointer and what would have been legal.
func TestRefusalsTeach(t *testing.T) {
	by := phases.Actor{Hook: "h", Mutator: true, Rewrite: []string{"/args"},
		Grants: map[phases.EffectKind]bool{phases.EffectRedact: true, phases.EffectRetry: true}}
	judge := by
	judge.Mutator = false
	tool := jsontext.Value(`{"tool":"exec","args":{"command":"ls"}}`)
	for name, c := range map[string]struct {
		phase  phases.Phase
		by     phases.Actor
		effect phases.Effect
		want   []string
	}{
		"another place": {phases.PreTool, by, phases.Effect{Kind: phases.EffectRewrite, Path: "/tool", Value: jsontext.Value(`"x"`)},
			[]string{`rewrite "/tool"`, "phase pre_tool", "legal here: a rewrite at or below /args"}},
		"another kind": {phases.PreTool, by, phases.Effect{Kind: phases.EffectRetry, Text: "again"},
			[]string{"retry:", "phase pre_tool", "legal here: block, ask, rewrite, redact"}},
		"not granted": {phases.PreTool, by, phases.Effect{Kind: phases.EffectAsk, Text: "?"},
			[]string{"ask: not granted", "phase pre_tool", "grant request_approval to the binding"}},
		"a validator": {phases.PreTool, judge, phases.Effect{Kind: phases.EffectRedact, Path: "/args", Label: "x"},
			[]string{`redact "/args"`, "at or below /args", "only if its manifest lists it under `mutates`"}},
		"another shape": {phases.PreTool, by, phases.Effect{Kind: phases.EffectRewrite, Path: "/args", Value: jsontext.Value(`7`)},
			[]string{`rewrite "/args"`, "phase pre_tool"}},
		"a pointer of control codes": {phases.PreTool, by,
			phases.Effect{Kind: phases.EffectRewrite, Path: "/x\x1b[2J\n", Value: jsontext.Value(`7`)}, []string{"phase pre_tool"}},
	} {
		_, err := phases.ApplyEffect(c.phase, phases.PassMutate, tool, c.by, c.effect)
		f, ok := err.(interface{ Fault() *phases.Fault })
		if !ok {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := f.Fault().Text
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", name, text, want)
			}
		}
		if strings.ContainsAny(text, "\x1b\n") || len(text) > 1000 {
			t.Errorf("%s: not one safe line: %q", name, text)
		}
		if !phases.IsRefusal("a hook asked for something that it may not do", text) || phases.IsRefusal("blocked", text) {
			t.Errorf("%s: an older recording of it would differ: %q", name, text)
		}
	}
}

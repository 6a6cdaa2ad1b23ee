package phases_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Errors are read by people: their text is kept, too.
func TestGoldenErrors(t *testing.T) {
	docs := map[string]string{
		"duplicate": "{\"phase\":\"pre_tool\",\n \"run\":\"a\", \"run\":\"b\"}",
		"unknown":   `{"phase":"pre_tool","actoin":{}}`,
		"type":      "{\"phase\":\"pre_tool\",\"action\":{\"tool\":\"exec\",\n\t\"args\":\"ls\"}}",
		"phase":     `{"phase":"pre-tool","action":{}}`,
		"missing":   `{"phase":"pre_tool","action":{"args":{}}}`, "text after": `{"phase":"audit","action":{"kind":"x"}}}`,
		"cut off": `{"phase":"audit","action":{"kind":`,
		"scope":   `{"phase":"audit","action":{"kind":"x"},"scopes":{"net":["a.example"]}}`,
		"kind":    `{"phase":"pre_plan","action":{"kind":"chat"}}`,
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		_, err := phases.DecodeInvocation([]byte(docs[name]))
		fmt.Fprintf(&b, "%s: %v\n", name, err)
	}
	for _, e := range []phases.Effect{
		{Kind: phases.EffectRewrite, Path: "/tool", Value: jsontext.Value("1")},
		{Kind: phases.EffectRewrite, Path: "/args", Value: jsontext.Value("1")},
		{Kind: phases.EffectRewrite, Path: "/args/a/b", Value: jsontext.Value("1")}, {Kind: phases.EffectRetry},
	} {
		_, err := phases.ApplyEffect(phases.PreTool, phases.PassMutate, jsontext.Value(phases.OkAction), phases.Almighty(), e)
		fmt.Fprintf(&b, "effect: %v\n", err)
	}
	_, err := phases.CompileTools("exce", false)
	fmt.Fprintf(&b, "%v\n", err)
	phases.Golden(t, "errors.txt", b.String())
}

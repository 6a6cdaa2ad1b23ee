package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// between is what stands between texts of which one look tells which may hold a secret; the built-in redact-secret
// joins them by it (examples-wasm/redact-secret/src/together.rs).
const between = "\n\x1e\n"

// A text that holds a secret by itself is touched by a finding when it stands among others, whichever these are: a
// hook that looks at many texts at once then looks at that one by itself.
func TestJoinedTextsHideNothing(t *testing.T) {
	var texts []string
	add := func(text string) {
		if len(text) <= 256 {
			texts = append(texts, text)
		}
	}
	for _, line := range readTexts(t, "testdata/texts.txt") {
		text, _ := marked(t, line)
		add(text)
	}
	for _, file := range []string{"secrets", "places_fresh", "places_held", "places_tuned"} {
		for _, c := range samplesOf(t, "testdata/"+file+".jsonl") {
			add(c.Text)
		}
	}
	g, h := generator{rand.New(rand.NewPCG(corpusSeed, 7))}, newHeld(7)
	for range 1000 {
		_, _, text, _ := g.held()
		add(text)
		_, text = g.harmless()
		add(text)
		_, secret := g.bare()
		add(secret)
	}
	for _, c := range heldSecrets(h, 1000) {
		add(c.text)
	}
	for _, c := range heldHarmless(h, 1000) {
		add(c.text)
	}
	alone := map[string]bool{}
	secrets := 0
	for _, text := range texts {
		if alone[text] = len(Find(text)) > 0; alone[text] {
			secrets++
		}
	}
	if len(texts) < 6000 || secrets < 2500 {
		t.Errorf("%d texts, %d with a secret", len(texts), secrets)
	}
	missed := map[string]bool{}
	for range 4 {
		h.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		for i := 0; i < len(texts); i += 100 {
			for _, text := range untouched(texts[i:min(len(texts), i+100)]) {
				missed[text] = missed[text] || alone[text]
			}
		}
	}
	for text, is := range missed {
		if is {
			t.Errorf("%q", text)
		}
	}
}

// untouched returns the texts that no finding in all of them, joined, touches.
func untouched(texts []string) (out []string) {
	found := Find(strings.Join(texts, between))
	at := 0
	for _, text := range texts {
		end := at + len(text)
		for len(found) > 0 && found[0].End <= at {
			found = found[1:]
		}
		if len(found) == 0 || found[0].Start >= end {
			out = append(out, text)
		}
		at = end + len(between)
	}
	return out
}

package redact

import (
	"slices"
	"strings"
	"testing"
)

const heldSeeds, heldSize = 4, 1500

// A second corpus, drawn from the issuers' published forms and from the places
// where people keep secrets, not from the detector's rules. What the detector
// found of it when it was first run is in docs/REDACTION.md.
func TestHeldOutCorpus(t *testing.T) {
	r, shown := testRedactor(t), map[string]bool{}
	hit, touched, all := 0, 0, heldSeeds*heldSize
	for seed := range uint64(heldSeeds) {
		h := newHeld(seed)
		for _, c := range heldSecrets(h, heldSize) {
			out, _ := r.Text(c.text)
			if !slices.ContainsFunc(c.secrets, func(s string) bool { return strings.Contains(out, s) }) {
				hit++
			} else if name := c.kind + c.form; !shown[name] {
				shown[name] = true
				t.Logf("missed %s/%s: %.300q", c.kind, c.form, out)
			}
		}
		for _, c := range heldHarmless(h, heldSize) {
			if out, _ := r.Text(c.text); out != c.text {
				touched++
				t.Logf("touched %s: %.200q\n   gives %.200q", c.kind, c.text, out)
			}
		}
	}
	t.Logf("secrets gone %d of %d, harmless texts touched %d of %d", hit, all, touched, all)
	if hit*100 < all*99 || touched*100 > all {
		t.Error("below 99% of secrets gone or above 1% of harmless texts touched")
	}
}

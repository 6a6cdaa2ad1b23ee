package redact

import (
	"strings"
	"testing"
)

// Secrets and look-alikes in the forms of 2026 and of seldom issuers, by authors who had not read the rules. The rules
// were mended with the tuned half of autumn and with winter; of the held half its author saw counts by kind alone.
// docs/REDACTION.md has the figures of first sight.
func TestAutumnCorpus(t *testing.T) {
	r := testRedactor(t)
	for _, corpus := range []struct {
		name string
		left int // of its secrets
	}{{"autumn_tuned", 0}, {"autumn_held", 0}, {"winter", 1}} {
		left, changed := 0, 0
		for _, c := range samplesOf(t, "testdata/"+corpus.name+".jsonl") {
			out, _ := r.Text(c.Text)
			if len(c.Secrets) == 0 && out != c.Text {
				changed++
				t.Logf("%s: changed (%s): %.160q", corpus.name, c.Kind, out)
			}
			for _, s := range c.Secrets {
				if strings.Contains(out, s) {
					left++
					t.Logf("%s: left (%s, %s): %.160q", corpus.name, c.Kind, c.Form, out)
					break
				}
			}
		}
		if left > corpus.left || changed > 0 {
			t.Errorf("%s: %d secrets are left, %d harmless texts are changed", corpus.name, left, changed)
		}
	}
}

package redact

import (
	"strings"
	"testing"
)

// What a detector reads on for may be missing: a text ends behind a quote, a name or a mark, or within an escape.
func TestTextsThatEnd(t *testing.T) {
	r := newTestRedactor(t, Config{KeyNames: []string{"notes"}})
	for _, text := range []string{
		`createUser "bob`, `createUser bob SHA "x`, `alias set a "b`, "a\\nnotes=", `%41 notes:`, `\x41 notes="`,
		`\x41 notes=""`, "printenv A", `echo "$`, `echo "${`, "htpasswd -b a ", "curl -u", "://", `notes: [`, "notes: |\n",
	} {
		for end := range len(text) + 1 {
			if out, _ := r.Text(text[:end]); !strings.HasPrefix(out, text[:min(end, 1)]) {
				t.Errorf("%q became %q", text[:end], out)
			}
		}
	}
}

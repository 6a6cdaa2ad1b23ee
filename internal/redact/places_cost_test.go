package redact

import (
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A long name above many values costs no more than the document is long, also where they are redacted: what is
// listed is then the nearest place above.
func TestPlacesBelowALongName(t *testing.T) {
	r := testRedactor(t)
	for _, value := range []string{`1`, `{"password":"hunter2-Zq81x"}`} {
		doc := `{"a":{"` + strings.Repeat("n", 100<<10) + `":[` + strings.TrimSuffix(strings.Repeat(value+",", 3000), ",") + `]}}`
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		out, masked, err := r.JSON(jsontext.Value(doc))
		runtime.ReadMemStats(&after)
		if err != nil || strings.Contains(string(out), "hunter2") || len(masked) > 1 || len(masked) == 1 && masked[0] != "/a" {
			t.Errorf("%s: %v, %d places", value, err, len(masked))
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 256*uint64(len(doc)) {
			t.Errorf("%s: %d bytes were allocated for a document of %d", value, spent, len(doc))
		}
	}
}

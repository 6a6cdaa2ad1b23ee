package phases

import (
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A long name above many values costs no more than the documents are long, whatever differs below it.
func TestDiffWritesNoLongPointers(t *testing.T) {
	doc := func(value string) jsontext.Value {
		return jsontext.Value(`{"a":{"` + strings.Repeat("n", 100<<10) + `":[` +
			strings.TrimSuffix(strings.Repeat(value+",", 5000), ",") + `]}}`)
	}
	old, changed := doc(`{"x":1}`), doc(`{"x":2}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := Diff(old, changed)
	runtime.ReadMemStats(&after)
	if len(got) != 1 || got[0] != "/a" {
		t.Errorf("%d pointers, the first of %d bytes", len(got), len(got[0]))
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 64*uint64(len(old)) {
		t.Errorf("%d bytes were allocated for documents of %d", spent, len(old))
	}
}

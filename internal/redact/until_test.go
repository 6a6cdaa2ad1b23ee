package redact

import (
	"encoding/base64"
	"strings"
	"testing"
)

// A look through a text ends at the first question that is answered with stop, however many
// pieces, kinds and layers are left.
func TestFindUntilStops(t *testing.T) {
	piece := base64.StdEncoding.EncodeToString(
		[]byte(base64.StdEncoding.EncodeToString([]byte("password=hunter2xyz abc"))))
	text := strings.Repeat(piece+" ", 1000)
	asked := 0
	if found := FindUntil(text, func() bool { asked++; return false }); len(found) != 1000 {
		t.Fatalf("%d found", len(found))
	}
	all := asked
	for _, after := range []int{1, 20, 200, 2000} {
		asked = 0
		FindUntil(text, func() bool { asked++; return asked >= after })
		if asked != after {
			t.Errorf("asked %d times after it was to stop at %d of %d", asked, after, all)
		}
	}
	named := strings.Repeat("--token ", 32<<10)
	for _, after := range []int{12, 40} { // within the look for names, of which the text is full
		asked = 0
		FindUntil(named, func() bool { asked++; return asked >= after })
		if asked != after {
			t.Errorf("in a text of names, asked %d times, not %d", asked, after)
		}
	}
	asked = 0
	FindUntil(named, func() bool { asked++; return false })
	if want := len(named) / (askEvery + 8); asked < want || asked > want+40 {
		t.Errorf("in a text of names, asked %d times, want some %d", asked, want)
	}
	if all < 10_000 {
		t.Errorf("asked %d times for 1,000 pieces of two layers", all)
	}
}

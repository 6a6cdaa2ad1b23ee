package phases

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A place says of itself what its pointer says.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var at *Place
		var ptr, named string
		for range rapid.IntRange(0, 8).Draw(t, "depth") {
			if rapid.Bool().Draw(t, "element") {
				i := rapid.IntRange(0, 100_000).Draw(t, "index")
				at, ptr = at.Element(i), Join(ptr, itoa(i))
				continue
			}
			name := rapid.SampledFrom([]string{"", "a", "17", "a/b~c", "ü", strings.Repeat("n", 600)}).Draw(t, "name")
			if at, ptr = at.Member(name), Join(ptr, name); strings.Trim(name, "0123456789") != "" {
				named = name
			}
		}
		if at.Size() != len(ptr) || at.Name() != named {
			t.Fatalf("%d bytes, name %q; want %d, %q", at.Size(), at.Name(), len(ptr), named)
		}
		got := at.Pointer()
		if len(ptr) <= maxPathBytes && got != ptr || len(got) > maxPathBytes || !Covers(got, ptr) {
			t.Fatalf("%.40q for %.40q", got, ptr)
		}
	})
}

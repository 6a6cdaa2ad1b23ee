package phases

import (
	"testing"

	"pgregory.net/rapid"
)

// Text that is not JSON has the entries before the place of its fault.
func TestEntriesOfWhatIsNoJSON(t *testing.T) {
	for text, want := range map[string]int{
		`[1,2]`: 2, `[1 2]`: 1, `[1 22]`: 1, `{"a":1 ;"b":2}`: 1, `[1,]`: 1, `[1;2]`: 1, `[,1]`: 0, `[`: 0, `1`: 0, ``: 0,
		`{"a":1,"b":2}`: 2, `{"a":1 "b":2}`: 1, `{"a":1,b:2}`: 1, `{"a":1,"b"}`: 1, `{"a":1,"b`: 1, `{"a" 1}`: 0, `{"a":}`: 0,
	} {
		got := 0
		walk([]byte(text), 0, func(m member) bool {
			got++
			return m.index == got-1
		})
		if got != want {
			t.Errorf("%s: %d entries, want %d", text, got, want)
		}
	}
}

// Strings end where a reader of single bytes finds their end, also in text that is
// no JSON, and never out of range.
func TestSkipString(t *testing.T) {
	plain := func(b []byte, i int) (int, bool) {
		if i >= len(b) || b[i] != '"' {
			return i, false
		}
		for i++; i < len(b); i++ {
			switch b[i] {
			case '\\':
				i++
			case '"':
				return i + 1, true
			}
		}
		return len(b), false
	}
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(rapid.StringOfN(rapid.SampledFrom([]rune{'"', '"', '\\', '\\', 'a', 'é', '{'}), 0, 40, -1).Draw(t,
			"text"))
		for i := range len(b) + 1 {
			want, wantOK := plain(b, i)
			if got, ok := skipString(b, i); got != want || ok != wantOK {
				t.Fatalf("%q from %d: %d %v, want %d %v", b, i, got, ok, want, wantOK)
			}
		}
	})
}

// A look for an absent member has passed everything, white space at the end included.
func TestLooksPassTheWhiteSpaceAtTheEnd(t *testing.T) {
	doc := []byte(`{"a":1                                }`)
	var took Looked
	if _, found, err := locate(doc, "/b", &took); found || err != nil || took.Bytes != len(doc)-1 {
		t.Errorf("found %v, %v, passed %d of %d bytes", found, err, took.Bytes, len(doc))
	}
}

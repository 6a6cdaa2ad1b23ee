package phases

import (
	"strings"
	"testing"
)

// A string ends at its first quote that an even number of backslashes stands before.
func TestStringsEndBehindTheirEscapes(t *testing.T) {
	for n := range 6 {
		back := strings.Repeat(`\`, n)
		for _, before := range []string{"", "a", `\\`, `\"`, strings.Repeat("long ", 9)} {
			text := `"` + before + back + `"`
			end, ok := skipString([]byte(text+` ,"x"`), 0)
			want := len(text)
			if n%2 == 1 { // it goes on to the quote of the next
				want += len(` ,"`)
			}
			if end != want || !ok {
				t.Errorf("%s: %d, %v, want %d", text, end, ok, want)
			}
		}
	}
	for _, text := range []string{`"`, `"a`, `"\"`, `"\\\"`, `a"`, ``} {
		if _, ok := skipString([]byte(text), 0); ok {
			t.Errorf("%s is no string", text)
		}
	}
}

package phases

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func sameText(t *testing.T, quoted string) {
	t.Helper()
	want, err := jsontext.AppendUnquote(nil, quoted)
	got, ok := unquote([]byte(quoted))
	if got != string(want) || ok != (err == nil) || Unquote([]byte(quoted)) != got {
		t.Errorf("%q: %q, %v; the library: %q, %v", quoted, got, ok, want, err)
	}
}

// A string says what the JSON library reads in it.
func TestUnquote(t *testing.T) {
	for _, s := range []string{``, `"`, `""`, `"a"`, `a`, `1`, `"a`, `a"`, `"\n\t\r\b\f\/\\\""`,
		`"\u0041\u00e9\u2028"`,
		`"x\ud83e\uddd7y"`, `"\ud83e"`, `"\ud83e\u0041"`, `"\uddd7"`, `"\x"`, `"\`, `"\"`, `"\u12"`, "\"\x01\"",
		"\"\xff\"", "\"\xff\\n\"",
		`"a"b"`, `"a\"b"c"`, `"é✓"`, `"é\n✓"`, `"` + strings.Repeat(`line\n`, 50) + `"`} {
		sameText(t, s)
	}
}

func FuzzUnquote(f *testing.F) {
	f.Add(`"a\u00e9\n\ud83e\uddd7"`)
	f.Fuzz(func(t *testing.T, s string) {
		sameText(t, s)
		sameText(t, `"`+s+`"`)
	})
}

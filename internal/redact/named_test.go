package redact

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A member that the operator has named is redacted whatever its value looks like.
func TestNamedKeysRedactAnyValue(t *testing.T) {
	r, err := New(Config{Key: make([]byte, 32), KeyNames: []string{"favourite"}})
	if err != nil {
		t.Fatal(err)
	}
	in := `{"favourite":"blue","a":{"Favourite":["x",{"y":"z"}],"FAVOURITE":7},"b":[{"favourite":true}],"other":"blue"}`
	out, masked, err := r.JSON(jsontext.Value(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{`"favourite":"blue"`, `"x"`, `"z"`, ":7", ":true"} {
		if strings.Contains(string(out), gone) {
			t.Errorf("%s is still there: %s", gone, out)
		}
	}
	if !strings.Contains(string(out), `"other":"blue"`) || len(masked) != 4 {
		t.Errorf("masked %q in %s", masked, out)
	}
	again, masked, err := r.JSON(out)
	if err != nil || string(again) != string(out) || len(masked) != 0 {
		t.Errorf("a second time: %s %q %v", again, masked, err)
	}
	if text, found := r.Text("favourite=blue other=blue"); strings.Contains(text, "favourite=blue") ||
		!strings.Contains(text, "other=blue") || len(found) != 1 {
		t.Errorf("text %q %v", text, found)
	}
}

package strictyaml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

func TestParseGivesJSON(t *testing.T) {
	for src, want := range map[string]string{
		"":                                    `null`,
		"a: 1\nb: [x, true, null, 1.5]":       `{"a":1,"b":["x",true,null,1.5]}`,
		"when: 2026-01-02":                    `{"when":"2026-01-02"}`,
		"text: |\n  one\n  two\n":             `{"text":"one\ntwo\n"}`,
		`quoted: "1"`:                         `{"quoted":"1"}`,
		"no: x":                               `{"no":"x"}`,
		"nested:\n  - name: a\n  - name: b\n": `{"nested":[{"name":"a"},{"name":"b"}]}`,
	} {
		d, err := strictyaml.Parse([]byte(src))
		if err != nil {
			t.Errorf("%q: %v", src, err)
			continue
		}
		if string(d.JSON) != want {
			t.Errorf("%q: got %s, want %s", src, d.JSON, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"a: 1\nb: 2\na: 3\n", "line 3"},
		{"a: &x 1\n", "anchors"},
		{"a: &x 1\nb: *x\n", "anchors"},
		{"a: !!binary aGk=\n", "tag"},
		{"a: !custom x\n", "tag"},
		{"a: 0x10\n", "plain decimal"},
		{"a: 0o17\n", "plain decimal"},
		{"a: .inf\n", "JSON"},
		{"a: 1\n---\nb: 2\n", "second document"},
		{"1: x\n", "key must be a text"},
		{"? [a]\n: x\n", "key must be a plain text"},
		{"a: [1\n", "not YAML"},
		{"a: \xff\n", "UTF-8"},
		{"<<: {a: 1}\n", ""},
		{strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper"},
	} {
		_, err := strictyaml.Parse([]byte(c.src))
		if !errors.Is(err, strictyaml.ErrInvalid) {
			t.Errorf("%q: got %v, want ErrInvalid", c.src, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %q does not say %q", c.src, err, c.want)
		}
	}
}

func TestDecodeNamesTheLine(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	type outer struct {
		Items []inner `json:"items"`
	}
	for _, c := range []struct{ src, want string }{
		{"items:\n  - name: a\n    nmae: b\n", "line 3"},
		{"items:\n  - name: a\n  - name: b\n    n: x\n", "line 4"},
		{"items: 3\n", "line 1"},
	} {
		var v outer
		err := strictyaml.Unmarshal([]byte(c.src), &v)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want an error with %q", c.src, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a: 1", "- x\n- y", "a: {b: [1, 2.5e3]}", "a: &x [*x]", "\"\\u0000\": ~"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := strictyaml.Parse(src)
		if err != nil {
			if !errors.Is(err, strictyaml.ErrInvalid) {
				t.Fatalf("error without class: %v", err)
			}
			return
		}
		if !d.JSON.IsValid() {
			t.Fatalf("not JSON: %q", d.JSON)
		}
	})
}

// A text that is no YAML at all is refused with its place, too, in our words
// for places.
func TestSyntaxHasItsPlace(t *testing.T) {
	for src, want := range map[string]string{
		"a: 1\n\tb: 2\n":                       "line 2, column 1: not YAML: ",
		"a: [1,\nb: 2\n":                       "line 3, column 1: not YAML: ",
		"a: 'x\n":                              "line 2, column 1: not YAML: ",
		"a: 1\nb: x\x00y\n":                    "line 2, column 5: not YAML: control characters",
		"\x00asm\x01\x00\x00\x00":              "line 1, column 1: not YAML: control characters",
		"a: 1\n" + strings.Repeat("[", 20_000): "line 2, column 1",
		"a: b: c\n":                            "line 1, column 5: not YAML: ",
	} {
		_, err := strictyaml.Parse([]byte(src))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "go-yaml") {
			t.Errorf("%.20q: got %v, want %s", src, err, want)
		}
	}
	var v struct {
		Max int64 `json:"max"`
	}
	if err := strictyaml.Unmarshal([]byte("max: 1.5\n"), &v); err == nil ||
		!strings.HasPrefix(err.Error(), "line 1, column 1: /max: must be a whole number") {
		t.Errorf("%v", err)
	}
}

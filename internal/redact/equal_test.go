package redact

import (
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// A secret has one placeholder, whatever redacts it and however it is written:
// that is how an auditor sees that two events hold the same one.
func TestEqualSecretsEqualPlaceholders(t *testing.T) {
	r, err := New(Config{Key: []byte("0123456789abcdef"), Masks: []string{"/m"}, KeyNames: []string{"room"},
		Exact: []string{"a plain sentence"}})
	if err != nil {
		t.Fatal(err)
	}
	hash := regexp.MustCompile(`\[redacted:([a-z-]+):([0-9a-f]{8})\]`)
	for secret, kind := range map[string]string{ghKey: "github-token", "hunter22/x9": "", "a plain sentence": "known"} {
		want := ""
		for _, doc := range []string{
			`{"password":"` + secret + `"}`, `{"m":"` + secret + `"}`, `{"room":"` + secret + `"}`,
			`{"text":"PASSWORD='` + secret + `'"}`, `{"text":"room: \"` + secret + `\""}`,
			`{"m":"\u` + escape4(secret[0]) + secret[1:] + `"}`, `{"text":"{\"password\":\"\\u` + escape4(secret[0]) +
				secret[1:] + `\"}"}`,
		} {
			out, masked, err := r.JSON(jsontext.Value(doc))
			m := hash.FindStringSubmatch(string(out))
			if err != nil || m == nil || len(masked) != 1 {
				t.Errorf("%s: %s %q %v", doc, out, masked, err)
				continue
			}
			if want == "" {
				want = m[2]
			}
			if m[2] != want || kind != "" && m[1] != kind {
				t.Errorf("%s: %s, want the hash %s and the kind %s", doc, m[0], want, kind)
			}
		}
	}
}

func escape4(c byte) string {
	const digits = "0123456789abcdef"
	return "00" + string(digits[c>>4]) + string(digits[c&15])
}

func TestRemovals(t *testing.T) {
	r, err := New(Config{Key: []byte("0123456789abcdef"), Masks: []string{"/both", "/l/0"},
		Removals: []string{"/a", "/l/1", "/deep/*/x", "/both", "/only/*"}})
	if err != nil {
		t.Fatal(err)
	}
	in := `{"a":{"b":1},"l":["p","q",null,3],"deep":[{"x":1,"y":2},{"x":{"z":3}}],"both":"x","only":{"` + ghKey +
		`":1,"k":2},"end":true}`
	out, masked, err := r.JSON(jsontext.Value(in))
	if err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`[0-9a-f]{8}`).ReplaceAllString(string(out), "H")
	if got != `{"l":["[redacted:mask:H]",null,null,3],"deep":[{"y":2},{}],"only":{},"end":true}` {
		t.Errorf("%s", got)
	}
	for i, m := range masked {
		masked[i] = regexp.MustCompile(`:[0-9a-f]{8}`).ReplaceAllString(m, ":H")
	}
	want := []string{"/a", "/l/0", "/l/1", "/deep/0/x", "/deep/1/x", "/both", "/only/[redacted:github-token:H]", "/only/k"}
	if !slices.Equal(masked, want) {
		t.Errorf("masked %q", masked)
	}
	if again, more, err := r.JSON(out); err != nil || string(again) != string(out) || len(more) != 0 {
		t.Errorf("twice: %s %q %v", again, more, err)
	}
	if _, _, err := r.JSON(jsontext.Value(`{"a":{"x":1,"x":2}}`)); err == nil {
		t.Error("what is removed was not read: a name stands twice in it")
	}
	for i, c := range []Config{{Removals: []string{""}}, {Removals: []string{"a"}}} {
		c.Key = []byte("0123456789abcdef")
		if _, err := New(c); err == nil {
			t.Error("removal " + strconv.Itoa(i) + " was taken")
		}
	}
}

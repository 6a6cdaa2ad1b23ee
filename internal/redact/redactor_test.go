package redact

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestPlaceholdersTellSecretsApart: equal secrets of one kind have equal placeholders, others have others.
func TestPlaceholdersTellSecretsApart(t *testing.T) {
	r := newTestRedactor(t, Config{})
	of := func(secret string) string {
		out, _ := r.Text("password=" + secret)
		return out
	}
	if of("Tr0ub4dor") != of("Tr0ub4dor") || of("Tr0ub4dor") == of("Tr1ub4dor") {
		t.Errorf("%s %s", of("Tr0ub4dor"), of("Tr1ub4dor"))
	}
}

// TestCompleteTexts: a text that is redacted completely is one finding from its begin to its end.
func TestCompleteTexts(t *testing.T) {
	strict, standard := newTestRedactor(t, Config{Profile: Strict}), newTestRedactor(t, Config{})
	long := strings.Repeat("x", MaxText+1)
	for name, c := range map[string]struct {
		r    *Redactor
		text string
		kind string
	}{
		"strict":          {strict, "some words", "text"},
		"too long":        {standard, long, "too-long"},
		"as long as can":  {standard, long[:MaxText], ""},
		"strict, a UUID":  {strict, "b5626f13-9aa7-4fe4-8923-83a7ab5af5b3", ""},
		"strict, covered": {strict, "[redacted:x:0123abcd]", ""},
	} {
		out, found := c.r.Text(c.text)
		switch {
		case c.kind == "" && (out != c.text || len(found) > 0):
			t.Errorf("%s: %.40s %v", name, out, found)
		case c.kind != "" &&
			(len(found) != 1 || found[0].Kind != c.kind || found[0].Start != 0 || found[0].End != len(c.text) ||
				hashless(out) != "[redacted:"+c.kind+"]"):
			t.Errorf("%s: %.40s %v", name, out, found)
		}
	}
	if got := Label(long); got != "[redacted:too-long]" {
		t.Errorf("%.40s", got)
	}
	if got := Label(long[:MaxText]); got != long[:MaxText] {
		t.Errorf("%.40s", got)
	}
}

// TestLearnedFromCompleteValues: what stands in a value that is redacted completely is known elsewhere.
func TestLearnedFromCompleteValues(t *testing.T) {
	mask := Config{Masks: []string{"/a"}}
	for name, c := range map[string]struct {
		config    Config
		doc       string
		text      string
		elsewhere bool
	}{
		"strict":              {Config{Profile: Strict}, `"password=Tr0ub4dor"`, "a Tr0ub4dor b", true},
		"a masked text":       {mask, `{"a":["heron-blue"]}`, "a heron-blue b", true},
		"a masked number":     {mask, `{"a":[48392176]}`, "a 48392176 b", true},
		"a masked value":      {mask, `{"a":{"x-name":"heron-blue"}}`, "a heron-blue b", true},
		"a masked name":       {mask, `{"a":{"x-name":"heron-blue"}}`, "a x-name b", false},
		"the second name":     {mask, `{"a":{"x":1,"x-name":"heron-blue"}}`, "a x-name b", false},
		"a flag":              {mask, `{"a":[false]}`, "a false b", false},
		"a user":              {Config{}, expand(`{"auth":"Basic «base64 bob:n3ver-seen»"}`), "a n3ver-seen b", true},
		"a colon elsewhere":   {Config{}, expand(`{"password":"«base64 n3ver-seen:heron-4»"}`), "a heron-4 b", false},
		"two layers":          {Config{}, expand(`{"x":"«base64 «base64 password=Tr0ub4dor and»»"}`), "a Tr0ub4dor b", true},
		"a secret in a layer": {Config{}, expand(`{"x":"«base64 password=Tr0ub4dor and»"}`), "a Tr0ub4dor b", true},
	} {
		rec, r := NewRecord(), newTestRedactor(t, c.config)
		if _, _, err := rec.JSON(r, jsontext.Value(c.doc)); err != nil {
			t.Fatal(err)
		}
		got, _ := rec.Text(newTestRedactor(t, Config{}), c.text)
		if (got != c.text) != c.elsewhere {
			t.Errorf("%s: %s", name, got)
		}
		if out, _, err := r.JSON(jsontext.Value(c.doc)); err != nil || len(out) == 0 { // without a record nothing is kept
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlainForms: what says nothing by its form, at its bounds.
func TestPlainForms(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	for text, want := range map[string]bool{
		"": true, "x": false, "sha256:" + hash: true, "sha256:" + hash[1:]: false, "sha256:g" + hash[1:]: false,
		"sha256:" + hash[1:] + "G": false,
		"2026-01-02T03:04:05Z":     true, "2026-01-02T03:04:05": false, "2026-01-02T03:04:05.123456789+01:00": true,
		"2026-01-02T03:04:05.1234567890+01:00": false,
		"this is no time at all":               false, "11111111-2222-4333-8444-555555555555": true,
		"11111111-2222-4333-8444-55555555555g": false,
	} {
		if plainValue(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// TestCommonWords: the first, the last and some words of the list, and their neighbours.
func TestCommonWords(t *testing.T) {
	list := strings.Fields(words)
	for i, w := range list {
		if !commonWord(w) || !commonWord(strings.ToUpper(w)) {
			t.Errorf("%s is number %d of the list and not found", w, i)
		}
	}
	for _, w := range []string{"", "xq7zk", list[0] + "~", list[len(list)-1] + "zz", strings.Repeat("a", 25)} {
		if commonWord(w) {
			t.Errorf("%q is common", w)
		}
	}
}

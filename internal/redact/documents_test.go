package redact

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestDocuments: what stands in the place of each value, or nothing else than before. Digests of placeholders
// are left out.
func TestDocuments(t *testing.T) {
	r := newTestRedactor(t, Config{})
	for in, want := range map[string]string{
		// schemes count behind a telling name only
		`{"x":"Bearer Xk2b9QzT4wL8mN3p"}`:               ``,
		`{"auth":"Bearer Xk2b9QzT4wL8mN3p"}`:            `{"auth":"Bearer [redacted:credential]"}`,
		`{"auth":"Digest qwrtzpsdfghjklmn"}`:            `{"auth":"Digest [redacted:credential]"}`,
		`{"auth":"Digest qwrtzpsdfghjklm"}`:             ``,
		`{"password":"Bearer Xk2b9QzT4wL8mN3p"}`:        `{"password":"[redacted:password]"}`,
		`{"auth":"Bearer [redacted:token:0123abcd]"}`:   ``,
		`{"password":"[redacted:token:0123abcd]"}`:      ``,
		`{"password":"[redacted:token:0123abcd]abcd1"}`: `{"password":"[redacted:password]"}`,
		// a string is no call of a function, whatever brackets it has; text behind the same name may be
		`{"password":"trouba(dor)33"}`:     `{"password":"[redacted:password]"}`,
		`{"x":"password = trouba(dor)33"}`: ``,
		// pairs
		`{"key":"DB_PASSWORD","value":"troubador"}`:          `{"key":"DB_PASSWORD","value":"[redacted:password]"}`,
		`{"Name":"DB_PASSWORD","Value":"troubador"}`:         `{"Name":"DB_PASSWORD","Value":"[redacted:password]"}`,
		`{"x":"DB_PASSWORD","value":"troubador"}`:            ``,
		`{"key":"DB_PASSWORD","x":"troubador"}`:              ``,
		`{"key":["DB_PASSWORD"],"value":"troubador"}`:        ``,
		`{"value":"troubador"}`:                              ``,
		`[["name","DB_PASSWORD"],["value","troubador"]]`:     ``,
		`{"a":{"key":"DB_PASSWORD"},"value":"troubador"}`:    ``,
		`{"password":{"old":"hunter21"},"x":["hunter22"]}`:   ``,
		`{"passwords":["hunter21",["hunter22"]]}`:            `{"passwords":["[redacted:password]",["[redacted:password]"]]}`,
		`{"kind":"Secret","stringData":{"a":"trou1","b":1}}`: `{"kind":"Secret","stringData":{"a":"[redacted:kubernetes-secret]","b":"[redacted:kubernetes-secret]"}}`,
		`{"kind":"Secret","data":{"a":{"b":"troubador"}}}`:   `{"kind":"Secret","data":{"a":{"b":"[redacted:kubernetes-secret]"}}}`,
		`{"kind":"Secret","spec":{"a":"troubador"}}`:         ``,
		`{"kind":"ConfigMap","data":{"a":"troubador"}}`:      ``,
		`{"kinds":"Secret","data":{"a":"troubador"}}`:        ``,
		// numbers
		`{"password":12}`:      `{"password":"[redacted:password]"}`,
		`{"token":1234567890}`: ``,
		`{"password":true}`:    ``,
		`{"password":null}`:    ``,
		// by form, although the name says that it is secret
		`{"session":"11111111-2222-4333-8444-555555555555"}`: ``,
		`{"x_key":"Xk2b9QzT4wL8mN3pR5sT7uV9wX1yZ3aB"}`:       `{"x_key":"[redacted:key]"}`,
		`{"x_key":"Xk2b9QzT4wL8mN3pR5sT7uV9wX1yZ3a"}`:        ``,
		// names
		`{"ghp_Xk2b9QzT4wL8mN3pR5sT7uV9wX1yZ3":1}`: `{"[redacted:github-token]":1}`,
	} {
		if want == "" {
			want = in
		}
		out, masked, err := r.JSON(jsontext.Value(in))
		if err != nil || hashless(string(out)) != hashless(want) {
			t.Errorf("%s\n got %s %v\nwant %s", in, hashless(string(out)), err, want)
		}
		if (len(masked) == 0) != (want == in) {
			t.Errorf("%s: masked %q", in, masked)
		}
	}
}

// A document that cannot be read is refused, with an error that names the
// fault.
func TestDocumentsRefused(t *testing.T) {
	r := newTestRedactor(t, Config{Removals: []string{"/gone", "/list/0"}, Masks: []string{"/m"}})
	const bad, more, invalid = "the document is not JSON that can be redacted", "there is more after the document",
		"the redacted document is not valid"
	secret := "ghp_Xk2b9QzT4wL8mN3pR5sT7uV9wX1yZ3"
	covered, _ := r.Text(secret)
	for in, want := range map[string]string{
		``: bad, `{`: bad, `{"a"`: bad, `{"a":`: bad, `{"a":1`: bad, `{"a":tru}`: bad, `{"a":"x`: bad, `{"a":"\x"}`: bad,
		`{1:2}`: bad, `[`: bad, `[1`: bad, `[1,`: bad, `[nul]`: bad, `]`: bad, `{"a":1]`: bad,
		`{"gone":`: bad, `{"gone":{"a":1,"a":2}}`: bad, `{"gone":tru}`: bad, `{"list":[`: bad, `{"list":[tru]}`: bad,
		`{"m":`: bad, `{"m":{"a"}}`: bad, `{"m":"\x"}`: bad,
		`{"a":1} x`: more, `{} {}`: more, `1 2`: more,
		`{"` + secret + `":1,"` + covered + `":2}`: invalid,
		nested(maxDepth + 1):                       bad,
	} {
		out, masked, err := r.JSON(jsontext.Value(in))
		if !errors.Is(err, ErrInput) || err.Error() != want || out != nil || masked != nil {
			t.Errorf("%.40q: %s %q %v, want %s", in, out, masked, err, want)
		}
	}
	if out, _, err := r.JSON(jsontext.Value(nested(maxDepth))); err != nil || string(out) != nested(maxDepth) {
		t.Errorf("%d lists, one in the other: %v", maxDepth, err)
	}
}

// TestPlainValues: values that profile strict leaves because they say nothing
// of their own, and values one character off.
func TestPlainValues(t *testing.T) {
	hex := strings.Repeat("0123456789abcdef", 4)
	for s, want := range map[string]bool{
		"": true, "11111111-2222-4333-8444-55555555abcF": true, "11111111-2222-4333-8444-55555555abcg": false,
		"11111111-2222-4333-8444-55555555abc":  false,
		"11111111-2222-4333-8444555-55555abcd": false, "1111111122222433338444455555555abcde": false,
		"11111111-2222-4333-8444-555555-5abcd": false,
		"sha256:" + hex:                        true, "sha256:" + hex[1:]: false, "sha256:" + hex + "0": false,
		"sha256:" + hex[1:] + "A": false,
		"sha257:" + hex:           false,
		"2026-01-02T03:04:05Z":    true, "2026-01-02T03:04:05.123456789+01:00": true,
		"2026-01-02T03:04:05.1234567890+01:00": false, "2026-01-02T03:04:65Z": false, "2026-01-02 03:04:05Z": false,
		"2026-01-02T03:04:05": false, "Bob": false, "0": false,
	} {
		if plainValue(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// Limits of a configuration hold at their bound and not one past it.
func TestConfigBounds(t *testing.T) {
	exact := func(n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%06d", i))
		}
		return out
	}
	patterns := func(n int) []Pattern {
		var out []Pattern
		for i := range n {
			out = append(out, Pattern{Name: fmt.Sprint("p", i), Regex: "abcd[0-9]", Keywords: []string{"abcd"}})
		}
		return out
	}
	unprompted := func(n int) []Pattern {
		out := patterns(n)
		for i := range out {
			out[i].Keywords = nil
		}
		return out
	}
	key := make([]byte, MinKey)
	for name, c := range map[string]struct {
		c  Config
		ok bool
	}{
		"key": {Config{Key: key}, true}, "short key": {Config{Key: key[1:]}, false},
		"exact":                  {Config{Key: key, Exact: []string{"123456"}}, true},
		"short exact":            {Config{Key: key, Exact: []string{"12345"}}, false},
		"many exact":             {Config{Key: key, Exact: exact(MaxExact)}, true},
		"too many exact":         {Config{Key: key, Exact: exact(MaxExact + 1)}, false},
		"many patterns":          {Config{Key: key, Patterns: patterns(MaxPatterns)}, true},
		"too many patterns":      {Config{Key: key, Patterns: patterns(MaxPatterns + 1)}, false},
		"many without a keyword": {Config{Key: key, Patterns: unprompted(maxUnprompted)}, true},
		"too many without":       {Config{Key: key, Patterns: unprompted(maxUnprompted + 1)}, false},
		"empty name":             {Config{Key: key, KeyNames: []string{"-_"}}, false},
		"mask of all":            {Config{Key: key, Masks: []string{""}}, false},
		"mask":                   {Config{Key: key, Masks: []string{"a"}}, false},
		"strict":                 {Config{Key: key, Profile: Strict}, true},
		"standard":               {Config{Key: key, Profile: Standard}, true},
		"no such profile":        {Config{Key: key, Profile: "none"}, false},
	} {
		r, err := New(c.c)
		if (err == nil) != c.ok || !c.ok && (r != nil || !errors.Is(err, ErrConfig)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	long := strings.Repeat("x ", MaxText/2)
	if Label(long) != long || Label(long+"x") != "[redacted:too-long]" {
		t.Error("a text of MaxText bytes is a label, one of more is not")
	}
	if got := Label("a ghp_Xk2b9QzT4wL8mN3pR5sT7uV9wX1yZ3 b"); got != "a [redacted:github-token] b" {
		t.Error(got)
	}
	r := newTestRedactor(t, Config{})
	if got, found := r.Text(long); got != long || found != nil {
		t.Errorf("a text of MaxText bytes: %v", found)
	}
	// Names are told apart in their last 80 bytes.
	name := strings.Repeat("n", 80)
	r = newTestRedactor(t, Config{KeyNames: []string{name, "xx"}})
	for text, want := range map[string]string{name + "=blue": name + "=[redacted:named]",
		"x" + name + "=blue": "x" + name + "=[redacted:named]", "xx=blue": "xx=[redacted:named]", "xx blue": "xx blue",
		`xx=""`: `xx=""`} {
		if got, _ := r.Text(text); hashless(got) != hashless(want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

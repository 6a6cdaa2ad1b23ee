package redact

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// What is shown of a text from which something was taken stands in what is left.
func TestRemovedSpans(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"nothing":           {"same", "same", nil},
		"a word":            {"use hunter2 now", "use [gone] now", []string{"hunter2"}},
		"the same letters":  {"pw=reallysecret", "pw=redacted", []string{"reallysecret"}},
		"two":               {"curl -H s3cr3t https://acme.test/x -d 0ther", "curl -H [gone] https://acme.test/x -d [gone]", []string{"s3cr3t", "0ther"}},
		"all":               {"s3cr3t", "", []string{"s3cr3t"}},
		"added":             {"a b", "a b c", nil},
		"blanks":            {"a  b", "a b", nil},
		"the end":           {"token: s3cr3t", "token: ", []string{"s3cr3t"}},
		"escapes":           {"\x1b[31mred\x1b[0m", "red", []string{"\x1b[31mred\x1b[0m"}},
		"moved to an end":   {"s3cr3t and everything that follows", "and everything that follows", []string{"s3cr3t "}},
		"short between two": {"aaaa1 x bbbb2", "[1] x [2]", []string{"aaaa1 x bbbb2"}},
	} {
		var got []string
		for _, s := range removedSpans(c.a, c.b) {
			got = append(got, c.a[s[0]:s[1]])
		}
		if name == "escapes" && len(got) > 0 {
			continue // more or less of the escapes: no secret is in them
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abc-=é[],")), 0, 60, -1)
		common := text.Draw(t, "common")
		a := text.Draw(t, "a") + common + text.Draw(t, "a2")
		b := text.Draw(t, "b") + common + text.Draw(t, "b2")
		at := 0
		for _, s := range append(removedSpans(a, b), [2]int{len(a), len(a)}) {
			if s[0] < at || s[1] < s[0] {
				t.Fatalf("%q, %q: not in order: %v", a, b, s)
			}
			// Where b only has more in the middle, two parts of it are shown as one.
			shown, ok := a[at:s[0]], false
			for i := 0; i <= len(shown) && !ok; i++ {
				ok = strings.Contains(b, shown[:i]) && strings.Contains(b, shown[i:])
			}
			if shown = strings.TrimSpace(shown); !ok && shown != "" {
				t.Fatalf("%q, %q: %q is shown and not left", a, b, shown)
			}
			at = s[1]
		}
	})
}

func TestRemovedFromDocuments(t *testing.T) {
	for name, c := range map[string]struct{ a, b, want string }{
		"member gone":     {`{"a":"x1","b":{"c":["y1",2]}}`, `{"a":"x1"}`, "/b/c/0=y1 /b/c/1=2"},
		"element gone":    {`["x1","y1","z1"]`, `["x1","z1"]`, "/1=y1"},
		"elements change": {`["x1","y1","z1"]`, `["x1","q","z1"]`, "/1=y1"},
		"another type":    {`{"a":"x1"}`, `{"a":{"b":1}}`, "/a=x1"},
		"number":          {`{"pin":4711}`, `{"pin":0}`, "/pin=4711"},
		"flags stay":      {`{"a":true,"b":null}`, `{"a":false,"b":1}`, ""},
		"escaped name":    {`{"a/b":"x1"}`, `{}`, "/a~1b=x1"},
		"reordered":       {`["a1","b1"]`, `["b1","a1"]`, "/0=a1 /1=b1"},
	} {
		cuts, err := Removed(jsontext.Value(c.a), jsontext.Value(c.b))
		var got []string
		for _, cut := range cuts {
			got = append(got, cut.Pointer+"="+cut.Text)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
	if _, err := Removed(jsontext.Value(`{"a":1`), jsontext.Value(`{}`)); err == nil {
		t.Error("no error for what is no JSON")
	}
}

// A cut is covered in its place whatever it is, and its text in every other.
func TestCutsAreCovered(t *testing.T) {
	r := newTestRedactor(t, Config{})
	before := jsontext.Value(`{"a":"run xyz blue-Heron.7 now","pin":4711,"same":"blue-Heron.7","word":"the password","n/m":["q w"]}`)
	after := jsontext.Value(`{"a":"run [1] [2] now","same":"blue-Heron.7","word":"the [3]","n/m":["w"]}`)
	cuts, err := Removed(before, after)
	if err != nil {
		t.Fatal(err)
	}
	rec := NewRecord()
	rec.Removed(r, cuts)
	out, masked, err := rec.JSONCut(r, before, cuts)
	const want = `{"a":"run [redacted:removed-16:4e64ef1b] now","pin":"[redacted:removed-4:64b1df76]","same":"[redacted:removed-12:c8a5c1a0]","word":"the [redacted:removed-8:5dc9b9d1]","n/m":["[redacted:removed-2:9e2a9dc2]w"]}`
	if err != nil || len(masked) != 5 || hashless(string(out)) != hashless(want) {
		t.Errorf("%s %v %v", out, masked, err)
	}
	if got, _ := rec.Text(r, "the password is blue-Heron.7"); strings.Contains(got, "Heron") || !strings.HasPrefix(got, "the password is [") {
		t.Errorf("%s", got)
	}
}

// hashless is a text without the digests of its placeholders.
func hashless(s string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(s, "[redacted:") {
		kind, rest, ok := strings.Cut(part, "]")
		if i := strings.LastIndexByte(kind, ':'); ok && i > 0 && !strings.HasPrefix(part, "{") {
			part = kind[:i] + "]" + rest
		}
		b.WriteString(part)
	}
	return b.String()
}

func FuzzRemoved(f *testing.F) {
	f.Add([]byte(`{"a":"b"}`), []byte(`{"a":"c"}`))
	f.Add([]byte(`["a",{"b":1}]`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		cuts, err := Removed(a, b)
		if err != nil {
			return
		}
		r, rec := newTestRedactor(t, Config{}), NewRecord()
		rec.Removed(r, cuts)
		if _, _, err := rec.JSONCut(r, a, cuts); err != nil && jsontext.Value(a).IsValid() {
			t.Fatalf("%s: %v", a, err)
		}
	})
}

// BenchmarkRemoved compares two long texts with many differences.
func BenchmarkRemoved(b *testing.B) {
	var x, y strings.Builder
	for i := range 4000 {
		x.WriteString("the quick brown fox jumps over " + string(rune('a'+i%26)) + "s3cr3t and walks home\n")
		y.WriteString("the quick brown fox jumps over [gone] and walks home\n")
	}
	b.SetBytes(int64(x.Len()))
	for b.Loop() {
		removedSpans(x.String(), y.String())
	}
}

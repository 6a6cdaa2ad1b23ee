package redact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// The shown part of a text from which something was taken is in the rest.
func TestRemovedSpans(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"nothing":          {"same", "same", nil},
		"a word":           {"use hunter2 now", "use [gone] now", []string{"hunter2"}},
		"the same letters": {"pw=reallysecret", "pw=redacted", []string{"reallysecret"}},
		"two": {"curl -H s3cr3t https://acme.test/x -d 0ther", "curl -H [gone] https://acme.test/x -d [gone]",
			[]string{"s3cr3t", "0ther"}},
		"all":               {"s3cr3t", "", []string{"s3cr3t"}},
		"added":             {"a b", "a b c", nil},
		"blanks":            {"a  b", "a b", nil},
		"the end":           {"token: s3cr3t", "token: ", []string{"s3cr3t"}},
		"escapes":           {"\x1b[31mred\x1b[0m", "red", []string{"\x1b[31mred\x1b[0m"}},
		"moved to an end":   {"s3cr3t and everything that follows", "and everything that follows", []string{"s3cr3t "}},
		"short between two": {"aaaa1 x bbbb2", "[1] x [2]", []string{"aaaa1 x bbbb2"}},
		"eleven between":    {"s1 qwertzuio t2", "[1] qwertzuio [2]", []string{"s1 qwertzuio t2"}},
		"twelve between":    {"s1 qwertzuiop t2", "[1] qwertzuiop [2]", []string{"s1", "t2"}},
		"in another order": {"s1 qwertzuiop t2 asdfghjkly u3", "[1] asdfghjkly [2] qwertzuiop [3]",
			[]string{"s1", "t2 asdfghjkly u3"}},
		"all but the ends":  {"a s3cr3t b", "a b", []string{"s3cr3t "}},
		"more of the same":  {"a b", "a b b", nil},
		"less of the same":  {"a b b", "a b", []string{" b"}},
		"a word's end":      {"s1abc qwertzuiop t2", "[1]abc qwertzuiop [2]", []string{"s1abc", "t2"}},
		"a word's begin":    {"s1 qwertzuiop abct2", "[1] qwertzuiop abc[2]", []string{"s1", "abct2"}},
		"seven beside them": {"s1abcde qwertz t2", "[1]abcde qwertz [2]", []string{"s1abcde", "t2"}},
		"six beside them":   {"s1abcdef qwerz t2", "[1]abcdef qwerz [2]", []string{"s1abcdef qwerz t2"}},
		"a word of others":  {"aé-_b1 c", "aé-_b2 c", []string{"aé-_b1"}},
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
		"member gone":      {`{"a":"x1","b":{"c":["y1",2]}}`, `{"a":"x1"}`, "/b/c/0=y1 /b/c/1=2"},
		"element gone":     {`["x1","y1","z1"]`, `["x1","z1"]`, "/1=y1"},
		"elements change":  {`["x1","y1","z1"]`, `["x1","q","z1"]`, "/1=y1"},
		"another type":     {`{"a":"x1"}`, `{"a":{"b":1}}`, "/a=x1"},
		"number":           {`{"pin":4711}`, `{"pin":0}`, "/pin=4711"},
		"flags stay":       {`{"a":true,"b":null}`, `{"a":false,"b":1}`, ""},
		"escaped name":     {`{"a/b":"x1"}`, `{}`, "/a~1b=x1"},
		"reordered":        {`["a1","b1"]`, `["b1","a1"]`, "/0=a1 /1=b1"},
		"fewer":            {`["x1","x1","y1"]`, `["x1"]`, "/1=x1 /2=y1"},
		"twice":            {`["x1","x1"]`, `["x1"]`, "/1=x1"},
		"more of the same": {`["x1"]`, `["x1","x1"]`, ""},
		"same number":      {`{"a":12,"b":"x1"}`, `{"a":12}`, "/b=x1"},
		"more":             {`["x1"]`, `["x1","x1","y1"]`, ""},
		"the first":        {`["y1","x1"]`, `["x1"]`, "/0=y1"},
		"left elsewhere":   {`["a1","b1","c1"]`, `["c1","a1"]`, "/1=b1"},
		"empty":            {`{"a":"","b":{"c":"","d":"x1"}}`, `{}`, "/b/d=x1"},
		"list gone":        {`{"a":["p1","q1"]}`, `{}`, "/a/0=p1 /a/1=q1"},
		"number to text":   {`{"a":12}`, `{"a":"12"}`, "/a=12"},
		"null":             {`{"a":null}`, `{"a":"x"}`, ""},
		"the same":         {`{"a":"x1"}`, `{"a":"x1"}`, ""},
		"same, other form": {`{"a":"x1"}`, `{ "a":"\u00781" }`, ""},
	} {
		cuts, err := Removed(jsontext.Value(c.a), jsontext.Value(c.b))
		var got []string
		for _, cut := range cuts {
			got = append(got, cut.Pointer+"="+cut.Text)
			if cut.From != 0 || cut.To != len(cut.Text) {
				t.Errorf("%s: %d to %d of %s", name, cut.From, cut.To, cut.Text)
			}
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q %v, want %q", name, got, err, c.want)
		}
	}
	if cuts, err := Removed(jsontext.Value(`{`), jsontext.Value(`{`)); err != nil || cuts != nil {
		t.Errorf("what is the same is not read: %v %v", cuts, err)
	}
	for _, bad := range []string{``, `{`, `{"a"`, `{"a":`, `{"a":1`, `[`, `[1`, `{"a":1,"a":2}`, "\"\xff\"",
		nested(maxDepth + 2)} {
		for _, docs := range [][2]string{{bad, `{}`}, {`{}`, bad}} {
			cuts, err := Removed(jsontext.Value(docs[0]), jsontext.Value(docs[1]))
			if !errors.Is(err, ErrInput) || cuts != nil {
				t.Errorf("%.20q and %.20q: %v %v", docs[0], docs[1], cuts, err)
			}
		}
	}
	if _, err := Removed(jsontext.Value(nested(maxDepth+1)), jsontext.Value(`{}`)); err != nil {
		t.Error(err)
	}
}

// A cut is redacted in its place whatever it is, and its text in every other.
func TestCutsAreRedacted(t *testing.T) {
	r := newTestRedactor(t, Config{})
	before := jsontext.Value(
		`{"a":"run xyz blue-Heron.7 now","pin":4711,"same":"blue-Heron.7","word":"the password","n/m":["q w"]}`)
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
	if got, _ := rec.Text(r, "the password is blue-Heron.7"); strings.Contains(got, "Heron") ||
		!strings.HasPrefix(got, "the password is [") {
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

// nested is a document of n lists, one in the other.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// Elements that stand elsewhere in the list are looked for as long as that is cheap.
func TestLongListsAreCut(t *testing.T) {
	list := func(from, to, step int) string {
		var names []string
		for i := from; i != to; i += step {
			names = append(names, fmt.Sprintf("%q", fmt.Sprint("element ", i)))
		}
		return "[" + strings.Join(names, ",") + "]"
	}
	for left, want := range map[int]int{128: 512 - 128, 129: 512} {
		cuts, err := Removed(jsontext.Value(list(0, 512, 1)), jsontext.Value(list(left, 0, -1)))
		if err != nil || len(cuts) != want {
			t.Errorf("%d of 512 are left: %d cuts, want %d; %v", left, len(cuts), want, err)
		}
	}
}

// A complete cut is known elsewhere, and so are its words that a person would
// not write.
func TestWordsOfCutsAreKnown(t *testing.T) {
	r := newTestRedactor(t, Config{})
	rec := NewRecord()
	const cut = "blue heron, s3cr3t (1234567) abcde9 Xk2b9 horses"
	rec.Removed(r, []Cut{{Pointer: "/a", From: 0, To: len(cut), Text: " " + cut + "\n"}})
	for text, want := range map[string]string{
		"it is " + cut + ".": "it is [redacted:removed-50:].", "s3cr3t": "[redacted:removed-6:]",
		"a s3cr3tx": "a [redacted:removed-6:]x", "abcde9": "[redacted:removed-6:]",
		"1234567": "1234567", "horses": "horses", "Xk2b9 and": "Xk2b9 and", "blue heron": "blue heron",
	} {
		if got, _ := rec.Text(r, text); hashless(got) != hashless(want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for size, want := range map[int]bool{maxKnown: true, maxKnown + 1: false} {
		rec := NewRecord()
		text := strings.Repeat("- ", size)[:size-8] + " s3cr3t1"
		rec.Removed(r, []Cut{{Pointer: "/a", From: 0, To: size, Text: "s3cr3t2 " + text[8:]}})
		if _, found := rec.Text(r, "a s3cr3t2 b"); (found != nil) != want {
			t.Errorf("a word of a cut of %d bytes: %v", size, found)
		}
	}
}

func TestGeneratedWords(t *testing.T) {
	for word, want := range map[string]bool{"7heron": true, "her0ns": true, "heron9": true, "a00000": true, "00000z": true,
		"A00000": true, "herons": false, "123456": false, "12-456": false, "her0n": false} {
		if generated(word) != want {
			t.Errorf("%s: %v", word, !want)
		}
	}
}

// A cut that does not lie in its text redacts nothing.
func TestCutsBesideTheText(t *testing.T) {
	r := newTestRedactor(t, Config{})
	for cut, want := range map[[2]int]string{{0, 3}: `{"a":"[redacted:removed-3]"}`,
		{1, 3}: `{"a":"b[redacted:removed-3]"}`, {-1, 2}: "", {2, 2}: "", {2, 1}: "", {0, 4}: ""} {
		if want == "" {
			want = `{"a":"blu"}`
		}
		out, _, err := NewRecord().JSONCut(r, jsontext.Value(`{"a":"blu"}`),
			[]Cut{{Pointer: "/a", From: cut[0], To: cut[1], Text: "blu"}})
		if err != nil || hashless(string(out)) != want {
			t.Errorf("%v: %s %v, want %s", cut, out, err, want)
		}
	}
}

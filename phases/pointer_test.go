package phases

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The document and the pointers of RFC 6901, section 5.
func TestFindRFC6901(t *testing.T) {
	doc := jsontext.Value(
		`{"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8}`)
	for ptr, want := range map[string]string{
		"": string(doc), "/foo": `["bar", "baz"]`, "/foo/0": `"bar"`, "/": "0", "/a~1b": "1", "/c%d": "2",
		"/e^f": "3", "/g|h": "4", `/i\j`: "5", `/k"l`: "6", "/ ": "7", "/m~0n": "8",
	} {
		got, found, err := find(doc, ptr)
		if err != nil || !found || string(got) != want {
			t.Errorf("Find(%q) = %q, %v, %v; want %q", ptr, got, found, err, want)
		}
	}
}

func TestFind(t *testing.T) {
	doc := jsontext.Value(
		" {\"args\":{\"command\":\"ls\",\"l\\u0069st\":[10, 20 ,{\"x\":[]}],\"-\":1,\"01\":2,\"n\":null},\"argsx\":1, \"deep\":{\"a\":{\"a\":{\"a\":3}}}}\n")
	for _, c := range []struct {
		ptr, want string
		found     bool
		bad       bool
	}{
		{ptr: "/args/command", want: `"ls"`, found: true},
		{ptr: "/args/list/1", want: "20", found: true},
		{ptr: "/args/list/2/x", want: "[]", found: true},
		{ptr: "/args/n", want: "null", found: true},
		{ptr: "/args/-", want: "1", found: true}, // a member's name, not an index
		{ptr: "/args/01", want: "2", found: true},
		{ptr: "/deep/a/a/a", want: "3", found: true},
		{ptr: "/args/list/3"},
		{ptr: "/args/list/2/x/0"},
		{ptr: "/args/none"},
		{ptr: "/args/command/0"},
		{ptr: "/args/n/x"},
		{ptr: "/arg"},
		{ptr: "/args/list/-", bad: true},
		{ptr: "/args/list/01", bad: true},
		{ptr: "/args/list/+1", bad: true},
		{ptr: "/args/list/1e0", bad: true},
		{ptr: "/args/list/", bad: true},
		{ptr: "/args/list/99999999999999999999", bad: true},
		{ptr: "args", bad: true},
		{ptr: "/a~", bad: true},
		{ptr: "/a~2", bad: true},
		{ptr: "/\xff", bad: true},
		{ptr: "/" + strings.Repeat("a", maxPathBytes), bad: true},
	} {
		got, found, err := find(doc, c.ptr)
		if string(got) != c.want || found != c.found || errors.Is(err, errPointer) != c.bad || (err != nil) != c.bad {
			t.Errorf("Find(%q) = %q, %v, %v", c.ptr, got, found, err)
		}
	}
}

// TestGetString: a value that is no string, and one that is not there, has no text.
func TestGetString(t *testing.T) {
	doc := jsontext.Value(` {"s": "a\u0062", "empty":"", "n":12, "o":{"s":"x"}, "a":["y"], "t":true, "z":null, "cut":"ab`)
	for ptr, want := range map[string]string{"/s": "ab", "/empty": "", "/o/s": "x", "/a/0": "y"} {
		if s, ok := GetString(doc, ptr); s != want || !ok {
			t.Errorf("%s: %q, %v, want %q", ptr, s, ok, want)
		}
	}
	for _, ptr := range []string{"/n", "/o", "/a", "/t", "/z", "/cut", "/none", "/o/none", "/a/1", "/a/x", "s", ""} {
		if s, ok := GetString(doc, ptr); s != "" || ok {
			t.Errorf("%s: %q, %v", ptr, s, ok)
		}
	}
	if s, ok := GetString(jsontext.Value("\t\"x\" "), ""); s != "x" || !ok {
		t.Errorf("the whole document: %q, %v", s, ok)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		prefix, ptr string
		want        bool
	}{
		{"", "/args", true}, {"", "", true}, {"/args", "/args", true}, {"/args", "/args/command", true},
		{"/args", "/argsx", false}, {"/args", "", false}, {"/args/command", "/args", false},
		{"/args/", "/args/command", false},
		{"/args/", "/args/", true}, {"/a~1b", "/a~1b/c", true}, {"/a", "/a~1b", false},
	} {
		if got := Covers(c.prefix, c.ptr); got != c.want {
			t.Errorf("Covers(%q, %q) = %v", c.prefix, c.ptr, got)
		}
	}
}

func TestSetAndRemoveKeepBytes(t *testing.T) {
	const doc = "{ \"a\" : 1.50 ,\n \"b\":{ \"x\":\"\\u0041\" , \"y\" : [ 1,  2 , 3 ] }, \"e\" : {  }, \"f\":[ ] }"
	for _, c := range []struct{ op, ptr, value, want string }{
		{"set", "/a", " 2 ", strings.Replace(doc, "1.50", "2", 1)},
		{"set", "/b/y/1", `"z"`, strings.Replace(doc, "  2 ", `  "z" `, 1)},
		{"set", "/b/z", "true", strings.Replace(doc, "3 ] }", `3 ],"z":true }`, 1)},
		{"set", "/b/q~1r", "0", strings.Replace(doc, "3 ] }", `3 ],"q/r":0 }`, 1)},
		{"set", "/e/k", "{}", strings.Replace(doc, "{  }", `{"k":{}  }`, 1)},
		{"set", "/f/0", "7", strings.Replace(doc, "[ ]", `[7 ]`, 1)},
		{"set", "/b/y/3", "4", strings.Replace(doc, "3 ]", `3,4 ]`, 1)},
		{"set", "", "[]", "[]"},
		{"set", "/b/y/4", "1", "error"}, {"set", "/b/y/-", "1", "error"}, {"set", "/none/x", "1", "error"},
		{"set", "/a/x", "1", "error"}, {"set", "/a", "", "error"}, {"set", "a", "1", "error"},
		{"remove", "/a", "", strings.Replace(doc, "\"a\" : 1.50 ,\n ", "", 1)},
		{"remove", "/f", "", strings.Replace(doc, ", \"f\":[ ] ", " ", 1)},
		{"remove", "/b/y/0", "", strings.Replace(doc, "1,  2", "2", 1)},
		{"remove", "/b/y/2", "", strings.Replace(doc, " , 3 ", " ", 1)},
		{"remove", "/b/none", "", doc},
		{"remove", "/b/y/9", "", doc},
		{"remove", "", "", "error"}, {"remove", "/none/x", "", "error"}, {"remove", "/a/x", "", "error"},
		{"remove", "/b/y/-", "", "error"},
	} {
		in := jsontext.Value(doc)
		var got jsontext.Value
		var err error
		if c.op == "set" {
			got, err = Set(in, c.ptr, jsontext.Value(c.value))
		} else {
			got, err = remove(in, c.ptr)
		}
		if string(in) != doc {
			t.Fatalf("%s %q changed its input", c.op, c.ptr)
		}
		if c.want == "error" {
			if !errors.Is(err, errPointer) {
				t.Errorf("%s %q: err = %v", c.op, c.ptr, err)
			}
			continue
		}
		if err != nil || string(got) != c.want &&
			strings.Join(strings.Fields(string(got)), "") != strings.Join(strings.Fields(c.want), "") {
			t.Errorf("%s %q:\n got %q, %v\nwant %q", c.op, c.ptr, got, err, c.want)
		}
	}
}

// anyJSON draws a document as a Go value.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := []*rapid.Generator[any]{
		rapid.Just[any](nil),
		rapid.Custom(func(t *rapid.T) any { return rapid.Bool().Draw(t, "bool") }),
		rapid.Custom(func(t *rapid.T) any { return float64(rapid.IntRange(-1000, 1000).Draw(t, "number")) / 8 }),
		rapid.Custom(func(t *rapid.T) any { return names().Draw(t, "string") }),
	}
	if depth == 0 {
		return rapid.OneOf(leaf...)
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(append(leaf,
		rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(inner, 0, 4).Draw(t, "array") }),
		rapid.Custom(func(t *rapid.T) any { return rapid.MapOfN(names(), inner, 0, 4).Draw(t, "object") }),
	)...)
}

// names draws member names with everything that pointers and JSON escape.
func names() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "a", "b", "a/b", "m~n", "~1", "0", "1", "01", "-", "\"", "\\", "é", "\n", " ",
		"𝄞", "args"})
}

// spell writes a value as JSON with odd white space and escapes.
func spell(t *rapid.T, v any) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t", "\r\n "})
	text := func(s string) string {
		if s != "" && rapid.Bool().Draw(t, "escape") {
			var b strings.Builder
			for _, r := range s {
				if r < 0x10000 {
					b.WriteString(`\u` + strings.Repeat("0", 4-len(strconv.FormatInt(int64(r), 16))) + strconv.FormatInt(int64(r), 16))
				} else {
					b.WriteRune(r)
				}
			}
			return `"` + b.String() + `"`
		}
		return string(quote(s))
	}
	sp := func() string { return space.Draw(t, "space") }
	switch v := v.(type) {
	case []any:
		parts := []string{}
		for _, e := range v {
			parts = append(parts, sp()+spell(t, e)+sp())
		}
		return "[" + sp() + strings.Join(parts, ",") + "]"
	case map[string]any:
		parts := []string{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, sp()+text(k)+sp()+":"+sp()+spell(t, v[k])+sp())
		}
		return "{" + sp() + strings.Join(parts, ",") + "}"
	case string:
		return text(v)
	case nil:
		return "null"
	default:
		b, _ := json.Marshal(v)
		return string(b)
	}
}

func parse(t interface{ Fatalf(string, ...any) }, raw []byte) any {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, raw)
	}
	return v
}

// pointers returns all pointers into v.
func pointers(v any, at string, out []string) []string {
	out = append(out, at)
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			out = pointers(e, Join(at, strconv.Itoa(i)), out)
		}
	case map[string]any:
		for k, e := range v {
			out = pointers(e, Join(at, k), out)
		}
	}
	return out
}

// lookup is the model of Get on Go values.
func lookup(v any, ptr string) (any, bool) {
	if ptr == "" {
		return v, true
	}
	for _, tok := range strings.Split(ptr[1:], "/") {
		tok = strings.ReplaceAll(strings.ReplaceAll(tok, "~1", "/"), "~0", "~")
		switch c := v.(type) {
		case []any:
			i, err := strconv.Atoi(tok)
			if err != nil || strconv.Itoa(i) != tok || i < 0 || i >= len(c) {
				return nil, false
			}
			v = c[i]
		case map[string]any:
			e, ok := c[tok]
			if !ok {
				return nil, false
			}
			v = e
		default:
			return nil, false
		}
	}
	return v, true
}

func TestPointerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(3).Draw(t, "document")
		raw := jsontext.Value(spell(t, v))
		v = parse(t, raw)
		all := pointers(v, "", nil)
		slices.Sort(all)
		ptr := rapid.SampledFrom(all).Draw(t, "pointer")
		if rapid.Bool().Draw(t, "below") {
			ptr = Join(ptr, names().Draw(t, "token"))
		}
		want, ok := lookup(v, ptr)
		got, found := Get(raw, ptr)
		if found != ok || ok && !cmp.Equal(parse(t, got), want) {
			t.Fatalf("Get(%s, %q) = %q, %v; want %v, %v", raw, ptr, got, found, want, ok)
		}

		set, err := Set(raw, ptr, jsontext.Value(`{"new":[1]}`))
		if err == nil {
			doc := parse(t, set)
			if now, _ := lookup(doc, ptr); !cmp.Equal(now, map[string]any{"new": []any{1.0}}) {
				t.Fatalf("Set(%s, %q) = %s", raw, ptr, set)
			}
			for _, other := range all { // nothing else has changed
				if Covers(ptr, other) || Covers(other, ptr) {
					continue
				}
				before, _ := Get(raw, other)
				after, _ := Get(set, other)
				if string(before) != string(after) {
					t.Fatalf("Set(%s, %q) changed %q: %s", raw, ptr, other, after)
				}
			}
		} else if ok {
			t.Fatalf("Set(%s, %q): %v", raw, ptr, err)
		}

		removed, err := remove(raw, ptr)
		if ok && ptr != "" {
			if err != nil {
				t.Fatalf("Remove(%s, %q): %v", raw, ptr, err)
			}
			doc := parse(t, removed)
			parent, token := splitLast(ptr)
			before, _ := lookup(v, parent)
			after, _ := lookup(doc, parent)
			switch b := before.(type) {
			case map[string]any:
				b = maps.Clone(b)
				delete(b, token)
				if !cmp.Equal(after, any(b)) {
					t.Fatalf("Remove(%s, %q) = %s", raw, ptr, removed)
				}
			case []any:
				i, _ := strconv.Atoi(token)
				if !cmp.Equal(after, any(slices.Delete(slices.Clone(b), i, i+1))) {
					t.Fatalf("Remove(%s, %q) = %s", raw, ptr, removed)
				}
			}
		}
	})
}

func BenchmarkGet(b *testing.B) {
	raw := jsontext.Value(`{"tool":"exec","pad":"` + strings.Repeat("x", 900) +
		`","args":{"a":[1,2,3],"command":"ls -la"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Get(raw, "/args/command"); !ok {
			b.Fatal("absent")
		}
	}
}

// With the last entry goes the comma before it, and the white space between the two.
func TestRemoveTakesTheCommaBefore(t *testing.T) {
	for doc, want := range map[string]string{
		"[1,2]": "[1]", "[1, 2]": "[1]", "[1,\t2]": "[1]", "[1,\n2]": "[1]", "[1,\r2]": "[1]", "[1 ,\r\n\t 2]": "[1 ]",
	} {
		got, err := remove(jsontext.Value(doc), "/1")
		if err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", doc, got, err, want)
		}
	}
}

package jsonedit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/jsonedit"
)

func TestAddedAsTheDocumentIsWritten(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		path string
		want string
	}{
		"at the end, with its indentation": {"{\n    \"a\": 1\n}\n", "b", "{\n    \"a\": 1,\n    \"b\": [x]\n}\n"},
		"on one line":                      {`{"a":1,"c":2}`, "b", `{"a":1,"c":2,"b": [x]}`},
		"objects on the way":               {"{\n  \"a\": 1\n}", "h/b", "{\n  \"a\": 1,\n  \"h\": {\n    \"b\": [x]\n  }\n}"},
		"an element, on its own line":      {"{\"b\": [\n  1\n]}", "b", "{\"b\": [\n  1,\n  x\n]}"},
		"into what stood empty":            {`{"h": {}}`, "h/b", `{"h": {"b": [x] }}`},
		"into an empty list":               {`{"b": [  ]}`, "b", `{"b": [  x ]}`},
		"with the line ends of Windows":    {"{\r\n\t\"a\": 1\r\n}", "b", "{\r\n\t\"a\": 1,\r\n\t\"b\": [x]\r\n}"},
	} {
		want := strings.ReplaceAll(c.want, "x", "0")
		got, err := jsonedit.Append([]byte(c.src), strings.Split(c.path, "/"), []byte("0"))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestRefusedWithThePlace(t *testing.T) {
	for src, want := range map[string]string{
		"":                           "line 1: it is not strict JSON: the document ends too early",
		"{\n \"a\": 1,\n \"a\": 2}":  "line 3: it is not strict JSON: duplicate object member name",
		"{\n // note\n}":             "line 2: it is not strict JSON",
		"{} {}":                      "line 1: a second value follows",
		"{\"a\": \"\xff\"}":          "line 1: it is not strict JSON: invalid UTF-8",
		"\ufeff{}":                   "line 1: it is not strict JSON",
		strings.Repeat("[", 99):      "line 1: it is nested too deeply",
		strings.Repeat(" ", 1<<20+1): "the document has 1048577 bytes, the limit is 1048576",
	} {
		_, err := jsonedit.Parse([]byte(src))
		if !errors.Is(err, jsonedit.ErrInvalid) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", src, err, want)
		}
	}
	for src, path := range map[string]string{`{"h": null}`: "h/b", `{"h": {"b": {}}}`: "h/b", "[]": "b"} {
		if _, err := jsonedit.Append([]byte(src), strings.Split(path, "/"), []byte("0")); !errors.Is(err, jsonedit.ErrShape) {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// Put marks its member, and Unput takes no other out.
func TestUnputKnowsItsOwn(t *testing.T) {
	for _, src := range []string{`{}`, "{ }", `{"a": 1}`, "{\n  \"a\": {}\n}\n", `{"e":{}}`, `{"e": {"f":1}}`} {
		path := []string{"e", "x"}
		with, err := jsonedit.Put([]byte(src), path, []byte("true"), true)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := jsonedit.Unput(with, path); err != nil || string(back) != src {
			t.Errorf("%s became %s, then %q, %v", src, with, back, err)
		}
		others := strings.Replace(string(with), `"x" :`, `"x":`, 1)
		if kept, err := jsonedit.Unput([]byte(others), path); err != nil || string(kept) != others {
			t.Errorf("a member of others was taken out: %s, %v", kept, err)
		}
	}
}

// No text makes an edit panic; what is added to a document can be read, and be taken out again.
func FuzzEdits(f *testing.F) {
	for _, s := range []string{`{}`, `{"h":{"b":[1, 2]}}`, "{\n\t\"h\": {\"b\": []}\n}", `{"h":{"b":[ ]},"x":"\\\""}`,
		`{"":-0.0e1,"\u0041":[true,null]}`, `{"a":1`, `{"h": []}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		with, err := jsonedit.Append(src, []string{"h", "b"}, []byte(`{"own": 1}`))
		if err != nil {
			if !errors.Is(err, jsonedit.ErrInvalid) && !errors.Is(err, jsonedit.ErrShape) {
				t.Fatalf("an error without class: %v", err)
			}
			return
		}
		root, err := jsonedit.Parse(with)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, with, err)
		}
		list := root.Member("h").Member("b")
		back, err := jsonedit.CutAt(with, []string{"h", "b"}, len(list.Elements)-1)
		if err != nil || string(back) != string(src) {
			t.Fatalf("%q became %q, then %q, %v", src, with, back, err)
		}
	})
}

package phases

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// libraryTakes is what the JSON library says of a document, and of how deep it nests.
func libraryTakes(raw []byte, depth int) bool {
	return tooDeep(raw, depth) < 0 && jsontext.Value(raw).IsValid()
}

// What wellFormed takes is what the library takes, and what is usual is taken.
func TestWellFormed(t *testing.T) {
	usual := []string{`{}`, `[]`, `""`, `0`, `-0`, `-1.5e+30`, `true`, `false`, `null`,
		` {"a" : [1, {"b":"c"}, "\u00e9\n\/é✓🧗"]} `,
		`[[],{},[{}]]`, `"\ud83e\uddd7"`, "\"\u007f\"", `{"":1}`, "\t[\r\n]\n", `{"a":1,"b":2,"A":3}`,
		`"` + strings.Repeat("x", 70) + `"`, `1E5`, `10`}
	for _, src := range usual {
		if !wellFormed([]byte(src), 9) || !libraryTakes([]byte(src), 9) {
			t.Errorf("%s is not taken", src)
		}
	}
	for _, src := range []string{``, ` `, `{`, `[`, `"`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`,
		`[1,]`, `[,1]`,
		`[1 2]`, `01`, `1.`, `.5`, `-`, `1e`, `1e+`, `+1`, `tru`, `nul`, `truex`, `{} {}`, `{}x`, "\"\x01\"",
		"\"a\nb\"", "\"\xff\"",
		"\"\xc3\"", "\"\xed\xa0\x80\"", `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\ud800x"`, `"\u12"`,
		`"\x41"`, `"\`, `"\u00zz"`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1,"b":2}}`, `{a:1}`, `{1:2}`, `[1}`, `{"a":1]`, `'a'`,
		`{"ä":1,"ä":2}`, "\ufeff{}"} {
		if wellFormed([]byte(src), 9) || libraryTakes([]byte(src), 9) {
			t.Errorf("%q is taken", src)
		}
	}
	many := func(last int) string {
		var b strings.Builder
		for n := range 40 {
			fmt.Fprintf(&b, `"n%d":{"x":%d},`, n*7%40, n)
		}
		return "{" + b.String() + fmt.Sprintf(`"n%d":0}`, last)
	}
	if !wellFormed([]byte(many(40)), 9) || wellFormed([]byte(many(17)), 9) {
		t.Error("names of a large object")
	}
	deep := strings.Repeat("[", 9) + strings.Repeat("]", 9)
	if !wellFormed([]byte(deep), 9) || wellFormed([]byte(deep), 8) || wellFormed([]byte(`{"a":`+deep+`}`), 9) {
		t.Error("depth")
	}
}

// Each byte at each place of a word of eight is seen.
func TestPlainEnd(t *testing.T) {
	for c := range 256 {
		stops := c == '"' || c == '\\' || c < ' ' || c >= 0x80
		for at := range 20 {
			text := []byte(strings.Repeat("a!~[]#", 4)[:20])
			text[at] = byte(c)
			want := len(text)
			if stops {
				want = at
			}
			if got := plainEnd(text, 0); got != want {
				t.Errorf("%#x at %d: %d", c, at, got)
			}
			if text[19] = '"'; stops && plainEnd(text, at) != at {
				t.Errorf("%#x at %d, begun there", c, at)
			}
		}
	}
}

func FuzzWellFormed(f *testing.F) {
	for _, a := range sampleActions() {
		f.Add([]byte(a))
	}
	f.Add([]byte(` {"a":[1,-0.5e3,{"é":"\ud83e\uddd7\\"}],"":null} `))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if wellFormed(raw, 20) && !libraryTakes(raw, 20) {
			t.Fatalf("%q is taken", raw)
		}
		if wellFormed(raw, math.MaxInt) && !jsontext.Value(raw).IsValid() {
			t.Fatalf("%q is taken", raw)
		}
		for _, p := range []Phase{PreTool, PostTool} {
			if wellFormed(raw, 20) && plainAction(p, raw) {
				if _, err := DecodeAction(p, raw); err != nil {
					t.Fatalf("%s %q: %v", p, raw, err)
				}
			}
		}
	})
}

// A usual call of a tool is plain; whatever DecodeAction refuses is not.
func TestPlainAction(t *testing.T) {
	for p, list := range map[Phase][]string{
		PreTool: {`{"tool":"exec","args":{}}`,
			` { "args" : {"a":1} , "tool" : "mcp:a:b", "native_tool":"B", "call_id":"c" } `},
		PostTool: {`{"tool":"exec","result":null}`,
			`{"tool":"x","args":{},"original_args":{},"result":[1],"is_error":true,` +
				`"duration_ms":12.5}`},
	} {
		for _, a := range list {
			if _, err := DecodeAction(p, jsontext.Value(a)); err != nil || !plainAction(p, jsontext.Value(a)) {
				t.Errorf("%s %s: %v", p, a, err)
			}
		}
	}
	long := strings.Repeat("x", MaxIDBytes+1)
	for _, a := range []string{`{}`, `[]`, `"x"`, `{"tool":"exec"}`, `{"args":{}}`, `{"tool":"","args":{}}`,
		`{"tool":1,"args":{}}`,
		`{"tool":null,"args":{}}`, `{"tool":"x","args":[]}`, `{"tool":"x","args":null}`,
		`{"tool":"x","args":{},"more":1}`,
		`{"tool":"x","args":{},"call_id":null}`, `{"tool":"` + long + `","args":{}}`,
		"{\"tool\":\"a\u200bb\",\"args\":{}}",
		`{"tool":"a\nb","args":{}}`, `{"Tool":"x","args":{}}`, `{"tool":"x","args":{},"Result":1}`,
		"{\"tool\":\"\x7f\",\"args\":{}}",
		`{"tool":"x","result":1,"duration_ms":-1}`, `{"tool":"x","result":1,"duration_ms":1e999}`,
		`{"tool":"x","result":1,"is_error":null}`, `{"tool":"x","result":1,"is_error":0}`,
		`{"tool":"x","result":1,"duration_ms":"1"}`,
		`{"tool":"x","result":1,"args":[]}`, `{"tool":"x","result":1,"original_args":2}`} {
		for _, p := range []Phase{PreTool, PostTool} {
			if _, err := DecodeAction(p, jsontext.Value(a)); err == nil || plainAction(p, jsontext.Value(a)) {
				t.Errorf("%s %s is taken: %v", p, a, err)
			}
		}
	}
}

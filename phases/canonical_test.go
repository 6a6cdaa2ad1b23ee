package phases

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// The sample documents of RFC 8785, sections 3.2.2 to 3.2.4.
func TestCanonicalRFC8785(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{
			"{\n  \"numbers\": [333333333.33333329, 1E30, 4.50,\n 2e-3, 0.000000000000000000000000001],\n" +
				"  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n  \"literals\": [null, true, false]\n}",
			// 333333333.33333329 has more digits than a double keeps: see below.
			`{"literals":[null,true,false],"numbers":[33333333333333329e-8,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		{` [ 56 , { "d" : true , "10" : null , "1" : [ ] } ] `, `[56,{"1":[],"10":null,"d":true}]`},
	} {
		got, err := Canonical(jsontext.Value(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("Canonical(%s)\n got %s, %v\nwant %s", c.in, got, err, c.want)
		}
	}
}

// Appendix B of RFC 8785: doubles and what they print as.
func TestCanonicalNumbersRFC8785(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001", 0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343", 0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		in := fmt.Sprintf("%.17e", math.Float64frombits(bits))
		short := jsontext.AppendFloat(nil, math.Float64frombits(bits), 64)
		for _, src := range []string{string(short), want} {
			if got, err := Canonical(jsontext.Value(src)); err != nil || string(got) != want {
				t.Errorf("%016x (%s): Canonical(%s) = %s, %v; want %s", bits, in, src, got, err, want)
			}
		}
	}
}

func TestCanonicalKeepsNumbersApart(t *testing.T) {
	same := [][]string{
		{"0", "-0", "0.0", "0e5", "-0.00e-7"},
		{"1", "1.0", "10e-1", "0.1E1", "1e0", "1e-0"},
		{"9007199254740993", "9007199254740993.0", "90071992547409930e-1"},
		{"1e400", "10e399", "0.01e402"},
		{"1e-400", "0.1e-399"},
	}
	seen := map[string]string{}
	for _, group := range same {
		want := ""
		for _, src := range group {
			got, err := Canonical(jsontext.Value(src))
			if err != nil {
				t.Fatalf("%s: %v", src, err)
			}
			if want == "" {
				want = string(got)
			}
			if string(got) != want {
				t.Errorf("%s and %s are one number, but %s and %s", src, group[0], got, want)
			}
		}
		if other, ok := seen[want]; ok {
			t.Errorf("%s and %s are two numbers, but both %s", group[0], other, want)
		}
		seen[want] = group[0]
	}
	// What RFC 8785 would round together stays apart: a digest is what a person approved.
	a, _ := Digest(jsontext.Value(`{"id":9007199254740992}`))
	b, _ := Digest(jsontext.Value(`{"id":9007199254740993}`))
	if a == b {
		t.Error("two ids, one digest")
	}
	if _, err := Canonical(jsontext.Value("1e999999999999999999999")); !errors.Is(err, ErrDecode) {
		t.Errorf("err = %v", err)
	}
}

func TestCanonicalRefusesWhatIsNotStrict(t *testing.T) {
	for _, in := range []string{"", "{", `{"a":1,"a":2}`, "\"\xff\"", "1 2", "01", "nul", `"\ud800"`} {
		if _, err := Canonical(jsontext.Value(in)); !errors.Is(err, ErrDecode) {
			t.Errorf("Canonical(%q): err = %v", in, err)
		}
	}
}

func TestDigest(t *testing.T) {
	// printf '{"a":"1","b":2}' | sha256sum
	const want = "sha256:d79684d992c6150eea853d790cdef25f804d994cfe3a9198a5b012132dc46ec6"
	if got, err := Digest(jsontext.Value(` { "b" : 2, "a" : "\u0031" } `)); err != nil || got != want {
		t.Errorf("Digest = %s, %v", got, err)
	}
}

func TestActionDigestIgnoresWhatDiffersFromCallToCall(t *testing.T) {
	digest := func(p Phase, action string) string {
		d, err := ActionDigest(Invocation{Phase: p, Action: jsontext.Value(action)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	a := digest(PreTool, `{"tool":"exec","call_id":"c-1","args":{"command":"ls"}}`)
	if b := digest(PreTool, `{"args":{"command":"l\u0073"}, "tool":"exec","call_id":"c-2"}`); a != b {
		t.Error("another call_id, another digest")
	}
	if b := digest(PreTool, `{"tool":"exec","args":{"command":"ls "}}`); a == b {
		t.Error("another command, the same digest")
	}
	if b := digest(PreTool, `{"tool":"exec","args":{"command":"ls","call_id":1}}`); a == b {
		t.Error("call_id inside the arguments is not the call's")
	}
	c := digest(PostTool, `{"tool":"x","result":1,"duration_ms":5}`)
	if d := digest(PostTool, `{"tool":"x","result":1,"duration_ms":6}`); c != d {
		t.Error("another duration, another digest")
	}
	e := digest(PreSend, `{"provider":"p","headers":{"authorization":"a","x":"1"}}`)
	if f := digest(PreSend, `{"provider":"p","headers":{"authorization":"b","x":"1"}}`); e != f {
		t.Error("a credential is in the digest")
	}
}

func TestCanonicalProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyJSON(3).Draw(t, "document")
		a := jsontext.Value(spell(t, v))
		b := jsontext.Value(spell(t, v))
		ca, err := Canonical(a)
		if err != nil {
			t.Fatal(err)
		}
		if cb, _ := Canonical(b); string(ca) != string(cb) {
			t.Fatalf("two spellings, two forms:\n%s\n%s", ca, cb)
		}
		if again, err := Canonical(ca); err != nil || string(again) != string(ca) {
			t.Fatalf("not idempotent: %s, %s, %v", ca, again, err)
		}
		if lib, err := viaLibrary(a); err != nil || string(lib) != string(ca) {
			t.Fatalf("ours %s, the library's %s, %v", ca, lib, err)
		}
		// Where numbers fit doubles, the form is the library's RFC 8785.
		lib := a.Clone()
		if err := lib.Canonicalize(); err != nil || string(lib) != string(ca) {
			t.Fatalf("ours %s, RFC 8785 %s, %v", ca, lib, err)
		}
		if d := Diff(a, b); len(d) != 0 {
			t.Fatalf("Diff of two spellings = %v", d)
		}
	})
}

// viaLibrary is the canonical form as the library writes it, with our numbers.
func viaLibrary(raw jsontext.Value) (jsontext.Value, error) {
	v := raw.Clone()
	err := v.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); {
		end := i + 1
		switch c := v[i]; {
		case c == '"':
			end, _ = skipString(v, i)
		case c == '-' || c >= '0' && c <= '9':
			end, _ = skipValue(v, i)
			out = appendNumber(out, string(v[i:end]))
			i = end
			continue
		}
		out = append(out, v[i:end]...)
		i = end
	}
	return out, nil
}

func FuzzCanonicalForm(f *testing.F) {
	f.Add([]byte(` {"b":[1,-0,1e2,{"é":1,"z":"\u00e9\/","\u0061":2}],"\ud83d\ude00":{},"\ufb33":[]} `))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Canonical(raw)
		if err != nil {
			return
		}
		if want, err := viaLibrary(raw); err != nil || string(got) != string(want) {
			t.Fatalf("%q:\n got %q\nwant %q, %v", raw, got, want, err)
		}
	})
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want []string
	}{
		{`{"a":1}`, `{"a":1.0}`, []string{}},
		{`{"a":1,"b":2}`, `{"b":3,"c":{}}`, []string{"/a", "/b", "/c"}},
		{`{"a":{"x":[1,2,{"y":1}]}}`, `{"a":{"x":[1,2,{"y":2}]}}`, []string{"/a/x/2/y"}},
		{`{"a":[1,2]}`, `{"a":[1]}`, []string{"/a"}},
		{`{"a":[1]}`, `{"a":{"0":1}}`, []string{"/a"}},
		{`{"a/b":1}`, `{"a/b":null}`, []string{"/a~1b"}},
		{`1`, `2`, []string{""}},
	} {
		if got := Diff(jsontext.Value(c.a), jsontext.Value(c.b)); fmt.Sprint(got) != fmt.Sprint(c.want) || got == nil {
			t.Errorf("Diff(%s, %s) = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// The digest of bytes is of them as they are, in the spelling of sha256sum.
func TestByteDigest(t *testing.T) {
	if got := ByteDigest([]byte("abc")); got != "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error(got)
	}
	if ByteDigest([]byte(`{"a":1}`)) == ByteDigest([]byte(`{"a": 1}`)) {
		t.Error("a space makes no difference")
	}
}

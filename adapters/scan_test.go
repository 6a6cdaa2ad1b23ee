package adapters_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

const member = "session_id"

func TestScan(t *testing.T) {
	long := strings.Repeat("x", phases.MaxIDBytes)
	for name, c := range map[string]struct{ payload, want string }{
		"whole":                          {`{"session_id":"s-1","a":1}`, "s-1"},
		"white space":                    {" \r\n\t{ \"session_id\" : \"s-1\" , \"a\" : 1 } ", "s-1"},
		"last":                           {`{"a":{"b":[1,"]}",{}]},"session_id":"s-1"}`, "s-1"},
		"escaped name and value":         {`{"session\u005fid":"s\u002d1"}`, "s-1"},
		"said twice, the same":           {`{"session_id":"s-1","session_id":"s-1"}`, "s-1"},
		"cut off behind it":              {`{"session_id":"s-1","tool_input":{"command":"l`, "s-1"},
		"cut off at its quote":           {`{"session_id":"s-1`, ""},
		"not UTF-8 elsewhere":            {"{\"a\":\"\xff\",\"session_id\":\"s-1\",\"b\":\"\xc3\"}", "s-1"},
		"a lone surrogate elsewhere":     {`{"a":"\ud800","session_id":"s-1"}`, "s-1"},
		"control bytes elsewhere":        {"{\"a\":\"\n\x00\",\"session_id\":\"s-1\"}", "s-1"},
		"doubled names elsewhere":        {`{"a":1,"a":2,"session_id":"s-1","a":3}`, "s-1"},
		"no value of JSON elsewhere":     {`{"a":NaN,"session_id":"s-1"}`, "s-1"},
		"a fault behind it":              {`{"session_id":"s-1",}`, "s-1"},
		"another one behind a fault":     {`{"session_id":"s-1"}{"session_id":"s-2"}`, "s-1"},
		"behind a fault":                 {`{"a":},"session_id":"s-1"}`, ""},
		"behind a bracket of other kind": {`{"a":[},"session_id":"s-1"}`, ""},
		"two":                            {`{"session_id":"s-1","session_id":"s-2"}`, ""},
		"two, one escaped":               {`{"session_id":"s-1","session\u005fid":"s-2"}`, ""},
		"one that is no string":          {`{"session_id":"s-1","session_id":null}`, ""},
		"no string":                      {`{"session_id":7}`, ""},
		"in an object":                   {`{"tool_input":{"session_id":"s-2"}}`, ""},
		"in an array":                    {`{"a":[{"session_id":"s-2"}]}`, ""},
		"in an array at the top":         {`[{"session_id":"s-2"}]`, ""},
		"in its own value":               {`{"session_id":{"session_id":"s-2"}}`, ""},
		"in a string":                    {`{"a":"\",\"session_id\":\"s-2\"","session_id":"s-1"}`, "s-1"},
		"as a value":                     {`{"a":"session_id","b":"s-2"}`, ""},
		"empty":                          {`{"session_id":""}`, ""},
		"as long as it may be":           {`{"session_id":"` + long + `"}`, long},
		"too long":                       {`{"session_id":"` + long + `x"}`, ""},
		"far too long":                   {`{"session_id":"` + strings.Repeat(long, 100) + `"}`, ""},
		"control characters":             {`{"session_id":"s\u0000"}`, ""},
		"bidirectional marks":            {`{"session_id":"s\u202e"}`, ""},
		"not UTF-8":                      {"{\"session_id\":\"s\xff\"}", ""},
		"no escape":                      {`{"session_id":"\x41"}`, ""},
		"deeper than anything":           {`{"session_id":"s-1","a":` + strings.Repeat("[", 1<<20), "s-1"},
		"behind what is deeper than that": {`{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) +
			`,"session_id":"s-1"}`, ""},
		"nothing": {"", ""},
		"garbage": {"garbage", ""},
	} {
		if got := adapters.ScanName([]byte(c.payload), member); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What a scan finds does not hang on how the bytes come.
func TestScanInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := []byte(`{"a":[1,{"session_id":"no"},"\"\\"],"session\u005fid":"s-\u00e9","b":` +
			rapid.SampledFrom([]string{"1}", "}", `"session_id"}`}).Draw(t, "end"))
		s := adapters.NewScan(member)
		for rest := b; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if took, err := s.Write(rest[:n]); took != n || err != nil {
				t.Fatal(took, err)
			}
			rest = rest[n:]
		}
		if s.Name() != "s-é" || s.Name() != adapters.ScanName(b, member) {
			t.Fatalf("%q", s.Name())
		}
	})
}

// Five megabytes cost what their bytes cost, wherever the member stands in them.
func TestScanOfALargePayload(t *testing.T) {
	big := `"tool_input":{"content":"` + strings.Repeat(`\"session_id\":\"s-2\",`, 250_000) + `"}`
	for _, b := range []string{`{"session_id":"s-1",` + big + `}`, `{` + big + `,"session_id":"s-1"}`} {
		if len(b) < 5<<20 {
			t.Fatal(len(b))
		}
		if got := adapters.ScanName([]byte(b), member); got != "s-1" {
			t.Errorf("%q", got)
		}
		if n := testing.AllocsPerRun(1, func() { adapters.ScanName([]byte(b), member) }); n > 20 {
			t.Errorf("%v allocations", n)
		}
	}
	nested := []byte(`{"a":` + strings.Repeat(`{"a":[`, 500_000))
	if n := testing.AllocsPerRun(1, func() { adapters.ScanName(nested, member) }); n > 20 {
		t.Errorf("%v allocations", n)
	}
}

// strict is what a strict decoder says that the object names: the payload is valid.
func strict(b []byte) (name string, valid bool) {
	var doc struct {
		Session jsontext.Value `json:"session_id"`
	}
	if err := json.Unmarshal(b, &doc); err != nil || jsontext.Value(b).Kind() != '{' {
		return "", false
	}
	if doc.Session.Kind() == '"' {
		_ = json.Unmarshal(doc.Session, &name)
	}
	if name == "" || phases.SafeLine(name, phases.MaxIDBytes) != name {
		return "", true
	}
	return name, true
}

// tops lists the strings that members of that name have at the top level up to the first
// fault, as a decoder sees them that lets doubled names and bad UTF-8 pass.
func tops(b []byte) (list []string) {
	dec := jsontext.NewDecoder(bytes.NewReader(b), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return list
		}
		wanted := name.String() == member
		v, err := dec.ReadValue()
		if err != nil {
			return list
		}
		if wanted {
			var s string
			_ = json.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true))
			list = append(list, s)
		}
	}
	return list
}

// FuzzScan holds the scan against decoders: of a valid payload it says what they say, of
// any other nothing but what a top-level member says that stands before the fault.
func FuzzScan(f *testing.F) {
	for _, s := range []string{
		`{"session_id":"s-1","tool_input":{"session_id":"s-2"}}`, `{"session_id":"a","session_id":"b"}`,
		`{"session_id":"a"} {"session_id":"b"}`,
		`{"a":[{"session_id":"x"}],"session\u005fid":"\u00e9"}`, `{"session_id":7}`, `{"a":"\\\"","session_id":"s"`,
		"{\"a\":\"\xff\",\"session_id\":\"s\"}",
		`{"a":-1.5e+7,"b":true,"session_id":"s"}`, `{"a":NaN,"session_id":"s"}`, `{"session_id":"s",`, `[]`, ``,
	} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, b []byte, n uint8) {
		got := adapters.ScanName(b, member)
		s := adapters.NewScan(member)
		_, _ = io.CopyBuffer(s, struct{ io.Reader }{bytes.NewReader(b)}, make([]byte, int(n)+1))
		if s.Name() != got {
			t.Fatalf("in pieces %q, whole %q", s.Name(), got)
		}
		if want, valid := strict(b); valid && got != want {
			t.Fatalf("%q, a strict decoder says %q", got, want)
		}
		if list := tops(b); len(list) > 0 {
			same := true
			for _, s := range list {
				same = same && s == list[0]
			}
			if got != "" && (got != list[0] || !same) {
				t.Fatalf("%q, a decoder says %q", got, list)
			}
		}
		if got != "" && (!bytes.Contains(b, []byte("session")) && !bytes.Contains(b, []byte(`\u`))) {
			t.Fatalf("%q of nothing", got)
		}
	})
}

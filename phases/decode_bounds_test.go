package phases

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestInvocationBounds: each member of an invocation has its bounds where they are said to be.
func TestInvocationBounds(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	const action = `"phase":"pre_tool","action":{"tool":"exec","args":{}}`
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	nest := func(n int) string {
		return `"phase":"pre_tool","action":{"tool":"exec","args":` + strings.Repeat(`{"a":`, n) + `1` +
			strings.Repeat(`}`, n) + `}`
	}
	for _, c := range []struct{ name, last, first, want string }{
		{"runtime", action + `,"runtime":"` + x(MaxRuntimeBytes) + `"`, action + `,"runtime":"` + x(MaxRuntimeBytes+1) + `"`,
			"/runtime"},
		{"session", action + `,"session":"` + x(MaxIDBytes) + `"`, action + `,"session":"` + x(MaxIDBytes+1) + `"`,
			"/session"},
		{"agent", action + `,"agent":"` + x(MaxIDBytes) + `"`, action + `,"agent":"` + x(MaxIDBytes+1) + `"`, "/agent"},
		{"run", action + `,"run":"` + x(MaxIDBytes) + `"`, action + `,"run":"` + x(MaxIDBytes+1) + `"`, "/run"},
		{"user", action + `,"user":"` + x(MaxIDBytes) + `"`, action + `,"user":"` + x(MaxIDBytes+1) + `"`, "/user"},
		{"cwd", action + `,"cwd":"/` + x(maxCWDBytes-1) + `"`, action + `,"cwd":"/` + x(maxCWDBytes) + `"`, "/cwd"},
		{"controls in ids", action + `,"session":"a b"`, action + `,"session":"a\u0085b"`, "/session"},
		{"format characters in ids", action + `,"session":"ä"`, action + `,"session":"a\u200bb"`, "/session"},
		{"line separators in ids", action + `,"session":"\ufffd"`, action + `,"session":"a\u2028b"`, "/session"},
		{"id", action + `,"id":"0190a5d8-7c00-7aaa-8bbb-0123456789ab"`,
			action + `,"id":"0190a5d8-7c00-7aaa-8bbb-0123456789aB"`, "/id"},
		{"variant of an id", action + `,"id":"0190a5d8-7c00-7aaa-bbbb-0123456789ab"`,
			action + `,"id":"0190a5d8-7c00-7aaa-cbbb-0123456789ab"`, "/id"},
		{"version of an id", action + `,"id":"0190a5d8-7c00-7aaa-9bbb-0123456789ab"`,
			action + `,"id":"0190a5d8-7c00-4aaa-9bbb-0123456789ab"`, "/id"},
		{"dashes of an id", action + `,"id":"0190a5d8-7c00-7aaa-abbb-0123456789ab"`,
			action + `,"id":"0190a5d87c0007aaa-abbb-0123456789ab0"`, "/id"},
		{"year", action + `,"time":"1970-01-01T00:00:00Z"`, action + `,"time":"1969-12-31T23:59:59Z"`, "/time"},
		{"last year", action + `,"time":"2200-12-31T23:59:59Z"`, action + `,"time":"2201-01-01T00:00:00Z"`, "/time"},
		{"trace", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace + `-x"`, "/traceparent"},
		{"later trace", action + `,"traceparent":"01` + trace[2:] + `-x"`, action + `,"traceparent":"01` + trace[2:] + `x"`,
			"/traceparent"},
		{"longest trace", action + `,"traceparent":"01` + trace[2:] + "-" + x(MaxIDBytes-56) + `"`,
			action + `,"traceparent":"01` + trace[2:] + "-" + x(MaxIDBytes-55) + `"`, "/traceparent"},
		{"trace of nothing", action + `,"traceparent":"` + trace + `"`,
			action + `,"traceparent":"` + strings.Replace(trace, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32),
				1) + `"`, "/traceparent"},
		{"parent of nothing", action + `,"traceparent":"` + trace + `"`,
			action + `,"traceparent":"` + strings.Replace(trace, "b7ad6b7169203331", strings.Repeat("0", 16), 1) + `"`,
			"/traceparent"},
		{"no version of a trace", action + `,"traceparent":"fe` + trace[2:] + `"`, action + `,"traceparent":"ff` + trace[2:] +
			`"`, "/traceparent"},
		{"the first flag of a trace", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:53] +
			`G1"`, "/traceparent"},
		{"flags of a trace", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:54] + `G"`,
			"/traceparent"},
		{"first digit of flags", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:53] + `G1"`,
			"/traceparent"},
		{"first digit of a parent", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:36] +
			"G" + trace[37:] + `"`, "/traceparent"},
		{"first digit of a trace", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:3] + "G" +
			trace[4:] + `"`, "/traceparent"},
		{"first digit of a version", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"G` + trace[1:] +
			`"`, "/traceparent"},
		{"dashes of a trace", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:52] + `_01"`,
			"/traceparent"},
		{"short trace", action + `,"traceparent":"` + trace + `"`, action + `,"traceparent":"` + trace[:54] + `"`,
			"/traceparent"},
		{"metadata key", action + `,"metadata":{"` + x(maxKeyBytes) + `":1}`, action + `,"metadata":{"` + x(maxKeyBytes+1) +
			`":1}`, "/metadata"},
		{"letters of a metadata key", action + `,"metadata":{"aZ09._:-":1}`, action + `,"metadata":{"a/b":1}`, "/metadata"},
		{"edges of letters", action + `,"metadata":{"azAZ09":1}`, action + `,"metadata":{"a@":1}`, "/metadata"},
		{"edges of digits", action + `,"metadata":{"a":1}`, action + "," + `"metadata":{"a{":1}`, "/metadata"},
		{"empty metadata key", action + `,"metadata":{"a":1}`, action + `,"metadata":{"":1}`, "/metadata"},
		{"depth", nest(MaxInputDepth - 2), nest(MaxInputDepth - 1), "deep"},
		{"call id", `"phase":"pre_tool","action":{"tool":"exec","call_id":"` + x(MaxIDBytes) + `","args":{}}`,
			`"phase":"pre_tool","action":{"tool":"exec","call_id":"` + x(MaxIDBytes+1) + `","args":{}}`, "/action/call_id"},
		{"tool", `"phase":"pre_tool","action":{"tool":"` + x(MaxIDBytes) + `","args":{}}`,
			`"phase":"pre_tool","action":{"tool":"` + x(MaxIDBytes+1) + `","args":{}}`, "/action/tool"},
		{"model", `"phase":"pre_send","action":{"provider":"p","model":"` + x(MaxIDBytes) + `","messages":[]}`,
			`"phase":"pre_send","action":{"provider":"p","model":"` + x(MaxIDBytes+1) + `","messages":[]}`, "/action/model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := DecodeInvocation([]byte(`{` + c.last + `}`)); err != nil {
				t.Errorf("the last that is accepted: %v", err)
			}
			_, err := DecodeInvocation([]byte(`{` + c.first + `}`))
			if !errors.Is(err, ErrDecode) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want ErrDecode with %q", err, c.want)
			}
		})
	}
	whole := `{` + action + `}`
	whole += strings.Repeat(" ", MaxInputBytes-len(whole))
	if _, err := DecodeInvocation([]byte(whole)); err != nil {
		t.Errorf("the largest document: %v", err)
	}
	if _, err := DecodeInvocation([]byte(whole + " ")); !errors.Is(err, ErrDecode) {
		t.Errorf("one byte more: %v", err)
	}
}

// TestPlacesOfErrors: line and column are where the fault is, counted in characters.
func TestPlacesOfErrors(t *testing.T) {
	for src, want := range map[string]string{
		"{\"phase\":\"pre_tool\",\n \"action\":{\"tool\":1,\"args\":{}}}": "line 2",
		"{\"phase\":\"nope\",\"action\":{}}":                              `at "/phase" (line 1, column 10)`,
		"{\"ä\":1}":                                                       `at "/ä" (line 1, column 2)`,
		"{\"phase\":\"pre_tool\",\"phase\":\"pre_tool\"}":                 "line 1, column",
		"{\"phase\":\"pre_tool\"":                                         "line 1",
		"":                                                                "(line 1, column 1)",
		"{\"phase\":\"pre_tool\",\"action\":null}":                        "/action",
		"{\"phase\":7}":                                                   "a number instead of a string",
	} {
		_, err := DecodeInvocation([]byte(src))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", src, err, want)
		}
	}
}

// TestLongWordsAreCut: an error says the beginning of a word that is none of those that there are.
func TestLongWordsAreCut(t *testing.T) {
	long, said := strings.Repeat("x", 65), strings.Repeat("x", 64)
	for src, want := range map[string]string{
		`{"phase":"` + long + `","action":{}}`:                      `unknown phase "` + said + `"; `,
		`{"phase":"pre_plan","action":{"kind":"` + long + `"}}`:     `"` + said + `" is none of `,
		`{"phase":"post_receive","action":{"kind":"` + long + `"}}`: `"` + said + `" is none of `,
	} {
		if _, err := DecodeInvocation([]byte(src)); !errors.Is(err, ErrDecode) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestMetadataBounds: what a run may carry, by keys and by bytes.
func TestMetadataBounds(t *testing.T) {
	bag := func(n, size int) Metadata {
		m := Metadata{}
		for i := range n {
			m[fmt.Sprintf("k%02d", i)] = Entry{Value: jsontext.Value(`"` + strings.Repeat("x", size-2) + `"`), Hook: "h",
				Tier: Trusted}
		}
		return m
	}
	by := named("h")
	full := bag(maxMetadataKeys-1, 10)
	next := func(m Metadata, value string) (Metadata, error) {
		return annotate(m, by, Effect{Kind: EffectAnnotate, Key: "next", Value: jsontext.Value(value)})
	}
	full, err := next(full, "1")
	if err != nil || full.Validate() != nil || len(full) != maxMetadataKeys {
		t.Fatalf("as many keys as there may be: %v, %d", err, len(full))
	}
	if _, err := next(bag(maxMetadataKeys, 10), "1"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one key more: %v", err)
	}
	if bag(maxMetadataKeys+1, 10).Validate() == nil {
		t.Error("one key more is valid")
	}
	fill := func(more int) Metadata {
		m := Metadata{"k": {Hook: "h", Tier: Trusted}}
		m["k"] = Entry{Value: jsontext.Value(`"` + strings.Repeat("x", maxMetadataBytes-m.size()-2+more) + `"`), Hook: "h",
			Tier: Trusted}
		return m
	}
	if m := fill(0); m.Validate() != nil || m.size() != maxMetadataBytes {
		t.Errorf("%d bytes: %v", m.size(), m.Validate())
	}
	if fill(1).Validate() == nil {
		t.Error("one byte more is valid")
	}
	for name, m := range map[string]Metadata{"a key": {"a b": {Value: jsontext.Value("1")}},
		"the kernel's own key": {"caller": {Value: jsontext.Value("1")}}, "a value": {"a": {Value: jsontext.Value("{")}}} {
		var d *DecodeError
		if err := m.Validate(); !errors.As(err, &d) || d.Pointer == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDocumentsOfEffects: what retry, reply and put_artifact take, with their defaults and bounds.
func TestDocumentsOfEffects(t *testing.T) {
	apply := func(p Phase, kind EffectKind, value string) error {
		_, err := ApplyEffect(p, PassMutate, jsontext.Value(sampleActions()[p]), almighty(),
			Effect{Kind: kind, Value: jsontext.Value(value)})
		return err
	}
	for _, c := range []struct {
		kind  EffectKind
		value string
		good  bool
	}{
		{EffectRetry, `{"instruction":"again"}`, true}, {EffectRetry, `{"instruction":"again","max":1}`, true},
		{EffectRetry, `{"instruction":"again","max":10}`, true},
		{EffectRetry, `{"instruction":"again","max":0}`, false}, {EffectRetry, `{"instruction":"again","max":11}`, false},
		{EffectRetry, `{"max":1}`, false}, {EffectRetry, `{"instruction":"\u200b"}`, false},
		{EffectArtifact, `{"name":"a","text":"x"}`, true}, {EffectArtifact, `{"name":"a","data_base64":""}`, true},
		{EffectArtifact, `{"name":"a","data_base64":"eA==","meta":{}}`, true},
		{EffectArtifact, `{"name":"a"}`, false}, {EffectArtifact, `{"name":"a","text":"x","data_base64":"eA=="}`, false},
		{EffectArtifact, `{"text":"x"}`, false},
		{EffectArtifact, `{"name":"a","text":"x","meta":[]}`, false},
		{EffectArtifact, `{"name":"a\u0000","text":"x"}`, false},
		{EffectArtifact, `{"name":"a","media_type":"a\nb","text":"x"}`, false},
		{EffectArtifact, `{"name":"` + strings.Repeat("n", maxArtifactName) + `","media_type":"` +
			strings.Repeat("m", maxMediaTypeBytes) + `","text":"x"}`, true},
		{EffectArtifact, `{"name":"` + strings.Repeat("n", maxArtifactName+1) + `","text":"x"}`, false},
		{EffectArtifact, `{"name":"a","media_type":"` + strings.Repeat("m", maxMediaTypeBytes+1) + `","text":"x"}`, false},
	} {
		if err := apply(PostReceive, c.kind, c.value); (err == nil) != c.good || err != nil && !errors.Is(err, errInvalid) {
			t.Errorf("%s %.60s: %v", c.kind, c.value, err)
		}
	}
	for value, good := range map[string]bool{`{"text":"hello"}`: true, `{"text":""}`: false, `{}`: false,
		`{"text":"a","more":1}`: false} {
		if err := apply(PrePlan, EffectReply, value); (err == nil) != good {
			t.Errorf("reply %s: %v", value, err)
		}
	}
	v := combine(t, PostReceive,
		turn("a", Effect{Kind: EffectRetry, Value: jsontext.Value(`{"instruction":"again"}`)},
			Effect{Kind: EffectArtifact, Value: jsontext.Value(`{"name":"a","text":"x"}`)}))
	if v.Retry == nil || v.Retry.Max != 1 || len(v.Artifacts) != 1 || v.Artifacts[0].MediaType != "text/plain" ||
		v.Artifacts[0].Hook != "a" {
		t.Errorf("defaults: %+v, %+v", v.Retry, v.Artifacts)
	}
}

// TestPointersAtTheirEdges: what a pointer may be, and what setting and removing make of a document.
func TestPointersAtTheirEdges(t *testing.T) {
	for ptr, good := range map[string]bool{"": true, "/": true, "/~0~1": true,
		"/" + strings.Repeat("x", maxPathBytes-1): true,
		"/" + strings.Repeat("x", maxPathBytes):   false, "a": false, "/~": false, "/~2": false, "/\xff": false,
		"/a~": false} {
		if err := CheckPointer(ptr); (err == nil) != good {
			t.Errorf("%.20q: %v", ptr, err)
		}
	}
	for _, c := range [][4]string{
		{`{"a":[1,2]}`, "/a/2", `3`, `{"a":[1,2,3]}`}, {`{"a":[1,2]}`, "/a/1", ` 3 `, `{"a":[1,3]}`},
		{`{"a":[]}`, "/a/0", `1`, `{"a":[1]}`}, {`{}`, "/a", `1`, `{"a":1}`},
		{` { } `, "/a~1b", `1`, ``}, {`{"a":[1,2]}`, "/a/3", `1`, ``}, {`{"a":[1,2]}`, "/a/01", `1`, ``},
		{`{"a":[1,2]}`, "/a/-", `1`, ``}, {`{"a":1}`, "/a/b", `1`, ``}, {`{"a":1}`, "/b/c", `1`, ``},
		{`{"a":1}`, "/a", ``, ``}, {`{"a":1}`, "", `2`, `2`}, {`x`, "/a", `2`, ``},
	} {
		got, err := Set(jsontext.Value(c[0]), c[1], jsontext.Value(c[2]))
		if c[3] == "" && c[1] == "/a~1b" {
			if err != nil || !Same(got, jsontext.Value(`{"a/b":1}`)) {
				t.Errorf("%s %s: %s, %v", c[0], c[1], got, err)
			}
			continue
		}
		if (err == nil) != (c[3] != "") || string(got) != c[3] {
			t.Errorf("%s %s=%s: %s, %v; want %q", c[0], c[1], c[2], got, err, c[3])
		}
	}
	if got := []string{safeLabel("a b/c:d"), safeLabel("ä\x00"), safeLabel("azAZ09._-{`@[/"),
		safeLabel(strings.Repeat("x", 100))}; fmt.Sprint(got) != "[a-b-c-d value azAZ09._-- "+
		strings.Repeat("x", maxLabelBytes)+"]" {
		t.Errorf("%q", got)
	}
	if got := SafeText("a\u0085b\tc\nd\u2028e\U000E0001f\xffg", 100); got != "ab\tc\ndef\uFFFDg" {
		t.Errorf("%q", got)
	}
	if SafeText("äää", 3) != "ä" || SafeText("äää", 0) != "" || SafeLine("a\r\nb\tc", 100) != "a  b c" {
		t.Errorf("%q %q", SafeText("äää", 3), SafeLine("a\r\nb\tc", 100))
	}
}

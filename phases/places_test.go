package phases

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestSizesOfEffects: everything that an effect holds counts towards its size, a text that its document repeats once.
func TestSizesOfEffects(t *testing.T) {
	for _, tc := range []struct {
		e    Effect
		want int
	}{
		{Effect{}, 0},
		{Effect{Path: "1", Value: jsontext.Value("22"), Label: "333", Key: "4444", Text: "55555"}, 15},
		{Effect{Kind: EffectAsk, Text: "55555"}, 5},
		{Effect{Kind: EffectAsk, Text: "55555", Value: jsontext.Value("22")}, 2},
		{Effect{Kind: EffectBlock, Text: "55555", Value: jsontext.Value("22")}, 7},
		{Effect{Scopes: &Scopes{FSRead: Scope{"1", "22"}, FSWrite: Scope{"333"}, Net: Scope{"4444"}, Tools: Scope{"55555"}}},
			15},
	} {
		if got := effectSize(tc.e); got != tc.want {
			t.Errorf("%+v has %d bytes, want %d", tc.e, got, tc.want)
		}
	}
}

// TestIndexesOfArrays: an index has up to nine digits, without a zero in front.
func TestIndexesOfArrays(t *testing.T) {
	for token, want := range map[string]int{"0": 0, "9": 9, "10": 10, "123456789": 123456789, "": -1, "00": -1, "01": -1,
		"1234567890": -1, "-": -1, "/": -1, ":": -1, "1a": -1} {
		n, ok := arrayIndex(token)
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q is %d, %v", token, n, ok)
		}
	}
}

// TestExponentsOfNumbers: an exponent counts without its sign and its leading zeros.
func TestExponentsOfNumbers(t *testing.T) {
	most := strings.Repeat("9", 17)
	for number, ok := range map[string]bool{
		"1e" + most: true, "1E+" + most: true, "-1e-" + most: true, "1e000" + most: true, "1.5e" + most: true,
		"1e9" + most: false, "1e-9" + most: false, "1E+09" + most: false, "1.5e9" + most: false,
	} {
		_, err := Canonical(jsontext.Value(`{"a":["e99", ` + number + `]}`))
		var d *DecodeError
		if (err == nil) != ok || err != nil &&
			(!errors.As(err, &d) || d.Reason != "a number has an exponent beyond any use" || d.Offset != 13) {
			t.Errorf("%s: %v", number, err)
		}
	}
}

// TestPlacesInTexts: the place of an error is counted from 1, in lines and in characters; one that is not there is the
// nearest round it.
func TestPlacesInTexts(t *testing.T) {
	const src = "{\n \"ä\": {\"b\": 1}\n}"
	for _, tc := range []struct {
		ptr                  string
		offset, line, column int
	}{{"/ä/b", 15, 2, 13}, {"/ä/c", 9, 2, 7}, {"/ä", 9, 2, 7}, {"/x/y", 0, 1, 1}, {"", 0, 1, 1}} {
		e := newDecodeErrorAt([]byte(src), tc.ptr, "r")
		if e.Pointer != tc.ptr || e.Reason != "r" {
			t.Errorf("%+v", e)
		}
		if got, want := fmt.Sprint(e.Offset, e.Line, e.Column), fmt.Sprint(tc.offset, tc.line, tc.column); got != want {
			t.Errorf("%q is at %s, want %s", tc.ptr, got, want)
		}
	}
	if e := newDecodeErrorAt([]byte("x"), "/a", "r"); e.Offset > 1 || e.Line > 1 {
		t.Errorf("no document: %+v", e)
	}
	if e := newDecodeError([]byte("ab"), "", 9, "r"); e.Offset != 2 || e.Line != 1 || e.Column != 3 {
		t.Errorf("behind the end: %+v", e)
	}
	for n, want := range map[int]string{200: strings.Repeat("x", 200), 201: strings.Repeat("x", 200)} {
		got := (&DecodeError{Pointer: strings.Repeat("x", n), Reason: "r"}).Error()
		if !strings.HasPrefix(got, `r at "`+want) || strings.Contains(got, want+"x") || strings.Contains(got, "line") {
			t.Errorf("a pointer of %d bytes: %d bytes are shown", n, len(got))
		}
	}
	if got := (&DecodeError{Reason: "r", Line: 1, Column: 2}).Error(); got != "r (line 1, column 2)" {
		t.Errorf("%s", got)
	}
}

// TestArtifactsAtTheirBounds: an artifact has a name, and either text or data.
func TestArtifactsAtTheirBounds(t *testing.T) {
	const names, either, meta = "wants a name and a media type without control characters",
		"wants either text or data_base64", "meta is not an object"
	for _, tc := range []struct{ value, want string }{
		{`{"name":"a","text":"x"}`, ""},
		{`{"name":"a","data_base64":"AA==","meta":{}}`, ""},
		{`{"name":"a","data_base64":""}`, ""},
		{`{"name":"` + strings.Repeat("a", maxArtifactName) + `","text":"x"}`, ""},
		{`{"name":"` + strings.Repeat("a", maxArtifactName+1) + `","text":"x"}`, names},
		{`{"name":"a","media_type":"` + strings.Repeat("a", maxMediaTypeBytes) + `","text":"x"}`, ""},
		{`{"name":"a","media_type":"` + strings.Repeat("a", maxMediaTypeBytes+1) + `","text":"x"}`, names},
		{`{"text":"x"}`, names},
		{`{"name":"a\u0000","text":"x"}`, names},
		{`{"name":"a"}`, either},
		{`{"name":"a","text":"x","data_base64":"AA=="}`, either},
		{`{"name":"a","text":"x","meta":[]}`, meta},
	} {
		a, err := decodeArtifact(named("h"), Effect{Kind: EffectArtifact, Value: jsontext.Value(tc.value)})
		var e *effectProblem
		switch {
		case tc.want == "" && (err != nil || a.Name == "" || a.MediaType == "" || a.Hook != "h"):
			t.Errorf("%.60s: %+v, %v", tc.value, a, err)
		case tc.want != "" && (!errors.As(err, &e) || e.reason != tc.want || !errors.Is(err, errInvalid)):
			t.Errorf("%.60s: %v, want %s", tc.value, err, tc.want)
		}
	}
	for _, bad := range []string{`{`, `{"name":"a","text":"x","more":1}`, `[]`, ``} {
		if a, err := decodeArtifact(named("h"), Effect{Kind: EffectArtifact, Value: jsontext.Value(bad)}); err == nil ||
			a.Name != "" {
			t.Errorf("%s: %+v, %v", bad, a, err)
		}
	}
}

// TestFaultsOfErrors: an error that knows its fault keeps it; any other is a hook's that asked for too much.
func TestFaultsOfErrors(t *testing.T) {
	if f := faultOf(&outsideError{"net", "why"}); f.Kind != KindPolicy {
		t.Errorf("%+v", f)
	}
	if f := faultOf(io.EOF); f.Kind != KindOutput || f.Text != "a hook asked for something that it may not do" ||
		!errors.Is(f, io.EOF) {
		t.Errorf("%+v", f)
	}
}

// TestMembersOfActions: members that a phase needs are missed by name, those that it does not need are not.
func TestMembersOfActions(t *testing.T) {
	for _, tc := range []struct {
		phase        Phase
		action, want string
	}{
		{PrePlan, `{"kind":"message"}`, ""},
		{PrePlan, `{}`, `the member "kind" is missing`},
		{PrePlan, `{"kind":""}`, `must not be empty at "/kind"`},
		{PreTool, `{"tool":"x","args":{}}`, ""},
		{PreTool, `{"tool":"x"}`, `the member "args" is missing`},
		{PreTool, `{"tool":"x","args":[]}`, `has the wrong type: an array instead of an object at "/args"`},
		{PreTool, `{"args":{}}`, `the member "tool" is missing`},
		{PreTool, `{"tool":"x","args":{},"mcp":{"server":"","tool":"t"}}`, `must not be empty at "/mcp/server"`},
		{PreTool, `{"tool":"x","args":{},"mcp":{"server":"s","tool":""}}`, `must not be empty at "/mcp/tool"`},
		{PreTool, `{"tool":"x","args":{},"mcp":{"server":"s","tool":"` + strings.Repeat("t", MaxIDBytes-6) + `"}}`, ""},
		{PreTool, `{"tool":"x","args":{},"mcp":{"server":"s","tool":"` + strings.Repeat("t", MaxIDBytes-5) + `"}}`,
			`with its server's name longer than 256 bytes at "/mcp/tool"`},
		{PreTool, `{"tool":"x","args":{},"call_id":"\u0000"}`, `has control or invisible characters at "/call_id"`},
		{PreSend, `{"provider":"p","messages":[{"role":"user","content":"","name":"n","tool_call_id":"i","tool_calls":[]}]}`,
			""},
		{PreSend, `{"provider":"p","messages":[{"role":"user","content":"","tool_calls":{}}]}`,
			`has the wrong type: an object instead of an array at "/messages/0/tool_calls"`},
		{PreSend, `{"provider":"p","messages":[{"role":"user","content":null,"tool_calls":[]}]}`, ""},
		{PostTool, `{"tool":"x","result":1}`, ""},
		{PostTool, `{"tool":"x"}`, `the member "result" is missing`},
		{StateTransition, `{"machine":"m"}`, ""},
		{StateTransition, `{"machine":"m","data":{}}`, ""},
		{StateTransition, `{"machine":"m","from":"\u0000"}`, `has control or invisible characters at "/from"`},
		{StateTransition, `{"machine":"m","to":"\u0000"}`, `has control or invisible characters at "/to"`},
		{StateTransition, `{"machine":"m","data":1}`, `has the wrong type: a number instead of an object at "/data"`},
		{StateTransition, `{"from":"a"}`, `the member "machine" is missing`},
		{Spawn, `{"child":{"agent":"a"}}`, ""},
		{Spawn, `{"child":{}}`, `the member "agent" is missing at "/child"`},
		{Audit, `{"kind":"k"}`, ""},
		{Audit, `{"kind":"k","data":{}}`, ""},
		{Audit, `{"kind":"k","data":[]}`, `has the wrong type: an array instead of an object at "/data"`},
		{Audit, `{}`, `the member "kind" is missing`},
	} {
		a, err := DecodeAction(tc.phase, jsontext.Value(tc.action))
		switch {
		case tc.want == "" && (err != nil || a == nil || a.phase() != tc.phase):
			t.Errorf("%s %s: %v", tc.phase, tc.action, err)
		case tc.want != "" && (!errors.Is(err, ErrDecode) || !strings.HasPrefix(err.Error(), tc.want+" (line 1") || a != nil):
			t.Errorf("%s %s: %v, want %s", tc.phase, tc.action, err, tc.want)
		}
	}
	if a, err := DecodeAction("x", jsontext.Value(`{}`)); a != nil || !errors.Is(err, ErrDecode) ||
		err.Error() != "unknown phase" {
		t.Errorf("%v, %v", a, err)
	}
	if a, err := DecodeAction(PreTool, jsontext.Value(`[]`)); a != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "the action is not an object") {
		t.Errorf("%v, %v", a, err)
	}
}

// TestVerdictsThatRun: an action runs after an allow, or where the runtime itself asks the person.
func TestVerdictsThatRun(t *testing.T) {
	for _, tc := range []struct {
		v    Verdict
		want bool
	}{
		{Verdict{Decision: Allow}, true},
		{Verdict{Decision: Block}, false},
		{Verdict{Decision: Block, Enforced: EnforcedDelegated}, false},
		{Verdict{Decision: Ask}, false},
		{Verdict{Decision: Ask, Enforced: EnforcedDelegated}, true},
		{Verdict{Decision: Ask, Enforced: EnforcedDelegated, Approval: &ApprovalRef{}}, false},
	} {
		if tc.v.Runs() != tc.want {
			t.Errorf("%s, %s: runs %v", tc.v.Decision, tc.v.Enforced, tc.v.Runs())
		}
	}
}

// TestMetadataOfCallers: keys and values together may have as many bytes as there may be, and not one more.
func TestMetadataOfCallers(t *testing.T) {
	of := func(size int) map[string]jsontext.Value {
		return map[string]jsontext.Value{"k": jsontext.Value(`"` + strings.Repeat("x", size-3) + `"`)}
	}
	if err := checkCallerMetadata(of(maxMetadataBytes)); err != nil {
		t.Error(err)
	}
	err := checkCallerMetadata(of(maxMetadataBytes + 1))
	var d *DecodeError
	if !errors.As(err, &d) || d.Pointer != "/metadata" ||
		d.Reason != fmt.Sprintf("more than %d bytes of metadata", maxMetadataBytes) {
		t.Errorf("one byte more: %v", err)
	}
}

// TestCleanEffects: texts and labels that are shown have no control characters; values and the effects themselves keep
// their bytes.
func TestCleanEffects(t *testing.T) {
	list := []Effect{{Kind: EffectRedact, Text: "a\x1bb", Label: "c\nd", Value: jsontext.Value("\"\x1b\"")}}
	got := CleanEffects(list)[0]
	if strings.Contains(got.Text, "\x1b") || strings.Contains(got.Label, "\n") || string(got.Value) != "\"\x1b\"" ||
		list[0].Text != "a\x1bb" || list[0].Label != "c\nd" {
		t.Errorf("%+v of %+v", got, list[0])
	}
}

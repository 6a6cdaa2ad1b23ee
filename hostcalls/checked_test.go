package hostcalls

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// What is known of some bytes says nothing of others: no session begins with a document that was not checked.
func TestASessionChecksWhatIsNotKnown(t *testing.T) {
	strict := func(src string) *phases.Strict {
		doc, err := phases.NewStrict(jsontext.Value(src), phases.MaxDocumentBytes)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	good := strict(`{"tool":"exec","args":{"a":1}}`)
	same := func(d *phases.Strict) Documents { return Documents{Input: d, Action: d, Config: d} }
	config := func(known Documents, input, action, config jsontext.Value) SessionConfig {
		return SessionConfig{Phase: phases.PreTool, Pass: phases.PassValidate, Input: input, Action: action, Config: config,
			Checked: known}
	}
	ok, err := NewSession(config(same(good), good.Bytes(), good.Bytes(), good.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := inputGet(t.Context(), ok, &Args{In: [2][]byte{[]byte("/args/a")}}); string(out.Out) != "1" {
		t.Errorf("%+v", out)
	}
	for _, src := range []string{"", "{", `{"a":1,"a":2}`, "\"\xff\"", "1 2", string(good.Bytes()) + "}"} {
		bad := jsontext.Value(src)
		for name, c := range map[string]SessionConfig{
			"input":  config(same(good), bad, good.Bytes(), nil),
			"action": config(same(good), good.Bytes(), bad, nil),
			"config": config(same(good), good.Bytes(), good.Bytes(), append(jsontext.Value{}, bad...)),
		} {
			if _, err := NewSession(c); err == nil {
				t.Errorf("%s: %q is taken", name, src)
			}
		}
	}
	limited := config(same(good), good.Bytes(), good.Bytes(), nil)
	limited.Limits.Input = 8
	if _, err := NewSession(limited); err == nil {
		t.Error("a document that is known is taken beyond the limit")
	}
}

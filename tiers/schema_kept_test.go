package tiers_test

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/tiers"
)

// The schema that a manifest keeps is that of its member, also after the member was changed.
func TestChangedSchemaIsCompiledAgain(t *testing.T) {
	m, err := tiers.DecodeManifest([]byte(`{"abi":1,"name":"n","version":"1.0.0","phases":["pre_tool"],` +
		`"config_schema":{"type":"object","required":["a"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	with, without := jsontext.Value(`{"a":1}`), jsontext.Value(`{}`)
	if m.ValidateConfig(with) != nil || m.ValidateConfig(without) == nil {
		t.Error("the manifest's schema does not decide")
	}
	m.ConfigSchema = jsontext.Value(`{"type":"object","maxProperties":0}`)
	if m.ValidateConfig(with) == nil || m.ValidateConfig(without) != nil {
		t.Error("the new schema does not decide")
	}
}

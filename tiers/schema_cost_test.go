package tiers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/tiers"
)

func manifestWithSchema(schema, rest string) []byte {
	return []byte(`{"abi":1,"name":"x","version":"1.0.0","phases":["pre_tool"],"config_schema":` + schema + rest + `}`)
}

// A schema comes from the module: it must not be able to make the host compute.
func TestSchemaBombs(t *testing.T) {
	doubling := func(n int, word string) string {
		var b strings.Builder
		b.WriteString(`{"$defs":{"a0":{"type":"object"}`)
		for i := 1; i <= n; i++ {
			fmt.Fprintf(&b, `,"a%d":{"%s":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, word, i-1, i-1)
		}
		return b.String() + fmt.Sprintf(`},"$ref":"#/$defs/a%d"}`, n)
	}
	for name, schema := range map[string]string{
		"doubling":       doubling(48, "allOf"),
		"doubling anyOf": doubling(48, "anyOf"),
		"to itself":      `{"items":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`,
		"anchor":         `{"$defs":{"a":{"$anchor":"a","items":{"$ref":"#a"}}},"$ref":"#a"}`,
		"dynamic":        `{"$dynamicAnchor":"a","items":{"$dynamicRef":"#a"}}`,
		"recursive":      `{"$schema":"https://json-schema.org/draft/2019-09/schema","items":{"$recursiveRef":"#"}}`,
		"own address":    `{"$defs":{"a":{"$id":"other","items":{"$ref":"#"}}},"$ref":"#/$defs/a"}`,
		"old draft":      `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`,
		"encoded":        `{"$defs":{"a":{"type":"object"}},"$ref":"#/%24defs/a"}`,
		"deep":           strings.Repeat(`{"not":`, 3000) + `{}` + strings.Repeat(`}`, 3000),
	} {
		_, err := tiers.DecodeManifest(manifestWithSchema(schema, `,"examples":[{"title":"t","config":{}}]`))
		if !errors.Is(err, tiers.ErrManifest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, schema := range map[string]string{
		"plain":       `{"type":"object","properties":{"id":{"type":"string"},"$id":{"type":"string"}}}`,
		"references":  doubling(5, "allOf"),
		"with a name": `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://example.org/x","$defs":{"a/b":{"type":"object"}},"$ref":"#/$defs/a~1b"}`,
	} {
		if _, err := tiers.DecodeManifest(manifestWithSchema(schema, `,"examples":[{"title":"t","config":{}}]`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigTooCostlyForItsSchema(t *testing.T) {
	m, err := tiers.DecodeManifest(manifestWithSchema(`{"additionalProperties":{"allOf":[`+strings.Repeat(`{},`, 1500)+
		`{}]}}`, ""))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&b, `"%d":0,`, i)
	}
	if err := m.ValidateConfig(jsontext.Value(`{` + b.String() + `"x":0}`)); !errors.Is(err, tiers.ErrConfig) {
		t.Errorf("%v", err)
	}
	if err := m.ValidateConfig(jsontext.Value(`{"x":0}`)); err != nil {
		t.Error(err)
	}
}

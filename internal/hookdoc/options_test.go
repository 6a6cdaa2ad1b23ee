package hookdoc_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/hookdoc"
)

func lines(options []hookdoc.Option) string {
	var out strings.Builder
	for _, o := range options {
		fmt.Fprintf(&out, "%s | %s | %s | %v | %s\n", o.Name, o.Type, o.DefaultText(), o.Required, o.Meaning)
	}
	return out.String()
}

func TestOptionsAreReadOutOfASchema(t *testing.T) {
	options, err := hookdoc.Options(jsontext.Value(`{"type": "object", "additionalProperties": false,
		"required": ["rules"], "properties": {
		"ttl_s": {"type": "integer", "minimum": 1, "maximum": 60, "default": 5, "description": "seconds"},
		"least": {"type": "number", "minimum": 0},
		"most": {"type": "number", "maximum": 9},
		"forced": {"enum": ["ask", "block"], "default": "ask"},
		"only": {"enum": [null]},
		"either": {"type": ["string", "null"]},
		"whatever": true,
		"limits": {"type": "object", "additionalProperties": {"type": "integer"}},
		"args": {"type": "object", "additionalProperties": {"type": "object", "properties": {"max": {"type": "integer"}}}},
		"names": {"type": "array", "items": {"type": "string"}},
		"rules": {"type": "array", "items": {"type": "object", "required": ["to"], "properties": {
			"to": {"type": "string"}, "when": {"type": "object", "description": "conditions"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `args | object of object |  | false | 
args.*.max | integer |  | false | 
either | ["string", "null"] |  | false | 
forced | ask or block | ask | false | 
least | number, at least 0 |  | false | 
limits | object of integer |  | false | 
most | number, at most 9 |  | false | 
names | list of string |  | false | 
only | null |  | false | 
rules | list of object |  | true | 
rules[].to | string |  | true | 
rules[].when | object |  | false | conditions
ttl_s | integer, 1 to 60 | 5 | false | seconds
whatever | any value |  | false | 
`
	if got := lines(options); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if o, err := hookdoc.Options(nil); err != nil || o == nil || len(o) != 0 {
		t.Errorf("without a schema: %v %v", o, err)
	}
}

// A schema comes from a module file, which may hold anything: the page shows it or says why not, within bounds.
func TestSchemasThatCannotBeTold(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = fmt.Sprintf(`"o%d": {}`, i)
	}
	for name, schema := range map[string]string{
		"a property that is none": `{"properties": {"a": {"description": 5}}}`,
		"lists of lists": `{"properties": {"a": ` +
			strings.Repeat(`{"items": `, 40) + "{}" + strings.Repeat("}", 42),
		"objects in objects": strings.Repeat(`{"properties": {"a": `, 40) + "{}" + strings.Repeat("}}", 40),
		"objects of objects": `{"properties": {"a": ` +
			strings.Repeat(`{"additionalProperties": `, 40) + "{}" + strings.Repeat("}", 42),
		"more than can be read":    `{"properties": {` + strings.Join(many, ", ") + `}}`,
		"a part that is no schema": `{"properties": {"a": {"items": {"enum": 1}}}}`,
	} {
		if options, err := hookdoc.Options(jsontext.Value(schema)); !errors.Is(err, hookdoc.ErrSchema) {
			t.Errorf("%s: %d options, %v", name, len(options), err)
		}
	}
}

func TestBlockIsABindingOfBelayYAML(t *testing.T) {
	b := config.Binding{Name: "ask-push", Module: "builtin:ask-push", Capabilities: []string{"block"}}
	options := []hookdoc.Option{{Name: "forced", Default: jsontext.Value(`"ask"`)}, {Name: "ttl_s"},
		{Name: "gates[].to", Default: jsontext.Value(`"build"`)}}
	text, err := hookdoc.Block(b, options)
	if err != nil {
		t.Fatal(err)
	}
	const want = `  - name: ask-push
    module: builtin:ask-push
    capabilities: [block]
    # config: {"forced": "ask"}
`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	for _, src := range []string{text, strings.Replace(text, "# config", "config", 1)} {
		if _, err := config.Parse([]byte("version: belay/v1\nhooks:\n" + src)); err != nil {
			t.Errorf("%s: %v", src, err)
		}
	}
	if _, err := hookdoc.Block(config.Binding{Name: "No Name"}, nil); !errors.Is(err, config.ErrConfig) {
		t.Errorf("a binding that belay.yaml may not hold: %v", err)
	}
}

func FuzzOptions(f *testing.F) {
	f.Add(`{"properties": {"a": {"type": "array", "items": {"enum": [1, "b"]}, "default": []}}}`)
	f.Add(`{"additionalProperties": {"additionalProperties": true}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		options, err := hookdoc.Options(jsontext.Value(schema))
		if err == nil && len(options) > 256 || err != nil && !errors.Is(err, hookdoc.ErrSchema) {
			t.Errorf("%d options, %v", len(options), err)
		}
	})
}

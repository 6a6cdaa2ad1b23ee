package tiers

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const maxSchema = 32 << 10

// noFetch is the loader of config schemas: a schema comes from the module file,
// so a reference to anything outside it would let a module make the host read
// files or the network.
type noFetch struct{}

func (noFetch) Load(url string) (any, error) {
	return nil, errors.New("a schema may only refer to itself")
}

// configSchema is a compiled schema of configurations. It does not change.
type configSchema struct {
	source []byte // of the compiled schema
	*jsonschema.Schema
	visits int // how many parts it has, references written out
}

func compileSchema(source []byte) (*configSchema, error) {
	if len(source) > maxSchema {
		return nil, fmt.Errorf("larger than %d bytes", maxSchema)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	if err != nil {
		return nil, err
	}
	visits, err := schemaVisits(doc)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noFetch{})
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("belay:config", doc); err != nil {
		return nil, err
	}
	schema, err := c.Compile("belay:config")
	return &configSchema{bytes.Clone(source), schema, visits}, err
}

// checkSchema compiles the schema, and keeps it for configurations.
func (m *Manifest) checkSchema() error {
	if len(m.ConfigSchema) == 0 {
		return nil
	}
	schema, err := compileSchema(m.ConfigSchema)
	if err != nil {
		return manifestError("/config_schema", "not a usable JSON Schema: "+firstLine(err), err)
	}
	m.schema = schema
	return nil
}

// compiled returns the schema that was kept, unless ConfigSchema is another one by now.
func (m *Manifest) compiled() (*configSchema, error) {
	if s := m.schema; s != nil && bytes.Equal(s.source, m.ConfigSchema) {
		return s, nil
	}
	return compileSchema(m.ConfigSchema)
}

// ValidateConfig checks a binding's configuration against the manifest's
// schema. A hook without a schema accepts only the empty object. Errors are of
// class ErrConfig and name the members at fault.
func (m *Manifest) ValidateConfig(config jsontext.Value) error {
	if len(m.ConfigSchema) == 0 {
		if s := strings.TrimSpace(string(config)); s != "" && s != "{}" && s != "null" {
			return &Error{Class: ErrConfig, Text: "this hook takes no configuration"}
		}
		return nil
	}
	if len(config) == 0 {
		config = jsontext.Value("{}")
	}
	if !config.IsValid() {
		return &Error{Class: ErrConfig, Text: "not JSON"}
	}
	schema, err := m.compiled()
	if err != nil {
		return &Error{Class: ErrConfig, Text: "the hook's schema cannot be used", Cause: err}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config))
	if err != nil {
		return &Error{Class: ErrConfig, Text: "not JSON", Cause: err}
	}
	if valuesOf(doc)*schema.visits > maxConfigWork {
		return &Error{Class: ErrConfig, Text: "too large for a schema of so many parts"}
	}
	if err := schema.Validate(doc); err != nil {
		faults := explain(err)
		var lines []string
		for _, f := range faults {
			lines = append(lines, f.Text)
		}
		return &Error{Class: ErrConfig, Text: strings.Join(lines, "; "), Cause: err, Faults: faults}
	}
	return nil
}

// explain lists the leaves of a validation error.
func explain(err error) []ConfigFault {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []ConfigFault{{Text: firstLine(err)}}
	}
	var faults []ConfigFault
	var walk func(v *jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		if len(v.Causes) == 0 && len(faults) < 8 {
			text := firstLine(v)
			if i := strings.LastIndex(text, "': "); i >= 0 {
				text = text[i+3:]
			}
			faults = append(faults, ConfigFault{Pointer: pointerOf(v),
				Text: fmt.Sprintf("/%s: %s", strings.Join(v.InstanceLocation, "/"), text)})
		}
		for _, c := range v.Causes {
			walk(c)
		}
	}
	walk(invalid)
	// The validator goes through members in any order.
	slices.SortFunc(faults, func(a, b ConfigFault) int { return strings.Compare(a.Text, b.Text) })
	return faults
}

// pointerOf is the member at fault: of an object with members that the schema does not know,
// the first of these.
func pointerOf(v *jsonschema.ValidationError) string {
	at := slices.Clone(v.InstanceLocation)
	if more, ok := v.ErrorKind.(*kind.AdditionalProperties); ok && len(more.Properties) > 0 {
		at = append(at, slices.Min(more.Properties))
	}
	var p strings.Builder
	for _, step := range at {
		p.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(step))
	}
	return p.String()
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return clip(s)
}

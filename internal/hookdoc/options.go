// Package hookdoc says what an operator can set at a hook: the options of its configuration, read out of
// the JSON Schema in its manifest, and a binding that can be pasted into belay.yaml.
//
// It never runs a module, and it does not judge a configuration: package tiers does.
package hookdoc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrSchema: the schema of a manifest cannot be told as a list of options.
var ErrSchema = errors.New("the options cannot be told")

// Bounds on what is read out of a schema, which comes from a module file.
const (
	maxDepth   = 6
	maxOptions = 256
)

// Option is one member of a hook's configuration.
type Option struct {
	// Name is the way to it: a[] is an element of the list a, a.* any member of the object a.
	Name     string         `json:"name"`
	Type     string         `json:"type"`             // such as "integer, 1 to 60" or "ask or block"
	Default  jsontext.Value `json:"default,omitzero"` // absent when the schema names none
	Required bool           `json:"required,omitzero"`
	Meaning  string         `json:"meaning"` // the author's words; may be empty
}

// Top reports whether the option is a member of the configuration itself.
func (o Option) Top() bool { return !strings.ContainsAny(o.Name, ".[") }

// schema is the part of JSON Schema that options are told by. Package tiers has compiled the
// whole of it before; other members restrict values further.
type schema struct {
	Type        jsontext.Value            `json:"type"`
	Description string                    `json:"description"`
	Default     jsontext.Value            `json:"default"`
	Enum        []jsontext.Value          `json:"enum"`
	Properties  map[string]jsontext.Value `json:"properties"`
	Required    []string                  `json:"required"`
	Items       jsontext.Value            `json:"items"`
	Additional  jsontext.Value            `json:"additionalProperties"`
	Minimum     jsontext.Value            `json:"minimum"`
	Maximum     jsontext.Value            `json:"maximum"`
}

// Options lists the members of a configuration, each before the members below it, and otherwise by
// name. Without a schema a hook has none. Errors are of class ErrSchema.
func Options(configSchema jsontext.Value) ([]Option, error) {
	out := []Option{}
	if len(configSchema) == 0 {
		return out, nil
	}
	s, err := decode(configSchema)
	if err != nil {
		return nil, err
	}
	return members(out, s, "", 0)
}

func decode(v jsontext.Value) (schema, error) {
	var s schema
	if v.Kind() != '{' { // true and false are schemas, too: anything, and nothing
		return s, nil
	}
	if err := json.Unmarshal(v, &s); err != nil {
		return s, fmt.Errorf("%w: %w", ErrSchema, err)
	}
	return s, nil
}

// members adds the properties of an object, and what stands below each.
func members(out []Option, s schema, at string, depth int) ([]Option, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: %s is nested more than %d deep", ErrSchema, at, maxDepth)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if len(out) >= maxOptions {
			return nil, fmt.Errorf("%w: there are more than %d", ErrSchema, maxOptions)
		}
		p, err := decode(s.Properties[name])
		if err != nil {
			return nil, err
		}
		text, err := typeText(p, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, Option{Name: at + name, Type: text, Default: p.Default,
			Required: slices.Contains(s.Required, name), Meaning: p.Description})
		if out, err = below(out, p, at+name, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// below adds what stands in the object or the list at a place.
func below(out []Option, s schema, at string, depth int) ([]Option, error) {
	out, err := members(out, s, at+".", depth)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		step   string
		schema jsontext.Value
	}{{"[]", s.Items}, {".*", s.Additional}} {
		child, err := decode(part.schema)
		if err != nil {
			return nil, err
		}
		if len(part.schema) == 0 {
			continue
		}
		if out, err = below(out, child, at+part.step, depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// typeText says in words which values a schema takes.
func typeText(s schema, depth int) (string, error) {
	if depth > maxDepth {
		return "", fmt.Errorf("%w: a list of lists, more than %d deep", ErrSchema, maxDepth)
	}
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, v := range s.Enum {
			values = append(values, valueText(v))
		}
		if n := len(values); n > 1 {
			return strings.Join(values[:n-1], ", ") + " or " + values[n-1], nil
		}
		return values[0], nil
	case len(s.Items) > 0:
		return partText("list of ", s.Items, depth)
	case s.Additional.Kind() == '{':
		return partText("object of ", s.Additional, depth)
	}
	text := "any value"
	if s.Type.Kind() == '"' {
		text = valueText(s.Type)
	} else if len(s.Type) > 0 {
		text = string(s.Type)
	}
	low, high := len(s.Minimum) > 0, len(s.Maximum) > 0
	switch {
	case low && high:
		text += ", " + string(s.Minimum) + " to " + string(s.Maximum)
	case low:
		text += ", at least " + string(s.Minimum)
	case high:
		text += ", at most " + string(s.Maximum)
	}
	return text, nil
}

func partText(before string, part jsontext.Value, depth int) (string, error) {
	child, err := decode(part)
	if err != nil {
		return "", err
	}
	text, err := typeText(child, depth+1)
	return before + text, err
}

// valueText is a JSON value as a person writes it.
func valueText(v jsontext.Value) string {
	if v.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(b)
		}
	}
	return string(v)
}

// DefaultText is the default as a person writes it, empty when there is none.
func (o Option) DefaultText() string { return valueText(o.Default) }

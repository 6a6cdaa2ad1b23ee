package rules

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxConfigs bounds the members of config that a file names.
const maxConfigs = 64

var configName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z][a-z0-9_]{0,63}\z`) })

// checkConfig checks a condition on the binding's config: the operator writes it, so that
// it may restrict and exempt.
func (f *File) checkConfig(at string, config map[string]Values) error {
	if config == nil {
		return nil
	}
	if len(config) == 0 {
		return f.doc.Errorf(at, "names no member: leave it out")
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		here := at + "/" + name
		switch {
		case !configName().MatchString(name):
			return f.doc.Errorf(at, "%q is no name of a member: lower-case letters, digits and _, at most 64 bytes", name)
		case len(config[name]) == 0:
			return f.doc.Errorf(here, "is empty and never matches: leave it out")
		case len(config[name]) > maxList:
			return f.doc.Errorf(here, "at most %d values", maxList)
		}
		for _, v := range config[name] {
			if k := v.Kind(); k != '"' && k != 't' && k != 'f' && !integer(v) {
				return f.doc.Errorf(here, "a value is a text, true, false or a whole number")
			}
			if len(v) > maxText {
				return f.doc.Errorf(here, "a value is longer than %d bytes", maxText)
			}
		}
	}
	return nil
}

var digits = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A-?[0-9]{1,15}\z`) })

func integer(v jsontext.Value) bool { return digits().Match(v) }

// configs returns the members of config that rules ask about, with the values that they
// know.
func (f *File) configs() map[string][]jsontext.Value {
	out, seen := map[string][]jsontext.Value{}, map[string]bool{}
	for i := range f.Rules {
		for _, m := range []*Match{f.Rules[i].When, f.Rules[i].Unless} {
			if m == nil {
				continue
			}
			for name, values := range m.Config {
				for _, v := range values {
					if key := name + " " + compact(v); !seen[key] {
						seen[key] = true
						out[name] = append(out[name], v)
					}
				}
			}
		}
	}
	return out
}

// configSchema lets a binding say what some rule of the file asks about, and nothing
// else: a member or value that no rule knows is a mistake. nil where no rule asks.
func (f *File) configSchema() jsontext.Value {
	known := f.configs()
	if len(known) == 0 {
		return nil
	}
	properties := map[string]any{}
	for name, values := range known {
		slices.SortFunc(values, func(a, b jsontext.Value) int { return slices.Compare(a, b) })
		properties[name] = map[string]any{"description": "which rules hold", "enum": values}
	}
	b, err := json.Marshal(map[string]any{"type": "object", "additionalProperties": false, "properties": properties},
		json.Deterministic(true))
	if err != nil {
		return nil
	}
	return b
}

func canonicalConfig(config map[string]Values) string {
	b, err := json.Marshal(config, json.Deterministic(true))
	if err != nil {
		return ""
	}
	return string(b)
}

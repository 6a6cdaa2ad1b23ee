package schema

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a schema.
type node = map[string]any

// builder makes schemas of Go types.
type builder struct {
	types   map[reflect.Type]func() node // that decode in a way of their own
	members map[string]node              // what a member has beside its type, by Type.member
	objects map[string]node              // what an object has beside its members, by type
}

// of returns the schema of a type as the strict decoders read it.
func (b *builder) of(t reflect.Type) node {
	if own := b.types[t]; own != nil {
		return own()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return b.of(t.Elem())
	case reflect.Struct:
		return b.object(t)
	case reflect.Slice:
		items := b.of(t.Elem())
		if t.Elem() == reflect.TypeFor[string]() {
			items = orNull(items) // it is read as ""
		}
		return node{"type": "array", "items": items}
	case reflect.Map:
		return node{"type": "object", "additionalProperties": b.of(t.Elem())}
	case reflect.Bool:
		return node{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return node{"type": "integer"}
	case reflect.String:
		return node{"type": "string"}
	}
	panic("schema: no form for " + t.String()) // a test makes each
}

func (b *builder) object(t reflect.Type) node {
	properties, required := node{}, []string{}
	b.fields(t, t.Name(), properties, &required)
	out := node{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	for k, v := range b.objects[t.Name()] {
		out[k] = v
	}
	return out
}

func (b *builder) fields(t reflect.Type, owner string, properties node, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			b.fields(f.Type, owner, properties, required)
			continue
		}
		if name == "" {
			continue
		}
		member := b.of(f.Type)
		more := b.members[owner+"."+name]
		for k, v := range more {
			member[k] = v
		}
		if strings.Contains(options, "omit") {
			if more["not null"] == nil {
				member = orNull(member)
			}
		} else if more["optional"] == nil {
			*required = append(*required, name)
		}
		delete(member, "not null")
		delete(member, "optional")
		properties[name] = member
	}
}

// orNull adds null, which is what YAML has where nothing follows a colon: the decoders
// take it for a member that is not there.
func orNull(n node) node {
	if len(n) == 0 {
		return n
	}
	if list, ok := n["enum"].([]any); ok {
		n["enum"] = append(slices.Clone(list), "", nil)
	}
	if pattern, ok := n["pattern"].(string); ok {
		n["pattern"] = "^$|" + pattern
		if n["minLength"] != nil {
			delete(n, "minLength")
		}
	}
	if t, ok := n["type"].(string); ok {
		n["type"] = []any{t, "null"}
		return n
	}
	if list, ok := n["anyOf"].([]any); ok {
		n["anyOf"] = append(slices.Clone(list), node{"type": "null"})
	}
	return n
}

func enum[T ~string](list ...T) node {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return node{"type": "string", "enum": out}
}

func texts() node {
	return node{"anyOf": []any{node{"type": "string"}, node{"type": "array", "items": node{"type": "string"}}}}
}

// between is an integer in bounds.
func between(least, most int64) node { return node{"minimum": least, "maximum": most} }

func form(pattern string) node { return node{"pattern": pattern} }

func say(text string, n node) node {
	if n == nil {
		n = node{}
	}
	n["description"] = text
	return n
}

func anything() node { return node{} }

func moment() node { return node{"type": "string", "format": "date-time"} }

// common are the types that several files have.
func common() map[reflect.Type]func() node {
	return map[reflect.Type]func() node{
		reflect.TypeFor[jsontext.Value](): anything,
		reflect.TypeFor[time.Time]():      moment,
	}
}

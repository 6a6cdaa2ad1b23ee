package tiers

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxSchemaVisits bounds a schema with its references written out: twenty lines in
	// which each definition refers twice to the one before are a million checks.
	maxSchemaVisits = 2_000
	// maxConfigWork bounds schema visits × values of a configuration.
	maxConfigWork = 5_000_000
)

var errSchemaCost = fmt.Errorf("written out it has more than %d parts, or it refers to itself", maxSchemaVisits)

// schemaVisits counts the objects of a schema with its references written out,
// each time anew. It refuses a schema with too many, and references
// whose target depends on anything but the document.
func schemaVisits(root any) (int, error) {
	n := 0
	var visit func(v any, depth int) error
	visit = func(v any, depth int) error {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				if err := visit(e, depth+1); err != nil {
					return err
				}
			}
		case map[string]any:
			if n++; n > maxSchemaVisits || depth > maxSchemaVisits {
				return errSchemaCost
			}
			for name, member := range v {
				if err := checkSchemaMember(name, member, depth); err != nil {
					return err
				}
				if err := visit(member, depth+1); err != nil {
					return err
				}
			}
			if ref, ok := v["$ref"].(string); ok {
				target, ok := schemaTarget(root, ref)
				if !ok {
					return errors.New("a $ref is not a JSON Pointer into the schema, as #/$defs/name")
				}
				return visit(target, depth+1)
			}
		}
		return nil
	}
	if err := visit(root, 0); err != nil {
		return 0, err
	}
	return n, nil
}

// checkSchemaMember refuses what would make a reference mean something else than
// a place in this document.
func checkSchemaMember(name string, member any, depth int) error {
	text, isText := member.(string)
	switch name {
	case "$dynamicRef", "$recursiveRef":
		if isText {
			return fmt.Errorf("%s is not supported, use $ref", name)
		}
	case "$id", "id":
		if isText && depth > 0 {
			return fmt.Errorf("%s is not supported inside of a schema", name)
		}
	case "$schema":
		if isText && (depth > 0 || !strings.Contains(text, "draft/2020-12") && !strings.Contains(text, "draft/2019-09") &&
			!strings.Contains(text, "draft-07")) {
			return errors.New("$schema names no supported draft, or stands inside of the schema")
		}
	}
	return nil
}

// schemaTarget resolves a reference of the form # or #/a/b.
func schemaTarget(root any, ref string) (any, bool) {
	if ref == "#" {
		return root, true
	}
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok || strings.Contains(rest, "%") {
		return nil, false
	}
	at := root
	for token := range strings.SplitSeq(rest, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[token]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// valuesOf counts the values of a document.
func valuesOf(v any) int {
	n := 1
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += valuesOf(e)
		}
	case map[string]any:
		for _, e := range v {
			n += valuesOf(e)
		}
	}
	return n
}

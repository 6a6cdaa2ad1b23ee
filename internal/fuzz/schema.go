package fuzz

// fromSchema makes a value that a JSON Schema asks for, as far as its plain keywords
// tell: the loader holds it against the schema.
func fromSchema(s *node, depth int) *node {
	if d := s.get("default"); d != nil {
		return d.clone()
	}
	for _, name := range []string{"examples", "enum"} {
		if l := s.get(name); l != nil && len(l.kids) > 0 {
			return l.kids[0].clone()
		}
	}
	if c := s.get("const"); c != nil {
		return c.clone()
	}
	kind := s.get("type")
	if kind != nil && kind.kind == '[' && len(kind.kids) > 0 {
		kind = kind.kids[0]
	}
	name := "object"
	if kind != nil {
		name = kind.text
	}
	switch name {
	case "string":
		return str("x")
	case "number", "integer":
		if m := s.get("minimum"); m != nil {
			return m.clone()
		}
		return num("1")
	case "boolean":
		return &node{kind: 't'}
	case "null":
		return &node{kind: 'n'}
	case "array":
		n := &node{kind: '['}
		if items := s.get("items"); items != nil && items.kind == '{' && depth < 8 {
			n.kids = append(n.kids, fromSchema(items, depth+1))
		}
		return n
	}
	n := object()
	if p := s.get("properties"); p != nil && depth < 8 {
		for i, member := range p.names {
			n.set(member, fromSchema(p.kids[i], depth+1))
		}
	}
	return n
}

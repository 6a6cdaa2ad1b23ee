package config

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// Empty is the configuration that `belay init` starts from when no hook is wanted.
const Empty = "version: " + Version + "\nhooks: []\n"

// AddBinding returns the file with the binding appended to its hooks. The
// result has been parsed and checked.
func AddBinding(src []byte, b Binding) ([]byte, error) {
	return edit(src, func(hooks *yaml.Node) error {
		if i := find(hooks, b.Name); i >= 0 {
			return &Error{Reason: fmt.Sprintf("a hook is already bound as %q", b.Name)}
		}
		n, err := bindingNode(b)
		if err != nil {
			return err
		}
		hooks.Style = 0 // "hooks: []" becomes a block list
		hooks.Content = append(hooks.Content, n)
		return nil
	})
}

// SetDisabled returns the file with the named binding disabled or enabled.
func SetDisabled(src []byte, name string, disabled bool) ([]byte, error) {
	return edit(src, func(hooks *yaml.Node) error {
		i := find(hooks, name)
		if i < 0 {
			return notBound(name)
		}
		set(hooks.Content[i], "disabled", disabled)
		return nil
	})
}

// RemoveBinding returns the file without the named binding.
func RemoveBinding(src []byte, name string) ([]byte, error) {
	return edit(src, func(hooks *yaml.Node) error {
		i := find(hooks, name)
		if i < 0 {
			return notBound(name)
		}
		hooks.Content = append(hooks.Content[:i:i], hooks.Content[i+1:]...)
		if len(hooks.Content) == 0 {
			hooks.Style = yaml.FlowStyle
		}
		return nil
	})
}

func notBound(name string) error {
	return &Error{Reason: fmt.Sprintf("no hook is bound as %q", name)}
}

func edit(src []byte, change func(hooks *yaml.Node) error) ([]byte, error) {
	return editFile(src, func(m *yaml.Node) error {
		hooks, err := hooksNode(m)
		if err != nil {
			return err
		}
		return change(hooks)
	})
}

// editFile changes the file's root, a mapping, and keeps comments. What comes out has
// been parsed and checked.
func editFile(src []byte, change func(m *yaml.Node) error) ([]byte, error) {
	if _, err := Parse(src); err != nil {
		return nil, err
	}
	out, err := editYAML(src, change)
	if err != nil {
		return nil, err
	}
	if _, err := Parse(out); err != nil {
		return nil, err
	}
	return out, nil
}

// editYAML changes the root of a document, a mapping, and keeps comments. A document
// that the YAML library cannot write down again as it was is refused: what is not
// meant to be changed stays as it is.
func editYAML(src []byte, change func(m *yaml.Node) error) ([]byte, error) {
	before, err := strictyaml.Parse(src)
	if err != nil {
		return nil, &Error{Reason: "it cannot be read: " + err.Error(), Cause: err}
	}
	var root yaml.Node
	if err := yaml.Load(src, &root); err != nil {
		return nil, &Error{Reason: "not YAML", Cause: err}
	}
	m := &root
	if m.Kind == yaml.DocumentNode && len(m.Content) == 1 {
		m = m.Content[0]
	}
	if m.Kind != yaml.MappingNode {
		return nil, &Error{Reason: "not a mapping"}
	}
	spellNulls(m)
	same, err := dumpYAML(&root)
	if err != nil {
		return nil, err
	}
	if again, err := strictyaml.Parse(same); err != nil || !bytes.Equal(before.JSON, again.JSON) {
		return nil, &Error{Reason: "it is written in a way in which it cannot be changed without changing more than is wanted: edit it by hand", Cause: err}
	}
	if err := change(m); err != nil {
		return nil, err
	}
	return dumpYAML(&root)
}

// spellNulls writes out values that are left empty: inside of braces the library makes
// empty strings of them.
func spellNulls(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == "" {
		n.Value = "null"
	}
	for _, c := range n.Content {
		spellNulls(c)
	}
}

func dumpYAML(root *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithIndent(2))
	if err == nil {
		err = d.Dump(root)
	}
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		return nil, &Error{Reason: "cannot be written", Cause: err}
	}
	return out.Bytes(), nil
}

// hooksNode returns the list under "hooks", adding it when it is missing. The
// document has been parsed, so that its form is known.
func hooksNode(m *yaml.Node) (*yaml.Node, error) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != "hooks" {
			continue
		}
		if m.Content[i+1].Kind != yaml.SequenceNode { // hooks: null
			m.Content[i+1] = &yaml.Node{Kind: yaml.SequenceNode}
		}
		return m.Content[i+1], nil
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "hooks"}, list)
	return list, nil
}

func find(hooks *yaml.Node, name string) int {
	for i, h := range hooks.Content {
		for j := 0; j+1 < len(h.Content); j += 2 {
			if h.Content[j].Value == "name" && h.Content[j+1].Value == name {
				return i
			}
		}
	}
	return -1
}

func set(m *yaml.Node, key string, on bool) {
	for j := 0; j+1 < len(m.Content); j += 2 {
		if m.Content[j].Value == key {
			if !on {
				m.Content = append(m.Content[:j:j], m.Content[j+2:]...)
				return
			}
			m.Content[j+1] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
			return
		}
	}
	if on {
		m.Content = append(m.Content,
			&yaml.Node{Kind: yaml.ScalarNode, Value: key},
			&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
}

// bindingNode goes by way of JSON so that member names stand in one place, the
// struct's tags. JSON is YAML.
func bindingNode(b Binding) (*yaml.Node, error) {
	if b.Capabilities == nil {
		b.Capabilities = []string{}
	}
	j, err := json.Marshal(b)
	if err != nil {
		return nil, &Error{Reason: "the binding cannot be written", Cause: err}
	}
	if _, err := strictyaml.Parse(j); err != nil {
		return nil, wrap(err)
	}
	var doc yaml.Node
	if err := yaml.Load(j, &doc); err != nil {
		return nil, &Error{Reason: "the binding cannot be written", Cause: err}
	}
	n := &doc
	if n.Kind == yaml.DocumentNode {
		n = n.Content[0]
	}
	block(n, 0)
	return n, nil
}

// block turns JSON's flow style into what a person would have written: short
// lists of texts stay on one line.
func block(n *yaml.Node, depth int) {
	n.Line, n.Column = 0, 0
	switch n.Kind {
	case yaml.MappingNode:
		n.Style = 0
	case yaml.SequenceNode:
		n.Style = yaml.FlowStyle
		for _, c := range n.Content {
			if c.Kind != yaml.ScalarNode {
				n.Style = 0
			}
		}
	case yaml.ScalarNode:
		n.Style = 0
	}
	for _, c := range n.Content {
		block(c, depth+1)
	}
}

package yamledit

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// bare is a text that no reader of YAML takes for anything else, in brackets as well.
var bare = regexp.MustCompile(`\A[a-z][a-z0-9_-]*\z`)

// words are bare and mean something else, to one version of YAML or another.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func keyText(name string) string {
	if bare.MatchString(name) && !slices.Contains(words, name) || name == "trustedRoot" {
		return name
	}
	b, err := jsontext.AppendQuote(nil, name)
	if err != nil {
		return `""`
	}
	return string(b)
}

// flowValue writes a JSON value for the inside of brackets: JSON is YAML.
func flowValue(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err == nil && bare.Match(b) && !slices.Contains(words, string(b)) {
		return string(b)
	}
	return string(v)
}

func flowText(values []jsontext.Value) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, flowValue(v))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// blockItems writes elements as a person would, at a column; nil when that is not possible.
func blockItems(values []jsontext.Value, col int) []string {
	n, err := blockNode([]byte("[" + list(values) + "]"))
	if err != nil {
		return nil
	}
	n.Style = 0
	return indented(dump(n), col)
}

// flowItems writes each element on a line of its own.
func flowItems(values []jsontext.Value, col int) []string {
	var out []string
	for _, v := range values {
		out = append(out, "- "+flowValue(v))
	}
	return indented(out, col)
}

// memberText writes a member with a list at its end.
func memberText(path Path, values []jsontext.Value, asFlow bool) ([]string, bool) {
	var out []string
	for i, step := range path {
		name, ok := step.(string)
		if !ok {
			return nil, false
		}
		out = append(out, strings.Repeat("  ", i)+keyText(name)+":")
	}
	items := blockItems
	if asFlow {
		items = flowItems
	}
	return append(out, items(values, 2*len(path))...), true
}

// memberFlow writes the same for the inside of brackets: the first name, and its value.
func memberFlow(path Path, values []jsontext.Value) (key string, value jsontext.Value, ok bool) {
	text := "[" + list(values) + "]"
	for i := len(path) - 1; i >= 0; i-- {
		name, ok := path[i].(string)
		if !ok {
			return "", nil, false
		}
		if key = keyText(name); i > 0 {
			text = "{" + key + ": " + text + "}"
		}
	}
	return key, jsontext.Value(text), true
}

// indented puts lines at a column. Lines of a text that are empty stay so.
func indented(lines []string, col int) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if l != "" {
			out[i] = strings.Repeat(" ", col) + l
		}
	}
	return out
}

func dump(n *yaml.Node) []string {
	var out bytes.Buffer
	d, err := yaml.NewDumper(&out, yaml.WithIndent(2))
	if err == nil {
		err = d.Dump(n)
	}
	if err == nil {
		err = d.Close()
	}
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// blockNode reads JSON and turns its brackets into what a person would have written:
// short lists of texts stay on one line.
func blockNode(j []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Load(j, &doc); err != nil {
		return nil, err
	}
	n := &doc
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	unbracket(n)
	return n, nil
}

func unbracket(n *yaml.Node) {
	n.Line, n.Column = 0, 0
	n.Style = 0
	if n.Kind == yaml.SequenceNode &&
		!slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return c.Kind != yaml.ScalarNode }) {
		n.Style = yaml.FlowStyle
	}
	for _, c := range n.Content {
		unbracket(c)
	}
}

package fuzz

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that can be changed. Numbers keep their text, objects the
// order of their members.
type node struct {
	kind  byte   // { [ " 0 t f n
	text  string // of a string, decoded; of a number, as written
	names []string
	kids  []*node
}

var errTree = errors.New("not one JSON value")

// parse reads one JSON value. Preconditions: its depth is bounded, as that of
// everything that was decoded before.
func parse(src []byte) (*node, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(src))
	n, err := readNode(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTree
	}
	return n, nil
}

func readNode(dec *jsontext.Decoder) (*node, error) {
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &node{kind: byte(tok.Kind())}
	switch n.kind {
	case '"', '0':
		n.text = tok.String()
	case '{', '[':
		for {
			if k := dec.PeekKind(); k == '}' || k == ']' {
				_, err := dec.ReadToken()
				return n, err
			}
			if n.kind == '{' {
				name, err := dec.ReadToken()
				if err != nil {
					return nil, err
				}
				n.names = append(n.names, name.String())
			}
			kid, err := readNode(dec)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
	}
	return n, nil
}

func str(s string) *node { return &node{kind: '"', text: s} }
func num(s string) *node { return &node{kind: '0', text: s} }

func object() *node { return &node{kind: '{'} }

// clone copies the whole value.
func (n *node) clone() *node {
	c := &node{kind: n.kind, text: n.text, names: slices.Clone(n.names)}
	if len(n.kids) > 0 {
		c.kids = make([]*node, len(n.kids))
		for i, k := range n.kids {
			c.kids[i] = k.clone()
		}
	}
	return c
}

// size is about how many bytes the value takes when it is written.
func (n *node) size() int {
	size := len(n.text) + 3
	for _, name := range n.names {
		size += len(name) + 4
	}
	for _, k := range n.kids {
		size += k.size()
	}
	return size
}

// get returns the member, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i := slices.Index(n.names, name); i >= 0 {
		return n.kids[i]
	}
	return nil
}

// set adds or replaces a member.
func (n *node) set(name string, v *node) {
	if i := slices.Index(n.names, name); i >= 0 {
		n.kids[i] = v
		return
	}
	n.names, n.kids = append(n.names, name), append(n.kids, v)
}

func (n *node) remove(i int) {
	n.kids = slices.Delete(n.kids, i, i+1)
	if n.kind == '{' {
		n.names = slices.Delete(n.names, i, i+1)
	}
}

// all lists the value and everything below it, with their depths.
func (n *node) all(list []*node) []*node {
	list = append(list, n)
	for _, k := range n.kids {
		list = k.all(list)
	}
	return list
}

// style is a way to write the same value.
type style struct {
	rng     *rand.Rand // nil: as short as possible
	space   bool       // blanks between tokens
	escape  bool       // characters as \u escapes
	reorder bool       // members of objects the other way round
}

func (n *node) bytes() []byte { return n.write(nil, style{}) }

func (n *node) write(data []byte, style style) []byte {
	blank := func() {
		if style.space {
			data = append(data, []string{"", " ", "\n", "\t ", "  "}[style.rng.IntN(5)]...)
		}
	}
	switch n.kind {
	case '"':
		return writeString(data, n.text, style)
	case '0':
		return append(data, n.text...)
	case 't':
		return append(data, "true"...)
	case 'f':
		return append(data, "false"...)
	case 'n':
		return append(data, "null"...)
	}
	data = append(data, n.kind)
	for i := range n.kids {
		at := i
		if style.reorder && n.kind == '{' {
			at = len(n.kids) - 1 - i
		}
		if i > 0 {
			data = append(data, ',')
		}
		blank()
		if n.kind == '{' {
			data = writeString(data, n.names[at], style)
			blank()
			data = append(data, ':')
			blank()
		}
		data = n.kids[at].write(data, style)
		blank()
	}
	return append(data, n.kind+2)
}

func writeString(data []byte, text string, s style) []byte {
	if s.escape {
		const hex = "0123456789abcdef"
		data = append(data, '"')
		for _, r := range text {
			if r < 0x80 && (r < 0x20 || r == '"' || r == '\\' || s.rng.IntN(3) == 0) {
				data = append(data, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
				continue
			}
			data = append(data, string(r)...)
		}
		return append(data, '"')
	}
	out, err := jsontext.AppendQuote(data, text)
	if err != nil { // not UTF-8: a mutation has cut a character in two
		return append(data, `""`...)
	}
	return out
}

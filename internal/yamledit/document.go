package yamledit

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// splice replaces parts of a text. The parts are in order and do not overlap.
type splice []part

// part puts text in the place of the bytes [from, to).
type part struct {
	from, to int
	text     string
}

func insert(at int, text string) splice { return splice{{at, at, text}} }

func (s splice) apply(src []byte) []byte {
	var out []byte
	at := 0
	for _, p := range s {
		if p.from < at || p.to < p.from || p.to > len(src) {
			return nil // a way that leads nowhere; no edit wants an empty document
		}
		out = append(append(out, src[at:p.from]...), p.text...)
		at = p.to
	}
	return append(out, src[at:]...)
}

// document is a text with its nodes and where they stand.
type document struct {
	src   []byte
	root  *yaml.Node
	lines []int  // where each line begins
	eol   string // how lines end here
}

const bom = "\ufeff"

func read(src []byte) (*document, error) {
	// YAML breaks lines at these, too; people do not see them.
	for i, r := range string(src) {
		if r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\r' && !bytes.HasPrefix(src[i+1:], []byte("\n")) {
			return nil, &Error{Reason: "edit by hand: the file has line ends other than those of Unix and Windows",
				Err: ErrByHand}
		}
	}
	d := &document{src: src, lines: []int{0}, eol: "\n"}
	for i, c := range src {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	if len(d.lines) > 1 && d.lines[1] > 1 && src[d.lines[1]-2] == '\r' {
		d.eol = "\r\n"
	}
	var doc yaml.Node
	if err := yaml.Load(src, &doc); err != nil {
		return nil, &Error{Reason: "edit by hand: there is no document in the file", Err: ErrByHand}
	}
	d.root = &doc
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		d.root = doc.Content[0]
	}
	return d, nil
}

// at returns where a node begins; columns count characters.
func (d *document) at(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(d.lines) {
		return len(d.src)
	}
	i := d.lines[n.Line-1]
	if n.Line == 1 && bytes.HasPrefix(d.src, []byte(bom)) {
		i += len(bom)
	}
	for c := 1; c < n.Column && i < len(d.src); c++ {
		_, size := utf8.DecodeRune(d.src[i:])
		i += size
	}
	return i
}

// place is a node and its parent.
type place struct {
	parent *yaml.Node // a mapping or a list; nil at the root
	key    *yaml.Node // in a mapping
	node   *yaml.Node // nil when the member is missing
	index  int        // of the node in the parent's Content
}

// find follows a path as far as there are nodes; rest is what remains of it.
func (d *document) find(path Path) (p place, rest Path) {
	p.node = d.root
	for i, step := range path {
		next := place{parent: p.node}
		switch step := step.(type) {
		case string:
			if p.node.Kind != yaml.MappingNode {
				return p, path[i:]
			}
			for j := 0; j+1 < len(p.node.Content); j += 2 {
				if p.node.Content[j].Value == step {
					next.key, next.node, next.index = p.node.Content[j], p.node.Content[j+1], j+1
				}
			}
		case int:
			if p.node.Kind == yaml.SequenceNode && step >= 0 && step < len(p.node.Content) {
				next.node, next.index = p.node.Content[step], step
			}
		}
		if next.node == nil {
			return p, path[i:]
		}
		p = next
	}
	return p, nil
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// line returns a line without its end, and how far it is indented; -1 when it is blank.
func (d *document) line(i int) (text string, indent int) {
	end := len(d.src)
	if i+1 < len(d.lines) {
		end = d.lines[i+1]
	}
	text = strings.TrimRight(string(d.src[d.lines[i]:end]), "\r\n")
	body := strings.TrimLeft(text, " ")
	if strings.TrimSpace(body) == "" {
		return text, -1
	}
	return text, len(text) - len(body)
}

// extent says where an entry that begins on a line ends: inner is the line
// after its own last one, outer the line of the next entry. Comments and blank
// lines that belong to neither are in between. Lines that are indented by more
// than col belong to it.
func (d *document) extent(first, col int) (inner, outer int) {
	inner = first + 1
	loose := false // after a comment that is not the entry's own
	for i := first + 1; i < len(d.lines); i++ {
		text, indent := d.line(i)
		comment := indent >= 0 && text[indent] == '#'
		switch {
		case indent < 0:
		case comment && (indent <= col || loose):
			loose = true
		case indent <= col || col < 0 && (strings.HasPrefix(text, "...") || strings.HasPrefix(text, "---")):
			return inner, i
		default:
			inner, loose = i+1, false
		}
	}
	return inner, len(d.lines)
}

// start returns where a line begins; after the last one, the end of the text.
func (d *document) start(line int) int {
	if line < len(d.lines) {
		return d.lines[line]
	}
	return len(d.src)
}

// newLines makes an insertion of whole lines at a line.
func (d *document) newLines(line int, text []string) splice {
	at := d.start(line)
	all := strings.Join(text, d.eol) + d.eol
	if at > 0 && d.src[at-1] != '\n' { // the file's last line has no end
		all = d.eol + strings.TrimSuffix(all, d.eol)
	}
	return insert(at, all)
}

// lineOf returns the line of an offset, from 0.
func (d *document) lineOf(at int) int {
	i, exact := slices.BinarySearch(d.lines, at)
	if !exact {
		i--
	}
	return i
}

// dashLine returns the line of the dash of element i of a block list, -1 if it is not
// the first thing on its line.
func (d *document) dashLine(seq *yaml.Node, i int) int {
	low := seq.Line - 1
	if i > 0 {
		low = seq.Content[i-1].Line
	}
	for l := min(seq.Content[i].Line-1, len(d.lines)-1); l >= low; l-- {
		if text, indent := d.line(l); indent == seq.Column-1 && text[indent] == '-' {
			return l
		}
	}
	return -1
}

// flow is a list or mapping in brackets, as it is written.
type flow struct {
	open, close int // of the brackets
	commas      []int
	last        int // behind the last thing that is not a comment, before the closing bracket
	ends        []int
}

// scan reads brackets and their content, from the opening one on.
func (d *document) scan(open int) (f flow, ok bool) {
	f.open, f.last = open, open+1
	depth, end := 0, open+1
	for i := open; i < len(d.src); {
		c := d.src[i]
		size := 1
		switch {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				f.close, f.last, f.ends = i, end, append(f.ends, end)
				return f, true
			}
		case c == ',' && depth == 1:
			f.commas, f.ends = append(f.commas, i), append(f.ends, end)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '#' && strings.ContainsRune(" \t\n", rune(d.src[i-1])):
			for i < len(d.src) && d.src[i] != '\n' {
				i++
			}
			continue
		case c == '"' || c == '\'':
			size = quoted(d.src[i:])
		case c == ',' || c == ':':
		default:
			size = plain(d.src[i:])
		}
		i += size
		end = i
	}
	return f, false
}

// quoted returns how long the quoted text is with which b begins.
func quoted(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch {
		case b[0] == '"' && b[i] == '\\':
			i++
		case b[i] == b[0] && b[0] == '\'' && i+1 < len(b) && b[i+1] == '\'':
			i++
		case b[i] == b[0]:
			return i + 1
		}
	}
	return len(b)
}

// plain returns how long the text without quotes is with which b begins, in brackets.
func plain(b []byte) int {
	last := 1
	for i := 1; i < len(b); i++ {
		switch c := b[i]; {
		case strings.IndexByte(",[]{}\n", c) >= 0:
			return last
		case c == ':' && (i+1 == len(b) || strings.IndexByte(" \t\r\n,[]{}", b[i+1]) >= 0):
			return last
		case c == '#' && (b[i-1] == ' ' || b[i-1] == '\t'):
			return last
		case c != ' ' && c != '\t' && c != '\r':
			last = i + 1
		}
	}
	return last
}

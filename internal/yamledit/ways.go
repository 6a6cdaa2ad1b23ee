package yamledit

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// appendTo returns the ways to add values to a list, the most natural first.
func (d *document) appendTo(path Path, values []jsontext.Value) []splice {
	p, rest := d.find(path)
	switch {
	case len(rest) > 0:
		return d.addMember(p, rest, values)
	case p.node.Kind == yaml.SequenceNode && len(p.node.Content) > 0 && !isFlow(p.node):
		return d.afterLast(p.node, values)
	case p.node.Kind == yaml.SequenceNode:
		return append(d.fillEmpty(p, values), d.inBrackets(p.node, "", values)...)
	case isNull(p.node):
		return append(d.fillEmpty(p, values), d.replaceScalar(p, flowText(values))...)
	}
	return nil
}

// afterLast adds elements behind the last one of a block list.
func (d *document) afterLast(seq *yaml.Node, values []jsontext.Value) []splice {
	first := d.dashLine(seq, len(seq.Content)-1)
	if first < 0 {
		return nil
	}
	col := seq.Column - 1
	inner, outer := d.extent(first, col)
	var out []splice
	for _, text := range [][]string{blockItems(values, col), flowItems(values, col)} {
		out = append(out, d.newLines(inner, text), d.newLines(outer, text))
	}
	return out
}

// fillEmpty writes a block list in the place of `[]`, `null` or nothing.
func (d *document) fillEmpty(p place, values []jsontext.Value) []splice {
	if p.key == nil || isFlow(p.parent) || len(p.node.Content) > 0 {
		return nil
	}
	from := d.at(p.node)
	to := from
	if p.node.Kind == yaml.SequenceNode {
		f, ok := d.scan(from)
		if !ok || strings.TrimSpace(string(d.src[f.open+1:f.close])) != "" {
			return nil // a comment is in it
		}
		to = f.close + 1
	} else {
		to += len(p.node.Value)
	}
	colon := from
	for colon > 0 && d.src[colon-1] == ' ' {
		colon--
	}
	if to == from { // nothing is written there: the comment behind stays where it is
		colon = from
	}
	next := d.behindComments(d.lineOf(to)+1, p.key.Column-1)
	col := p.key.Column - 1 + 2
	var out []splice
	for _, text := range [][]string{blockItems(values, col), flowItems(values, col)} {
		out = append(out, append(splice{{colon, to, ""}}, d.newLines(next, text)...))
	}
	return out
}

// behindComments returns the line behind the comments that are indented by more than col, from a line on. An entry
// that stood before them would take them for its own, and they would go with it.
func (d *document) behindComments(line, col int) int {
	for i := line; i < len(d.lines); i++ {
		text, indent := d.line(i)
		switch {
		case indent < 0:
		case text[indent] == '#' && indent > col:
			line = i + 1
		default:
			return line
		}
	}
	return line
}

// inBrackets adds elements, or a member, before a closing bracket.
func (d *document) inBrackets(n *yaml.Node, key string, values []jsontext.Value) []splice {
	f, ok := d.scan(d.at(n))
	if !ok {
		return nil
	}
	text := strings.Trim(flowText(values), "[]")
	if len(values) > 0 {
		parts := make([]string, len(values))
		for i, v := range values {
			parts[i] = flowValue(v)
		}
		text = strings.Join(parts, ", ")
	}
	if key != "" {
		text = key + ": " + text
	}
	switch {
	case len(n.Content) == 0 && len(f.commas) == 0:
		return []splice{insert(f.last, text)}
	case len(f.commas) > 0 && f.commas[len(f.commas)-1] == f.last-1:
		return []splice{insert(f.last, " "+text)}
	}
	return []splice{insert(f.last, ", "+text)}
}

// addMember adds what a path leads to and is not there, as a member of the mapping at p.
func (d *document) addMember(p place, rest Path, values []jsontext.Value) []splice {
	var out []splice
	for _, asFlow := range []bool{false, true} {
		text, ok := memberText(rest, values, asFlow)
		if !ok {
			return nil
		}
		out = append(out, d.addLines(p, text)...)
	}
	key, value, ok := memberFlow(rest, values)
	if ok && p.node.Kind == yaml.MappingNode && isFlow(p.node) {
		out = append(out, d.inBrackets(p.node, key, []jsontext.Value{value})...)
	}
	if ok && isNull(p.node) {
		out = append(out, d.replaceScalar(p, "{"+key+": "+flowValue(value)+"}")...)
	}
	return out
}

// addLines adds the lines of a member at the end of a block mapping, or makes a
// mapping of them where nothing is written.
func (d *document) addLines(p place, text []string) []splice {
	switch {
	case p.node.Kind == yaml.MappingNode && !isFlow(p.node):
		col := p.node.Column - 1
		if p.parent == nil {
			inner, outer := d.extent(0, -1)
			return []splice{d.newLines(outer, indented(text, col)), d.newLines(inner, indented(text, col)),
				d.newLines(d.lastLine(), indented(text, col))}
		}
		first, outside := p.node.Line-1, col-1
		if p.key != nil {
			first, outside = p.key.Line-1, p.key.Column-1
		} else if l := d.dashLine(p.parent, p.index); l >= 0 {
			first, outside = l, p.parent.Column-1
		}
		inner, outer := d.extent(first, outside)
		return []splice{d.newLines(inner, indented(text, col)), d.newLines(outer, indented(text, col))}
	case isNull(p.node) && p.key != nil && !isFlow(p.parent):
		from := d.at(p.node)
		to := from + len(p.node.Value)
		colon := from
		for to > from && colon > 0 && d.src[colon-1] == ' ' {
			colon--
		}
		col := p.key.Column - 1
		next := d.behindComments(d.lineOf(to)+1, col)
		return []splice{append(splice{{colon, to, ""}}, d.newLines(next, indented(text, col+2))...)}
	}
	return nil
}

// lastLine returns the line after the last one that is not blank or a comment.
func (d *document) lastLine() int {
	last := 0
	for i := range d.lines {
		if text, indent := d.line(i); indent >= 0 && text[indent] != '#' && !strings.HasPrefix(text, "...") {
			last = i + 1
		}
	}
	return last
}

// set returns the ways to give a member a scalar value.
func (d *document) set(path Path, value jsontext.Value) []splice {
	p, rest := d.find(path)
	if len(rest) == 0 {
		return d.replaceScalar(p, flowValue(value))
	}
	name, ok := rest[0].(string)
	if !ok || len(rest) > 1 {
		return nil
	}
	out := d.addLines(p, []string{keyText(name) + ": " + flowValue(value)})
	if p.node.Kind == yaml.MappingNode && isFlow(p.node) {
		out = append(out, d.inBrackets(p.node, keyText(name), []jsontext.Value{value})...)
	}
	return out
}

// replaceScalar writes text in the place of a scalar on one line.
func (d *document) replaceScalar(p place, text string) []splice {
	n := p.node
	if n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return nil
	}
	from := d.at(n)
	to := from + len(n.Value)
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		to = from + quoted(d.src[from:])
	}
	if to == from {
		return []splice{insert(from, " "+text)}
	}
	if to > len(d.src) {
		return nil
	}
	return []splice{{{from, to, text}}}
}

// remove returns the ways to take out an entry.
func (d *document) remove(path Path) []splice {
	p, rest := d.find(path)
	if len(rest) > 0 || p.parent == nil {
		return nil
	}
	switch {
	case isFlow(p.parent):
		return d.removeInBrackets(p)
	case p.parent.Kind == yaml.SequenceNode:
		return d.removeItem(p, path)
	}
	return d.removeMember(p)
}

// removeItem takes the lines of an element out of a block list.
func (d *document) removeItem(p place, path Path) []splice {
	first := d.dashLine(p.parent, p.index)
	if first < 0 {
		return nil
	}
	inner, outer := d.extent(first, p.parent.Column-1)
	ways := []splice{{{d.start(first), d.start(inner), ""}}, {{d.start(first), d.start(outer), ""}}}
	if len(p.parent.Content) > 1 {
		return ways
	}
	of, rest := d.find(path[:len(path)-1])
	if of.key == nil || len(rest) > 0 {
		return nil
	}
	colon := d.at(of.key) + len(of.key.Value)
	if of.key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		colon = d.at(of.key) + quoted(d.src[d.at(of.key):])
	}
	for colon < len(d.src) && d.src[colon] == ' ' {
		colon++
	}
	var out []splice
	for _, w := range ways {
		out = append(out, append(splice{{colon + 1, colon + 1, " []"}}, w...))
	}
	return out
}

// removeMember takes a member out of a block mapping, if it has a line to itself and no comment.
func (d *document) removeMember(p place) []splice {
	if p.node.Kind != yaml.ScalarNode || p.node.Line != p.key.Line {
		return nil
	}
	i := p.key.Line - 1
	text, indent := d.line(i)
	from := d.at(p.node)
	to := from + len(p.node.Value)
	if indent != p.key.Column-1 || to > len(d.src) ||
		strings.TrimSpace(text) != strings.TrimSpace(string(d.src[d.lines[i]:to])) {
		return nil
	}
	return []splice{{{d.start(i), d.start(i + 1), ""}}}
}

// removeInBrackets takes out an element or a member with one comma.
func (d *document) removeInBrackets(p place) []splice {
	f, ok := d.scan(d.at(p.parent))
	if !ok {
		return nil
	}
	i, from := p.index, d.at(p.node)
	if p.key != nil {
		i, from = p.index/2, d.at(p.key)
	}
	if i >= len(f.ends) || f.ends[i] < from {
		return nil
	}
	if i < len(f.commas) && i+1 < len(f.ends) && f.ends[i+1] > f.commas[i]+1 { // another follows
		to := f.commas[i] + 1
		for to < len(d.src) && d.src[to] == ' ' {
			to++
		}
		return []splice{{{from, to, ""}}}
	}
	if i > 0 {
		if comma := f.commas[i-1]; strings.TrimSpace(string(d.src[comma+1:from])) == "" {
			return []splice{{{comma, f.ends[i], ""}}}
		}
	}
	if i < len(f.commas) { // with its own comma, or `[,]` would remain
		return []splice{{{from, f.commas[i] + 1, ""}}}
	}
	return []splice{{{from, f.ends[i], ""}}}
}

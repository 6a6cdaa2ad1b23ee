package redact

import "strings"

const (
	maxColumns = 64  // of a table
	maxCell    = 256 // bytes of a name in its head
)

// findTables finds values in a table with separated columns, whose first line names them: name,api_key.
func (d *detector) findTables(s string, add func(kind string, from, to int)) {
	if strings.IndexByte(s, '\n') < 0 {
		return
	}
	var t tableHead
	at := 0
	for line := range strings.SplitSeq(s, "\n") {
		body := strings.TrimRight(line, "\r")
		switch {
		case t.sep == 0:
			t = d.head(body)
		case strings.Count(body, string(t.sep)) != t.columns-1 && strings.IndexByte(body, '"') < 0:
			t = d.head(body)
		default:
			t.row(d, s, at, body, add)
		}
		at += len(line) + 1
	}
}

// tableHead is the first line of a table; its zero value is none.
type tableHead struct {
	sep     byte
	columns int
	telling map[int]telling // by the number of the column
}

type telling struct {
	name, kind string
	str        strength
}

// head reads a line as the first one of a table. It is one when each of its cells is a name and one of them is telling.
func (d *detector) head(line string) (t tableHead) {
	if len(line) > maxColumns*maxCell {
		return t
	}
	sep := byte(0)
	for _, c := range [...]byte{'\t', ';', ','} {
		if strings.IndexByte(line, c) > 0 {
			sep = c
			break
		}
	}
	if sep == 0 {
		return t
	}
	for i := 0; i < len(line); i++ {
		if c := line[i]; !nameByte[c] && c != sep && c != ' ' && c != '"' {
			return t // most lines are no list of names
		}
	}
	separator := string(sep)
	columns := strings.Count(line, separator) + 1
	if columns > maxColumns {
		return t
	}
	i := -1
	for cell := range strings.SplitSeq(line, separator) {
		i++
		cell = strings.Trim(strings.TrimSpace(cell), `"`)
		if cell == "" || strings.IndexByte(cell, '"') >= 0 || len(cell) > 40 || strings.Count(cell, " ") > 3 {
			return t
		}
		kind, str := nameKind(cell)
		if len(d.names) > 0 && d.names[flat(cell)] {
			kind, str = "named", strong
		}
		if str > weakest {
			if t.telling == nil {
				t.telling = map[int]telling{}
			}
			t.telling[i] = telling{cell, kind, str}
		}
	}
	if t.telling != nil {
		t.sep, t.columns = sep, columns
	}
	return t
}

// row looks at the cells of one line that stand in a telling column; at is where the line begins in the text.
func (t *tableHead) row(d *detector, s string, at int, line string, add func(kind string, from, to int)) {
	for column, from := 0, 0; column < t.columns && from <= len(line); column++ {
		to := from
		if to < len(line) && line[to] == '"' {
			to = min(quotedEnd(line, to)+1, len(line))
		}
		if n := strings.IndexByte(line[to:], t.sep); n >= 0 {
			to += n
		} else {
			to = len(line)
		}
		if c, ok := t.telling[column]; ok {
			a, b := from, to
			for a < b && (line[a] == ' ' || line[a] == '"') {
				a++
			}
			for a < b && (line[b-1] == ' ' || line[b-1] == '"') {
				b--
			}
			str := c.str
			if !strings.ContainsAny(line[a:b], "0123456789!@#%^&*") {
				str = min(str, weak) // prose, too, has commas
			}
			if a < b && strings.IndexByte(line[a:b], ' ') < 0 {
				d.value(s, c.kind, str, c.name, at+a, at+b, true, add)
			}
		}
		from = to + 1
	}
}

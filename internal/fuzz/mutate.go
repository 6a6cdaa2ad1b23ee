package fuzz

import (
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// mutator makes inputs out of inputs. It is used by one goroutine.
type mutator struct {
	rng      *rand.Rand
	hostile  []string
	odd      []string
	limits   []string
	lengths  []int
	names    []string
	words    []string // of the module
	pointers []string // of the module, into the action
}

func newMutator(rng *rand.Rand, module []byte) *mutator {
	m := &mutator{rng: rng, hostile: hostile(), odd: oddTexts(), limits: limits(), lengths: lengths(),
		names: memberNames(), words: wordsOf(module)}
	m.pointers = pointersAmong(m.words)
	return m
}

// with returns the mutator with another source of choices. Both share the values to choose
// from, which do not change.
func (m *mutator) with(rng *rand.Rand) *mutator {
	c := *m
	c.rng = rng
	return &c
}

// mutate changes an invocation's document in place.
func (m *mutator) mutate(doc *node) {
	for range 1 + m.rng.IntN(4) {
		if m.once(doc); doc.size() > phases.MaxInputBytes {
			return
		}
	}
}

func (m *mutator) once(doc *node) {
	action := doc.get("action")
	if action == nil {
		return
	}
	switch n := m.rng.IntN(16); {
	case n == 0 && len(m.pointers) > 0:
		m.put(action, pick(m.rng, m.pointers), m.value())
		return
	case n == 1:
		m.envelope(doc)
		return
	case n == 2:
		if args := action.get("args"); args.get("command") != nil {
			args.set("command", str(m.command()))
			return
		}
	}
	list := action.all(nil)
	m.change(list[m.rng.IntN(len(list))])
}

// put sets the value at a pointer, as far as there is a place for it.
func (m *mutator) put(at *node, pointer string, v *node) {
	parts := strings.Split(pointer[1:], "/")
	for i, name := range parts {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if at.kind != '{' {
			return
		}
		if i == len(parts)-1 {
			at.set(name, v)
			return
		}
		if at.get(name) == nil {
			at.set(name, object())
		}
		at = at.get(name)
	}
}

func (m *mutator) command() string {
	c := pick(m.rng, m.hostile)
	switch m.rng.IntN(6) {
	case 0:
		return m.long(pick(m.rng, []string{"true; ", ": ", " ", "echo a\n", "a=b "})) + c
	case 1:
		return c + pick(m.rng, []string{" && ", "; ", " | ", "\n", " & "}) + pick(m.rng, m.hostile)
	case 2:
		return m.text(c)
	}
	return c
}

// value is a new value of any type.
func (m *mutator) value() *node {
	switch m.rng.IntN(10) {
	case 0:
		return num(pick(m.rng, m.limits))
	case 1:
		return &node{kind: pick(m.rng, []byte("tfn"))}
	case 2:
		return &node{kind: '['}
	case 3:
		return object()
	case 4:
		return m.deep()
	case 5:
		return str(m.long(pick(m.rng, []string{"a", "é", "\u0000", "rm ", "x/"})))
	case 6:
		return str(pick(m.rng, m.hostile))
	case 7, 8:
		if len(m.words) > 0 {
			return str(pick(m.rng, m.words))
		}
	}
	return str(pick(m.rng, m.odd))
}

// deep is a value that nests nearly as deep as inputs may.
func (m *mutator) deep() *node {
	n := str("deep")
	for range pick(m.rng, []int{2, 8, 32, phases.MaxInputDepth - 8}) {
		up := &node{kind: '['}
		if m.rng.IntN(2) == 0 {
			up = &node{kind: '{', names: []string{pick(m.rng, m.names)}}
		}
		up.kids = []*node{n}
		n = up
	}
	return n
}

func (m *mutator) long(unit string) string {
	n := pick(m.rng, m.lengths)
	if m.rng.IntN(12) > 0 { // the longest ones cost the most
		n = min(n, 8193)
	}
	return strings.Repeat(unit, n/len(unit)+1)
}

// text changes a text.
func (m *mutator) text(text string) string {
	at := 0
	if len(text) > 0 {
		at = m.rng.IntN(len(text) + 1)
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
	}
	switch m.rng.IntN(9) {
	case 0:
		return ""
	case 1:
		return text[:at]
	case 2:
		return text[at:]
	case 3:
		return text[:at] + pick(m.rng, m.odd) + text[at:]
	case 4:
		return text[:at] + m.long("a") + text[at:]
	case 5:
		return strings.ToUpper(text)
	case 6:
		if len(m.words) > 0 {
			return text[:at] + pick(m.rng, m.words) + text[at:]
		}
	case 7:
		return strings.Repeat(text, min(1+m.rng.IntN(8), 1+phases.MaxInputBytes/(len(text)+1)))
	}
	return text[:at] + pick(m.rng, m.hostile) + text[at:]
}

// change changes one value.
func (m *mutator) change(node *node) {
	if m.rng.IntN(8) == 0 {
		*node = *m.value()
		return
	}
	switch node.kind {
	case '"':
		if m.rng.IntN(3) == 0 {
			*node = *m.value()
		} else {
			node.text = m.text(node.text)
		}
	case '0':
		node.text = pick(m.rng, m.limits)
	case 't', 'f', 'n':
		node.kind = pick(m.rng, []byte("tfn"))
	case '[':
		m.array(node)
	case '{':
		switch i := m.rng.IntN(max(len(node.kids), 1)); m.rng.IntN(4) {
		case 0:
			if len(node.kids) > 0 {
				node.remove(i)
			}
		case 1:
			if len(node.kids) > 0 {
				node.set(pick(m.rng, m.names), node.kids[i].clone())
			}
		default:
			node.set(pick(m.rng, m.names), m.value())
		}
	}
}

func (m *mutator) array(node *node) {
	if len(node.kids) == 0 {
		node.kids = append(node.kids, m.value())
		return
	}
	i := m.rng.IntN(len(node.kids))
	switch m.rng.IntN(4) {
	case 0:
		node.remove(i)
	case 1:
		node.kids = slices.Insert(node.kids, i, node.kids[i].clone())
	case 2:
		// Beyond the limit of an input nothing is to be learned, and growth upon growth ends nowhere.
		for range min(pick(m.rng, []int{4, 16, 64, 1000}), phases.MaxInputBytes/node.kids[i].size()) {
			node.kids = append(node.kids, node.kids[i].clone())
		}
	default:
		node.kids = append(node.kids, m.value())
	}
}

// envelope changes the members round the action.
func (m *mutator) envelope(doc *node) {
	switch m.rng.IntN(6) {
	case 0:
		doc.set("cwd",
			str(pick(m.rng, []string{"/", "/home/dev", "/home/dev/project/..", "/srv/é", "/" + strings.Repeat("d/", 1000)})))
	case 1:
		doc.set(pick(m.rng, []string{"user", "agent", "run"}),
			str(pick(m.rng, []string{"root", "main", strings.Repeat("u", phases.MaxIDBytes), "ü", "a b"})))
	case 2:
		doc.set("scopes",
			pick(m.rng, []*node{object(),
				{kind: '{', names: []string{"tools", "net"}, kids: []*node{{kind: '['}, {kind: '['}}}}))
	case 3:
		md := object()
		md.set(pick(m.rng, []string{"note", "class", "stage", "k"}), m.value())
		doc.set("metadata", md)
	case 4:
		doc.set("time",
			str(pick(m.rng,
				[]string{"1970-01-01T00:00:00Z", "2199-12-31T23:59:59.999999999Z", "2026-02-28T23:59:60Z",
					"2026-06-05T17:00:00+02:00"})))
	default:
		if i := slices.Index(doc.names, pick(m.rng, []string{"user", "cwd", "run", "agent", "scopes", "metadata"})); i >= 0 {
			doc.remove(i)
		}
	}
}

// damage makes bytes that ought not to decode.
func (m *mutator) damage(src []byte) []byte {
	data := slices.Clone(src)
	at := m.rng.IntN(len(data))
	switch m.rng.IntN(9) {
	case 0:
		return data[:at]
	case 1:
		data[at] ^= 1 << m.rng.IntN(8)
		return data
	case 2:
		return append(data, pick(m.rng, []string{"{}", "x", "\x00", ",", "\ufeff"})...)
	case 3: // the same member twice
		return append([]byte(`{"phase":"pre_tool",`), data[1:]...)
	case 4:
		return append([]byte(`{"sneaky":1,`), data[1:]...)
	case 5:
		return slices.Insert(data, at, []byte{0xff, 0xc0, 0x80}...)
	case 6:
		return append([]byte(strings.Repeat("[", pick(m.rng, []int{100, 200, 100_000}))), data...)
	case 7:
		return []byte(strings.Replace(string(data), `"`, pick(m.rng, []string{`"\ud800`, `"\u0000`, `'`, `null`, `1e999,"`}),
			1+m.rng.IntN(6)))
	}
	n := m.rng.IntN(len(data)-at) + at
	return slices.Delete(data, at, n)
}

package redact

import (
	"bytes"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Cut is a part that a hook has taken out of a document.
type Cut struct {
	Pointer  string // RFC 6901: a string, or a number
	From, To int    // bytes of the string, decoded, or of the number
	Text     string // what stood there
}

// kind says how long the text was; the placeholder says its keyed digest.
func (c *Cut) kind() string { return "removed-" + strconv.Itoa(len(c.Text)) }

// Removed compares two versions of a document and returns what of the first is gone
// from its place in the second: parts of strings at the ends of words, numbers, and
// whatever stood in members and elements that are gone. What both have in common is
// never part of a cut, but for runs of less than minKept bytes between two cuts.
// Errors are of class ErrInput.
func Removed(before, after jsontext.Value) ([]Cut, error) {
	if bytes.Equal(before, after) {
		return nil, nil
	}
	a, err := parse(before)
	if err != nil {
		return nil, err
	}
	b, err := parse(after)
	if err != nil {
		return nil, err
	}
	var c cutter
	c.compare("", a, b)
	return c.cuts, nil
}

// tree is a document that was read: text is a string's, decoded, or a number's.
type tree struct {
	kind  jsontext.Kind
	text  string
	names []string
	kids  []*tree
}

func parse(raw jsontext.Value) (*tree, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	t, err := readTree(dec, 0)
	if err != nil {
		return nil, &Error{ErrInput, "the document is not JSON that can be compared"}
	}
	return t, nil
}

func readTree(dec *jsontext.Decoder, depth int) (*tree, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	t := &tree{kind: tok.Kind()}
	switch t.kind {
	case '"', '0':
		t.text = tok.String()
	case '{', '[':
		for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
			if t.kind == '{' {
				name, err := dec.ReadToken()
				if err != nil {
					return nil, err
				}
				t.names = append(t.names, name.String())
			}
			kid, err := readTree(dec, depth+1)
			if err != nil {
				return nil, err
			}
			t.kids = append(t.kids, kid)
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

type cutter struct{ cuts []Cut }

func (c *cutter) compare(ptr string, a, b *tree) {
	switch {
	case b == nil || a.kind != b.kind:
		c.all(ptr, a)
	case a.kind == '"':
		for _, span := range removedSpans(a.text, b.text) {
			c.cuts = append(c.cuts, Cut{ptr, span[0], span[1], a.text[span[0]:span[1]]})
		}
	case a.kind == '0' && a.text != b.text:
		c.all(ptr, a)
	case a.kind == '{':
		at := make(map[string]*tree, len(b.names))
		for i, name := range b.names {
			at[name] = b.kids[i]
		}
		for i, name := range a.names {
			c.compare(phases.Join(ptr, name), a.kids[i], at[name])
		}
	case a.kind == '[':
		c.elements(ptr, a.kids, b.kids)
	}
}

// elements pairs those that are the same at both ends, and the others in order
// where there are as many of them; otherwise those that are left nowhere are gone.
func (c *cutter) elements(ptr string, a, b []*tree) {
	start := 0
	for start < len(a) && start < len(b) && same(a[start], b[start]) {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && same(a[len(a)-1-end], b[len(b)-1-end]) {
		end++
	}
	am, bm := a[start:len(a)-end], b[start:len(b)-end]
	for i, kid := range am {
		at := phases.Join(ptr, strconv.Itoa(start+i))
		switch {
		case len(am) == len(bm):
			c.compare(at, kid, bm[i])
		case len(am)*len(bm) > 1<<16 || !slices.ContainsFunc(bm, func(t *tree) bool { return same(kid, t) }):
			c.all(at, kid)
		}
	}
}

func same(a, b *tree) bool {
	return a.kind == b.kind && a.text == b.text && slices.Equal(a.names, b.names) && slices.EqualFunc(a.kids, b.kids, same)
}

// all cuts out a value as a whole.
func (c *cutter) all(ptr string, t *tree) {
	if (t.kind == '"' || t.kind == '0') && t.text != "" {
		c.cuts = append(c.cuts, Cut{ptr, 0, len(t.text), t.text})
	}
	for i, kid := range t.kids {
		token := strconv.Itoa(i)
		if t.kind == '{' {
			token = t.names[i]
		}
		c.all(phases.Join(ptr, token), kid)
	}
}

const (
	keptWindow = 8
	keptStep   = 4
	minKept    = keptWindow + keptStep // bytes that both texts have between two cuts
)

// removedSpans returns the parts of a that b does not have, in order. The parts
// that count as present are in b, so that the shown text never reveals a
// removed one.
func removedSpans(a, b string) [][2]int {
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	tail := 0
	for tail < len(a)-from && tail < len(b)-from && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	bFrom, bTo, to := from, len(b)-tail, len(a)-tail
	for inWord(a, from) {
		from--
	}
	for inWord(a, to) {
		to++
	}
	var out [][2]int
	cut := func(from, to int) {
		if strings.TrimSpace(a[from:to]) != "" {
			out = append(out, [2]int{from, to})
		}
	}
	for _, k := range kept(a, b, from, to, bFrom, bTo) {
		for k[0] < k[1] && inWord(a, k[0]) {
			k[0]++
		}
		for k[1] > k[0] && inWord(a, k[1]) {
			k[1]--
		}
		if k[1]-k[0] < keptWindow {
			continue
		}
		cut(from, k[0])
		from = k[1]
	}
	cut(from, to)
	return out
}

// kept returns runs of a[from:to] that stand in b[bFrom:bTo] in the same order.
func kept(a, b string, from, to, bFrom, bTo int) (out [][2]int) {
	at := map[string][]int32{}
	for j := bFrom; j+keptWindow <= bTo; j += keptStep {
		w := b[j : j+keptWindow]
		at[w] = append(at[w], int32(j))
	}
	for i := from; i+keptWindow <= to; {
		list := at[a[i:i+keptWindow]]
		n := sort.Search(len(list), func(n int) bool { return int(list[n]) >= bFrom })
		if n == len(list) {
			i++
			continue
		}
		k, j := i, int(list[n])
		for k > from && j > bFrom && a[k-1] == b[j-1] {
			k, j = k-1, j-1
		}
		end := i + keptWindow
		for j = int(list[n]) + keptWindow; end < to && j < bTo && a[end] == b[j]; end, j = end+1, j+1 {
		}
		if end-k < minKept {
			i++
			continue
		}
		out = append(out, [2]int{k, end})
		from, i, bFrom = end, end, j
	}
	return out
}

// inWord reports that a word goes on over the place between s[i-1] and s[i].
func inWord(s string, i int) bool {
	return i > 0 && i < len(s) && wordPart(s[i-1]) && wordPart(s[i])
}

func wordPart(c byte) bool { return word[c] || c == '_' || c == '-' || c >= 0x80 }

// Removed remembers cut text, wherever else it stands: complete cuts, and their
// words that have letters and digits.
func (c *Record) Removed(r *Redactor, cuts []Cut) {
	k := r.sit(c)
	own := &k.own
	for i := range cuts {
		cut := &cuts[i]
		text := strings.TrimSpace(cut.Text)
		own.learn(cut.kind(), text)
		if len(text) > maxKnown {
			continue
		}
		for _, w := range strings.FieldsFunc(text, func(r rune) bool {
			return strings.ContainsRune(" \t\r\n\"'`=,;()<>[]{}", r)
		}) {
			if w != text && generated(w) {
				own.learn("removed-"+strconv.Itoa(len(w)), w)
			}
		}
	}
	k.leave()
	c.learn()
}

// generated reports a word with letters and digits: what a person would not write.
func generated(s string) bool {
	digit, letter := false, false
	for i := 0; i < len(s); i++ {
		d := s[i] >= '0' && s[i] <= '9'
		digit, letter = digit || d, letter || !d && word[s[i]]
	}
	return digit && letter && len(s) >= MinKnown
}

// JSONCut is JSON for a document of which parts were cut: these are covered in their
// places, also where nothing else would find them.
func (c *Record) JSONCut(r *Redactor, raw jsontext.Value, cuts []Cut) (jsontext.Value, []string, error) {
	k := r.sit(c)
	own := &k.own
	own.cuts = map[string][]Cut{}
	for _, cut := range cuts {
		own.cuts[cut.Pointer] = append(own.cuts[cut.Pointer], cut)
	}
	out, masked, err := own.JSON(raw)
	k.leave()
	c.learn()
	return out, masked, err
}

// findings returns cuts as findings. Where one ends before it begins, or behind the text, merge drops it.
func findings(cuts []Cut) (out []Finding) {
	for i := range cuts {
		if c := &cuts[i]; c.From >= 0 {
			out = append(out, Finding{Kind: c.kind(), Start: c.From, End: c.To})
		}
	}
	return out
}

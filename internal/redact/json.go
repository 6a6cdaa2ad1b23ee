package redact

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// maxDepth bounds how deep a document may nest.
const maxDepth = 256

// JSON redacts the secrets in a document and returns it with the RFC 6901
// pointers of the values that were changed, in order. Strings are looked at
// decoded; values without a secret retain their source bytes. Member names are
// kept unless a secret stands in one. A document in which nothing is changed, not even white space between values, is
// returned in the memory of raw.
//
// Errors are of class ErrInput: not strict JSON, or nested too deep. The caller
// must not store the document then, only its digest.
func (r *Redactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	bad := &Error{ErrInput, "the document is not JSON that can be redacted"}
	if !phases.IsStrict(raw) {
		if _, err := jsontext.NewDecoder(bytes.NewReader(raw)).ReadValue(); err == nil {
			bad.Text = "there is more after the document"
		}
		return nil, nil, bad
	}
	if r.at == nil {
		k := r.sit(r.record)
		defer k.leave()
		r = &k.own
	}
	raw = bytes.Trim(raw, " \t\r\n")
	w := jsonWalk{r: r, raw: raw, src: string(raw), look: r.look, path: r.at.path[:0]}
	if _, err := w.value(rules{r.masks, r.removals, r.allow, r.strict}, none, ""); err != nil {
		return nil, nil, bad
	}
	r.at.path = w.path
	if w.done == 0 {
		return raw[:len(raw):len(raw)], w.masked, nil
	}
	w.keep(len(raw))
	out := jsontext.Value(w.out)
	if w.renamed && !out.IsValid() { // two names may have become one
		return nil, nil, &Error{ErrInput, "the redacted document is not valid"}
	}
	return out, w.masked, nil
}

// jsonWalk reads a document once, from its beginning to its end. The document is strict: reading it cannot fail.
type jsonWalk struct {
	r    *Redactor
	look *detector // of r
	raw  []byte
	src  string // the same
	i    int    // src[:i] has been read

	out  []byte // what becomes of src[:done]
	done int

	path    []step // from the root to the value that is being read
	masked  []string
	depth   int
	renamed bool   // a name was redacted
	at      string // where the value stands in the original; "" unless there are cuts
}

// step is a member, or an element of an array.
type step struct {
	name  string
	index int           // -1: a member
	place *phases.Place // nil: not needed yet
}

// keep copies what has been left as it is up to src[to].
func (w *jsonWalk) keep(to int) {
	if w.out == nil {
		w.out = make([]byte, 0, len(w.src)+64)
	}
	w.out = append(w.out, w.src[w.done:to]...)
	w.done = to
}

// drop leaves out src[from:to].
func (w *jsonWalk) drop(from, to int) {
	if from < to {
		w.keep(from)
		w.done = to
	}
}

// blank returns where white space ends that begins at i.
func (w *jsonWalk) blank(i int) int {
	for i < len(w.src) && w.src[i] <= ' ' {
		i++
	}
	return i
}

// space leaves out white space.
func (w *jsonWalk) space() {
	from := w.i
	w.i = w.blank(from)
	w.drop(from, w.i)
}

// textEnd returns where the string ends that begins at i, and whether it has no escapes.
func (w *jsonWalk) textEnd(i int) (end int, plain bool) {
	plain, end = true, i
	for i++; ; {
		if end < i {
			end = i + strings.IndexByte(w.src[i:], '"')
		}
		n := strings.IndexByte(w.src[i:end], '\\')
		if n < 0 {
			return end + 1, plain
		}
		plain = false
		i += n + 2
	}
}

// text reads a string.
func (w *jsonWalk) text() string {
	from := w.i
	end, plain := w.textEnd(from)
	w.i = end
	if plain {
		return w.src[from+1 : end-1]
	}
	return phases.Unquote(w.raw[from:end])
}

// skip reads a value.
func (w *jsonWalk) skip() jsontext.Value {
	from, depth := w.i, 0
	for {
		switch w.src[w.i] {
		case '"':
			w.i, _ = w.textEnd(w.i)
		case '{', '[':
			depth++
			w.i++
		case '}', ']':
			depth--
			w.i++
		case ',', ':', ' ', '\t', '\n', '\r':
			w.i++
			continue
		default:
			for w.i < len(w.src) && strings.IndexByte(",:}] \t\n\r", w.src[w.i]) < 0 {
				w.i++
			}
		}
		if depth == 0 {
			return w.raw[from:w.i]
		}
	}
}

// rules are the configuration's rules for a value and the values below it: the
// rest of each pointer, and whether every string is hashed.
type rules struct {
	masks, removals, allow [][]string
	strict                 bool
}

// below returns the rules for a member or element, and whether it is masked or
// removed as a whole.
func (r rules) below(token string) (next rules, masked, removed bool) {
	if r.none() {
		return r, false, false
	}
	var allowed bool
	next.masks, masked = below(r.masks, token)
	next.removals, removed = below(r.removals, token)
	next.allow, allowed = below(r.allow, token)
	next.strict = r.strict && !allowed
	return next, masked, removed
}

// none reports that no pointer goes on here.
func (r rules) none() bool { return len(r.masks)+len(r.removals)+len(r.allow) == 0 }

// below returns the pointers that go on below a member or element.
func below(pointers [][]string, token string) (rest [][]string, here bool) {
	for _, m := range pointers {
		if len(m) > 0 && (m[0] == "*" || m[0] == token) {
			if len(m) == 1 {
				here = true
			}
			rest = append(rest, m[1:])
		}
	}
	return rest, here
}

var errDeep = &Error{ErrInput, "nested too deep"}

// value reads one value and redacts it. str and kind say what its name tells about it. shown is the text of a string
// as it is shown.
func (w *jsonWalk) value(rules rules, str strength, kind string) (shown string, err error) {
	from := w.i
	switch c := w.src[from]; c {
	case '{', '[':
		return "", w.container(rules, str, kind)
	case '"':
		s := w.text()
		if text, redacted := w.redacted(s, rules, str, kind); redacted {
			w.mask(from, text)
			return text, nil
		}
		return s, nil
	default:
		w.skip()
		raw := w.src[from:w.i]
		if !(c == '-' || c >= '0' && c <= '9') {
			return "", nil
		}
		if text, redacted := w.number(raw, str, kind); redacted {
			w.mask(from, text)
			return text, nil
		}
		return "", nil
	}
}

// redacted returns a text with its secrets redacted; false: it has none.
func (w *jsonWalk) redacted(s string, rules rules, str strength, kind string) (string, bool) {
	if openAs(kind, s) {
		str = none
	}
	if str != none && (credible(s, str, true) || wallet(kind, s)) && !wholly(s) {
		return w.r.complete(kind, s), true
	}
	if str != none {
		if rest, ok := authScheme(s); ok && (credible(rest, weak, true) || len(rest) >= 16 && credible(rest, strong, true)) {
			return s[:len(s)-len(rest)] + w.r.complete(kind, rest), true
		}
	}
	if rules.strict && !plainValue(s) && !wholly(s) {
		w.r.note(s)
		return w.r.placeholder(hashedText, s), true
	}
	out, found := w.r.redactCuts(w.look, s, w.r.cuts[w.at])
	return out, found != nil
}

// number returns the placeholder for a number that is a secret.
func (w *jsonWalk) number(raw string, str strength, kind string) (string, bool) {
	if str == strong {
		return w.r.placeholder(kind, raw), true
	}
	if cuts := w.r.cuts[w.at]; cuts != nil {
		return w.r.placeholder(cuts[0].kind(), raw), true
	}
	if w.r.record != nil {
		if kind, ok := w.r.record.known.number(raw); ok {
			return w.r.placeholder(kind, raw), true
		}
	}
	return "", false
}

// wholly reports a value that is a placeholder already.
func wholly(s string) bool { return s != "" && placeholderAt(s) == len(s) }

// mask puts a text into the place of what was read from src[from] on.
func (w *jsonWalk) mask(from int, text string) {
	w.keep(from)
	w.out, _ = jsontext.AppendQuote(w.out, text) // text is valid UTF-8: the document is
	w.done = w.i
	w.note()
}

// note lists a place whose value is not shown; places below a long name have one pointer.
func (w *jsonWalk) note() {
	if ptr := w.place(len(w.path)).Pointer(); len(w.masked) == 0 || w.masked[len(w.masked)-1] != ptr {
		w.masked = append(w.masked, ptr)
	}
}

// place is where the value stands to which the first n steps lead.
func (w *jsonWalk) place(n int) *phases.Place {
	if n == 0 {
		return nil
	}
	s := &w.path[n-1]
	if s.place == nil {
		if up := w.place(n - 1); s.index < 0 {
			s.place = up.Member(s.name)
		} else {
			s.place = up.Element(s.index)
		}
	}
	return s.place
}

func (w *jsonWalk) container(rules rules, str strength, kind string) error {
	if w.depth++; w.depth > maxDepth {
		return errDeep
	}
	object := w.src[w.i] == '{'
	w.i++
	w.path = append(w.path, step{})
	here, above := len(w.path)-1, w.at
	var secret secretObject
	first := true
	for n := 0; ; n++ {
		w.space()
		if w.src[w.i] == '}' || w.src[w.i] == ']' {
			break
		}
		from := w.i // of the entry with the comma before it
		if n > 0 {
			w.i = w.blank(from + 1)
		}
		entry := w.i
		w.path[here] = step{index: n}
		token := ""
		if object {
			token = w.text()
			w.path[here] = step{name: token, index: -1}
		} else if !rules.none() || w.r.cuts != nil {
			token = strconv.Itoa(n)
		}
		next, masked, removed := rules.below(token)
		if removed && object {
			w.leaveOut(from)
			continue
		}
		if first {
			w.drop(from, entry)
		} else {
			w.drop(from+1, entry)
		}
		first = false
		if w.r.cuts != nil {
			w.at = phases.Join(above, token)
		}
		childStr, childKind := str, kind
		named := object && len(w.r.names) > 0 && w.r.names[flat(token)]
		if object {
			token = w.name(token, entry)
			childKind, childStr = secret.childKind(token, kind, str)
		}
		switch covers := redactedAs(masked, named); {
		case removed:
			w.void()
		case covers != "":
			w.complete(covers)
		default:
			value := w.i
			shown, err := w.value(next, childStr, childKind)
			if err != nil {
				return err
			}
			if object {
				secret.see(token, w.src[value:w.i], shown)
			}
		}
		w.at = above
	}
	w.i++
	w.path = w.path[:here]
	w.depth--
	return nil
}

// name goes on to a member's value, behind its name, which was read from src[from] on. It redacts the name where a
// secret stands in it, and returns it as it is shown.
func (w *jsonWalk) name(name string, from int) string {
	shown, found := name, []Finding(nil)
	if !w.look.usual(name) {
		shown, found = w.r.redactCuts(w.look, name, nil)
	}
	if found != nil {
		w.renamed = true
		w.path[len(w.path)-1] = step{name: shown, index: -1}
		w.mask(from, shown)
	}
	w.space()
	w.i++ // the colon
	w.space()
	return shown
}

// leaveOut skips a member that is removed, whose name has been read; only its pointer stays. A secret in
// its name does not.
func (w *jsonWalk) leaveOut(from int) {
	shown, _ := w.r.redact(w.place(len(w.path)).Pointer())
	w.masked = append(w.masked, shown)
	w.i = w.blank(w.blank(w.i) + 1)
	w.r.learnAll("mask", w.skip())
	w.drop(from, w.i)
}

// void writes null for an element that is removed, so that the places of the
// others stay as they were.
func (w *jsonWalk) void() {
	from := w.i
	if w.src[from] != 'n' {
		w.note()
	}
	w.r.learnAll("mask", w.skip())
	w.keep(from)
	w.out = append(w.out, "null"...)
	w.done = w.i
}

// redactedAs says why a whole value is redacted, whatever it looks like: a mask
// stands on its place, or the operator has named its member; "" when neither.
func redactedAs(masked, named bool) string {
	switch {
	case masked:
		return "mask"
	case named:
		return "named"
	}
	return ""
}

// complete redacts a value of any type.
func (w *jsonWalk) complete(kind string) {
	from := w.i
	if w.src[from] != '"' {
		raw := w.skip()
		w.r.learnAll(kind, raw)
		w.mask(from, w.r.hashed(kind, string(raw)))
	} else if s := w.text(); !wholly(s) {
		w.mask(from, w.r.complete(kind, s))
	}
}

// secretObject notices a Kubernetes Secret, {"kind":"Secret","data":{…}}, and
// pairs, {"name":"API_TOKEN","value":"…"}, when the telling member comes first.
type secretObject struct {
	kind bool
	name string
}

// see is told each member: its value as it stands in the document, and as it is shown if it is a string.
func (o *secretObject) see(name, value, shown string) {
	if value[0] != '"' {
		return
	}
	if name == "kind" && shown == "Secret" && value == `"Secret"` {
		o.kind = true
	}
	if n := flat(name); n == "name" || n == "key" {
		o.name = shown
	}
}

// childKind tells the kind of a member's value by its name and by the names
// above.
func (o *secretObject) childKind(name, above string, str strength) (string, strength) {
	switch {
	case o.data(name):
		return "kubernetes-secret", strong
	case str != none && above == "kubernetes-secret":
		return above, str
	case o.name != "" && flat(name) == "value":
		return nameKind(o.name)
	case usualNames[name]:
		return "", none
	}
	return nameKind(name)
}

func (o *secretObject) data(name string) bool {
	return o.kind && (name == "data" || name == "stringData")
}

package redact

import (
	"bytes"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// maxDepth bounds how deep a document may nest.
const maxDepth = 256

// JSON redacts the secrets in a document and returns it with the RFC 6901
// pointers of the values that were changed, in order. Strings are looked at
// decoded; values without a secret retain their source bytes. Member names are
// kept unless a secret stands in one.
//
// Errors are of class ErrInput: not strict JSON, or nested too deep. The caller
// must not store the document then, only its digest.
func (r *Redactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	bad := &Error{ErrInput, "the document is not JSON that can be redacted"}
	check := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := check.ReadValue(); err != nil {
		return nil, nil, bad
	}
	if _, err := check.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, nil, &Error{ErrInput, "there is more after the document"}
	}
	w := jsonWalk{r: r, dec: jsontext.NewDecoder(bytes.NewReader(raw))}
	if err := w.value(nil, rules{r.masks, r.removals, r.allow, r.strict}, none, ""); err != nil {
		return nil, nil, bad
	}
	out := jsontext.Value(w.out)
	if w.renamed && !out.IsValid() { // two names may have become one
		return nil, nil, &Error{ErrInput, "the redacted document is not valid"}
	}
	return out, w.masked, nil
}

// jsonWalk copies a document token by token. The document is valid: reading it cannot fail.
type jsonWalk struct {
	r       *Redactor
	dec     *jsontext.Decoder
	out     []byte
	masked  []string
	depth   int
	renamed bool   // a name was redacted
	at      string // where the value stands in the original; "" unless there are cuts
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
	var allowed bool
	next.masks, masked = below(r.masks, token)
	next.removals, removed = below(r.removals, token)
	next.allow, allowed = below(r.allow, token)
	next.strict = r.strict && !allowed
	return next, masked, removed
}

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

// value copies one value. str and kind say what its name tells about it.
func (w *jsonWalk) value(at *phases.Place, rules rules, str strength, kind string) error {
	switch w.dec.PeekKind() {
	case '{', '[':
		return w.container(at, rules, str, kind)
	case '"':
		raw, _ := w.dec.ReadValue()
		s := unquote(raw)
		if openAs(kind, s) {
			str = none
		}
		if str != none && (credible(s, str, true) || wallet(kind, s)) && !wholly(s) {
			w.mask(at, w.r.complete(kind, s))
			return nil
		}
		cuts := w.r.cuts[w.at]
		if str != none {
			if rest, ok := authScheme(s); ok && (credible(rest, weak, true) || len(rest) >= 16 && credible(rest, strong, true)) {
				w.mask(at, s[:len(s)-len(rest)]+w.r.complete(kind, rest))
				return nil
			}
		}
		if rules.strict && !plainValue(s) && !wholly(s) {
			w.r.note(s)
			w.mask(at, w.r.placeholder(hashedText, s))
			return nil
		}
		if out, found := w.r.redactCuts(s, cuts); found != nil {
			w.mask(at, out)
			return nil
		}
		w.out = append(w.out, raw...)
		return nil
	default:
		raw, _ := w.dec.ReadValue()
		if str == strong && raw.Kind() == '0' {
			w.mask(at, w.r.placeholder(kind, string(raw)))
			return nil
		}
		if cuts := w.r.cuts[w.at]; raw.Kind() == '0' && cuts != nil {
			w.mask(at, w.r.placeholder(cuts[0].kind(), string(raw)))
			return nil
		}
		if raw.Kind() == '0' && w.r.record != nil {
			if kind, ok := w.r.record.known.number(string(raw)); ok {
				w.mask(at, w.r.placeholder(kind, string(raw)))
				return nil
			}
		}
		w.out = append(w.out, raw...)
		return nil
	}
}

// wholly reports a value that is a placeholder already.
func wholly(s string) bool { return s != "" && placeholderAt(s) == len(s) }

func (w *jsonWalk) mask(at *phases.Place, text string) {
	q, _ := jsontext.AppendQuote(nil, text) // text is valid UTF-8: the decoder has seen to it
	w.out = append(w.out, q...)
	w.note(at)
}

// note lists a place whose value is not shown; places below a long name have one pointer.
func (w *jsonWalk) note(at *phases.Place) {
	if ptr := at.Pointer(); len(w.masked) == 0 || w.masked[len(w.masked)-1] != ptr {
		w.masked = append(w.masked, ptr)
	}
}

func (w *jsonWalk) container(at *phases.Place, rules rules, str strength, kind string) error {
	if w.depth++; w.depth > maxDepth {
		return errDeep
	}
	defer func() { w.depth-- }()
	open, _ := w.dec.ReadToken()
	object := open.Kind() == '{'
	w.out = append(w.out, byte(open.Kind()))
	var secret secretObject
	first := true
	for i := 0; w.dec.PeekKind() != '}' && w.dec.PeekKind() != ']'; i++ {
		token, rawName := strconv.Itoa(i), jsontext.Value(nil)
		if object {
			raw, _ := w.dec.ReadValue()
			token, rawName = unquote(raw), raw.Clone()
		}
		next, masked, removed := rules.below(token)
		if removed && object {
			w.leaveOut(at.Member(token))
			continue
		}
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		above := w.at
		if w.r.cuts != nil {
			w.at = phases.Join(above, token)
		}
		childStr, childKind := str, kind
		named := object && w.r.names[flat(token)]
		if object {
			token = w.name(at, token, rawName)
			childKind, childStr = secret.childKind(token, kind, str)
		}
		child := at.Element(i)
		if object {
			child = at.Member(token)
		}
		switch covers := redactedAs(masked, named); {
		case removed:
			w.void(child)
		case covers != "":
			w.complete(child, covers)
		default:
			from := len(w.out)
			if err := w.value(child, next, childStr, childKind); err != nil {
				return err
			}
			if object {
				secret.see(token, w.out[from:])
			}
		}
		w.at = above
	}
	end, _ := w.dec.ReadToken()
	w.out = append(w.out, byte(end.Kind()))
	return nil
}

// name copies a member's name, redacted where a secret stands in it, and
// returns the copy.
func (w *jsonWalk) name(at *phases.Place, name string, raw jsontext.Value) string {
	shown, found := w.r.redact(name)
	if found == nil {
		w.out = append(append(w.out, raw...), ':')
		return name
	}
	w.renamed = true
	w.out, _ = jsontext.AppendQuote(w.out, shown)
	w.out = append(w.out, ':')
	w.note(at.Member(shown))
	return shown
}

// leaveOut skips a member that is removed; only its pointer stays. A secret in
// its name does not.
func (w *jsonWalk) leaveOut(at *phases.Place) {
	shown, _ := w.r.redact(at.Pointer())
	w.masked = append(w.masked, shown)
	w.skip()
}

// skip passes over a value that is not shown, and learns its texts.
func (w *jsonWalk) skip() {
	raw, _ := w.dec.ReadValue()
	w.r.learnAll("mask", raw)
}

// void writes null for an element that is removed, so that the places of the
// others stay what they were.
func (w *jsonWalk) void(at *phases.Place) {
	if w.dec.PeekKind() != 'n' {
		w.note(at)
	}
	w.out = append(w.out, "null"...)
	w.skip()
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
func (w *jsonWalk) complete(at *phases.Place, kind string) {
	raw, _ := w.dec.ReadValue()
	if raw.Kind() != '"' {
		w.r.learnAll(kind, raw)
		w.mask(at, w.r.hashed(kind, string(raw)))
	} else if s := unquote(raw); wholly(s) {
		w.out = append(w.out, raw...)
	} else {
		w.mask(at, w.r.complete(kind, s))
	}
}

// unquote returns the text of a string of JSON, or nothing for another value.
func unquote(raw jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, raw)
	return string(text)
}

// secretObject notices a Kubernetes Secret, {"kind":"Secret","data":{…}}, and
// pairs, {"name":"API_TOKEN","value":"…"}, when the telling member comes first.
type secretObject struct {
	kind bool
	name string
}

func (o *secretObject) see(name string, value []byte) {
	if name == "kind" && string(value) == `"Secret"` {
		o.kind = true
	}
	if n := flat(name); n == "name" || n == "key" {
		if text, err := jsontext.AppendUnquote(nil, value); err == nil {
			o.name = string(text)
		}
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
	}
	return nameKind(name)
}

func (o *secretObject) data(name string) bool {
	return o.kind && (name == "data" || name == "stringData")
}

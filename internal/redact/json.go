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

// JSON covers the secrets in a document and returns it with the RFC 6901
// pointers of the values that were changed, in order. Strings are looked at
// decoded; what has no secret keeps its source bytes. Member names are kept
// unless a secret stands in one.
//
// Errors are of class ErrInput: not strict JSON, or nested too deep. The caller
// must not store the document then, only its digest.
func (r *Redactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	w := jsonWalk{r: r, dec: jsontext.NewDecoder(bytes.NewReader(raw))}
	if err := w.value("", r.masks, r.allow, r.strict, none, ""); err != nil {
		return nil, nil, &Error{ErrInput, "the document is not JSON that can be redacted"}
	}
	if _, err := w.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, nil, &Error{ErrInput, "there is more after the document"}
	}
	out := jsontext.Value(w.out)
	if !out.IsValid() {
		return nil, nil, &Error{ErrInput, "the redacted document is not valid"}
	}
	return out, w.masked, nil
}

// jsonWalk copies a document token by token.
type jsonWalk struct {
	r      *Redactor
	dec    *jsontext.Decoder
	out    []byte
	masked []string
	depth  int
}

// below returns the masks that go on below a member or element.
func below(masks [][]string, token string) (rest [][]string, here bool) {
	for _, m := range masks {
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
func (w *jsonWalk) value(ptr string, masks, allow [][]string, strict bool, str strength, kind string) error {
	switch w.dec.PeekKind() {
	case '{', '[':
		return w.container(ptr, masks, allow, strict, str, kind)
	case '"':
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return err
		}
		s := string(text)
		if str != none && credible(s, str, true) && !wholly(s) {
			w.mask(ptr, w.r.placeholder(kind, s))
			return nil
		}
		if str != none {
			if rest, ok := authScheme(s); ok && (credible(rest, weak, true) || len(rest) >= 16 && credible(rest, strong, true)) {
				w.mask(ptr, s[:len(s)-len(rest)]+w.r.placeholder(kind, rest))
				return nil
			}
		}
		if strict && !plainValue(s) && !wholly(s) {
			w.mask(ptr, w.r.placeholder("text", s))
			return nil
		}
		if out, found := w.r.cover(s); found != nil {
			w.mask(ptr, out)
			return nil
		}
		w.out = append(w.out, raw...)
		return nil
	default:
		raw, err := w.dec.ReadValue()
		if err != nil {
			return err
		}
		if str == strong && raw.Kind() == '0' {
			w.mask(ptr, w.r.placeholder(kind, string(raw)))
			return nil
		}
		w.out = append(w.out, raw...)
		return nil
	}
}

// wholly reports a value that is a placeholder already.
func wholly(s string) bool { return s != "" && placeholderAt(s) == len(s) }

func (w *jsonWalk) mask(ptr, text string) {
	q, _ := jsontext.AppendQuote(nil, text) // text is valid UTF-8: the decoder has seen to it
	w.out = append(w.out, q...)
	w.masked = append(w.masked, ptr)
}

func (w *jsonWalk) container(ptr string, masks, allow [][]string, strict bool, str strength, kind string) error {
	if w.depth++; w.depth > maxDepth {
		return errDeep
	}
	defer func() { w.depth-- }()
	open, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	object := open.Kind() == '{'
	w.out = append(w.out, byte(open.Kind()))
	var secret secretObject
	for i := 0; w.dec.PeekKind() != '}' && w.dec.PeekKind() != ']'; i++ {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		token, childStr, childKind := strconv.Itoa(i), str, kind
		if object {
			raw, err := w.dec.ReadValue()
			if err != nil {
				return err
			}
			name, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return err
			}
			token = string(name)
			if shown, found := w.r.cover(token); found != nil {
				q, _ := jsontext.AppendQuote(nil, shown)
				w.out = append(w.out, q...)
				w.masked = append(w.masked, phases.Join(ptr, shown))
				token = shown
			} else {
				w.out = append(w.out, raw...)
			}
			w.out = append(w.out, ':')
			childKind, childStr = nameKind(token)
			if secret.name != "" && flat(token) == "value" {
				childKind, childStr = nameKind(secret.name)
			}
			if secret.data(token) {
				childKind, childStr = "kubernetes-secret", strong
			} else if str != none && kind == "kubernetes-secret" {
				childKind, childStr = kind, str
			}
		}
		at := phases.Join(ptr, token)
		rest, here := below(masks, token)
		if covers := coveredAs(here, object && w.r.names[flat(token)]); covers != "" {
			if err := w.whole(at, covers); err != nil {
				return err
			}
			continue
		}
		allowed, open := below(allow, token)
		from := len(w.out)
		if err := w.value(at, rest, allowed, strict && !open, childStr, childKind); err != nil {
			return err
		}
		if object {
			secret.see(token, w.out[from:])
		}
	}
	end, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	w.out = append(w.out, byte(end.Kind()))
	return nil
}

// coveredAs says why a whole value is covered, whatever it looks like: a mask
// stands on its place, or the operator has named its member; "" when neither.
func coveredAs(masked, named bool) string {
	switch {
	case masked:
		return "mask"
	case named:
		return "named"
	}
	return ""
}

// whole covers a value of any type.
func (w *jsonWalk) whole(ptr, kind string) error {
	raw, err := w.dec.ReadValue()
	if err != nil {
		return err
	}
	if raw.Kind() == '"' {
		if text, err := jsontext.AppendUnquote(nil, raw); err == nil && wholly(string(text)) {
			w.out = append(w.out, raw...)
			return nil
		}
	}
	w.mask(ptr, w.r.placeholder(kind, string(raw)))
	return nil
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

func (o *secretObject) data(name string) bool {
	return o.kind && (name == "data" || name == "stringData")
}

package audit

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// Cut notes the text that a turn has taken out of the action: it is redacted in
// its place in the input, and wherever else it stands in later records of the
// invocation. below limits that to text below one of the pointers; nil means
// the complete action. Errors are of class redact.ErrInput.
func (b *Builder) Cut(in *Input, before, after jsontext.Value, below []string) error {
	cuts, err := redact.Removed(before, after)
	if err != nil {
		return err
	}
	if below != nil {
		cuts = slices.DeleteFunc(cuts, func(c redact.Cut) bool {
			return !slices.ContainsFunc(below, func(p string) bool { return phases.Covers(p, c.Pointer) })
		})
	}
	if len(cuts) == 0 {
		return nil
	}
	if m, ok := b.Redactor.(Cutting); ok {
		m.Removed(cuts)
	}
	for _, c := range cuts {
		in.cuts = append(in.cuts, in.places(c, before)...)
	}
	*in = Input{inv: in.inv, cuts: in.cuts}
	return nil
}

// places says where in the input document the text stood that was cut out of before,
// a version of the action that other hooks may have changed meanwhile.
func (in *Input) places(c redact.Cut, before jsontext.Value) []redact.Cut {
	was, ok := textAt(in.inv.Action, c.Pointer)
	if !ok {
		return nil // a hook had put it there
	}
	at := "/action" + c.Pointer
	if now, _ := textAt(before, c.Pointer); now == was {
		c.Pointer = at
		return []redact.Cut{c}
	}
	var out []redact.Cut
	for from := 0; ; {
		i := strings.Index(was[from:], c.Text)
		if i < 0 {
			break
		}
		from += i + len(c.Text)
		out = append(out, redact.Cut{Pointer: at, From: from - len(c.Text), To: from, Text: c.Text})
	}
	if out == nil && was != "" { // another hook has changed it before: all of it
		out = []redact.Cut{{Pointer: at, From: 0, To: len(was), Text: was}}
	}
	return out
}

// textAt returns the string or the number at a pointer.
func textAt(doc jsontext.Value, ptr string) (string, bool) {
	v, ok := phases.Get(doc, ptr)
	if !ok {
		return "", false
	}
	switch v.Kind() {
	case '"':
		s, err := jsontext.AppendUnquote(nil, v)
		return string(s), err == nil
	case '0':
		return string(v), true
	}
	return "", false
}

// redacted redacts a document of which the cuts are parts. A redactor that cannot be
// told of them leaves nothing of the document.
func (b *Builder) redactCut(raw jsontext.Value, cuts []redact.Cut) (jsontext.Value, []string, error) {
	if len(cuts) == 0 {
		return b.Redactor.JSON(raw)
	}
	if r, ok := b.Redactor.(Cutting); ok {
		return r.JSONCut(raw, cuts)
	}
	return nil, []string{""}, nil
}

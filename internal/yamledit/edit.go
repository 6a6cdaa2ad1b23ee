// Package yamledit decides how one entry of a YAML file that a person wrote is
// added, changed or removed while every other byte stays: comments, blank lines,
// indentation, quotes, line ends. A change that it cannot make so, it refuses.
//
// Each way to write a change is tried on a copy, and the result is read again:
// it counts only when it is the former content with that change. So a mistake
// about where an entry ends refuses an edit; it never damages a file.
package yamledit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// Classes of errors, for errors.Is.
var (
	// ErrByHand means that the entry is written in a way that cannot be changed
	// without changing more than the entry.
	ErrByHand = errors.New("the file has to be edited by hand")
	// ErrNotFound means that the document has no such entry, or not of this kind.
	ErrNotFound = errors.New("there is no such entry")
)

// Error says why an edit was not made. It is an ErrByHand, an ErrNotFound, or, for a
// document that cannot be read, a strictyaml.ErrInvalid.
type Error struct {
	Reason string
	Err    error
}

func (e *Error) Error() string { return e.Reason }

func (e *Error) Unwrap() error { return e.Err }

// Path leads to an entry: a string is a member of a mapping, an int an index of a list.
type Path []any

func (p Path) String() string {
	var b strings.Builder
	for _, e := range p {
		fmt.Fprintf(&b, "/%v", e)
	}
	return b.String()
}

// Append adds values, each a JSON value, to the list that the path leads to. A list
// that is missing, or null, is made, and so is the mapping that it is a member of.
// No other byte changes, but the `[]` or `null` that the list takes the place of.
func Append(src []byte, path Path, values ...jsontext.Value) ([]byte, error) {
	var add []any
	for _, v := range values {
		x, err := generic(v)
		if err != nil {
			return nil, err
		}
		add = append(add, x)
	}
	want := func(root any) (any, bool) {
		return change(root, path, func(old any, _ bool) (any, bool) {
			list, ok := old.([]any)
			return append(slices.Clone(list), add...), ok || old == nil
		})
	}
	return edit(src, path, want, func(d *document) []splice { return d.appendTo(path, values) }, "add "+list(values)+" to")
}

// Set gives the member that the path leads to a scalar value, JSON as well. A member
// that is missing is added at the end of its mapping.
func Set(src []byte, path Path, value jsontext.Value) ([]byte, error) {
	x, err := generic(value)
	if err != nil {
		return nil, err
	}
	want := func(root any) (any, bool) {
		return change(root, path, func(any, bool) (any, bool) { return x, true })
	}
	return edit(src, path, want, func(d *document) []splice { return d.set(path, value) }, "write "+string(value)+" for")
}

// Remove takes out the entry that the path leads to, with the comments inside of it.
// Comments above it stay. A list that becomes empty is written as `[]`.
func Remove(src []byte, path Path) ([]byte, error) {
	want := func(root any) (any, bool) {
		return change(root, path, func(_ any, exists bool) (any, bool) { return gone{}, exists })
	}
	return edit(src, path, want, func(d *document) []splice { return d.remove(path) }, "remove")
}

func list(values []jsontext.Value) string {
	var out []string
	for _, v := range values {
		out = append(out, string(v))
	}
	return strings.Join(out, ", ")
}

// edit tries the ways to write a change until one has the wanted result.
func edit(src []byte, path Path, want func(any) (any, bool), ways func(*document) []splice, do string) ([]byte, error) {
	before, err := strictyaml.Parse(src)
	if err != nil {
		return nil, &Error{Reason: "it cannot be read: " + err.Error(), Err: err}
	}
	root, err := generic(before.JSON)
	if err != nil {
		return nil, err
	}
	after, ok := want(root)
	if !ok {
		return nil, &Error{Reason: fmt.Sprintf("nothing can be done at %v: it is not there, or not of that kind", path),
			Err: ErrNotFound}
	}
	d, err := read(src)
	if err != nil {
		return nil, err
	}
	for _, s := range ways(d) {
		out := s.apply(src)
		now, err := strictyaml.Parse(out)
		if err != nil {
			continue
		}
		if have, err := generic(now.JSON); err == nil && reflect.DeepEqual(have, after) {
			return out, nil
		}
	}
	at := path.String()
	if line := before.Line(at); line > 0 {
		at += fmt.Sprintf(" (line %d)", line)
	}
	if len(do) > 400 {
		do = strings.ToValidUTF8(do[:400], "") + "…"
	}
	return nil, &Error{Reason: "edit by hand: " + do + " " + at +
		"; it is written in a way in which belay cannot do that and leave the rest as it is", Err: ErrByHand}
}

// gone stands for what a change takes out.
type gone struct{}

// change returns a copy of a document in which f has replaced what the path leads to.
// Members that are missing on the way are made. false: the path leads through
// something else, or f says so.
func change(v any, path Path, f func(old any, exists bool) (any, bool)) (any, bool) {
	if len(path) == 0 {
		return f(v, true)
	}
	switch step := path[0].(type) {
	case string:
		m, ok := v.(map[string]any)
		if !ok && v != nil {
			return nil, false
		}
		out := map[string]any{}
		for k, x := range m {
			out[k] = x
		}
		old, exists := m[step]
		var next any
		if len(path) == 1 {
			next, ok = f(old, exists)
		} else {
			next, ok = change(old, path[1:], f)
		}
		if _, drop := next.(gone); drop {
			delete(out, step)
		} else {
			out[step] = next
		}
		return out, ok
	case int:
		l, ok := v.([]any)
		if !ok || step < 0 || step >= len(l) {
			return nil, false
		}
		next, ok := change(l[step], path[1:], f)
		if _, drop := next.(gone); drop {
			return slices.Delete(slices.Clone(l), step, step+1), ok
		}
		out := slices.Clone(l)
		out[step] = next
		return out, ok
	}
	return nil, false
}

// number keeps a number as it is written: two that differ are never taken for one.
type number string

// generic decodes JSON for comparing.
func generic(v jsontext.Value) (any, error) {
	var out any
	err := json.Unmarshal(v, &out,
		json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, to *any) error {
			if dec.PeekKind() != '0' {
				return errors.ErrUnsupported
			}
			n, err := dec.ReadValue()
			*to = number(n)
			return err
		})))
	if err != nil {
		return nil, &Error{Reason: "it cannot be compared: " + err.Error(), Err: err}
	}
	return out, nil
}

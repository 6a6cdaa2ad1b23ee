package strictyaml

import (
	"bytes"
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/near"
)

// At names the file before the place of an error of this package, as compilers and editors do:
// FILE:LINE:COLUMN: POINTER: REASON. It writes other errors behind the file's name.
func At(file string, err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return file + ": " + err.Error()
	}
	return file + e.place(":", ":") + e.rest()
}

// In is an error as At writes it, of the same classes.
func In(file string, err error) error { return &inFile{At(file, err), err} }

type inFile struct {
	text  string
	cause error
}

func (e *inFile) Error() string { return e.text }
func (e *inFile) Unwrap() error { return e.cause }

// encodingOf names what a file is encoded in by its first bytes; "" is none of those that are known.
func encodingOf(src []byte) string {
	switch {
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}), bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		return "UTF-16"
	case bytes.HasPrefix(src, []byte{0x1f, 0x8b}):
		return "compressed with gzip"
	}
	return ""
}

// mostNames is how many names of members a message lists.
const mostNames = 20

// unknownMember says which member may have been meant, or which there are.
func unknownMember(name string, t reflect.Type) string {
	const text = "unknown member"
	names := members(t)
	if question := near.Question(name, names); question != "" {
		return text + "; " + question
	}
	if len(names) == 0 || len(names) > mostNames {
		return text
	}
	return text + "; there are " + near.List(names)
}

// members are the names that a type has in a document.
func members(t reflect.Type) []string {
	for t != nil && (t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name == "" && (f.Anonymous || slices.Contains(strings.Split(options, ","), "inline")):
			names = append(names, members(f.Type)...)
		case name != "":
			names = append(names, name)
		}
	}
	return names
}

// wrongType says what stands there, and what belongs there.
func wrongType(is jsontext.Kind, want reflect.Type) string {
	text := "wrong type: " + kindName(is) + " does not fit here"
	if name := typeName(want); name != "" && name != kindName(is) {
		text += ", but " + name
	}
	return text
}

// typeName is what a type is in a document, or "" for one that decodes itself.
func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a text"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Int,
		reflect.Int8,
		reflect.Int16,
		reflect.Int32,
		reflect.Int64,
		reflect.Uint,
		reflect.Uint8,
		reflect.Uint16,
		reflect.Uint32,
		reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct:
		if names := members(t); len(names) > 0 && len(names) <= mostNames {
			return "an object with " + near.List(names)
		}
		return "an object"
	case reflect.Map:
		return "an object"
	}
	return ""
}

// tabAt finds a tab that indents the line of a fault, or the line before, whose end is where the library noticed.
func tabAt(src []byte, line int) (at, column int) {
	lines := bytes.Split(src, []byte("\n"))
	for _, n := range []int{line, line - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		indent := lines[n-1][:len(lines[n-1])-len(bytes.TrimLeft(lines[n-1], " \t"))]
		if i := bytes.IndexByte(indent, '\t'); i >= 0 {
			return n, i + 1
		}
	}
	return 0, 0
}

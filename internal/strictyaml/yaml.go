// Package strictyaml decides whether a YAML file written by a person is
// unambiguous, and turns it into JSON so that one strict decoder serves every
// format: unknown members, duplicate keys, anchors, aliases, tags, odd numbers
// and second documents are refused with the line they stand on.
//
// It never fills in defaults and never guesses a type that JSON would not have.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// MaxSize is the largest file accepted, in bytes.
const MaxSize = 4 << 20

const maxDepth = 64

// ErrInvalid is the class of every error of this package.
var ErrInvalid = errors.New("invalid document")

// Error names a fault and its place. Line and Column count from 1; they are 0
// when the place is not known.
type Error struct {
	Line, Column int
	Pointer      string // RFC 6901, into the document
	Reason       string
}

func (e *Error) Error() string { return e.place("line ", ", column ") + e.rest() }

// place is the place, if it is known, with what stands before its line and its column.
func (e *Error) place(line, column string) string {
	switch {
	case e.Line <= 0:
		if line == ":" {
			return ": "
		}
		return ""
	case e.Column <= 0:
		return line + strconv.Itoa(e.Line) + ": "
	}
	return line + strconv.Itoa(e.Line) + column + strconv.Itoa(e.Column) + ": "
}

// rest is the error without its place.
func (e *Error) rest() string {
	if e.Pointer == "" {
		return e.Reason
	}
	return e.Pointer + ": " + e.Reason
}

// Is reports that the error is an ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Document is a YAML document as JSON, with the lines of its members.
type Document struct {
	JSON  jsontext.Value
	lines map[string][2]int // JSON Pointer -> line, column
}

// Parse turns one YAML document into JSON. An empty file is the JSON null.
func Parse(src []byte) (*Document, error) {
	if len(src) > MaxSize {
		return nil, &Error{Reason: fmt.Sprintf("larger than %d bytes", MaxSize)}
	}
	if other := encodingOf(src); other != "" {
		return nil, &Error{Line: 1, Column: 1, Reason: "this is " + other + ": save it as UTF-8"}
	}
	if !utf8.Valid(src) {
		at := placeOf(src[:firstBad(src)])
		return nil, &Error{Line: at[0], Column: at[1], Reason: "not valid UTF-8: save the file as UTF-8"}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		return nil, &Error{Reason: err.Error()}
	}
	var root, second yaml.Node
	switch err := loader.Load(&root); {
	case errors.Is(err, io.EOF):
		return &Document{JSON: jsontext.Value("null"), lines: map[string][2]int{}}, nil
	case err != nil:
		return nil, yamlError(src, err)
	}
	if err := loader.Load(&second); err == nil {
		return nil, &Error{Line: second.Line, Reason: "a second document: only one is allowed"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlError(src, err)
	}
	d := &Document{lines: map[string][2]int{}}
	var out bytes.Buffer
	n := &root
	if n.Kind == yaml.DocumentNode && len(n.Content) == 1 {
		n = n.Content[0]
	}
	if err := d.node(&out, n, "", 0); err != nil {
		return nil, err
	}
	d.JSON = out.Bytes()
	return d, nil
}

// Decode decodes the document strictly into v: unknown members and wrong types
// are refused with the line they stand on.
func (d *Document) Decode(v any) error { return d.DecodePart("", d.JSON, v) }

// DecodePart is Decode for the part of the document that stands at a pointer.
func (d *Document) DecodePart(pointer string, part jsontext.Value, v any) error {
	err := json.Unmarshal(part, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var sem *json.SemanticError
	if errors.As(err, &sem) {
		ptr := pointer + string(sem.JSONPointer)
		reason := "wrong type"
		switch {
		case errors.Is(err, json.ErrUnknownName):
			reason = unknownMember(sem.JSONPointer.LastToken(), sem.GoType)
		case errors.Is(sem.Err, strconv.ErrSyntax) || errors.Is(sem.Err, strconv.ErrRange):
			reason = "must be a whole number that fits here"
		case sem.Err != nil:
			reason = sem.Err.Error()
		case sem.GoType != nil:
			reason = wrongType(sem.JSONKind, sem.GoType)
		}
		return d.Errorf(ptr, "%s", reason)
	}
	return &Error{Reason: err.Error()}
}

// Has reports whether the document has a member or element at the pointer, at no cost.
func (d *Document) Has(pointer string) bool {
	_, ok := d.lines[pointer]
	return ok
}

// Line returns the line of the member that the pointer names, or of its nearest
// ancestor that has one; 0 when none has.
func (d *Document) Line(pointer string) int {
	for p := pointer; ; {
		if at, ok := d.lines[p]; ok {
			return at[0]
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return 0
		}
		p = p[:i]
	}
}

// Errorf returns an error at the member that the pointer names, or at its
// nearest ancestor that has a line.
func (d *Document) Errorf(pointer, format string, args ...any) error {
	e := &Error{Pointer: pointer, Reason: fmt.Sprintf(format, args...)}
	for p := pointer; ; {
		if at, ok := d.lines[p]; ok {
			e.Line, e.Column = at[0], at[1]
			return e
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return e
		}
		p = p[:i]
	}
}

// Unmarshal parses and decodes in one step.
func Unmarshal(src []byte, v any) error {
	d, err := Parse(src)
	if err != nil {
		return err
	}
	return d.Decode(v)
}

func (d *Document) node(out *bytes.Buffer, n *yaml.Node, ptr string, depth int) error {
	d.lines[ptr] = [2]int{n.Line, n.Column}
	if depth > maxDepth {
		return d.Errorf(ptr, "nested deeper than %d", maxDepth)
	}
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return d.Errorf(ptr, "anchors and aliases are not allowed: write the value out")
	}
	switch n.Kind {
	case yaml.MappingNode:
		return d.mapping(out, n, ptr, depth)
	case yaml.SequenceNode:
		out.WriteByte('[')
		for i, c := range n.Content {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := d.node(out, c, ptr+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	case yaml.ScalarNode:
		return d.scalar(out, n, ptr)
	}
	return d.Errorf(ptr, "unexpected YAML construct")
}

func (d *Document) mapping(out *bytes.Buffer, n *yaml.Node, ptr string, depth int) error {
	if tag := n.ShortTag(); tag != "!!map" {
		return d.Errorf(ptr, "tag %s is not allowed", tag)
	}
	seen := map[string]bool{}
	out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Anchor != "" {
			return d.Errorf(ptr, "a key must be a plain text")
		}
		member := ptr + "/" + escape.Replace(k.Value)
		d.lines[member] = [2]int{k.Line, k.Column}
		if tag := k.ShortTag(); tag != "!!str" {
			return d.Errorf(member, "a key must be a text: put %q in quotes", k.Value)
		}
		if seen[k.Value] {
			return d.Errorf(member, "duplicate key")
		}
		seen[k.Value] = true
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeString(out, k.Value); err != nil {
			return d.Errorf(member, "%v", err)
		}
		out.WriteByte(':')
		if err := d.node(out, n.Content[i+1], member, depth+1); err != nil {
			return err
		}
		d.lines[member] = [2]int{k.Line, k.Column}
	}
	out.WriteByte('}')
	return nil
}

func (d *Document) scalar(out *bytes.Buffer, n *yaml.Node, ptr string) error {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		if err := writeString(out, n.Value); err != nil {
			return d.Errorf(ptr, "%v", err)
		}
	case "!!null":
		out.WriteString("null")
	case "!!bool":
		if n.Value != "true" && n.Value != "false" {
			return d.Errorf(ptr, "write true or false, not %s", n.Value)
		}
		out.WriteString(n.Value)
	case "!!int":
		digits := strings.TrimPrefix(n.Value, "-")
		if _, err := strconv.ParseInt(n.Value, 10, 64); err != nil || (len(digits) > 1 && digits[0] == '0') ||
			digits[0] == '+' {
			return d.Errorf(ptr, "write whole numbers in plain decimal, not %s", n.Value)
		}
		out.WriteString(n.Value)
	case "!!float":
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return d.Errorf(ptr, "not a number that JSON can hold: %s", n.Value)
		}
		b, err := json.Marshal(f)
		if err != nil {
			return d.Errorf(ptr, "%v", err)
		}
		out.Write(b)
	default:
		return d.Errorf(ptr, "tag %s is not allowed", tag)
	}
	return nil
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

func writeString(out *bytes.Buffer, s string) error {
	b, err := jsontext.AppendQuote(out.AvailableBuffer(), s)
	if err != nil {
		return err
	}
	out.Write(b)
	return nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a text"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	return "this value"
}

// yamlError keeps the library's line, which stands in its text, and its reason.
// yamlPlace is how the library says where something is: of two places the
// second is the fault's, the first where it began.
var yamlPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`\A(?:go-yaml )?load error in [a-z]+(?: \([^)]*\))? at (?:L[0-9]+(?:\.C[0-9]+)?-)?(?:L([0-9]+)(?:\.C([0-9]+))?|<unknown position>): ((?s).*)\z`)
})

// yamlError says what the library says, with its place where ours stand.
func yamlError(src []byte, err error) error {
	e := &Error{Reason: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlPlace().FindStringSubmatch(strings.TrimPrefix(err.Error(), "yaml: ")); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Column, _ = strconv.Atoi(m[2])
		e.Reason = "not YAML: " + m[3]
	}
	if line, tab := tabAt(src, e.Line); tab > 0 {
		e.Line, e.Column, e.Reason = line, tab, "not YAML: a tab, and YAML is indented by blanks"
	}
	if e.Line == 0 { // it does not say where control characters are
		before, _, found := bytes.Cut(src, []byte{0})
		if i := bytes.IndexFunc(src, func(r rune) bool {
			return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n\u0085", r)
		}); i >= 0 {
			before, found = src[:i], true
		}
		if found {
			at := placeOf(before)
			e.Line, e.Column = at[0], at[1]
		}
	}
	return e
}

// firstBad returns where the first bytes stand that are no UTF-8.
func firstBad(src []byte) int {
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(src)
}

// placeOf returns line and column, in characters, of what follows a text.
func placeOf(before []byte) [2]int {
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return [2]int{1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(line)}
}

// Package jsonedit decides how members and elements of a JSON document that a person wrote are
// added and taken out while every other byte stays: the order of members, indentation, line ends,
// members that belay does not know.
//
// Taking out what was added gives the former bytes back. What belay cannot see from the content,
// it keeps in blanks: an object or a list that stood empty before ends with " }" or " ]", and a
// member that Put added has a blank before its colon. A program that formats the file anew loses
// these marks; then an object that is empty goes too, and a member of Put stays.
package jsonedit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a document.
const (
	MaxSize  = 1 << 20 // bytes
	maxDepth = 64
)

// Classes of errors, for errors.Is.
var (
	// ErrInvalid means that the document is not strict JSON, or larger than MaxSize.
	ErrInvalid = errors.New("not a document that can be edited")
	// ErrShape means that the path leads through a value of another kind.
	ErrShape = errors.New("a value of another kind stands there")
)

// Error says which document was refused, and where. It is an ErrInvalid or an ErrShape.
type Error struct {
	Line   int // from 1; 0: the document as a whole
	Reason string
	Err    error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
}

func (e *Error) Unwrap() error { return e.Err }

// Node is a value with its place in the document.
type Node struct {
	Kind       jsontext.Kind // '{', '[', '"', '0', 't', 'f', 'n'
	Start, End int           // bytes of the value
	Members    []Member      // of an object, in order
	Elements   []*Node       // of a list
}

// Member is a member of an object with its place.
type Member struct {
	Name       string
	Start, End int // bytes of the name, quotes included
	Value      *Node
}

// Member returns the value of the member, or nil. A nil node has none.
func (n *Node) Member(name string) *Node {
	if n == nil {
		return nil
	}
	for i := range n.Members {
		if n.Members[i].Name == name {
			return n.Members[i].Value
		}
	}
	return nil
}

// Items returns the elements of a list; a nil node has none.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.Elements
}

// Line returns the line on which the byte stands, from 1.
func Line(src []byte, at int) int { return 1 + bytes.Count(src[:min(at, len(src))], []byte("\n")) }

// Parse reads a document strictly: one value, valid UTF-8, no name twice in an object, no
// comments, at most MaxSize bytes and 64 levels. Errors are ErrInvalid.
func Parse(src []byte) (*Node, error) {
	if len(src) > MaxSize {
		return nil, &Error{Reason: fmt.Sprintf("the document has %d bytes, the limit is %d", len(src), MaxSize),
			Err: ErrInvalid}
	}
	dec := jsontext.NewDecoder(bytes.NewReader(src))
	n, err := value(dec, src, 0)
	if err == nil {
		if _, after := dec.ReadToken(); after == nil {
			err = &Error{Line: Line(src, int(dec.InputOffset())), Reason: "a second value follows", Err: ErrInvalid}
		} else if !errors.Is(after, io.EOF) {
			err = after
		}
	}
	if err == nil {
		return n, nil
	}
	var own *Error
	if errors.As(err, &own) {
		return nil, err
	}
	at := int(dec.InputOffset())
	if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) {
		at = int(syntax.ByteOffset)
	}
	return nil, &Error{Line: Line(src, at), Reason: "it is not strict JSON: " + cause(err), Err: ErrInvalid}
}

// cause says what the library found, without its own name and offsets.
func cause(err error) string {
	if syntax := new(jsontext.SyntacticError); errors.As(err, &syntax) {
		text := "at " + string(syntax.JSONPointer)
		if syntax.JSONPointer == "" {
			text = "at the top"
		}
		return syntax.Err.Error() + " " + text
	}
	if errors.Is(err, io.EOF) {
		return "the document ends too early"
	}
	return err.Error()
}

func value(dec *jsontext.Decoder, src []byte, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, &Error{Line: Line(src, int(dec.InputOffset())), Reason: "it is nested too deeply", Err: ErrInvalid}
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	n := &Node{Kind: tok.Kind(), End: int(dec.InputOffset())}
	n.Start = n.End - 1
	switch n.Kind {
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			m := Member{Name: name.String(), End: int(dec.InputOffset())}
			m.Start = opening(src, m.End)
			if m.Value, err = value(dec, src, depth+1); err != nil {
				return nil, err
			}
			n.Members = append(n.Members, m)
		}
	case '[':
		for dec.PeekKind() != ']' {
			e, err := value(dec, src, depth+1)
			if err != nil {
				return nil, err
			}
			n.Elements = append(n.Elements, e)
		}
	case '"':
		n.Start = opening(src, n.End)
		return n, nil
	case '0':
		n.Start = n.End - len(tok.String())
		for n.Start > 0 && strings.IndexByte("0123456789+-.eE", src[n.Start-1]) >= 0 {
			n.Start--
		}
		return n, nil
	default: // true, false, null
		n.Start = n.End - len(tok.String())
		return n, nil
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	n.End = int(dec.InputOffset())
	return n, nil
}

// opening returns where the string begins that ends before end.
func opening(src []byte, end int) int {
	for i := end - 2; i >= 0; i-- {
		if src[i] != '"' {
			continue
		}
		back := 0
		for i-1-back >= 0 && src[i-1-back] == '\\' {
			back++
		}
		if back%2 == 0 {
			return i
		}
	}
	return 0
}

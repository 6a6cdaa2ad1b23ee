package jsonedit

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Put adds the member that the path ends with, and the objects on the way that are missing. The
// path has no member of this name. src nil makes a document. With marked, Unput can tell the
// member from one that stood there. Errors are ErrInvalid and ErrShape.
func Put(src []byte, path []string, value jsontext.Value, marked bool) ([]byte, error) {
	return add(src, path, func(string) string { return string(value) }, marked)
}

// Append adds an element to the list that the path leads to, and makes the list and the objects
// on the way that are missing. Errors are as of Put.
func Append(src []byte, path []string, element jsontext.Value) ([]byte, error) {
	if src != nil {
		root, err := Parse(src)
		if err != nil {
			return nil, err
		}
		if list := find(root, path); list != nil {
			if list.Kind != '[' {
				return nil, misshapen(src, list, path, "a list")
			}
			return into(src, list, string(element)), nil
		}
	}
	return add(src, path, func(string) string { return "[" + string(element) + "]" }, false)
}

// Replace gives the value at these bytes, a Node's Start and End, other bytes.
func Replace(src []byte, start, end int, value jsontext.Value) []byte {
	return slices.Concat(src[:start], value, src[end:])
}

// find returns the value that the path leads to, or nil.
func find(n *Node, path []string) *Node {
	for _, name := range path {
		n = n.Member(name)
	}
	return n
}

func add(src []byte, path []string, value func(indent string) string, marked bool) ([]byte, error) {
	if src == nil {
		return []byte(nested(path, "\n", "  ", value, marked) + "\n"), nil
	}
	root, err := Parse(src)
	if err != nil {
		return nil, err
	}
	if root.Kind != '{' {
		return nil, misshapen(src, root, nil, "an object")
	}
	n, depth := root, 0
	for depth < len(path) {
		next := n.Member(path[depth])
		if next == nil {
			break
		}
		depth++
		if next.Kind != '{' || depth == len(path) {
			return nil, misshapen(src, next, path[:depth], "an object")
		}
		n = next
	}
	unit := ""
	if len(root.Members) > 0 {
		unit = afterBreak(src[root.Start+1 : root.Members[0].Start])
	}
	member := name(path[depth], marked && depth == len(path)-1)
	if depth == len(path)-1 {
		return into(src, n, member+value("")), nil
	}
	sep := separator(src, n)
	if afterBreak([]byte(sep)) == "" {
		return into(src, n, member+nested(path[depth+1:], "", "", value, marked)), nil
	}
	return into(src, n, member+nested(path[depth+1:], sep, unit, value, marked)), nil
}

// nested writes an object with one member, which may be an object again. sep is the break and the
// indentation of the object's own line, or "" for one line.
func nested(path []string, sep, unit string, value func(string) string, marked bool) string {
	if len(path) == 0 {
		return value(sep)
	}
	inner := sep
	if sep != "" {
		inner += unit
	}
	return "{" + inner + name(path[0], marked && len(path) == 1) + nested(path[1:], inner, unit, value, marked) + sep + "}"
}

func name(n string, marked bool) string {
	quoted, err := jsontext.AppendQuote(nil, n)
	if err != nil { // names are belay's own: they are valid
		panic(err)
	}
	if marked {
		return string(quoted) + " : "
	}
	return string(quoted) + ": "
}

// separator is the space before the last member or element, which a new one gets, too.
func separator(src []byte, n *Node) string {
	if k := n.len(); k > 0 {
		from := n.Start + 1
		if k > 1 {
			_, from = n.item(k - 2)
			from += bytes.IndexByte(src[from:], ',') + 1
		}
		start, end := n.item(k - 1)
		sep := string(src[from:start])
		if sep == "" && k == 1 && bytes.Contains(src[start:end], []byte(": ")) {
			return " "
		}
		return sep
	}
	return string(src[n.Start+1 : n.End-1])
}

func (n *Node) len() int { return max(len(n.Members), len(n.Elements)) }

// item returns the bytes of a member or an element.
func (n *Node) item(i int) (start, end int) {
	if n.Kind == '{' {
		return n.Members[i].Start, n.Members[i].Value.End
	}
	return n.Elements[i].Start, n.Elements[i].End
}

// into adds text as the last item. What stood empty keeps its blanks, and ends with one more.
func into(src []byte, n *Node, text string) []byte {
	if k := n.len(); k > 0 {
		_, end := n.item(k - 1)
		return slices.Concat(src[:end], []byte(","+separator(src, n)+text), src[end:])
	}
	return slices.Concat(src[:n.End-1], []byte(text+" "), src[n.End-1:])
}

// Cut takes an item of the object or list out. emptied says that nothing is left in it, and that
// it did not stand empty before: it is to be cut as well.
func Cut(src []byte, n *Node, i int) (out []byte, emptied bool) {
	start, end := n.item(i)
	switch k := n.len(); {
	case k == 1 && stoodEmpty(src, n):
		return slices.Concat(src[:start], src[n.End-1:]), false
	case k == 1:
		return slices.Concat(src[:n.Start+1], src[n.End-1:]), true
	case i == 0:
		next, _ := n.item(1)
		return slices.Concat(src[:start], src[next:]), false
	default:
		_, before := n.item(i - 1)
		return slices.Concat(src[:before], src[end:]), false
	}
}

// stoodEmpty reports whether the object or list was empty before its one item came.
func stoodEmpty(src []byte, n *Node) bool {
	_, end := n.item(0)
	return string(src[end:n.End-1]) == " "
}

// Unput takes out the member that Put added with a mark, and the objects that it leaves empty and
// that did not stand so. It returns src as it is when there is no such member, or it has no mark.
// nil means that nothing is left of the document.
func Unput(src []byte, path []string) ([]byte, error) {
	root, err := Parse(src)
	if err != nil {
		return nil, err
	}
	n := find(root, path[:len(path)-1])
	if n == nil || n.Kind != '{' {
		return src, nil
	}
	for i := range n.Members {
		if m := &n.Members[i]; m.Name == path[len(path)-1] && bytes.HasPrefix(src[m.End:], []byte(" :")) {
			return CutAt(src, path[:len(path)-1], i)
		}
	}
	return src, nil
}

// CutAt takes out an item of what the path leads to, and each object on the way that this leaves
// empty and that did not stand so. nil means that nothing is left of the document. Errors are
// ErrInvalid, and ErrShape where there is no such item.
func CutAt(src []byte, path []string, i int) ([]byte, error) {
	root, err := Parse(src)
	if err != nil {
		return nil, err
	}
	n := find(root, path)
	if n == nil || i >= n.len() {
		return nil, &Error{Reason: fmt.Sprintf("there is no item %d at /%s", i, join(path)), Err: ErrShape}
	}
	out, emptied := Cut(src, n, i)
	if !emptied {
		return out, nil
	}
	if len(path) == 0 {
		return nil, nil
	}
	up := find(root, path[:len(path)-1])
	at := slices.IndexFunc(up.Members, func(m Member) bool { return m.Name == path[len(path)-1] })
	return CutAt(out, path[:len(path)-1], at)
}

func afterBreak(space []byte) string {
	if i := bytes.LastIndexByte(space, '\n'); i >= 0 {
		return string(space[i+1:])
	}
	return ""
}

func join(path []string) string {
	var b bytes.Buffer
	for i, p := range path {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(p)
	}
	return b.String()
}

func misshapen(src []byte, n *Node, path []string, want string) error {
	return &Error{Line: Line(src, n.Start), Reason: fmt.Sprintf("/%s is not %s", join(path), want), Err: ErrShape}
}

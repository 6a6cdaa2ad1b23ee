package connect

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters/cursor"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/internal/jsonedit"
)

// groups is the form that Claude Code, Codex and Gemini CLI share: an object `hooks` with a list for each
// event, of groups that hold handlers. Belay has one group with one handler for an event. Cursor's lists
// are flat: a handler stands for its group.
type groups struct {
	runtime string
	flat    bool
	events  []string // that belay is registered for
	group   func(event string) (jsontext.Value, error)
	command func(src []byte, handler *jsonedit.Node) []string // the words that a handler starts
}

// alone says what keeps other hooks out, where something does.
func (g groups) alone() string {
	if g.runtime == geminicli.Runtime {
		return " Gemini CLI has no setting that keeps other hooks out."
	}
	if g.runtime == cursor.Runtime {
		return " No setting of Cursor's is known that keeps other hooks out."
	}
	return " Managed settings keep all other hooks out."
}

// handlers returns those of a group.
func (g groups) handlers(group *jsonedit.Node) []*jsonedit.Node {
	if g.flat {
		return []*jsonedit.Node{group}
	}
	return group.Member("hooks").Elements
}

// place is a handler of belay's in the list of an event.
type place struct {
	group, handler int
	alone          bool // the only handler of its group
	inv            invocation
}

func (g groups) owned(src []byte, list *jsonedit.Node) (out []place) {
	if list == nil || list.Kind != '[' {
		return nil
	}
	for i, group := range list.Elements {
		list := group.Member("hooks")
		if group.Kind != '{' || !g.flat && (list == nil || list.Kind != '[') {
			continue
		}
		handlers := g.handlers(group)
		for j, h := range handlers {
			if inv, own := ownCommand(g.command(src, h), g.runtime); own {
				out = append(out, place{group: i, handler: j, alone: len(handlers) == 1, inv: inv})
			}
		}
	}
	return out
}

// connect has each event ask belay, once, and no other.
func (g groups) connect(src []byte) ([]byte, error) {
	out := src
	root, err := parse(out)
	if err != nil {
		return nil, err
	}
	for _, m := range members(root.Member("hooks")) {
		if slices.Contains(g.events, m) {
			continue
		}
		if out, err = g.drop(out, m); err != nil {
			return nil, err
		}
	}
	for _, e := range g.events {
		if out, err = g.settle(out, e); err != nil {
			return nil, err
		}
	}
	return out, g.same(src, out)
}

// disconnect takes all entries of belay's out. nil means that nothing else was in the document.
func (g groups) disconnect(src []byte) ([]byte, error) {
	root, err := parse(src)
	if err != nil {
		return nil, err
	}
	for _, m := range members(root.Member("hooks")) {
		if src, err = g.drop(src, m); err != nil {
			return nil, err
		}
	}
	return src, nil
}

// settle leaves exactly one entry for the event, and changes nothing where it is as it should be.
func (g groups) settle(src []byte, event string) ([]byte, error) {
	want, err := g.group(event)
	if err != nil {
		return nil, err
	}
	for {
		root, err := parse(src)
		if err != nil {
			return nil, err
		}
		list := root.Member("hooks").Member(event)
		own := g.owned(src, list)
		if len(own) == 0 {
			return jsonedit.Append(src, []string{"hooks", event}, want)
		}
		if last := own[len(own)-1]; len(own) > 1 || !last.alone {
			if src, err = cut(src, event, list, last); err != nil {
				return nil, err
			}
			continue
		}
		there := list.Elements[own[0].group]
		if equal(src[there.Start:there.End], want) {
			return src, nil
		}
		return jsonedit.Replace(src, there.Start, there.End, want), nil
	}
}

// drop takes belay's entries of an event out.
func (g groups) drop(src []byte, event string) ([]byte, error) {
	for {
		root, err := parse(src)
		if err != nil {
			return nil, err
		}
		list := root.Member("hooks").Member(event)
		own := g.owned(src, list)
		if len(own) == 0 {
			return src, nil
		}
		if src, err = cut(src, event, list, own[len(own)-1]); err != nil {
			return nil, err
		}
	}
}

func cut(src []byte, event string, list *jsonedit.Node, p place) ([]byte, error) {
	if p.alone {
		return jsonedit.CutAt(src, []string{"hooks", event}, p.group)
	}
	out, _ := jsonedit.Cut(src, list.Elements[p.group].Member("hooks"), p.handler)
	return out, nil
}

// same refuses a result that differs from the former document in more than belay's entries: a
// mistake about where an entry ends refuses a change, and never damages a file.
func (g groups) same(before, after []byte) error {
	was, err := g.disconnect(before)
	if err != nil {
		return err
	}
	is, err := g.disconnect(after)
	if err != nil {
		return err
	}
	if equal(orEmpty(was), orEmpty(is)) {
		return nil
	}
	return &Error{Reason: "belay cannot add its entries there and leave the rest as it is",
		Advice: "Add them by hand: --print prints them.", Err: ErrConflict}
}

// parse reads a document; none, nil, is an empty object.
func parse(src []byte) (*jsonedit.Node, error) {
	if src == nil {
		return &jsonedit.Node{Kind: '{'}, nil
	}
	root, err := jsonedit.Parse(src)
	if err != nil {
		return nil, err
	}
	if root.Kind != '{' {
		return nil, &Error{Reason: fmt.Sprintf("line %d: it is not an object", jsonedit.Line(src, root.Start)),
			Err: jsonedit.ErrShape}
	}
	if h := root.Member("hooks"); h != nil && h.Kind != '{' {
		return nil, &Error{Reason: fmt.Sprintf("line %d: hooks is not an object", jsonedit.Line(src, h.Start)),
			Err: jsonedit.ErrShape}
	}
	return root, nil
}

func orEmpty(src []byte) jsontext.Value {
	if src == nil {
		return jsontext.Value("{}")
	}
	return src
}

func members(n *jsonedit.Node) []string {
	if n == nil {
		return nil
	}
	var out []string
	for i := range n.Members {
		out = append(out, n.Members[i].Name)
	}
	return out
}

// equal reports whether two JSON texts have the same value, whatever the order of members.
func equal(a, b jsontext.Value) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// str returns a member that is a string, decoded.
func str(src []byte, n *jsonedit.Node, name string) string {
	m := n.Member(name)
	if m == nil || m.Kind != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(src[m.Start:m.End], &s) != nil {
		return ""
	}
	return s
}

// list returns a member that is a list of strings; ok is false for another.
func list(src []byte, n *jsonedit.Node, name string) (out []string, ok bool) {
	m := n.Member(name)
	if m == nil {
		return nil, false
	}
	return out, json.Unmarshal(src[m.Start:m.End], &out) == nil
}

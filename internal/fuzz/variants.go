package fuzz

import (
	"math/rand/v2"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// variant makes another form of an input; n is a size in bytes or a number of it.
type variant struct {
	name string // for people: "%s of the same JSON", "with %s"
	vary func(doc *node, n int) bool
}

// maxVariant leaves room below the limit of an input for the members round the action.
const maxVariant = phases.MaxInputBytes - 64<<10

// equivalents write the same JSON differently: nothing about them may be decided
// otherwise. Written is how; the number is a seed.
func equivalents() []struct {
	name  string
	style func(n int) style
} {
	rng := func(n int) *rand.Rand { return rand.New(rand.NewPCG(uint64(n), 7)) }
	return []struct {
		name  string
		style func(n int) style
	}{
		{"blanks between its tokens", func(n int) style { return style{rng: rng(n), space: true} }},
		{"its characters as \\u escapes", func(n int) style { return style{rng: rng(n), escape: true} }},
		{"its members in another order", func(n int) style { return style{rng: rng(n), reorder: true} }},
	}
}

// paddings make an input longer without taking anything from it: the hook has to stop the
// longer one, too.
func paddings() []variant {
	first := func(n *node, name string, v *node) bool {
		if n == nil || n.kind != '{' || n.get(name) != nil {
			return false
		}
		n.names, n.kids = append([]string{name}, n.names...), append([]*node{v}, n.kids...)
		return true
	}
	// Free JSON that a phase does not interpret.
	open := func(doc *node) *node {
		action := doc.get("action")
		for _, name := range []string{"args", "data", "params", "result"} {
			if n := action.get(name); n != nil && n.kind == '{' {
				return n
			}
		}
		return nil
	}
	text := func(doc *node, change func(string) string, paths ...string) bool {
		for _, path := range paths {
			at := doc.get("action")
			for _, name := range strings.Split(path, "/") {
				at = at.get(name)
			}
			if at != nil && at.kind == '"' && at.text != "" {
				at.text = change(at.text)
				return true
			}
		}
		return false
	}
	command := func(change func(string, int) string) func(*node, int) bool {
		return func(doc *node, n int) bool {
			if tool := doc.get("action").get("tool"); tool == nil || tool.text != "exec" {
				return false
			}
			return text(doc, func(s string) string { return change(s, n) }, "args/command")
		}
	}
	prose := []string{"text", "child/prompt", "result"}
	return []variant{
		{"another member before the others", func(doc *node, n int) bool {
			return first(open(doc), "aa_padding", str(strings.Repeat("p", n)))
		}},
		{"another member after the others", func(doc *node, n int) bool {
			if o := open(doc); o != nil && o.get("zz_padding") == nil {
				o.set("zz_padding", str(strings.Repeat("p", n)))
				return true
			}
			return false
		}},
		{"a long list before the others", func(doc *node, n int) bool {
			n = min(n, 1<<14) // each of them costs more than a byte of text
			list := &node{kind: '['}
			for range n / 2 {
				list.kids = append(list.kids, num("1"))
			}
			return first(open(doc), "aa_padding", list)
		}},
		{"more metadata", func(doc *node, n int) bool {
			if n > 63<<10 { // the run's bag holds 64 KiB
				return false
			}
			if doc.get("metadata") == nil {
				doc.set("metadata", object())
			}
			return first(doc.get("metadata"), "aa_padding", str(strings.Repeat("p", n)))
		}},
		{"a comment behind the command", command(func(s string, n int) string { return s + " # " + strings.Repeat("c", n) })},
		{"blanks before the command", command(func(s string, n int) string { return strings.Repeat(" ", n) + s })},
		{"an idle command before it",
			command(func(s string, n int) string { return ": " + strings.Repeat("i", n) + "; " + s })},
		{"idle commands before it", command(func(s string, n int) string { return strings.Repeat("true; ", n/6+1) + s })},
		{"idle steps in the path", func(doc *node, n int) bool {
			ok := false
			text(doc, func(s string) string {
				if ok = strings.HasPrefix(s, "/"); ok {
					s = strings.Repeat("/.", n/2+1) + s
				}
				return s
			}, "args/file_path", "args/path")
			return ok
		}},
		{"more text before it", func(doc *node, n int) bool {
			return text(doc, func(s string) string { return strings.Repeat("t ", n/2+1) + s }, prose...)
		}},
		{"more text after it", func(doc *node, n int) bool {
			return text(doc, func(s string) string { return s + strings.Repeat(" t", n/2+1) }, prose...)
		}},
		{"a message before the others", func(doc *node, n int) bool {
			list := doc.get("action").get("messages")
			if list == nil || list.kind != '[' || len(list.kids) == 0 {
				return false
			}
			m := object()
			m.set("role", str("user"))
			m.set("content", str(strings.Repeat("m ", n/2+1)))
			list.kids = append([]*node{m}, list.kids...)
			return true
		}},
	}
}

// sizes of paddings, past the ends of usual buffers; the largest are for few inputs.
func sizes(large bool) []int {
	if large {
		return []int{64, 1 << 10, 4097, 16385, 65537, 262145, maxVariant / 2}
	}
	return []int{64, 4097, 16385}
}

// padded returns the plan with a padded input, or nil when that is none.
func padded(v variant) func(*plan, int) *plan {
	return func(p *plan, n int) *plan {
		doc, err := document(p)
		if err != nil || !v.vary(doc, n) {
			return nil
		}
		return p.withInput(doc.bytes())
	}
}

// rewritten returns the plan with the same input in another form.
func rewritten(form func(int) style) func(*plan, int) *plan {
	return func(p *plan, n int) *plan {
		doc, err := document(p)
		if err != nil {
			return nil
		}
		return p.withInput(doc.write(nil, form(n)))
	}
}

// document returns the wire form of the plan's input as a tree.
func document(p *plan) (*node, error) {
	return parse(p.wire)
}

// withInput returns the plan with another input, or nil when it is not valid.
func (p *plan) withInput(wire []byte) *plan {
	inv, err := phases.DecodeInvocation(wire)
	if err != nil {
		return nil
	}
	c := *p
	c.wire, c.inv = wire, inv
	return &c
}

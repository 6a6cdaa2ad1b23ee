package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (w *walker) while(e *env, x *syntax.WhileClause, c ctx) {
	c = c.in("loop")
	if name, lines, ok := readLoop(x, c); ok {
		w.part(e, func() {
			for _, line := range lines {
				e.set(name, text(line))
				w.part(e, func() { w.stmts(e, x.Do, c) })
			}
		})
		e.forget(name)
		return
	}
	if endless(x) {
		c = c.in("endless")
	}
	for _, s := range append(slices.Clone(x.Cond), x.Do...) {
		w.forgetAssigned(e, s)
	}
	w.perhaps(e, x.Cond, x.Do, c)
}

// endless reports a loop whose condition does not change: true, :, sleep, [ 1 ], ((1)), or false behind until.
func endless(x *syntax.WhileClause) bool {
	if len(x.Cond) != 1 || x.Cond[0].Background {
		return false
	}
	holds, fixed := x.Cond[0].Negated, false
	switch cond := x.Cond[0].Cmd.(type) {
	case *syntax.CallExpr:
		holds, fixed = fixedCall(cond, holds)
	case *syntax.ArithmCmd:
		if word, ok := cond.X.(*syntax.Word); ok && isInt(word.Lit()) {
			holds, fixed = (word.Lit() != "0") != holds, true
		}
	case *syntax.TestClause:
		if word, ok := cond.X.(*syntax.Word); ok && word.Lit() != "" {
			holds, fixed = !holds, true
		}
	}
	return fixed && holds != x.Until
}

// fixedCall returns what a command that always answers the same answers.
func fixedCall(call *syntax.CallExpr, negated bool) (holds, fixed bool) {
	if len(call.Args) == 0 {
		return false, false
	}
	switch name := call.Args[0].Lit(); name[strings.LastIndexByte(name, '/')+1:] {
	case "true", ":", "sleep", "echo", "printf", "date":
		return !negated, true
	case "false":
		return negated, true
	case "[", "test":
		if len(call.Args) == 2 || len(call.Args) == 3 && call.Args[2].Lit() == "]" {
			return (call.Args[1].Lit() != "") != negated, call.Args[1].Lit() != "" && call.Args[1].Lit() != "]"
		}
	}
	return false, false
}

// perhaps walks the body of a loop that may run no time at all, or often. What a round changes without its syntax
// saying so (eval, a function, command cd) is not known in any round: it is walked again without that, and what the
// first walk told is taken back.
func (w *walker) perhaps(e *env, cond, list []*syntax.Stmt, c ctx) {
	for {
		back := w.rewind()
		head := e.clone()
		w.part(head, func() { w.stmts(head, cond, c) })
		body := head.clone()
		w.part(body, func() { w.stmts(body, list, c) })
		known := e.known()
		if e.join(body); e.known() == known || w.steps >= maxSteps {
			*e = *head
			e.join(body)
			return
		}
		back()
	}
}

// rewind returns what takes back all that is told from now on.
func (w *walker) rewind() func() {
	commands, unknown, order := len(w.reply.Commands), len(w.reply.Unknown), len(w.order)
	words, told, pipes := w.words, w.told, w.pipes
	return func() {
		w.reply.Commands, w.reply.Unknown, w.order = w.reply.Commands[:commands], w.reply.Unknown[:unknown], w.order[:order]
		w.words, w.told, w.pipes = words, told, pipes
	}
}

// part walks a round of a loop, a loop, or the body of a function, which break,
// continue or return may end early: the values known behind it hold there, too.
func (w *walker) part(e *env, walk func()) {
	outer := w.left
	w.left = nil
	walk()
	for _, at := range w.left {
		if !w.step() {
			break
		}
		e.join(at)
	}
	w.left = append(outer, w.left...)
}

// readLoop recognises `while read -r X; do …; done` over a known text.
func readLoop(x *syntax.WhileClause, c ctx) (string, []string, bool) {
	if x.Until || len(x.Cond) != 1 || c.stdin == nil || !c.stdin.Known {
		return "", nil, false
	}
	call, ok := x.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || call.Args[0].Lit() != "read" {
		return "", nil, false
	}
	name := call.Args[len(call.Args)-1].Lit()
	for _, a := range call.Args[1 : len(call.Args)-1] {
		if a.Lit() != "-r" {
			return "", nil, false
		}
	}
	lines := strings.Split(strings.TrimSuffix(c.stdin.Text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.Trim(lines[i], " \t")
	}
	return name, lines, syntax.ValidName(name) && len(lines) <= maxUnroll
}

func (w *walker) forClause(e *env, x *syntax.ForClause, c ctx) {
	c = c.in("loop")
	iter, ok := x.Loop.(*syntax.WordIter)
	if !ok {
		if loop, ok := x.Loop.(*syntax.CStyleLoop); ok && loop.Cond == nil {
			c = c.in("endless")
		}
		w.substitutions(e, x.Loop, c)
		w.forgetAssigned(e, x)
		w.perhaps(e, nil, x.Do, c)
		return
	}
	name := iter.Name.Value
	var items []Word
	open := !iter.InPos.IsValid()
	for _, item := range iter.Items {
		w.substitutions(e, item, c)
	}
	if !open {
		items, open = w.fields(e, iter.Items)
	}
	known := !open && !x.Select && len(items) <= maxUnroll
	for _, item := range items {
		known = known && item.Known
	}
	for _, s := range x.Do {
		w.forgetAssigned(e, s)
	}
	if !known {
		var from []int
		for _, item := range items {
			from = union(from, item.From)
		}
		e.vars[name] = variable{from: from}
		w.perhaps(e, nil, x.Do, c)
		return
	}
	w.part(e, func() {
		for _, item := range items {
			v := text(item.Text)
			v.glob = item.Glob
			e.set(name, v)
			w.part(e, func() { w.stmts(e, x.Do, c) })
		}
	})
}

// forgetAssigned makes every variable unknown that the node assigns anywhere.
func (w *walker) forgetAssigned(e *env, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if !w.step() {
			return false
		}
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				e.forget(n.Name.Value)
			}
		case *syntax.WordIter:
			e.forget(n.Name.Value)
		case *syntax.CallExpr:
			if len(n.Args) > 1 {
				switch n.Args[0].Lit() {
				case "read", "mapfile", "readarray", "getopts", "unset", "printf", "let", "export":
					for _, a := range n.Args[1:] {
						e.forget(a.Lit())
					}
				case "cd", "pushd", "popd":
					e.cwd = &Word{Text: "?"}
					e.forget("PWD")
				case "set", "shift":
					e.setParams(nil, false)
				}
			}
		case *syntax.BinaryArithm:
			if l, ok := n.X.(*syntax.Word); ok && assigns(n.Op) {
				e.forget(l.Lit())
			}
		case *syntax.LetClause:
			for _, x := range n.Exprs {
				if l, ok := x.(*syntax.Word); ok && l.Lit() == "" { // let "a |= 2"
					e.forgetAll()
				}
			}
		case *syntax.UnaryArithm:
			if l, ok := n.X.(*syntax.Word); ok {
				e.forget(l.Lit())
			}
		}
		return true
	})
}

// assigns reports an operator of arithmetic that changes what stands left of it.
func assigns(op syntax.BinAritOperator) bool {
	s := op.String()
	return strings.HasSuffix(s, "=") && op != syntax.Eql && op != syntax.Neq && op != syntax.Leq && op != syntax.Geq
}

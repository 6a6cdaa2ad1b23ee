package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// process walks a process substitution: <(…), whose output stands in for a file, or >(…), which reads what is written
// there.
func (w *walker) process(e *env, n *syntax.ProcSubst, fed *feed, c ctx) {
	c = c.in("process_substitution")
	if n.Op == syntax.CmdIn {
		w.stmts(e.clone(), n.Stmts, c)
		out, ok := w.output(e.clone(), n.Stmts, nil, 0)
		if raw := w.raw(n); raw != "" && len(w.prints) < maxVars {
			if w.prints == nil {
				w.prints = map[string]string{}
			}
			if delete(w.prints, raw); ok {
				w.prints[raw] = out
			}
		}
		return
	}
	c.fed = true
	if fed != nil {
		c.stdin, c.stdinFrom = fed.text, fed.from
	}
	from := len(w.reply.Commands)
	w.stmts(e.clone(), n.Stmts, c)
	for i := from; i < len(w.reply.Commands); i++ {
		if told := &w.reply.Commands[i]; told.Parent < from && told.StdinFrom < 0 && told.Stdin == nil {
			w.feeding = append(w.feeding, i)
		}
	}
}

// writesTo finds what a statement writes to a process substitution that its output is redirected to.
func (w *walker) writesTo(e *env, s *syntax.Stmt, c *ctx) {
	for _, r := range s.Redirs {
		if r.Word == nil || r.N != nil && r.N.Value != "1" || r.Op != syntax.RdrOut && r.Op != syntax.AppOut &&
			r.Op != syntax.RdrAll &&
			r.Op != syntax.RdrClob {
			continue
		}
		for _, p := range r.Word.Parts {
			if p, ok := p.(*syntax.ProcSubst); !ok || p.Op != syntax.CmdOut {
				continue
			}
			c.feed = &feed{from: -1}
			var in *string
			if c.stdin != nil && c.stdin.Known {
				in = &c.stdin.Text
			}
			if out, ok := w.output(e.clone(), []*syntax.Stmt{{Cmd: s.Cmd}}, in, 0); ok && s.Cmd != nil {
				t := w.word(out, true, false, false)
				c.feed.text = &t
			}
			return
		}
	}
}

// feeds tells of the commands in >(…) that they read what the statement around them writes: its last command of those
// that are told from there on.
func (w *walker) feeds(from, level int) {
	if len(w.feeding) == 0 {
		return
	}
	outer := -1
	for i := min(len(w.reply.Commands), from+MaxCommands) - 1; i >= from && outer < 0; i-- {
		if told := &w.reply.Commands[i]; told.Parent < from && len(told.Context) <= level {
			outer = i
		}
	}
	if outer < 0 {
		return // the statement is inside of >(…) itself
	}
	for _, i := range w.feeding {
		if i >= from && i < outer {
			w.reply.Commands[i].StdinFrom = outer
		}
	}
	w.feeding = w.feeding[:0]
}

// promptOf walks ${x@P}, which expands a value as a prompt: its substitutions run.
func (w *walker) promptOf(e *env, n *syntax.ParamExp, c ctx) {
	if n.Exp == nil || n.Exp.Op != syntax.OtherParamOps || n.Exp.Word == nil || n.Exp.Word.Lit() != "P" {
		return
	}
	value := Word{}
	if v, ok := e.vars[paramName(n)]; ok && v.known && n.Index == nil && !n.Excl {
		value = Word{Text: v.v.Str, Known: v.v.Kind != 0 && len(v.v.List) == 0}
	}
	w.prompt(e, value, "@P", c, w.raw(n), c.parent)
}

// forPrompt reports a variable that the running shell uses itself, without handing it on.
func forPrompt(name string) bool {
	return name == "PROMPT_COMMAND" || len(name) == 3 && strings.HasPrefix(name, "PS")
}

package shell

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func itoa(n int) string { return strconv.Itoa(n) }

var errNotKnown = errors.New("not known")

// fields expands words as arguments: braces, parameters, splitting, quotes.
// open tells that there may be more or fewer words than these.
func (w *walker) fields(e *env, words []*syntax.Word) (out []Word, open bool) {
	for _, word := range words {
		got, o := w.field(e, word)
		out, open = append(out, got...), open || o
	}
	return out, open
}

func (w *walker) field(e *env, word *syntax.Word) (out []Word, open bool) {
	source := w.raw(word)
	word = &syntax.Word{Parts: slices.Clone(word.Parts)} // SplitBraces changes it
	if syntax.SplitBraces(word) {
		n := 0
		for part, err := range expand.BracesSeq(nil, word) {
			if n++; err != nil || n > maxBraces {
				return []Word{{Text: source}}, true
			}
			got, o := w.plain(e, part)
			out, open = append(out, got...), open || o
		}
		return out, open
	}
	return w.plain(e, word)
}

// plain expands a word without braces.
func (w *walker) plain(e *env, word *syntax.Word) ([]Word, bool) {
	u := w.uses(e, word)
	tilde := startsAtHome(word)
	u.known = u.known && e.knowsDir(word)
	if u.known {
		if got, err := expand.Fields(w.config(e), word); err == nil {
			var out []Word
			for i, s := range got {
				out = append(out, w.word(s, true, u.glob, tilde && i == 0))
			}
			return out, false
		}
	}
	return []Word{w.unsure(e, word, u.glob, tilde)}, u.splits
}

// literal expands a word where no splitting happens: assignments, redirections, here-documents.
func (w *walker) literal(e *env, word *syntax.Word) Word {
	if word == nil {
		return Word{Known: true}
	}
	u := w.uses(e, word)
	tilde := startsAtHome(word)
	u.known = u.known && e.knowsDir(word)
	if u.known {
		if s, err := expand.Literal(w.config(e), word); err == nil {
			return w.word(s, true, u.glob, tilde)
		}
	}
	return w.unsure(e, word, u.glob, tilde)
}

func (w *walker) document(e *env, word *syntax.Word) Word {
	if u := w.uses(e, word); u.known {
		if s, err := expand.Document(w.config(e), word); err == nil {
			return w.word(s, true, false, false)
		}
	}
	return w.unsure(e, word, false, false)
}

// unsure is a word of which a part is not known.
func (w *walker) unsure(e *env, word *syntax.Word, glob, tilde bool) Word {
	t, _, holes := w.partial(e, word)
	out := w.word(t, false, glob, tilde)
	out.From = w.sources(e, word)
	if len(holes) <= MaxWordText {
		out.holes = holes
	}
	return out
}

// word makes the told form, within the limits.
func (w *walker) word(s string, known, glob, tilde bool) Word {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > MaxWordText {
		w.reply.Truncated = true
		s, known = strings.ToValidUTF8(s[:MaxWordText], ""), false
	}
	out := Word{Text: s, Known: known, Glob: glob && expandable(s), Tilde: tilde && strings.HasPrefix(s, "~") ||
		strings.HasPrefix(s, homeMark)}
	if hasHole(s) {
		out.Known, out.holes = false, s
	}
	return out
}

// partial renders a word of which a part is not known: known parts expanded,
// the others as their source. tail is the part that is known for certain at the
// end. In holes, a hole stands for each part that is not known.
func (w *walker) partial(e *env, word *syntax.Word) (all, tail, holes string) {
	var b, h strings.Builder
	mark := 0
	var part func(parts []syntax.WordPart)
	part = func(parts []syntax.WordPart) {
		for _, p := range parts {
			if b.Len() > MaxWordText {
				return
			}
			one := &syntax.Word{Parts: []syntax.WordPart{p}}
			if w.uses(e, one).known && e.knowsDir(one) {
				if s, err := expand.Literal(w.config(e), one); err == nil {
					b.WriteString(s)
					h.WriteString(s)
					continue
				}
			}
			if q, ok := p.(*syntax.DblQuoted); ok {
				part(q.Parts)
				continue
			}
			if v, ok := e.partly(p); ok {
				b.WriteString(v.v.Str)
				h.WriteString(v.holes)
			} else {
				b.WriteString(w.raw(p))
				h.WriteString(w.hole(e, p))
			}
			mark = b.Len()
		}
	}
	part(word.Parts)
	all = b.String()
	return all, all[min(mark, len(all)):], h.String()
}

// partly returns the variable that a part of a word takes as it is, where its value is known in part.
func (e *env) partly(p syntax.WordPart) (variable, bool) {
	x, ok := p.(*syntax.ParamExp)
	if !ok || x.Excl || x.Length || x.Index != nil || x.Slice != nil || x.Repl != nil ||
		x.Exp != nil && !(x.Exp.Op == syntax.ErrorUnset || x.Exp.Op == syntax.ErrorUnsetOrNull) {
		return variable{}, false
	}
	v := e.vars[paramName(x)]
	known := strings.IndexFunc(v.holes, func(r rune) bool { return !isHole(r) })
	return v, !v.known && known >= 0
}

func (w *walker) config(e *env) *expand.Config {
	return &expand.Config{
		Env: e,
		CmdSubst: func(out io.Writer, cs *syntax.CmdSubst) error {
			s, ok := w.output(e.clone(), cs.Stmts, nil, 0)
			if !ok {
				return errNotKnown
			}
			_, err := io.WriteString(out, s)
			return err
		},
		ProcSubst: func(*syntax.ProcSubst) (string, error) { return "", errNotKnown },
	}
}

// usage is what an expansion of a word would need.
type usage struct {
	known  bool // everything is at hand, and the result is small
	glob   bool // unquoted pattern characters
	splits bool // something unknown stands outside of quotes
}

func (w *walker) uses(e *env, word *syntax.Word) usage {
	u := usage{known: true}
	size := 0
	var node func(n syntax.Node, quoted, arith bool)
	name := func(n string, arith bool) {
		v, ok := e.vars[n]
		if !ok || !v.known {
			u.known = false
			return
		}
		if size += v.size(); arith && !isInt(v.v.Str) {
			u.known = false
		}
		if v.glob {
			u.glob = true
		}
	}
	node = func(root syntax.Node, quoted, arith bool) {
		syntax.Walk(root, func(n syntax.Node) bool {
			if !w.step() {
				u.known = false
				return false
			}
			switch n := n.(type) {
			case *syntax.Lit:
				size += len(n.Value)
				if arith && syntax.ValidName(n.Value) {
					name(n.Value, true)
				}
				if !quoted && hasGlob(n.Value) {
					u.glob = true
				}
			case *syntax.SglQuoted:
				size += len(n.Value)
			case *syntax.DblQuoted:
				for _, p := range n.Parts {
					node(p, true, arith)
				}
				return false
			case *syntax.ExtGlob:
				u.known, u.glob = false, true
				return false
			case *syntax.ProcSubst:
				u.known = false
				return false
			case *syntax.CmdSubst:
				if s, ok := w.output(e.clone(), n.Stmts, nil, 0); !ok {
					u.known, u.splits = false, u.splits || !quoted
				} else {
					size += len(s)
					if !quoted && hasGlob(s) {
						u.glob = true
					}
				}
				return false
			case *syntax.ArithmExp:
				node(n.X, true, true)
				return false
			case *syntax.BinaryArithm:
				if n.Op == syntax.Pow || n.Op == syntax.Shl { // an assignment fails when it is expanded
					u.known = false
				}
			case *syntax.ParamExp:
				was := u.known
				w.param(e, n, &u, &size, name)
				if n.Index != nil {
					if word, ok := n.Index.(*syntax.Word); !ok || (word.Lit() != "@" && word.Lit() != "*") {
						node(n.Index, true, true)
					}
				}
				if n.Slice != nil {
					for _, x := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
						if x != nil {
							node(x, true, true)
						}
					}
				}
				if n.Repl != nil {
					node(n.Repl.Orig, true, arith)
					if n.Repl.With != nil {
						before := size
						node(n.Repl.With, true, arith)
						size += (size - before + 1) * (before + 1)
					}
				}
				if n.Exp != nil && n.Exp.Word != nil {
					node(n.Exp.Word, quoted, arith)
				}
				if !quoted {
					u.splits = u.splits || was && !u.known
					if v := e.vars[paramName(n)]; v.known && hasGlob(v.v.Str) {
						u.glob = true
					}
				}
				return false
			}
			return true
		})
	}
	node(word, false, false)
	if size > MaxWordText {
		u.known = false
	}
	return u
}

func (w *walker) param(e *env, n *syntax.ParamExp, u *usage, size *int, name func(string, bool)) {
	p := paramName(n)
	if n.Excl || n.Names != 0 || n.Width || n.IsSet || n.NestedParam != nil || n.Flags != nil || len(n.Modifiers) > 0 ||
		p == "" {
		u.known = false
		return
	}
	name(p, false)
	plain := (n.Exp == nil || wholeValue(n.Exp.Op)) && n.Slice == nil && n.Repl == nil && !n.Length
	if v := e.vars[p].v; !plain && (marked(v.Str) || slices.ContainsFunc(v.List, marked)) {
		u.known = false // the marks must not be taken apart
	}
	if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
		u.known = false
	}
	if n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
		u.known = false
	}
}

// wholeValue reports an expansion that takes a value as it is, or a word in its place: ${X:?}, ${X:-word}, ${X:+word}.
func wholeValue(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
		syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return true
	}
	return false
}

func paramName(n *syntax.ParamExp) string {
	if n.Param == nil {
		return ""
	}
	return n.Param.Value
}

func isInt(s string) bool {
	if len(s) > 18 {
		return false
	}
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && (len(s) == 1 || s[0] != '0')
}

// expandable reports text that the shell would try on names of files. A bracket
// counts only with its other half: the command [ is a name.
func expandable(s string) bool {
	if strings.ContainsAny(s, "*?") {
		return true
	}
	open := strings.IndexByte(s, '[')
	return open >= 0 && strings.IndexByte(s[open:], ']') > 0
}

// hasGlob reports pattern characters that no backslash escapes.
func hasGlob(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

// knowsDir reports that a word begins with neither ~+ nor ~-, or that the directory is known.
func (e *env) knowsDir(word *syntax.Word) bool {
	if !startsAtHome(word) {
		return true
	}
	user, _, _ := strings.Cut(word.Parts[0].(*syntax.Lit).Value[1:], "/")
	dir, ok := dirOf(user)
	return !ok || e.vars[dir].known
}

// startsAtHome reports a word that begins with an unquoted ~. The mark tells the same of $HOME.
func startsAtHome(word *syntax.Word) bool {
	if len(word.Parts) == 0 {
		return false
	}
	l, ok := word.Parts[0].(*syntax.Lit)
	return ok && strings.HasPrefix(l.Value, "~")
}

package mutants

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Change is one small change of a file. It has two forms: the plain one replaces a piece of text; the switched one
// takes both ways at run time, so that one test binary holds many changes (see Switched).
type Change struct {
	File     string // path, as it was given
	From, To int    // the piece that the plain form replaces: offsets in bytes, To exclusive
	With     string
	Line     int    // of From, from 1
	What     string // in words, for reports

	edits   func(id int) []edit // the switched form
	first   int                 // the line on which the switched form begins: above Line where an expression is wrapped
	guessed bool                // whether its types have to be inferred, which can fail
}

// Apply returns the file with the plain form of the change. src is the file that the change was made for.
func (c *Change) Apply(src []byte) []byte {
	return bytes.Join([][]byte{src[:c.From], []byte(c.With), src[c.To:]}, nil)
}

// Sample returns changes in an order that only the seed decides.
func Sample(all []Change, seed uint64) []Change {
	out := slices.Clone(all)
	r := rand.New(rand.NewPCG(seed, seed))
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// Changes lists every small change of the file that a test could notice, in order of place: conditions that always
// or never hold, comparisons with the bound on the other side, && for ||, numbers that are one larger, errors that
// are dropped, statements that are left out, + for -, true for false. Some of them do not compile.
// Nothing is changed inside of calls that write to a log.
func Changes(file string, src []byte) ([]Change, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	l := lister{fset: fset, file: file, src: src}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			l.results = fn.Type.Results
			ast.Inspect(fn.Body, l.visit)
		}
	}
	slices.SortStableFunc(l.out, func(a, b Change) int { return cmp.Compare(a.From, b.From) })
	return l.out, nil
}

type lister struct {
	fset    *token.FileSet
	file    string
	src     []byte
	results *ast.FieldList // of the function that is looked at
	out     []Change
}

func (l *lister) offset(p token.Pos) int { return l.fset.Position(p).Offset }

func (l *lister) text(n ast.Node) string {
	return string(l.src[l.offset(n.Pos()):l.offset(n.End())])
}

func (l *lister) add(from, to token.Pos, with, what string, edits func(id int) []edit) {
	p := l.fset.Position(from)
	l.out = append(l.out,
		Change{File: l.file, From: p.Offset, To: l.offset(to), With: with, Line: p.Line, What: what, edits: edits,
			first: p.Line})
}

// guessed says that the types of the change added last have to be inferred, in a form that begins at from.
func (l *lister) guessed(from token.Pos) {
	c := &l.out[len(l.out)-1]
	c.guessed, c.first = true, l.fset.Position(from).Line
}

// around makes the switched form that only puts text before and behind a node.
func (l *lister) around(n ast.Node, before, behind string) func(int) []edit {
	from, to := l.offset(n.Pos()), l.offset(n.End())
	return func(id int) []edit {
		return surround(from, to, strings.ReplaceAll(before, "$", strconv.Itoa(id)), behind)
	}
}

func (l *lister) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		return !logs(n)
	case *ast.FuncLit:
		outer := l.results
		l.results = n.Type.Results
		ast.Inspect(n.Body, l.visit)
		l.results = outer
		return false
	case *ast.IfStmt:
		cond := l.text(n.Cond)
		l.add(n.Cond.Pos(), n.Cond.End(), "false && ("+cond+")", "if "+line(cond)+" never holds",
			l.around(n.Cond, "(!mutantOn($) && (", "))"))
		l.add(n.Cond.Pos(), n.Cond.End(), "true || ("+cond+")", "if "+line(cond)+" always holds",
			l.around(n.Cond, "(mutantOn($) || (", "))"))
	case *ast.BinaryExpr:
		l.binary(n)
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 62); n.Kind == token.INT && err == nil {
			more := strconv.FormatInt(v+1, 10)
			l.add(n.Pos(), n.End(), more, n.Value+" becomes "+more, l.around(n, "mutantMore($, ", ")"))
			l.guessed(n.Pos())
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			l.add(n.Pos(), n.End(), "false", "true becomes false", l.around(n, "!mutantOn($) && ", ""))
		case "false":
			l.add(n.Pos(), n.End(), "true", "false becomes true", l.around(n, "mutantOn($) || ", ""))
		}
	case *ast.ReturnStmt:
		if last := len(n.Results) - 1; last >= 0 && l.answersError(last) && l.text(n.Results[last]) != "nil" {
			e := n.Results[last]
			l.add(e.Pos(), e.End(), "nil", "the error "+line(l.text(e))+" is dropped", l.around(e, "mutantDrop($, ", ")"))
		}
	case *ast.BlockStmt:
		l.statements(n.List)
	case *ast.CaseClause:
		l.statements(n.Body)
	case *ast.CommClause:
		l.statements(n.Body)
	}
	return true
}

// binary exchanges the operator.
func (l *lister) binary(n *ast.BinaryExpr) {
	swap := map[token.Token]struct {
		to   token.Token
		call string
	}{
		token.EQL: {token.NEQ, ""}, token.NEQ: {token.EQL, ""},
		token.LSS: {token.LEQ, "mutantLess"}, token.LEQ: {token.LSS, "mutantLessEqual"},
		token.GTR: {token.GEQ, "mutantGreater"}, token.GEQ: {token.GTR, "mutantGreaterEqual"},
		token.LAND: {token.LOR, "mutantAnd"}, token.LOR: {token.LAND, "mutantOr"},
		token.ADD: {token.SUB, "mutantAdd"}, token.SUB: {token.ADD, "mutantSub"},
	}
	s, ok := swap[n.Op]
	if !ok {
		return
	}
	what := fmt.Sprintf("%s becomes %s in %s", n.Op, s.to, line(l.text(n)))
	end := n.OpPos + token.Pos(len(n.Op.String()))
	var edits func(id int) []edit
	if s.call != "" {
		from, to, op, opEnd, right := l.offset(n.Pos()), l.offset(n.End()), l.offset(n.OpPos), l.offset(end),
			l.offset(n.Y.Pos())
		edits = func(id int) []edit {
			out := surround(from, to, fmt.Sprintf("%s(%d, (", s.call, id), ")")
			if n.Op == token.LAND || n.Op == token.LOR {
				out = append(out, edit{at: op, remove: opEnd - op, text: "), "})
				return append(out, surround(right, to, "func() bool { return ", " }")...)
			}
			out = append(out, edit{at: op, remove: opEnd - op, text: "), "})
			return append(out, surround(right, to, "(", ")")...)
		}
	} else {
		from, to := l.offset(n.Pos()), l.offset(n.End())
		edits = func(id int) []edit { return surround(from, to, "((", fmt.Sprintf(") != mutantOn(%d))", id)) }
	}
	l.add(n.OpPos, end, s.to.String(), what, edits)
	if s.call != "" {
		l.guessed(n.Pos())
	}
}

// statements leaves out calls, and assignments to members.
func (l *lister) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			c, ok := s.X.(*ast.CallExpr)
			if id, named := ast.Node(nil), false; ok && !logs(c) {
				if id, named = c.Fun.(*ast.Ident); named && l.text(id) == "panic" {
					continue // ends a function: without it the rest may not compile
				}
				l.add(s.Pos(), s.End(), "", line(l.text(s))+" is left out", l.around(s, "if !mutantOn($) { ", " }"))
			}
		case *ast.AssignStmt:
			if _, member := s.Lhs[0].(*ast.SelectorExpr); member && len(s.Lhs) == 1 && s.Tok == token.ASSIGN {
				l.add(s.Lhs[0].Pos(), s.Lhs[0].End(), "_", line(l.text(s))+" is left out", l.around(s, "if !mutantOn($) { ", " }"))
			}
		}
	}
}

// answersError reports whether the function's results, n+1 of them, end with an error.
func (l *lister) answersError(n int) bool {
	if l.results == nil || l.results.NumFields() != n+1 {
		return false
	}
	id, ok := l.results.List[len(l.results.List)-1].Type.(*ast.Ident)
	return ok && id.Name == "error"
}

// logs reports whether a call writes a line for operators: what stands in it decides nothing.
func logs(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "LogAttrs"
}

// line makes one short line of a piece of code.
func line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}

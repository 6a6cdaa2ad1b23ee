package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker runs through a text as a shell would, without running anything.
type walker struct {
	reply Reply
	stop  func(steps int) bool
	src   string // the text that positions refer to
	steps int
	words int

	nests  int // characters that the parser may take for one more level
	passed int // nodes looked at without a step
	gaveUp bool

	told  int
	depth int // texts within texts
	level int // statements within statements
	pipes int
	left  []*env // the states at break, continue and return
	funcs map[string]*function
	order []*function

	prints  map[string]string // the known output of a process substitution, by its source text
	feeding []int             // commands that read what a later one writes: >(sh)
	aliases map[string]Word

	within       map[syntax.Node]span // the commands of each substitution
	parts        []hole               // what holes in texts stand for
	files        map[string]*written  // the files that the text writes, where what it writes is known
	hooksPath    string               // where the text has git look for hooks
	awaiting     map[string]reader    // shells that read a file that the text has not written yet
	runningParts []string             // of files in which a tool finds what it runs
}

type function struct {
	name    string
	body    *syntax.Stmt
	src     string
	called  bool
	running bool
}

// ctx is what surrounds a command.
type ctx struct {
	via       []string
	context   []string
	parent    int
	pipe      int
	stdinFrom int
	stdin     *Word
	fed       bool       // standard input is no terminal, and what comes there is not known
	redirs    []Redirect // of the constructs round it
	remote    bool
	assigns   []Assign
	ran       int      // how many of the assignments are walked for what runs their values
	feed      *feed    // what a process substitution >(…) reads
	masked    string   // text that an input which is not known is put for
	holes     []string // that inputs are put into
}

// feed is what a command writes to a process substitution: the text, or the index of the command that it passes on.
type feed struct {
	text *Word
	from int
}

func (c ctx) in(what string) ctx {
	c.context = append(slices.Clip(c.context), what)
	return c
}

func (w *walker) step() bool {
	if w.steps >= maxSteps {
		w.reply.Truncated = true
		return false
	}
	if w.steps%stopEvery == 0 && w.stopped() {
		w.steps = maxSteps
		return false
	}
	w.steps++
	return true
}

// raw is the source text of a node.
func (w *walker) raw(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(w.src) || from >= to {
		return ""
	}
	return cutRaw(w.src[from:to])
}

func cutRaw(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > MaxRaw {
		s = strings.ToValidUTF8(s[:MaxRaw], "")
	}
	return s
}

func (w *walker) unknown(what, raw string, command int) {
	if len(w.reply.Unknown) >= MaxUnknown {
		w.reply.Truncated = true
		return
	}
	w.reply.Unknown = append(w.reply.Unknown, Unknown{What: what, Raw: cutRaw(w.plainText(raw)), Command: command})
}

func (w *walker) stmts(e *env, list []*syntax.Stmt, c ctx) {
	for _, s := range list {
		w.stmt(e, s, c)
	}
}

func (w *walker) stmt(e *env, s *syntax.Stmt, c ctx) {
	if s == nil || !w.step() {
		return
	}
	if w.level++; w.level > 200 {
		w.reply.Truncated = true
		w.level--
		return
	}
	defer func() { w.level-- }()
	if s.Background || s.Coprocess || s.Disown {
		c = c.in("background")
		e = e.clone()
	}
	from := len(w.reply.Commands)
	defer w.feeds(from, len(c.context))
	w.writesTo(e, s, &c)
	redirs := w.redirects(e, s.Redirs, &c)
	defer w.writesFiles(e, s, redirs, c)
	c.feed = nil
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		w.call(e, s, call, redirs, c)
		return
	}
	if s.Cmd == nil {
		if len(redirs) > 0 {
			w.run(e, []Word{{Text: ":", Known: true}}, nil, redirs, c, w.raw(s))
		}
		return
	}
	c.redirs = append(slices.Clip(c.redirs), redirs...)
	w.command(e, s.Cmd, c)
}

// redirects expands redirections; one of standard input changes c.
func (w *walker) redirects(e *env, list []*syntax.Redirect, c *ctx) (out []Redirect) {
	for _, r := range list {
		if r.Word != nil {
			w.substitutions(e, r.Word, *c)
		}
		fd := 0
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.DplOut, syntax.RdrAll, syntax.AppAll:
			fd = 1
		}
		if r.N != nil {
			fd = 0
			for _, d := range r.N.Value {
				if d < '0' || d > '9' || fd > 1000 {
					fd = -1
					break
				}
				fd = fd*10 + int(d-'0')
			}
		}
		red := Redirect{Op: r.Op.String(), FD: fd}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			if r.Hdoc != nil {
				w.substitutions(e, r.Hdoc, *c)
				if quotedDelimiter(r.Word) {
					red.Target = w.word(verbatim(r.Hdoc), true, false, false)
				} else {
					red.Target = w.document(e, r.Hdoc)
				}
			} else {
				red.Target = Word{Known: true}
			}
		case syntax.WordHdoc:
			red.Target = w.literal(e, r.Word)
			red.Target.Text += "\n"
			red.Target.Glob, red.Target.Tilde = false, false
		default:
			red.Target = w.literal(e, r.Word)
		}
		if fd == 0 && strings.HasPrefix(red.Op, "<") {
			c.stdin, c.stdinFrom, c.fed = nil, -1, false
			if strings.HasPrefix(red.Op, "<<") {
				t := red.Target
				c.stdin = &t
			} else if text, ok := w.content(e, red.Target); ok && red.Op == "<" {
				c.stdin = &text
			}
		}
		out = append(out, red)
	}
	return out
}

// verbatim is the text of a here-document with a quoted delimiter.
func verbatim(word *syntax.Word) string {
	var b strings.Builder
	for _, p := range word.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		}
	}
	return b.String()
}

func quotedDelimiter(word *syntax.Word) bool {
	for _, p := range word.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok || strings.Contains(l.Value, "\\") {
			return true
		}
	}
	return false
}

// substitutions walks the command and process substitutions in a word.
func (w *walker) substitutions(e *env, n syntax.Node, c ctx) {
	fed := c.feed
	c.stdin, c.stdinFrom, c.pipe, c.fed, c.feed = nil, -1, 0, false, nil
	syntax.Walk(n, func(n syntax.Node) bool {
		if !w.pass() {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst:
			from := len(w.reply.Commands)
			w.stmts(e.clone(), n.Stmts, c.in("substitution"))
			w.ran(n, from)
			return false
		case *syntax.ProcSubst:
			from := len(w.reply.Commands)
			w.process(e, n, fed, c)
			w.ran(n, from)
			return false
		case *syntax.ParamExp:
			w.promptOf(e, n, c)
		}
		return true
	})
}

// command walks everything that is not a simple command.
func (w *walker) command(e *env, cmd syntax.Command, c ctx) {
	switch x := cmd.(type) {
	case *syntax.Block:
		w.stmts(e, x.Stmts, c)
	case *syntax.Subshell:
		w.stmts(e.clone(), x.Stmts, c.in("subshell"))
	case *syntax.BinaryCmd:
		w.binary(e, x, c)
	case *syntax.IfClause:
		w.ifClause(e, x, c)
	case *syntax.WhileClause:
		w.while(e, x, c)
	case *syntax.ForClause:
		w.forClause(e, x, c)
	case *syntax.CaseClause:
		w.substitutions(e, x.Word, c)
		before := e.clone()
		for _, item := range x.Items {
			branch := before.clone()
			for _, p := range item.Patterns {
				w.substitutions(branch, p, c)
			}
			w.stmts(branch, item.Stmts, c.in("condition"))
			e.join(branch)
		}
	case *syntax.FuncDecl:
		w.define(x)
	case *syntax.TimeClause:
		w.stmt(e, x.Stmt, c)
	case *syntax.CoprocClause:
		c.stdin, c.stdinFrom, c.fed = nil, -1, true // the shell that starts it writes there
		w.stmt(e.clone(), x.Stmt, c.in("background"))
	case *syntax.DeclClause:
		w.declare(e, x, c)
	default: // arithmetic, [[ ]], let: nothing runs but substitutions; what they assign is not followed
		w.substitutions(e, cmd, c)
		w.forgetAssigned(e, cmd)
	}
}

func (w *walker) binary(e *env, x *syntax.BinaryCmd, c ctx) {
	if x.Op != syntax.Pipe && x.Op != syntax.PipeAll {
		w.oneAfterOther(e, x, c)
		return
	}
	var parts []*syntax.Stmt
	for s := (&syntax.Stmt{Cmd: x}); ; {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(s.Redirs) > 0 || s.Negated {
			parts = append(parts, s)
			break
		}
		parts = append(parts, b.Y)
		s = b.X
	}
	slices.Reverse(parts)
	w.pipes++
	c.pipe = w.pipes
	stdin := c.stdin
	for i, s := range parts {
		before := len(w.reply.Commands)
		w.stmt(e.clone(), s, c)
		if i+1 == len(parts) {
			break
		}
		c.stdin, c.stdinFrom = nil, -1
		if n := len(w.reply.Commands); n > before {
			c.stdinFrom = w.lastAtLevel(before, n)
		}
		var text *string
		if stdin != nil && stdin.Known {
			text = &stdin.Text
		}
		stdin = nil
		if out, ok := w.output(e.clone(), []*syntax.Stmt{s}, text, 0); ok {
			t := w.word(out, true, false, false)
			c.stdin, stdin = &t, &t
		}
	}
}

// oneAfterOther walks A && B and A || B, and returns the state in which both were run: what a further && begins with.
func (w *walker) oneAfterOther(e *env, x *syntax.BinaryCmd, c ctx) *env {
	var right *env
	left, ok := x.X.Cmd.(*syntax.BinaryCmd)
	if ok && x.Op == syntax.AndStmt && left.Op == syntax.AndStmt && w.step() &&
		len(x.X.Redirs) == 0 && !x.X.Negated && !x.X.Background {
		right = w.oneAfterOther(e, left, c).clone()
	} else {
		w.stmt(e, x.X, c)
		right = e.clone()
	}
	w.stmt(right, x.Y, c)
	if x.Op == syntax.AndStmt && len(x.Y.Redirs) == 0 && isPlainAssign(x.X) {
		*e = *right // an assignment does not fail
		return right.clone()
	}
	e.join(right)
	return right
}

// lastAtLevel is the last of commands[from:to] that was not handed on by another of them.
func (w *walker) lastAtLevel(from, to int) int {
	for i := to - 1; i > from; i-- {
		if w.reply.Commands[i].Parent < from && !slices.Contains(w.reply.Commands[i].Context, "substitution") {
			return i
		}
	}
	return from
}

func isPlainAssign(s *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	return ok && len(c.Args) == 0 && len(c.Assigns) > 0
}

func (w *walker) ifClause(e *env, x *syntax.IfClause, c ctx) {
	w.stmts(e, x.Cond, c)
	then := e.clone()
	w.stmts(then, x.Then, c.in("condition"))
	if x.Else != nil {
		if len(x.Else.Cond) > 0 {
			w.ifClause(e, x.Else, c.in("condition"))
		} else {
			w.stmts(e, x.Else.Then, c.in("condition"))
		}
	}
	e.join(then)
}

func (w *walker) define(x *syntax.FuncDecl) {
	if x.Name == nil || len(w.order) >= 64 {
		w.reply.Truncated = true
		return
	}
	f := &function{name: x.Name.Value, body: x.Body, src: w.src}
	w.funcs[f.name] = f
	w.order = append(w.order, f)
	if !slices.Contains(w.reply.Functions, f.name) {
		w.reply.Functions = append(w.reply.Functions, f.name)
	}
}

// uncalled walks functions that nothing called: something outside may.
func (w *walker) uncalled() {
	for i := 0; i < len(w.order); i++ {
		if f := w.order[i]; !f.called {
			f.called = true
			w.body(newEnvUnknownParams(), f, ctx{parent: -1, stdinFrom: -1}.in("uncalled:"+f.name))
		}
	}
}

func newEnvUnknownParams() *env {
	e := newEnv()
	e.cwd = &Word{Text: "?"}
	e.forget("PWD")
	return e
}

func (w *walker) body(e *env, f *function, c ctx) {
	if f.running {
		return
	}
	if w.depth >= MaxDepth {
		w.reply.Truncated = true
		w.unknown("limit", f.name, c.parent)
		return
	}
	src := w.src
	f.running, w.src = true, f.src
	w.depth++
	w.part(e, func() { w.stmt(e, f.body, c) })
	w.depth--
	f.running, w.src = false, src
}

// call walks a simple command of the text.
func (w *walker) call(e *env, s *syntax.Stmt, x *syntax.CallExpr, redirs []Redirect, c ctx) {
	around := c
	if len(x.Args) > 0 && x.Args[0].Lit() == "tee" {
		around.feed = &feed{c.stdin, c.stdinFrom}
	}
	for _, a := range x.Args {
		w.substitutions(e, a, around)
	}
	words, open := w.fields(e, x.Args)
	// nothing is written, or it expands to nothing: the shell assigns and redirects all the same
	none := len(words) == 0 && !open
	var assigns []Assign
	for _, a := range x.Assigns {
		w.substitutions(e, a, c)
		if none {
			w.assign(e, a)
			if a.Name != nil && forPrompt(a.Name.Value) {
				w.environment(e, []Assign{{Name: a.Name.Value, Value: w.literal(e, a.Value)}}, c, w.raw(s), -1)
			}
		} else if a.Name != nil {
			assigns = append(assigns, Assign{Name: a.Name.Value, Value: w.literal(e, a.Value)})
		}
	}
	if none {
		if len(redirs) > 0 {
			w.run(e, []Word{{Text: ":", Known: true}}, nil, redirs, c, w.raw(s))
		}
		return
	}
	if len(words) == 0 {
		words = []Word{{Text: w.raw(x.Args[0])}}
	}
	if !words[0].Known {
		// The last path element may be certain all the same: $BIN/rm.
		if _, tail, _ := w.partial(e, x.Args[0]); strings.Contains(tail, "/") {
			w.runNamed(e, path.Base(tail), words, assigns, redirs, c, w.raw(s), open)
			return
		}
	}
	w.runNamed(e, nameOf(words[0]), words, assigns, redirs, c, w.raw(s), open)
}

func nameOf(word Word) string {
	if !word.Known || word.Glob || word.Text == "" {
		return ""
	}
	return word.Text[strings.LastIndexByte(word.Text, '/')+1:]
}

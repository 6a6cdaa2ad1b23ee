package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// run reports a command whose words are expanded, and the commands that it
// starts.
func (w *walker) run(e *env, words []Word, assigns []Assign, redirs []Redirect, c ctx, raw string) {
	if len(words) > 0 {
		w.runNamed(e, nameOf(words[0]), words, assigns, redirs, c, raw, false)
	}
}

func (w *walker) runNamed(e *env, name string, words []Word, assigns []Assign, redirs []Redirect, c ctx, raw string,
	open bool) {
	if !w.step() {
		return
	}
	if c.filled(name) {
		name = ""
	}
	open = open || slices.ContainsFunc(words, func(a Word) bool { return hasHole(a.Text) })
	if c.masked != "" {
		words = masked(words, c.masked)
	}
	f := w.funcs[name]
	if f != nil && (!words[0].Known || words[0].Text != name || slices.Contains(c.via, "command")) {
		f = nil
	}
	all := slices.Concat(c.assigns, assigns)
	i, ok := w.tell(Command{
		Name: name, Words: words, Raw: raw, Assigns: slices.Clone(all),
		Redirects: slices.Concat(c.redirs, redirs), Pipe: c.pipe, StdinFrom: c.stdinFrom, Stdin: c.stdin,
		Via: c.via, Parent: c.parent, Context: c.context, CWD: e.cwd, Remote: c.remote, ArgsOpen: open,
		Function: f != nil, Recursive: f != nil && f.running,
	})
	if !ok {
		return
	}
	if name == "" {
		w.unknown("name", raw, i)
		return
	}
	w.environment(e, all[min(c.ran, len(all)):], c, raw, i)
	c.ran = len(all)
	if alias, ok := w.aliases[name]; ok && words[0].Text == name && !slices.Contains(c.via, "alias "+name) {
		w.aliased(e, name, alias, words[1:], open, c, raw, i)
	}
	if f != nil {
		f.called = true
		inner := c.in("function:" + name)
		inner.redirs = append(slices.Clip(c.redirs), redirs...)
		inner.parent = i
		saved := map[string]variable{}
		for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "@", "*", "#"} {
			if v, ok := e.vars[n]; ok {
				saved[n] = v
			}
		}
		e.setParamWords(words[1:], !open && allKnown(words[1:]))
		w.body(e, f, inner)
		e.setParams(nil, false)
		for n, v := range saved {
			e.set(n, v)
		}
		return
	}
	around := c
	c.redirs = append(slices.Clip(c.redirs), redirs...)
	w.copies(e, name, words[1:], around)
	if w.runsWritten(e, words, open, c, i, raw) {
		return
	}
	if w.builtin(e, name, words, open, around, c.redirs, raw, i) {
		return
	}
	c.assigns = append(slices.Clip(c.assigns), assigns...)
	w.unwrap(e, name, words, open, c, raw, i)
}

// tell adds a command to the reply, within the limits.
func (w *walker) tell(cmd Command) (int, bool) {
	cmd.Name, cmd.Raw = w.plainText(cmd.Name), w.plainText(cmd.Raw)
	cmd.Words = slices.Clone(cmd.Words)
	for i := range cmd.Words {
		cmd.Words[i] = w.unmark(cmd.Words[i])
	}
	for i := range cmd.Redirects { // the slice is ours: run made it
		cmd.Redirects[i].Target = w.unmark(cmd.Redirects[i].Target)
	}
	for i := range cmd.Assigns {
		cmd.Assigns[i].Value = w.unmark(cmd.Assigns[i].Value)
	}
	for _, p := range []**Word{&cmd.Stdin, &cmd.CWD} {
		if *p != nil {
			word := w.unmark(**p)
			*p = &word
		}
	}
	size := inReply(cmd.Raw) + 64
	for _, word := range cmd.Words {
		size += inReply(word.Text)
	}
	for _, r := range cmd.Redirects {
		size += inReply(r.Target.Text)
	}
	for _, a := range cmd.Assigns {
		size += inReply(a.Value.Text)
	}
	for _, s := range cmd.Via {
		size += len(s)
	}
	for _, s := range cmd.Context {
		size += len(s)
	}
	if cmd.Stdin != nil {
		size += inReply(cmd.Stdin.Text)
	}
	if len(w.reply.Commands) >= MaxCommands || w.words+len(cmd.Words) > maxWords || w.told+size > maxTold {
		w.reply.Truncated = true
		return 0, false
	}
	w.words += len(cmd.Words)
	w.told += size
	w.reply.Commands = append(w.reply.Commands, cmd)
	return len(w.reply.Commands) - 1, true
}

// inReply is how many bytes a text takes in the reply: JSON writes a control character in six.
func inReply(s string) int {
	n := len(s)
	for i := range len(s) {
		if s[i] < ' ' {
			n += 5
		} else if s[i] == '"' || s[i] == '\\' {
			n++
		}
	}
	return n
}

func texts(words []Word) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = word.Text
	}
	return out
}

func allKnown(words []Word) bool {
	for _, word := range words {
		if !word.Known || word.Glob {
			return false
		}
	}
	return true
}

// code walks text that a command hands to a shell. With own, the shell is the
// running one (eval, source, trap); otherwise a new one that inherits.
func (w *walker) code(e *env, text Word, label string, c ctx, parent int, own bool, raw string) {
	if part, ok := w.knownPart(text); ok {
		w.unknown("code", raw, parent)
		w.inPart()
		text = part
	} else if !text.Known || text.Glob {
		w.unknown("code", raw, parent)
		if c.masked == "" || text.Glob || !strings.Contains(text.Text, c.masked) {
			return
		}
		// What stands round an input is walked all the same, where it is shell.
		if _, _, err := w.read(text.Text); err != nil {
			return
		}
		w.inPart()
	}
	if w.depth >= MaxDepth {
		w.reply.Truncated = true
		w.unknown("limit", raw, parent)
		return
	}
	f, _, err := w.read(text.Text)
	if err != nil {
		w.reply.OK = false
		if w.reply.Error == "" {
			w.reply.Error = "an inner text is not valid shell: " + err.Error()
		}
		w.unknown("code", raw, parent)
		return
	}
	if !own {
		e = e.clone()
		if c.remote {
			e = newEnv()
			e.cwd = &Word{Text: "?"}
			e.forget("PWD")
		}
	}
	for _, a := range c.assigns {
		v := variable{from: a.Value.From}
		if a.Value.Known {
			v = textVar(a.Value)
		}
		if !own {
			e.set(a.Name, v)
		}
	}
	src, funcs := w.src, w.funcs
	w.src = text.Text
	if !own {
		w.funcs = map[string]*function{}
	}
	w.depth++
	c.via = append(slices.Clip(c.via), label)
	c.parent = parent
	c.assigns, c.ran = nil, 0
	w.stmts(e, f.Stmts, c)
	w.depth--
	w.src, w.funcs = src, funcs
}

func textVar(word Word) variable {
	v := text(word.Text)
	v.glob = word.Glob
	return v
}

// builtin follows what changes the state of the shell. It reports whether that
// was all that there is to the command.
func (w *walker) builtin(e *env, name string, words []Word, open bool, c ctx, redirs []Redirect, raw string,
	i int) bool {
	args := words[1:]
	switch name {
	case "cd", "pushd":
		w.chdir(e, args, open)
	case "popd":
		e.cwd = &Word{Text: "?"}
		e.forget("PWD")
	case "read", "mapfile", "readarray", "getopts":
		w.reads(e, name, args, c, redirs)
		if name[0] != 'r' || name == "readarray" {
			w.wrapped(e, grammar{opts: "d: n: O: s: t u: C=shx+ c:", lenient: true, tail: tailNone},
				handed{name: name, args: args, c: c, raw: raw, i: i})
		}
	case "alias":
		w.alias(e, args, c, raw, i)
	case "hash":
		if len(args) == 3 && args[0].Text == "-p" {
			w.setAlias(args[2].Text, args[1])
		}
	case "unset":
		for _, a := range args {
			e.vars[a.Text] = variable{known: a.Known}
		}
	case "set":
		at := slices.IndexFunc(args, func(a Word) bool {
			return !strings.HasPrefix(a.Text, "-") && !strings.HasPrefix(a.Text, "+") || a.Text == "--"
		})
		if at >= 0 {
			if args[at].Text == "--" {
				at++
			}
			e.setParamWords(args[at:], !open && allKnown(args[at:]))
		}
	case "shift":
		if v, ok := e.vars["@"]; ok && v.known && len(args) == 0 && len(v.v.List) > 0 {
			e.setParams(v.v.List[1:], true)
		} else {
			e.setParams(nil, false)
		}
	case "printf":
		if len(args) > 1 && args[0].Text == "-v" {
			e.forget(args[1].Text)
		}
	case "let": // handed over by a wrapper: its assignments are not read
		e.forgetAll()
	case "break", "continue", "return":
		w.left = append(w.left, e.clone())
	case "eval":
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		if len(args) > 0 {
			w.code(e, joined(args, open), "eval", c, i, true, raw)
		}
	case "trap":
		if len(args) > 0 && args[0].Text == "--" {
			args = args[1:]
		}
		if len(args) > 1 && !strings.HasPrefix(args[0].Text, "-") {
			w.code(e, args[0], "trap", c, i, true, raw)
		}
	case "source", ".":
		if len(args) > 0 && w.runsFile(e, args[0], args[1:], open, "source", c, i, true, raw) {
			break
		}
		if len(args) > 0 && (args[0].Text == "/dev/stdin" || args[0].Text == "-") {
			c.redirs = redirs
			w.stdinCode(e, "source", c, i, raw)
		} else if text, ok := w.printed(args); ok {
			w.code(e, text, "source", c, i, true, raw)
		} else {
			w.unknown("script", raw, i)
		}
	case "export", "declare", "typeset", "local", "readonly": // handed over by a wrapper
	default:
		return false
	}
	return true
}

func (w *walker) chdir(e *env, args []Word, open bool) {
	for len(args) > 0 && len(args[0].Text) > 1 && args[0].Text[0] == '-' {
		args = args[1:]
	}
	to := Word{Text: homeMark, Known: true, Tilde: true}
	if len(args) > 0 {
		to = args[0]
	}
	if before := e.vars["OLDPWD"]; to.Text == "-" && before.known {
		to = w.word(before.v.Str, true, false, false)
	}
	e.leave()
	switch {
	case open || !to.Known || to.Glob || to.Text == "-" || len(args) > 1:
		to = Word{Text: to.Text}
	case strings.HasPrefix(to.Text, "/") || to.Tilde || strings.HasPrefix(to.Text, hereMark):
	case e.cwd != nil:
		to = Word{Text: strings.TrimSuffix(e.cwd.Text, "/") + "/" + to.Text, Known: e.cwd.Known, Tilde: e.cwd.Tilde}
	}
	e.cwd = &to
	if to.Known {
		e.set("PWD", text(to.Text))
	} else {
		e.forget("PWD")
	}
}

// leave keeps the directory that a command is about to leave.
func (e *env) leave() {
	switch {
	case e.cwd == nil:
		e.set("OLDPWD", text(hereMark))
	case !e.cwd.Known:
		e.forget("OLDPWD")
	case strings.HasPrefix(e.cwd.Text, "/") || e.cwd.Tilde || marked(e.cwd.Text):
		e.set("OLDPWD", text(e.cwd.Text))
	default:
		e.set("OLDPWD", text(hereMark+"/"+e.cwd.Text))
	}
}

// reads sets the variables of read where its input is known.
func (w *walker) reads(e *env, name string, args []Word, c ctx, redirs []Redirect) {
	var names []string
	simple := name == "read"
	for _, a := range args {
		if strings.HasPrefix(a.Text, "-") {
			simple = simple && a.Text == "-r"
			continue
		}
		if syntax.ValidName(a.Text) {
			names = append(names, a.Text)
		}
	}
	from := inputFrom(c, redirs)
	for _, n := range names {
		e.vars[n] = variable{from: from}
	}
	if !simple || c.stdin == nil || !c.stdin.Known || len(names) == 0 {
		return
	}
	if v, ok := e.vars["IFS"]; ok && v.v.Set && v.v.Str != blankIFS {
		return
	}
	line, _, _ := strings.Cut(c.stdin.Text, "\n")
	fields := strings.Fields(line)
	for i, n := range names {
		switch {
		case i == len(names)-1:
			e.set(n, text(strings.Join(fields[min(i, len(fields)):], " ")))
		case i < len(fields):
			e.set(n, text(fields[i]))
		default:
			e.set(n, text(""))
		}
	}
}

// joined is the text that a program makes of its arguments by joining them.
func joined(args []Word, open bool) Word {
	out := Word{Known: !open}
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.Text)
		out.Known = out.Known && a.Known && !a.Glob
	}
	out.Text = b.String()
	for i, a := range args {
		out.From = union(out.From, a.From)
		part := a.Text
		if !a.Known {
			part = a.holes
		}
		if part == "" && !a.Known || a.Glob {
			out.holes = ""
			break
		}
		if i > 0 {
			out.holes += " "
		}
		out.holes += part
	}
	return out
}

// stdinCode walks what a shell reads from its standard input.
func (w *walker) stdinCode(e *env, label string, c ctx, i int, raw string) {
	if c.stdin == nil {
		if text, script, ok := w.redirected(c.redirs); ok && script {
			w.awaits(e, label, c, i, raw)
			w.unknown("script", raw, i)
		} else if ok {
			c.stdinFrom = -1
			w.code(e, text, label, c, i, false, raw)
		} else if c.stdinFrom >= 0 || c.fed || hasStdin(c.redirs) {
			w.unknown("code", raw, i)
		}
		return // an interactive shell, or what the caller feeds it
	}
	in := *c.stdin
	c.stdin, c.stdinFrom = nil, -1
	w.code(e, in, label, c, i, false, raw)
}

func hasStdin(redirs []Redirect) bool {
	return slices.ContainsFunc(redirs, func(r Redirect) bool { return r.FD == 0 && strings.HasPrefix(r.Op, "<") })
}

// redirected is what standard input is redirected from: the known output of <(…), or a script in a file.
func (w *walker) redirected(redirs []Redirect) (text Word, script, ok bool) {
	for k := len(redirs) - 1; k >= 0; k-- {
		r := &redirs[k]
		if r.FD != 0 || !strings.HasPrefix(r.Op, "<") {
			continue
		}
		if r.Op != "<" {
			return Word{}, false, false
		}
		if text, ok := w.printed([]Word{r.Target}); ok {
			return text, false, true
		}
		return Word{}, true, r.Target.Known && !strings.HasPrefix(r.Target.Text, "/dev/") &&
			!strings.HasPrefix(r.Target.Text, "/proc/")
	}
	return Word{}, false, false
}

// printed is the known output of a process substitution that stands as the first word.
func (w *walker) printed(args []Word) (Word, bool) {
	if len(args) == 0 || args[0].Known {
		return Word{}, false
	}
	text, ok := w.prints[args[0].Text]
	return w.word(text, true, false, false), ok
}

// alias walks what aliases stand for. A shell that is not interactive leaves them alone, another one uses them.
func (w *walker) alias(e *env, args []Word, c ctx, raw string, i int) {
	for _, a := range args {
		name, value, ok := strings.Cut(a.Text, "=")
		if !ok || strings.HasPrefix(a.Text, "-") {
			continue
		}
		word := Word{Text: value, Known: a.Known && !a.Glob}
		w.setAlias(name, word)
		w.maybeCode(e, word, "alias", c, i, raw)
	}
}

func (w *walker) setAlias(name string, value Word) {
	if len(w.aliases) >= maxVars {
		w.reply.Truncated = true
		return
	}
	if w.aliases == nil {
		w.aliases = map[string]Word{}
	}
	w.aliases[name] = value
}

// aliased walks a command whose name is an alias.
func (w *walker) aliased(e *env, name string, alias Word, args []Word, open bool, c ctx, raw string, i int) {
	from := len(w.reply.Commands)
	w.maybeCode(e, withArgs(alias, args, false), "alias "+name, c, i, raw)
	if open {
		w.reopen(from, i)
	}
}

// maybeCode walks a text that is shell only together with what stands behind it; where it is none, it is not known.
func (w *walker) maybeCode(e *env, text Word, label string, c ctx, i int, raw string) {
	if text.Known {
		if _, _, err := w.read(text.Text); err != nil {
			w.unknown("code", raw, i)
			return
		}
	}
	w.code(e, text, label, c, i, false, raw)
}

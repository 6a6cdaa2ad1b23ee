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
	f := w.funcs[name]
	if f != nil && (!words[0].Known || words[0].Text != name || slices.Contains(c.via, "command")) {
		f = nil
	}
	i, ok := w.tell(Command{
		Name: name, Words: words, Raw: raw, Assigns: slices.Concat(c.assigns, assigns),
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
		e.setParams(texts(words[1:]), !open && allKnown(words[1:]))
		w.body(e, f, inner)
		e.setParams(nil, false)
		for n, v := range saved {
			e.set(n, v)
		}
		return
	}
	around := c
	c.redirs = append(slices.Clip(c.redirs), redirs...)
	if w.builtin(e, name, words, open, around, c.redirs, raw, i) {
		return
	}
	c.assigns = append(slices.Clip(c.assigns), assigns...)
	w.unwrap(e, name, words, open, c, raw, i)
}

// tell adds a command to the reply, within the limits.
func (w *walker) tell(cmd Command) (int, bool) {
	cmd.Name = unmarkText(cmd.Name)
	cmd.Words = slices.Clone(cmd.Words)
	for i := range cmd.Words {
		cmd.Words[i] = unmark(cmd.Words[i])
	}
	for i := range cmd.Redirects { // the slice is ours: run made it
		cmd.Redirects[i].Target = unmark(cmd.Redirects[i].Target)
	}
	for i := range cmd.Assigns {
		cmd.Assigns[i].Value = unmark(cmd.Assigns[i].Value)
	}
	for _, p := range []**Word{&cmd.Stdin, &cmd.CWD} {
		if *p != nil {
			word := unmark(**p)
			*p = &word
		}
	}
	size := len(cmd.Raw) + 64
	for _, word := range cmd.Words {
		size += len(word.Text)
	}
	for _, r := range cmd.Redirects {
		size += len(r.Target.Text)
	}
	for _, a := range cmd.Assigns {
		size += len(a.Value.Text)
	}
	for _, s := range append(cmd.Via, cmd.Context...) {
		size += len(s)
	}
	if cmd.Stdin != nil {
		size += len(cmd.Stdin.Text)
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
	if !text.Known || text.Glob {
		w.unknown("code", raw, parent)
		return
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
		v := variable{}
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
	c.assigns = nil
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
		w.reads(e, name, args, c)
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
			e.setParams(texts(args[at:]), !open && allKnown(args[at:]))
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
		if len(args) > 0 && (args[0].Text == "/dev/stdin" || args[0].Text == "-") {
			c.redirs = redirs
			w.stdinCode(e, "source", c, i, raw)
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

// reads sets the variables of read where its input is known.
func (w *walker) reads(e *env, name string, args []Word, c ctx) {
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
	for _, n := range names {
		e.forget(n)
	}
	if !simple || c.stdin == nil || !c.stdin.Known || len(names) == 0 {
		return
	}
	if v, ok := e.vars["IFS"]; ok && v.v.Set {
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
	for i, a := range args {
		if i > 0 {
			out.Text += " "
		}
		out.Text += a.Text
		out.Known = out.Known && a.Known && !a.Glob
	}
	return out
}

// stdinCode walks what a shell reads from its standard input.
func (w *walker) stdinCode(e *env, label string, c ctx, i int, raw string) {
	if c.stdin == nil {
		if c.stdinFrom >= 0 || hasStdin(c.redirs) {
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

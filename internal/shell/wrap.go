package shell

import (
	"cmp"
	"slices"
	"strings"
)

// handed is a command that may hand something on: what unwrap and its helpers need of it.
type handed struct {
	name string // of the program
	args []Word
	open bool // more arguments follow that are not known
	c    ctx
	raw  string
	i    int // its index in the reply
}

// unwrap walks what a program hands on to be run.
func (w *walker) unwrap(e *env, name string, words []Word, open bool, c ctx, raw string, i int) {
	h := handed{name: name, args: words[1:], open: open, c: c, raw: raw, i: i}
	w.recipes(e, h)
	switch {
	case isShell(name):
		w.shell(e, name, h.args, open, c, raw, i)
		return
	case name == "find" || name == "gfind" || name == "fd" || name == "fdfind" || name == "bfs":
		w.finds(e, name, h.args, c, raw, i)
		return
	case name == "git":
		w.git(e, h)
		return
	case name == "aws":
		w.awsCommand(e, h)
	case name == "mvn" || name == "mvnw" || name == "mvnd":
		w.mavenExec(e, h)
	case strings.HasPrefix(name, "pwsh") || name == "powershell" || name == "powershell.exe":
		w.powershell(e, h)
		return
	case name == "cmd" || name == "cmd.exe":
		w.cmd(e, h)
		return
	case name == "tar" || name == "bsdtar" || name == "gtar":
		h.args = oldStyle(h.args)
	case name == "schtasks" || name == "schtasks.exe":
		for k, a := range h.args {
			if strings.EqualFold(a.Text, "/tr") && k+1 < len(h.args) {
				w.handsText(e, "cmd", h.args[k+1], h)
			}
		}
		return
	case name == "nim":
		h.args = colonStyle(h.args)
	}
	g, ok := wrapperOf(name)
	if !ok {
		if g, ok = interpreterOf(name); !ok {
			return
		}
	}
	w.wrapped(e, g, h)
}

// wrapped reads a program's own options and walks what it runs.
func (w *walker) wrapped(e *env, g grammar, h handed) {
	away := h.c.remote
	if h.c.remote = away || g.remote; g.remote && !away && !strings.HasPrefix(h.name, "ssh") {
		e = newEnvUnknownParams()
	}
	if g.label != "" {
		h.name = g.label
	}
	if h.name == "xargs" || h.name == "gxargs" {
		var hole string
		h.args, h.open, hole = w.xargs(&g, h.args, h.open, h.c)
		g.adds, h.c = h.open, h.c.fill(hole)
		h.c.masked = hole
	}
	r := reading{walker: w, e: e, g: &g, h: h, skip: g.skip, away: away}
	r.read()
}

// optionBytes is how much of a table of options is looked through in the time of a step.
const optionBytes = 512

// reading is the state of wrapped between options.
type reading struct {
	*walker
	e    *env
	g    *grammar
	h    handed
	skip int
	away bool // the program itself runs on another host or in a container

	head   *Word  // the program that an option names
	more   []Word // its own arguments
	given  bool   // an option gave the program what to run
	shell  bool   // what follows is joined for a shell
	texts  []Word // program texts of options that are one
	lang   string
	front  []Word // what env -S puts in front of the other words
	behind bool   // an option says that the command follows
	over   bool   // nothing is run, or it cannot be told
}

func (r *reading) read() {
	for len(r.h.args) > 0 && !r.over && !r.behind && r.step() {
		r.steps += len(r.g.opts) / optionBytes
		word := r.h.args[0]
		a := word.Text
		switch {
		case a == "--":
			r.h.args = r.h.args[1:]
			if r.g.dashed || r.g.tail == tailAfter {
				r.skip = 0
				r.g.tail = cmp.Or(strings.TrimPrefix(r.g.tail, tailAfter), tailArgv)
			}
			r.operands(true)
			return
		case len(a) > 1 && a[0] == '-':
			if !word.Known && !r.g.lenient && !strings.Contains(a, "=") && !r.known(a) {
				r.lost()
				return
			}
			used, goesOn := r.g.options(r.h.args, r.option)
			r.h.args = r.h.args[min(used, len(r.h.args)):]
			if !goesOn && !r.behind {
				r.end()
				return
			}
			if len(r.front) > 0 {
				r.h.args, r.front = append(r.front, r.h.args...), nil
			}
		case a == "-" && (r.h.name == "su" || r.h.name == "runuser" || r.h.name == "env"):
			r.h.args = r.h.args[1:]
		case r.g.assigns && strings.IndexByte(a, '=') > 0: // any name
			at := strings.IndexByte(a, '=')
			value := Word{Text: a[at+1:], Known: word.Known}
			r.h.c.assigns = append(slices.Clip(r.h.c.assigns), Assign{Name: a[:at], Value: value})
			r.h.args = r.h.args[1:]
		case strings.HasPrefix(r.g.tail, "~~") && r.skip == 0: // each operand, wherever it stands
			h := r.h
			h.args = r.h.args[:1]
			r.special(r.g.tail, word, h)
			r.h.args = r.h.args[1:]
		case r.skip > 0 && r.g.mixed || r.g.tail == tailNone || r.g.tail == tailAfter:
			r.skip = max(r.skip-1, 0) // options may follow the operand
			r.h.args = r.h.args[1:]
		default:
			r.operands(false)
			return
		}
	}
	if !r.over && !r.gaveUp {
		r.operands(false)
	}
}

// known reports an option whose first letter takes the rest of the word, so that it does not matter what that is.
func (r *reading) known(a string) bool {
	if r.g.single || strings.HasPrefix(a, "--") {
		return false
	}
	mark, ok := r.g.lookup(a[1:2], false)
	return ok && takesValue(mark)
}

// lost tells that what the program runs cannot be told.
func (r *reading) lost() {
	r.over = true
	if r.g.stdin != "" && r.g.stdin != kindShell { // an interpreter: its program is somewhere in the arguments
		r.handsProgram(Program{Language: r.g.stdin}, r.h)
		return
	}
	if r.g.verbs != "" && !slices.ContainsFunc(r.h.args, func(a Word) bool {
		_, ok := verbOf(r.g.verbs, a.Text)
		return ok || !a.Known
	}) {
		return
	}
	r.unknown("name", r.h.raw, r.h.i)
}

// option takes one option. It returns false where the rest is not to be read as options.
func (r *reading) option(o option) bool {
	if !o.known {
		if r.g.lenient {
			return true
		}
		r.lost()
		return false
	}
	if o.mark == "" {
		return true
	}
	switch o.mark[0] {
	case '!':
		r.over = true
		return false
	case '$':
		r.shell = true
	case '^':
		r.g.tail = tailArgv
	case '&':
		r.g.tail = tailArgs
	case '%':
		r.unknown("code", r.h.raw, r.h.i)
		r.over = true
		return false
	case '?':
		if len(o.mark) > 1 && (o.value.Text != "" || !o.value.Known) {
			return r.runs(o.mark[1:], o.value, o.used)
		}
	case '@':
		r.behind = true
		return false
	case '=':
		return r.runs(o.mark[1:], o.value, o.used)
	}
	return true
}

// runs takes a value that is run. It returns false where that ends the options.
func (r *reading) runs(kind string, value Word, used int) bool {
	kind, besides := strings.CutSuffix(kind, "+")
	r.given = r.given || !besides && kind != kindHead && kind != kindArgs && kind[0] != '~'
	h := r.h
	h.args = h.args[min(used, len(h.args)):]
	switch kind {
	case kindShell:
		if value.Text != "" || !value.Known {
			r.code(r.e, value, h.name, h.c, h.i, false, h.raw)
		}
	case kindOpen:
		from := len(r.reply.Commands)
		r.code(r.e, value, h.name, h.c, h.i, false, h.raw)
		r.reopen(from, h.i)
	case kindArgs:
		r.argvOpen(r.e, h.name, []Word{value}, true, h.c, h.raw, h.i)
	case kindHead:
		r.head = &value
	case kindScript:
		r.unknown("script", h.raw, h.i)
	default:
		if lang, ok := strings.CutPrefix(kind, kindText); ok {
			if r.g.joins {
				r.texts, r.lang = append(r.texts, value), lang
			} else {
				r.handsText(r.e, lang, value, h)
			}
			return !r.g.stops
		}
		if lang, ok := strings.CutPrefix(kind, kindFile); ok {
			r.handsFile(r.e, lang, value, h)
			return !r.g.stops || besides
		}
		if name, ok := strings.CutPrefix(kind, kindOpts); ok {
			r.optionsOf(r.e, name, value, h)
			return true
		}
		return r.special(kind, value, h)
	}
	return true
}

// reopen says of the last command that was handed on since then that more arguments follow.
func (w *walker) reopen(from, parent int) {
	for i := len(w.reply.Commands) - 1; i >= from; i-- {
		if w.reply.Commands[i].Parent == parent {
			w.reply.Commands[i].ArgsOpen = true
			return
		}
	}
}

// end closes the options where nothing of the operands is run.
func (r *reading) end() {
	if len(r.texts) > 0 {
		all := Word{Text: strings.Join(texts(r.texts), "\n"), Known: true}
		for _, t := range r.texts {
			all.Known = all.Known && t.Known && !t.Glob
		}
		all = r.word(all.Text, all.Known, false, false)
		r.texts = nil
		r.handsText(r.e, r.lang, all, r.h)
	}
}

// operands walks the words behind the options.
func (r *reading) operands(dashes bool) {
	r.end()
	g, h := r.g, r.h
	if len(h.args) < r.skip { // an operand is missing: the program fails, or asks
		r.head, h.args = nil, nil
	}
	args := h.args[min(r.skip, len(h.args)):]
	if g.skip > 0 && !dashes && len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	h.args = args
	if r.head != nil {
		r.argvOpen(r.e, h.name, slices.Concat([]Word{*r.head}, r.more, args), h.open || g.adds, h.c, h.raw, h.i)
		return
	}
	if r.behind {
		r.either(args, h)
		return
	}
	if r.given {
		return
	}
	if g.verbs != "" && len(args) > 0 {
		r.verb(args, h)
		return
	}
	switch {
	case len(args) == 0:
		r.nothing()
	case r.shell || g.tail == tailShell:
		r.code(r.e, joined(args, h.open), h.name, h.c, h.i, false, h.raw)
	case g.tail == tailArgv:
		r.argvOpen(r.e, h.name, args, h.open || g.adds, h.c, h.raw, h.i)
	case g.tail == tailEither:
		r.either(args, h)
	case g.tail == tailEach:
		for _, a := range args {
			r.code(r.e, a, h.name, h.c, h.i, false, h.raw)
		}
	case g.tail == tailArgs:
		if dashes || strings.HasPrefix(args[0].Text, "-") {
			r.walker.shell(r.e, h.name, args, h.open, h.c, h.raw, h.i)
		} else {
			r.argvOpen(r.e, h.name, args, h.open, h.c, h.raw, h.i)
		}
	case g.tail == tailNone, g.tail == tailAfter, strings.HasPrefix(g.tail, "~~"):
		r.nothing()
	case strings.HasPrefix(g.tail, kindText):
		r.handsText(r.e, g.tail[len(kindText):], args[0], h)
	case strings.HasPrefix(g.tail, kindFile):
		h.args = args[1:]
		r.handsFile(r.e, g.tail[len(kindFile):], args[0], h)
		if nameOf(args[0]) == "manage.py" {
			r.wrapped(r.e, grammar{verbs: "manage.py", lenient: true}, h)
		}
	default:
		r.special(g.tail, args[0], h)
	}
}

// either walks one word as a text for a shell, and several as a command.
func (r *reading) either(args []Word, h handed) {
	switch {
	case len(args) == 1 && !h.open && strings.ContainsAny(args[0].Text, " \t\n;&|<>$`"):
		r.code(r.e, args[0], h.name, h.c, h.i, false, h.raw)
	default:
		r.argvOpen(r.e, h.name, args, h.open || r.g.adds, h.c, h.raw, h.i)
	}
}

// verb walks what the first operand of a program with verbs asks for.
func (r *reading) verb(args []Word, h handed) {
	if !args[0].Known {
		r.unknown("name", h.raw, h.i)
		return
	}
	g, ok := verbOf(r.g.verbs, args[0].Text)
	if !ok {
		return
	}
	h.args = args[1:]
	if g.remote {
		h.name += " " + args[0].Text
	}
	r.wrapped(r.e, g, h)
}

// nothing is what a program does whose arguments give it nothing to run.
func (r *reading) nothing() {
	h := r.h
	if r.shell || r.g.stdin == kindShell {
		r.stdinCode(r.e, h.name, h.c, h.i, h.raw)
	} else if r.g.stdin != "" {
		r.handsStdin(r.e, r.g.stdin, h)
	}
	interprets := r.g.stdin != "" && r.g.stdin != kindShell
	if h.open && !r.g.lenient && !interprets && (!r.g.remote || r.g.stdin != "") || h.name == "parallel" {
		r.unknown("code", h.raw, h.i)
	}
}

// xargs puts the words of a known input into the command; open when they are not
// known, or quoting or options make them doubtful. The hole is what they are put into then.
func (w *walker) xargs(g *grammar, args []Word, open bool, c ctx) (words []Word, doubt bool, hole string) {
	at, replace, null, sure := xargsOptions(g, args)
	if !sure || c.stdin == nil || !c.stdin.Known || open ||
		null != strings.Contains(c.stdin.Text, "\x00") || !null && strings.ContainsAny(c.stdin.Text, "\\\"'") {
		return args, true, replace
	}
	out := slices.Clone(args)
	if replace == "" {
		fields := strings.Fields(c.stdin.Text)
		if null {
			fields = strings.Split(strings.TrimSuffix(c.stdin.Text, "\x00"), "\x00")
		}
		for _, f := range fields {
			out = append(out, w.word(f, true, false, false))
		}
		return out, len(fields) > 256, ""
	}
	line := strings.TrimSpace(c.stdin.Text)
	if null {
		line = strings.TrimSuffix(c.stdin.Text, "\x00")
	}
	if strings.ContainsAny(line, "\n\x00") { // one command a line: the lines together stand for each
		return args, true, replace
	}
	for k := at; k < len(out); k++ {
		out[k] = w.word(strings.ReplaceAll(out[k].Text, replace, line), out[k].Known, out[k].Glob, out[k].Tilde)
	}
	return out, false, ""
}

// xargsOptions finds where the command of xargs begins, what its input replaces there, and whether a NUL ends each item
// of it. It is not sure of other options that change how the input is read.
func xargsOptions(g *grammar, args []Word) (at int, replace string, null, sure bool) {
	sure = true
	for at < len(args) {
		a := args[at].Text
		if a == "--" {
			return at + 1, replace, null, sure
		}
		if len(a) < 2 || a[0] != '-' {
			return at, replace, null, sure
		}
		used, _ := g.options(args[at:], func(o option) bool {
			switch o.name {
			case "I", "i", "replace":
				replace = cmp.Or(o.value.Text, "{}")
			case "J":
				replace, sure = cmp.Or(o.value.Text, "{}"), false
			case "0", "null":
				null = true
			case "d", "delimiter", "a", "arg-file", "E", "e", "eof", "R", "S":
				sure = false
			}
			sure = sure && o.known
			return true
		})
		at += used
	}
	return min(at, len(args)), replace, null, sure
}

// argvOpen walks words that are run as a command.
func (w *walker) argvOpen(e *env, label string, args []Word, open bool, c ctx, raw string, i int) {
	if len(args) == 0 {
		return
	}
	if len(c.via) >= 32 {
		w.reply.Truncated = true
		return
	}
	if label == "xargs" || label == "gxargs" {
		c.stdin, c.stdinFrom = nil, -1
	}
	redirs, assigns := c.redirs, c.assigns
	c.via = append(slices.Clip(c.via), label)
	c.parent = i
	c.redirs, c.assigns = nil, nil
	w.runNamed(e, nameOf(args[0]), args, assigns, redirs, c, raw, open)
}

// shell walks what a shell is told to run.
func (w *walker) shell(e *env, name string, args []Word, open bool, c ctx, raw string, i int) {
	w.startFiles(e, args, c, raw, i)
	if name == "fish" {
		args = w.fish(e, args, c, raw, i)
	}
	for k := 0; k < len(args); k++ {
		a := args[k].Text
		letters, names := shellOptions(a)
		switch {
		case strings.Contains(letters, "c"):
			rest := args[min(k+1+names, len(args)):]
			for len(rest) > 0 && (strings.HasPrefix(rest[0].Text, "-") || strings.HasPrefix(rest[0].Text,
				"+")) { // -c -x CODE
				opt := rest[0].Text
				_, names := shellOptions(opt)
				rest = rest[min(1+names, len(rest)):]
				if opt == "-" || opt == "--" {
					break
				}
			}
			if len(rest) == 0 {
				if open {
					w.unknown("code", raw, i)
				}
				return
			}
			inner := e.clone()
			if len(rest) > 1 {
				inner.set("0", text(rest[1].Text))
				inner.setParamWords(rest[2:], !open && allKnown(rest[1:]))
			} else {
				inner.setParams(nil, !open)
			}
			w.code(inner, rest[0], name+" -c", c, i, false, raw)
			return
		case a == "-s":
			w.stdinCode(e, "stdin", c, i, raw)
			return
		case a == "-": // a script may follow
		case a == "/dev/stdin" || a == "/dev/fd/0" || a == "/proc/self/fd/0":
			w.stdinCode(e, "stdin", c, i, raw)
			return
		case a == "--version" || a == "--help" || a == "-n":
			return
		case a == "--rcfile" || a == "--init-file":
			if k++; k < len(args) && args[k].Text != "/dev/null" {
				w.unknown("script", raw, i)
			}
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
			k += names
		default:
			if text, ok := w.printed(args[k:]); ok {
				w.code(e, text, name, c, i, false, raw)
			} else if w.runsFile(e, args[k], args[k+1:], open, name, c, i, false, raw) {
				return
			} else if args[k].Known {
				w.unknown("script", raw, i)
			} else {
				w.unknown("code", raw, i)
			}
			return
		}
	}
	if open {
		w.unknown("code", raw, i)
		return
	}
	w.stdinCode(e, "stdin", c, i, raw)
}

// shellOptions is the letters of a shell's short options, and how many names of options follow: one for each o.
func shellOptions(a string) (letters string, names int) {
	if len(a) < 2 || a[0] != '-' && a[0] != '+' || a[1] == '-' {
		return "", 0
	}
	return a[1:], strings.Count(a, "o") + strings.Count(a, "O")
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "fish", "yash", "posh", "hush",
		"lksh", "rksh", "pdksh",
		"bash.exe", "sh.exe":
		return true
	}
	return false
}

// startFiles tells of a file that a shell runs before all else: ENV, where it is interactive.
func (w *walker) startFiles(e *env, args []Word, c ctx, raw string, i int) {
	interactive := len(args) == 0
	for _, a := range args {
		letters, _ := shellOptions(a.Text)
		interactive = interactive || strings.Contains(letters, "i")
	}
	for k := range c.assigns {
		if a := &c.assigns[k]; a.Name == "ENV" && interactive && (a.Value.Text != "" || !a.Value.Known) {
			w.prompt(e, a.Value, "ENV=", c, raw, i)
			w.unknown("script", raw, i)
		}
	}
}

// fish walks what fish runs first, and writes its long options as other shells have them.
func (w *walker) fish(e *env, args []Word, c ctx, raw string, i int) (out []Word) {
	for k := 0; k < len(args); k++ {
		opt, value, has := strings.Cut(args[k].Text, "=")
		word := Word{Text: value, Known: args[k].Known}
		if !has && k+1 < len(args) {
			word = args[k+1]
		}
		switch opt {
		case "--command":
			return append(append(out, Word{Text: "-c", Known: true}, word), args[min(k+1, len(args)):]...)
		case "-C", "--init-command":
			w.code(e, word, "fish -C", c, i, false, raw)
			if !has {
				k++
			}
		default:
			out = append(out, args[k])
		}
	}
	return out
}

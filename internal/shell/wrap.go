package shell

import (
	"cmp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unwrap walks what a program hands on to be run.
func (w *walker) unwrap(e *env, name string, words []Word, open bool, c ctx, raw string, i int) {
	args := words[1:]
	switch {
	case isShell(name):
		w.shell(e, name, args, open, c, raw, i)
		return
	case name == "find" || name == "gfind" || name == "fd" || name == "fdfind" || name == "bfs":
		w.finds(e, name, args, c, raw, i)
		return
	case name == "git":
		w.git(e, args, c, raw, i)
		return
	case isContainer(name):
		w.container(name, args, open, c, raw, i)
		return
	case name == "at" || name == "batch":
		w.stdinCode(e, name, c, i, raw)
		return
	case name == "tar" || name == "bsdtar" || name == "gtar" || name == "rsync" || name == "tmux" || name == "screen":
		w.options(e, name, args, c, raw, i)
		return
	}
	spec, ok := wrapperOf(name)
	if !ok {
		return
	}
	switch name {
	case "bundle", "poetry", "pipenv", "pdm", "uv", "rye", "hatch", "conda", "mamba", "micromamba", "direnv":
		at := slices.IndexFunc(args, func(a Word) bool { return a.Text == "run" || a.Text == "exec" })
		if at < 0 || at > 0 && !strings.HasPrefix(args[0].Text, "-") && (name != "uv" || args[0].Text != "tool") {
			return
		}
		args = args[at+1:]
	}
	w.wrapped(e, name, spec, args, open, c, raw, i)
}

// wrapped reads a wrapper's own options and walks the rest as a command.
func (w *walker) wrapped(e *env, name string, spec wrapper, args []Word, open bool, c ctx, raw string, i int) {
	c.remote = c.remote || spec.remote
	skip := spec.skip
	var shellMode bool
	if name == "xargs" || name == "gxargs" {
		var hole string
		args, open, hole = w.xargs(spec, args, open, c)
		spec.open, c = open, c.fill(hole)
	}
	for len(args) > 0 {
		a := args[0].Text
		switch {
		case spec.dashes && a == "--":
			w.argv(e, name, args[1:], open, c, raw, i)
			return
		case a == "--":
			args = args[1:]
			w.rest(e, name, spec, args, skip, shellMode, open, c, raw, i)
			return
		case strings.HasPrefix(a, "--"):
			opt, value, has := strings.Cut(a[2:], "=")
			n := 1
			if !has && (slices.Contains(spec.long, opt) || slices.Contains(spec.codes, opt)) && len(args) > 1 {
				value, n = args[1].Text, 2
			}
			if slices.Contains(spec.codes, opt) {
				w.code(e, withRest(name, Word{Text: value, Known: args[n-1].Known && !args[n-1].Glob}, args[n:], open), name, c, i,
					false, raw)
				return
			}
			if name == "runuser" && opt == "user" {
				skip = 0
			}
			shellMode = shellMode || name == "sudo" && (opt == "shell" || opt == "login")
			args = args[n:]
		case len(a) > 1 && a[0] == '-':
			n := 1
			for k := 1; k < len(a); k++ {
				o := a[k]
				if strings.IndexByte(spec.nocmd, o) >= 0 {
					return
				}
				shellMode = shellMode || strings.IndexByte(spec.shells, o) >= 0
				if name == "runuser" && o == 'u' {
					skip = 0 // the user is the option's: a command follows
				}
				if strings.IndexByte(spec.code, o) >= 0 {
					value := Word{Text: a[k+1:], Known: args[0].Known}
					if k+1 == len(a) && len(args) > 1 {
						value, n = args[1], 2
					}
					w.code(e, withRest(name, value, args[n:], open), name, c, i, false, raw)
					return
				}
				if strings.IndexByte(spec.takes, o) >= 0 {
					if k+1 == len(a) {
						n = 2
					}
					break
				}
			}
			args = args[min(n, len(args)):]
		case a == "-" && (name == "su" || name == "env"):
			args = args[1:]
		case spec.assigns && strings.IndexByte(a, '=') > 0: // any name
			at := strings.IndexByte(a, '=')
			c.assigns = append(slices.Clip(c.assigns), Assign{Name: a[:at], Value: Word{Text: a[at+1:], Known: args[0].Known}})
			args = args[1:]
		case skip > 0:
			skip-- // options may follow the operand
			args = args[1:]
		default:
			w.rest(e, name, spec, args, skip, shellMode, open, c, raw, i)
			return
		}
	}
	if shellMode || spec.reads {
		w.stdinCode(e, name, c, i, raw)
	}
	if open || name == "parallel" {
		w.unknown("code", raw, i)
	}
}

// withRest is the text that a wrapper runs; env puts its other words behind it.
func withRest(name string, code Word, rest []Word, open bool) Word {
	if name != "env" {
		return code
	}
	code.Known = code.Known && !open
	for _, a := range rest {
		q, err := syntax.Quote(a.Text, syntax.LangBash)
		code.Text += " " + q
		code.Known = code.Known && a.Known && !a.Glob && err == nil
	}
	return code
}

// xargs puts the words of a known input into the command; open when they are not
// known, or quoting or options make them doubtful. The hole is what they are put into then.
func (w *walker) xargs(spec wrapper, args []Word, open bool, c ctx) (words []Word, doubt bool, hole string) {
	at, replace, sure := xargsOptions(spec, args)
	if !sure || c.stdin == nil || !c.stdin.Known || strings.ContainsAny(c.stdin.Text, "\\\"'") || open {
		return args, true, replace
	}
	out := slices.Clone(args)
	if replace == "" {
		fields := strings.Fields(c.stdin.Text)
		for _, f := range fields {
			out = append(out, w.word(f, true, false, false))
		}
		return out, len(fields) > 256, ""
	}
	line := strings.TrimSpace(c.stdin.Text)
	if strings.Contains(line, "\n") { // one command a line: the lines together stand for each
		return args, true, replace
	}
	for k := at; k < len(out); k++ {
		out[k] = w.word(strings.ReplaceAll(out[k].Text, replace, line), out[k].Known, out[k].Glob, out[k].Tilde)
	}
	return out, false, ""
}

// xargsOptions finds where the command of xargs begins and what its input replaces there. It is not sure of options
// that change how the input is read.
func xargsOptions(spec wrapper, args []Word) (at int, replace string, sure bool) {
	sure = true
	for at < len(args) {
		a := args[at].Text
		if a == "--" {
			return at + 1, replace, sure
		}
		if len(a) < 2 || a[0] != '-' {
			return at, replace, sure
		}
		at++
		if opt, long := strings.CutPrefix(a, "--"); long {
			opt, value, has := strings.Cut(opt, "=")
			switch opt {
			case "replace":
				replace = cmp.Or(value, "{}")
			case "no-run-if-empty", "verbose", "interactive", "open-tty", "exit", "max-lines", "show-limits":
			case "max-args", "max-procs", "max-chars", "process-slot-var":
				if !has {
					at++
				}
			default:
				sure = false
				if !has && slices.Contains(spec.long, opt) {
					at++
				}
			}
			continue
		}
		for k := 1; k < len(a); k++ {
			value := a[k+1:]
			if strings.IndexByte(spec.takes, a[k]) >= 0 && value == "" {
				if at == len(args) {
					return at, replace, false
				}
				value = args[at].Text
				at++
			}
			sure = sure && strings.IndexByte("0daEeJRS", a[k]) < 0
			if a[k] == 'I' || a[k] == 'i' || a[k] == 'J' {
				replace = cmp.Or(value, "{}")
			}
			if strings.IndexByte(spec.takes, a[k]) >= 0 || a[k] == 'i' || a[k] == 'l' {
				break
			}
		}
	}
	return min(at, len(args)), replace, sure
}

// rest walks the words after a wrapper's options.
func (w *walker) rest(e *env, name string, spec wrapper, args []Word, skip int, shellMode, open bool, c ctx, raw string,
	i int) {
	args = args[min(skip, len(args)):]
	if name == "parallel" {
		w.parallel(e, args, open, c, raw, i)
		return
	}
	if spec.join || shellMode {
		w.code(e, joined(args, open), name, c, i, false, raw)
		return
	}
	w.argvOpen(e, name, args, open || spec.open, c, raw, i)
}

func (w *walker) argv(e *env, label string, args []Word, open bool, c ctx, raw string, i int) {
	w.argvOpen(e, label, args, open, c, raw, i)
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
	for k := 0; k < len(args); k++ {
		a := args[k].Text
		letters, names := shellOptions(a)
		switch {
		case strings.Contains(letters, "c"):
			rest := args[min(k+1+names, len(args)):]
			for len(rest) > 0 && (strings.HasPrefix(rest[0].Text, "-") || strings.HasPrefix(rest[0].Text, "+")) { // -c -x CODE
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
				inner.setParams(texts(rest[2:]), !open && allKnown(rest[1:]))
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
			k++
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
			k += names
		default:
			if args[k].Known {
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

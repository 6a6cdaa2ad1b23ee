package shell

import (
	"slices"
	"strings"
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
		if len(args) == 0 || args[0].Text != "run" && args[0].Text != "exec" {
			return
		}
	}
	w.wrapped(e, name, spec, args, open, c, raw, i)
}

// wrapped reads a wrapper's own options and walks the rest as a command.
func (w *walker) wrapped(e *env, name string, spec wrapper, args []Word, open bool, c ctx, raw string, i int) {
	c.remote = c.remote || spec.remote
	skip := spec.skip
	var shellMode bool
	if name == "xargs" || name == "gxargs" {
		args, open = w.xargs(args, open, c)
		spec.open = open
	}
	for len(args) > 0 {
		a := args[0].Text
		switch {
		case spec.after != "" && a == spec.after:
			if spec.after == "--" {
				w.argv(e, name, args[1:], open, c, raw, i)
			}
			return
		case a == "--":
			args = args[1:]
			if skip > 90 {
				return
			}
			w.rest(e, name, spec, args, skip, shellMode, open, c, raw, i)
			return
		case strings.HasPrefix(a, "--"):
			opt, value, has := strings.Cut(a[2:], "=")
			n := 1
			if !has && (slices.Contains(spec.long, opt) || slices.Contains(spec.codes, opt)) && len(args) > 1 {
				value, n = args[1].Text, 2
			}
			if slices.Contains(spec.codes, opt) {
				known := args[n-1].Known && !args[n-1].Glob
				w.code(e, Word{Text: value, Known: known}, name, c, i, false, raw)
				if name != "env" {
					return
				}
			}
			if name == "runuser" && opt == "user" {
				skip = 0
			}
			args = args[n:]
		case len(a) > 1 && a[0] == '-':
			n := 1
			for k := 1; k < len(a); k++ {
				o := a[k]
				if strings.IndexByte(spec.nocmd, o) >= 0 {
					return
				}
				if name == "sudo" && (o == 's' || o == 'i') || name == "su" && o == 'l' {
					shellMode = name == "sudo"
				}
				if name == "runuser" && o == 'u' {
					skip = 0 // the user is the option's: a command follows
				}
				if strings.IndexByte(spec.code, o) >= 0 {
					value := Word{Text: a[k+1:], Known: args[0].Known}
					if k+1 == len(a) && len(args) > 1 {
						value = args[1]
					}
					w.code(e, value, name, c, i, false, raw)
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
		case spec.assigns && assignment(a) > 0:
			at := assignment(a)
			c.assigns = append(slices.Clip(c.assigns), Assign{Name: a[:at], Value: Word{Text: a[at+1:], Known: args[0].Known}})
			args = args[1:]
		case skip > 0:
			skip--
			args = args[1:]
			if name == "ssh" || name == "su" || name == "runuser" || skip > 90 {
				continue // options may follow the operand
			}
		default:
			w.rest(e, name, spec, args, skip, shellMode, open, c, raw, i)
			return
		}
	}
	if shellMode || name == "su" || name == "ssh" || name == "chroot" {
		w.stdinCode(e, name, c, i, raw)
	}
	if open || spec.open && name == "parallel" {
		w.unknown("code", raw, i)
	}
}

// xargs puts the words of a known input into the command; open when they are not
// known, or quoting or options make them doubtful.
func (w *walker) xargs(args []Word, open bool, c ctx) ([]Word, bool) {
	if c.stdin == nil || !c.stdin.Known || strings.ContainsAny(c.stdin.Text, "\\\"'") || open {
		return args, true
	}
	replace := ""
	for k, a := range args {
		switch {
		case a.Text == "-I" && k+1 < len(args):
			replace = args[k+1].Text
		case strings.HasPrefix(a.Text, "-I"):
			replace = a.Text[2:]
		case a.Text == "-i":
			replace = "{}"
		case a.Text == "-0" || strings.HasPrefix(a.Text, "-d") || strings.HasPrefix(a.Text, "-a") || strings.HasPrefix(a.Text, "-E"):
			return args, true
		}
		if !strings.HasPrefix(a.Text, "-") && (k == 0 || args[k-1].Text != "-I") {
			break
		}
	}
	if replace == "" {
		fields := strings.Fields(c.stdin.Text)
		out := slices.Clone(args)
		for _, f := range fields {
			out = append(out, w.word(f, true, false, false))
		}
		return out, len(fields) > 256
	}
	line := strings.TrimSpace(c.stdin.Text)
	if strings.Contains(line, "\n") { // one command a line: the lines together stand for each
		return args, true
	}
	out := slices.Clone(args)
	for k := range out {
		if k > 0 && !(out[k-1].Text == "-I" && out[k].Text == replace) {
			out[k] = w.word(strings.ReplaceAll(out[k].Text, replace, line), out[k].Known, out[k].Glob, out[k].Tilde)
		}
	}
	return out, false
}

// rest walks what is left after a wrapper's options.
func (w *walker) rest(e *env, name string, spec wrapper, args []Word, skip int, shellMode, open bool, c ctx, raw string, i int) {
	args = args[min(skip, len(args)):]
	if spec.after != "" {
		if at := slices.IndexFunc(args, func(a Word) bool { return strings.HasPrefix(a.Text, spec.after) }); at >= 0 {
			args = args[:at]
		}
	}
	if len(args) == 0 {
		return
	}
	if spec.join || shellMode {
		if spec.open {
			w.argvOpen(e, name, args, true, c, raw, i)
			return
		}
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

// assignment returns the place of = in NAME=value, or 0.
func assignment(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '=':
			return i
		case c == '_', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', i > 0 && c >= '0' && c <= '9':
		default:
			return 0
		}
	}
	return 0
}

// shell walks what a shell is told to run.
func (w *walker) shell(e *env, name string, args []Word, open bool, c ctx, raw string, i int) {
	for k := 0; k < len(args); k++ {
		a := args[k].Text
		switch {
		case a == "-c" || len(a) > 1 && (a[0] == '-' || a[0] == '+') && a[1] != '-' && strings.Contains(a, "c"):
			rest := args[k+1:]
			for len(rest) > 0 && len(rest[0].Text) > 1 && rest[0].Text[0] == '-' { // -c -x CODE
				rest = rest[1:]
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
		case a == "-" || a == "/dev/stdin" || a == "/dev/fd/0" || a == "/proc/self/fd/0":
			w.stdinCode(e, "stdin", c, i, raw)
			return
		case a == "--version" || a == "--help" || a == "-n":
			return
		case a == "-o" || a == "+o" || a == "-O" || a == "+O" || a == "--rcfile" || a == "--init-file":
			k++
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
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

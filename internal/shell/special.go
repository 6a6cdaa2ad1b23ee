package shell

import (
	"slices"
	"strings"
)

// special takes a value or an operand that one program alone reads in its way. It returns false where that ends the
// options.
func (r *reading) special(kind string, value Word, h handed) bool {
	switch kind {
	case "~split": // env -S: options may be among the words
		words, ok := splitWords(value.Text)
		if !ok || !value.Known {
			r.unknown("code", h.raw, h.i)
			r.over = true
			return false
		}
		r.front = words
	case "~ssh":
		r.sshOption(value, h)
	case "~pipe": // |COMMAND, or a file
		if code, ok := strings.CutPrefix(value.Text, "|"); ok {
			r.code(r.e, Word{Text: code, Known: value.Known}, h.name, h.c, h.i, false, h.raw)
		}
	case "~less": // LESSOPEN: |-COMMAND
		code := strings.TrimLeft(value.Text, "|-")
		r.code(r.e, Word{Text: code, Known: value.Known}, h.name, h.c, h.i, false, h.raw)
	case "~exec": // tar --checkpoint-action=exec=COMMAND
		if code, ok := strings.CutPrefix(value.Text, "exec="); ok {
			r.code(r.e, Word{Text: code, Known: value.Known}, h.name, h.c, h.i, false, h.raw)
		}
	case "~apt":
		r.aptOption(value, h)
	case "~fzf":
		r.fzfBind(value, h)
	case "~config": // git clone -c KEY=VALUE
		key, v, _ := strings.Cut(value.Text, "=")
		r.gitConfig(r.e, key, Word{Text: v, Known: value.Known}, h)
	case "~sed":
		r.sedScript(r.e, value, h)
		r.given = true
	case "~gitconfig": // 'KEY=VALUE' 'KEY'='VALUE'
		words, ok := splitWords(value.Text)
		if !ok || !value.Known {
			r.unknown("code", h.raw, h.i)
		}
		for _, a := range words {
			key, v, _ := strings.Cut(a.Text, "=")
			r.gitConfig(r.e, key, Word{Text: v, Known: true}, h)
		}
	case "~netns": // ip netns exec NAME COMMAND, ip -all netns exec COMMAND
		if !slices.ContainsFunc(r.reply.Commands[h.i].Words, func(a Word) bool {
			return strings.HasPrefix(a.Text, "-a") && strings.HasPrefix("-all", a.Text)
		}) {
			h.args = h.args[1:]
		}
		r.argvOpen(r.e, h.name, h.args, h.open, h.c, h.raw, h.i)
	case "~node": // yarn node FILE
		r.argvOpen(r.e, h.name, append([]Word{{Text: "node", Known: true}}, h.args...), h.open, h.c, h.raw, h.i)
	case "~entry": // docker compose run --entrypoint 'PROGRAM ARGUMENTS'
		r.head = &value
		if words, ok := splitWords(value.Text); ok && value.Known && len(words) > 1 {
			r.head, r.more = &words[0], words[1:]
		}
	case "~python": // uv run FILE or COMMAND
		if value.Text == "-" {
			r.handsStdin(r.e, "python", h)
			return false
		}
		if t := value.Text; strings.HasSuffix(t, ".py") || strings.HasSuffix(t, ".pyw") || strings.Contains(t,
			"://") {
			h.args = h.args[1:]
			r.handsFile(r.e, "python", value, h)
			return false
		}
		r.argvOpen(r.e, h.name, h.args, h.open, h.c, h.raw, h.i)
	case "~file": // go run FILE.go, java FILE.java, bun FILE.ts: other operands are names of what is built
		lang := ""
		switch t := value.Text; {
		case strings.HasSuffix(t, ".go"):
			lang = "go"
		case strings.HasSuffix(t, ".java"), strings.HasSuffix(t, ".jar"):
			lang = "java"
		case strings.HasSuffix(t, "js"), strings.HasSuffix(t, "ts"), strings.HasSuffix(t, ".jsx"),
			strings.HasSuffix(t, ".tsx"),
			strings.Contains(t, "://"):
			lang = "javascript"
		case t == "-":
			lang = r.g.stdin
		}
		if lang != "" {
			r.handsFile(r.e, lang, value, h)
		}
	case "~sqlite": // what stands behind the file
		for _, a := range h.args[1:] {
			r.handsText(r.e, "sql", a, h)
		}
		if len(h.args) == 1 {
			r.handsStdin(r.e, "sql", h)
		}
	case "~~edit", "~~less": // vim +COMMAND, less +!COMMAND
		code, plus := strings.CutPrefix(value.Text, "+")
		if !plus || strings.Trim(code, "0123456789") == "" {
			break
		}
		if kind == "~~edit" {
			r.handsText(r.e, "vim", Word{Text: code, Known: value.Known}, h)
		} else if code, ok := viEscape(code); ok {
			r.code(r.e, Word{Text: code, Known: value.Known}, h.name, h.c, h.i, false, h.raw)
		}
	case "~~make":
		r.makeVariable(value, h)
	case "~~socat":
		r.socatAddress(value, h)
	case "~fed": // a program whose input comes from the network
		h.c.fed, h.c.stdin, h.c.stdinFrom = true, nil, -1
		r.code(r.e, value, h.name, h.c, h.i, false, h.raw)
	case "~user": // runuser -u USER COMMAND
		r.skip, r.g.tail = 0, tailArgv
	case "~capsh":
		if value.Text == "==" {
			r.unknown("name", h.raw, h.i)
			break
		}
		r.walker.shell(r.e, h.name, h.args, h.open, h.c, h.raw, h.i)
	case "~arch":
		if r.isArch(value.Text) {
			h.args = h.args[1:]
			r.g.tail = tailArgv
			r.wrapped(r.e, *r.g, h)
			break
		}
		r.argvOpen(r.e, h.name, h.args, h.open, h.c, h.raw, h.i)
	case "~script":
		r.unknown("script", h.raw, h.i)
	case "~bind": // KEYS: COMMAND
		_, code, _ := strings.Cut(value.Text, "\":")
		r.code(r.e, Word{Text: code, Known: value.Known}, h.name, h.c, h.i, false, h.raw)
	case "~parallel":
		r.parallel(r.e, h.args, h.open, h.c, h.raw, h.i)
	case "~pymod": // python -m MODULE: some of them run what follows
		r.pythonModule(value, h)
		r.over = true
		return false
	case "~perlmod": // -MMODULE may go on with code
		if strings.Trim(value.Text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:=,.-") != "" {
			r.handsText(r.e, "perl", value, h)
		}
	case "~require": // a file, and not the name of what is installed
		if t := value.Text; strings.HasPrefix(t, "data:") {
			r.handsText(r.e, r.g.stdin, value, h)
		} else if strings.HasPrefix(t, ".") || strings.HasPrefix(t, "/") || strings.HasPrefix(t, "~") ||
			strings.Contains(t, "://") ||
			!value.Known {
			r.handsFile(r.e, r.g.stdin, value, h)
		}
	case "~shellcode": // manage.py shell -c CODE
		r.handsText(r.e, "python", value, h)
	case "~salt": // FUNCTION ARGUMENT
		if strings.HasPrefix(value.Text, "cmd.") && len(h.args) > 1 {
			r.code(r.e, h.args[1], h.name, h.c, h.i, false, h.raw)
		}
	case "~ansible": // -a: a text for a shell, where the module is command, shell, raw or script
		module := "command"
		for k, a := range r.reply.Commands[h.i].Words {
			if name, ok := strings.CutPrefix(a.Text, "--module-name="); ok {
				module = name
			} else if (a.Text == "-m" || a.Text == "--module-name") && k+1 < len(r.reply.Commands[h.i].Words) {
				module = r.reply.Commands[h.i].Words[k+1].Text
			}
		}
		if module = module[strings.LastIndexByte(module, '.')+1:]; slices.Contains([]string{"command", "shell",
			"raw"}, module) {
			r.code(r.e, value, h.name, h.c, h.i, false, h.raw)
		}
	case "~keys": // tmux send-keys: keys for the shell that runs there
		var typed []string
		known := true
		for _, a := range h.args {
			if a.Text != "Enter" && a.Text != "C-m" && a.Text != "KPEnter" {
				typed, known = append(typed, a.Text), known && a.Known
			}
		}
		r.code(r.e, Word{Text: strings.Join(typed, " "), Known: known}, h.name, h.c, h.i, false, h.raw)
	case "~stuff": // screen -X stuff TEXT, -X exec COMMAND
		if value.Text == "stuff" || value.Text == "exec" || value.Text == "eval" || !value.Known {
			r.unknown("code", h.raw, h.i)
		}
		r.over = true
		return false
	case "~first": // strip-program and the like: the value is a program without arguments that matter
		r.argvOpen(r.e, h.name, []Word{value}, true, h.c, h.raw, h.i)
	case "~if": // tmux if-shell CONDITION COMMAND
		r.code(r.e, value, h.name, h.c, h.i, false, h.raw)
		for _, a := range h.args[1:] {
			r.handsText(r.e, "tmux", a, h)
		}
	case "~cargo": // cargo watch -x 'test --all'
		words, ok := splitWords(value.Text)
		if !ok || !value.Known {
			r.unknown("code", h.raw, h.i)
			break
		}
		r.argvOpen(r.e, h.name, append([]Word{{Text: "cargo", Known: true}}, words...), false, h.c, h.raw, h.i)
	case "~cargoconfig": // --config target.TRIPLE.runner="PROGRAM"
		key, program, _ := strings.Cut(value.Text, "=")
		if key = strings.TrimSpace(key); strings.HasSuffix(key, "runner") || strings.HasSuffix(key,
			"wrapper") || strings.HasSuffix(key, "rustc") ||
			strings.HasPrefix(key, "alias.") {
			r.code(r.e, Word{Text: strings.Trim(program, `"' `), Known: value.Known}, h.name, h.c, h.i, false, h.raw)
		}
	case "~dotenv": // dotenv run COMMAND, dotenv -- COMMAND, dotenv COMMAND
		if value.Text == "run" {
			h.args = h.args[1:]
		}
		if value.Text == "get" || value.Text == "set" || value.Text == "list" || value.Text == "unset" {
			break
		}
		if len(h.args) > 0 && h.args[0].Text == "--" {
			h.args = h.args[1:]
		}
		r.argvOpen(r.e, h.name, h.args, h.open, h.c, h.raw, h.i)
	case "~vimrc":
		if value.Text != "NONE" && value.Text != "NORC" && value.Text != "DEFAULTS" {
			r.handsFile(r.e, "vim", value, h)
		}
	case "~cmake": // cmake -E VERB
		r.over = true
		switch value.Text {
		case "env", "time", "chdir", "rm", "remove", "remove_directory", "touch", "rename":
		default:
			return false
		}
		words := h.args
		switch value.Text {
		case "chdir":
			words = words[min(1, len(words)):]
		case "remove_directory":
			words = append([]Word{{Text: "rm", Known: true}, {Text: "-r", Known: true}}, words...)
		case "remove", "rm":
			words = append([]Word{{Text: "rm", Known: true}}, words...)
		case "rename":
			words = append([]Word{{Text: "mv", Known: true}}, words...)
		default:
			words = append([]Word{value}, words...)
		}
		r.argvOpen(r.e, h.name, words, h.open, h.c, h.raw, h.i)
		return false
	case "~yarnspace": // yarn workspace NAME VERB
		g, _ := wrapperOf("yarn")
		h.args = h.args[1:]
		r.wrapped(r.e, g, h)
	case "~maybe-named": // the first word may be the name of a machine
		r.code(r.e, joined(h.args, h.open), h.name, h.c, h.i, false, h.raw)
		if len(h.args) > 1 {
			r.code(r.e, joined(h.args[1:], h.open), h.name, h.c, h.i, false, h.raw)
		}
	case "~workspaces":
		if value.Text == "foreach" {
			g, _ := verbOf("yarn", "foreach")
			h.args = h.args[1:]
			r.wrapped(r.e, g, h)
		}
	case "~binary", "~commas", "~kitty", "~rush", "~scripts":
		r.launcher(kind, value, h)
	case "~code": // the text is not known: a keyboard's, a history's
		r.unknown("code", h.raw, h.i)
	default: // a kind that no table should name
		r.unknown("name", h.raw, h.i)
	}
	return true
}

// sshOption walks -o NAME=VALUE.
func (r *reading) sshOption(value Word, h handed) {
	at := strings.IndexAny(value.Text, "= \t")
	if at < 0 {
		return
	}
	name, code := value.Text[:at], strings.Trim(value.Text[at+1:], "= \t\"")
	switch strings.ToLower(name) {
	case "proxycommand", "localcommand", "knownhostscommand", "remotecommand":
		if code == "none" || code == "" && value.Known {
			return
		}
		h.c.remote = r.away || strings.EqualFold(name, "remotecommand")
		r.code(r.e, Word{Text: code, Known: value.Known}, h.name+" "+name, h.c, h.i, false, h.raw)
	}
}

// aptOption walks -o SCOPE::KEY=VALUE.
func (r *reading) aptOption(value Word, h handed) {
	key, code, _ := strings.Cut(strings.TrimPrefix(value.Text, "="), "=")
	key = strings.ToLower(strings.TrimRight(key, ":"))
	if strings.HasSuffix(key, "-invoke") || strings.HasSuffix(key, "-invoke-success") || strings.HasSuffix(key,
		"-pkgs") ||
		strings.HasSuffix(key, "proxyautodetect") || strings.HasSuffix(key, "proxy-auto-detect") {
		r.code(r.e, Word{Text: code, Known: value.Known}, h.name, h.c, h.i, false, h.raw)
	}
}

// fzfBind walks the first action of --bind KEY:ACTION(COMMAND) that runs one. What follows it is part of its text, as
// far as can be told.
func (r *reading) fzfBind(value Word, h handed) {
	_, rest, _ := strings.Cut(value.Text, ":")
	for _, action := range []string{"execute-silent", "execute", "reload-sync", "reload", "become", "transform",
		"preview"} {
		at := strings.Index(rest, action)
		if at < 0 {
			continue
		}
		code := strings.TrimLeft(rest[at+len(action):], "abcdefghijklmnopqrstuvwxyz-")
		if code == "" {
			continue
		}
		closer := code[:1]
		if k := strings.Index("([{<", closer); k >= 0 {
			closer = ")]}>"[k : k+1]
		}
		end := strings.LastIndex(code, closer)
		if end <= 0 { // :COMMAND to the end
			end = len(code)
		}
		r.code(r.e, Word{Text: code[1:end], Known: value.Known}, h.name, h.c, h.i, false, h.raw)
		return
	}
}

// makeVariable walks a variable that is given to make: SHELL is a program, and $(shell …) is run.
func (r *reading) makeVariable(a Word, h handed) {
	name, value, ok := strings.Cut(a.Text, "=")
	if !ok {
		return
	}
	runs := strings.HasSuffix(name, "!") || strings.Contains(value, "$(shell") || strings.Contains(value, "${shell")
	variable := strings.TrimRight(name, ":+?! ")
	if runs && variable != "SHELL" {
		variable = ""
	}
	switch variable {
	case "SHELL", "MAKE", "CC", "CXX", "LD", "AR", "AS", "RM", "INSTALL", "PYTHON", "GO", "NPM":
		if a.Known && !strings.ContainsAny(value, " \t;|&`$") { // a program alone
			if isShell(nameOf(Word{Text: value, Known: true})) || name != "SHELL" {
				return
			}
			r.argvOpen(r.e, h.name, []Word{{Text: value, Known: true}}, true, h.c, h.raw, h.i)
		} else if a.Known {
			r.code(r.e, Word{Text: value, Known: true}, h.name, h.c, h.i, false, h.raw)
		} else if name == "SHELL" {
			r.argvOpen(r.e, h.name, []Word{{Text: value}}, true, h.c, h.raw, h.i)
		}
		return
	}
	if runs {
		r.handsText(r.e, "make", Word{Text: value, Known: a.Known}, h)
	}
}

// isArch reports a name of an architecture, or of a way to look like one.
func (r *reading) isArch(name string) bool {
	switch name {
	case "linux32", "linux64", "i386", "i486", "i586", "i686", "athlon", "x86_64", "aarch64", "arm", "arm64",
		"armv7l", "armh",
		"ppc", "ppc32", "ppc64", "ppc64le", "riscv32", "riscv64", "s390", "s390x", "mips", "mips64", "uname26",
		"ia64", "sparc",
		"sparc64", "loongarch", "alpha":
		return true
	}
	return false
}

// pythonModule tells what python -m MODULE runs of its arguments.
func (r *reading) pythonModule(module Word, h handed) {
	g := grammar{lenient: true, tail: "f.python"}
	switch module.Text {
	case "timeit":
		g.opts, g.tail = "n,number: r,repeat: s,setup=t.python+ p,process u,unit: v,verbose h,help!", "t.python"
	case "pdb":
		g.opts = "c,command: m! p:"
	case "cProfile", "profile", "trace", "coverage", "kernprof", "memory_profiler", "bdb", "runpy", "code":
		g.opts = "o: s: m! h! count,c trace,t file,f: coverdir,C: ignore-module: ignore-dir:"
	case "IPython", "ipykernel":
		g.opts = "c=t.python"
	default:
		return
	}
	r.wrapped(r.e, g, h)
}

// socatAddress walks an address that starts a program.
func (r *reading) socatAddress(a Word, h handed) {
	kind, rest, ok := strings.Cut(a.Text, ":")
	if !ok {
		return
	}
	switch strings.ToUpper(kind) {
	case "EXEC", "SYSTEM", "SHELL":
	default:
		return
	}
	end := ","
	if strings.HasPrefix(rest, `"`) {
		rest, end = rest[1:], `"`
	}
	code, _, _ := strings.Cut(rest, end)
	h.c.fed, h.c.stdin, h.c.stdinFrom = true, nil, -1
	r.code(r.e, Word{Text: strings.ReplaceAll(code, `\`, ""), Known: a.Known}, h.name, h.c, h.i, false, h.raw)
}

// oldStyle writes the options of tar that stand without a dash as others do: tar xIf PROG FILE.
func oldStyle(args []Word) []Word {
	if len(args) == 0 || args[0].Text == "" || args[0].Text[0] == '-' || !args[0].Known {
		return args
	}
	letters, rest := args[0].Text, args[1:]
	var out []Word
	for _, l := range letters {
		out = append(out, Word{Text: "-" + string(l), Known: true})
		if strings.ContainsRune("fbCIFgKLNTVXH", l) && len(rest) > 0 {
			out, rest = append(out, rest[0]), rest[1:]
		}
	}
	return append(out, rest...)
}

// colonStyle writes options that have a colon before their value as others do: nim --eval:CODE.
func colonStyle(args []Word) []Word {
	out := slices.Clone(args)
	for i, a := range out {
		name, value, ok := strings.Cut(a.Text, ":")
		if ok && strings.HasPrefix(name, "--") && !strings.Contains(name, "=") {
			out[i].Text = name + "=" + value
		}
	}
	return out
}

// powershell tells the program of PowerShell, whose options may be cut and are written in any case. A word that is no
// option is a file for pwsh, and a command for the older powershell.
func (w *walker) powershell(e *env, h handed) {
	for k := 0; k < len(h.args); k++ {
		a := strings.ToLower(h.args[k].Text)
		if a == "-" {
			w.handsStdin(e, "powershell", h)
			return
		}
		opt := strings.TrimLeft(a, "-/\u2013")
		rest := joined(h.args[min(k+1, len(h.args)):], h.open)
		is := func(long string, least int) bool { return len(opt) >= least && strings.HasPrefix(long, opt) }
		switch {
		case opt == a && strings.HasPrefix(h.name, "pwsh"):
			w.handsFile(e, "powershell", h.args[k], h)
			return
		case opt == a:
			w.handsText(e, "powershell", joined(h.args[k:], h.open), h)
			return
		case is("command", 1), is("commandwithargs", 8), opt == "cwa":
			if rest.Text == "-" {
				w.handsStdin(e, "powershell", h)
			} else {
				w.handsText(e, "powershell", rest, h)
			}
			return
		case is("encodedcommand", 1) && opt != "ex", opt == "ec":
			if k+1 < len(h.args) {
				w.handsText(e, "powershell64", h.args[k+1], h)
			}
			return
		case is("file", 1):
			if k+1 < len(h.args) {
				w.handsFile(e, "powershell", h.args[k+1], h)
			}
			return
		case is("executionpolicy", 2), opt == "ep", is("workingdirectory", 2), opt == "wd", is("version", 1) &&
			h.name[:2] == "po",
			is("outputformat", 1), is("inputformat", 2), is("windowstyle", 1), is("configurationname", 6),
			is("psconsolefile", 1),
			is("settingsfile", 2), is("custompipename", 2):
			k++
		case is("help", 1), opt == "?", is("version", 1):
			return
		}
	}
	w.handsStdin(e, "powershell", h)
}

// cmd tells the program of the command interpreter of Windows.
func (w *walker) cmd(e *env, h handed) {
	for k, a := range h.args {
		switch strings.ToLower(strings.TrimLeft(a.Text, "/")) {
		case "c", "k", "r":
			if k+1 < len(h.args) {
				w.handsText(e, "cmd", joined(h.args[k+1:], h.open), h)
			}
			return
		}
	}
	w.handsStdin(e, "cmd", h)
}

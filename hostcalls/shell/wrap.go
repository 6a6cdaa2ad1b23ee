package shell

import (
	"slices"
	"strings"
)

// wrapper says how a program takes the command that it runs.
type wrapper struct {
	takes   string   // short options that take a value
	long    []string // long options that take a value (--name value)
	skip    int      // operands before the command
	assigns bool     // NAME=value operands set the environment
	join    bool     // the words are joined and given to a shell
	code    string   // short options whose value is shell text
	codes   []string // long options whose value is shell text
	remote  bool
	open    bool   // it adds arguments of its own
	after   string // the command begins after this operand
	nocmd   string // short options with which nothing is run
}

// wrapperOf returns how the program of the name runs others.
func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "sudo":
		return wrapper{takes: "ugpCcrtThUDRa", long: []string{"user", "group", "prompt", "host", "role", "type", "chdir", "chroot", "close-from", "command-timeout", "other-user", "login-class"}, assigns: true, nocmd: "leVvkK"}, true
	case "doas":
		return wrapper{takes: "uCa", nocmd: "L"}, true
	case "pkexec", "run0":
		return wrapper{takes: "u", long: []string{"user", "group", "chdir", "unit", "property"}}, true
	case "env":
		return wrapper{takes: "uC", long: []string{"unset", "chdir"}, assigns: true, code: "S", codes: []string{"split-string"}}, true
	case "nice":
		return wrapper{takes: "n", long: []string{"adjustment"}}, true
	case "nohup", "setsid", "unbuffer", "fakeroot", "torsocks", "proxychains", "eatmydata", "busybox", "toybox", "builtin", "catchsegv", "then", "dbus-run-session", "xvfb-run", "time":
		return wrapper{takes: "fo"}, true
	case "proxychains4":
		return wrapper{takes: "f"}, true
	case "caffeinate":
		return wrapper{takes: "tw"}, true
	case "stdbuf":
		return wrapper{takes: "ioe", long: []string{"input", "output", "error"}}, true
	case "ionice":
		return wrapper{takes: "cnpPu", long: []string{"class", "classdata", "pid"}}, true
	case "chrt":
		return wrapper{takes: "TPDp", skip: 1}, true
	case "taskset", "numactl":
		return wrapper{skip: map[string]int{"taskset": 1}[name]}, true
	case "timeout", "gtimeout":
		return wrapper{takes: "ks", long: []string{"kill-after", "signal"}, skip: 1}, true
	case "exec":
		return wrapper{takes: "a"}, true
	case "command":
		return wrapper{nocmd: "vV"}, true
	case "strace", "ltrace":
		return wrapper{takes: "eopsuEaIOSXPb"}, true
	case "valgrind", "firejail":
		return wrapper{}, true
	case "watch":
		return wrapper{takes: "nq", long: []string{"interval", "equexit"}, join: true}, true
	case "flock":
		return wrapper{takes: "wE", long: []string{"timeout", "wait", "conflict-exit-code"}, skip: 1, code: "c", codes: []string{"command"}}, true
	case "xargs", "gxargs":
		return wrapper{takes: "InPLsEda", long: []string{"replace", "max-args", "max-procs", "max-lines", "max-chars", "eof", "delimiter", "arg-file", "process-slot-var"}, open: true}, true
	case "parallel":
		return wrapper{takes: "jaIdSN", long: []string{"jobs", "arg-file", "delay", "joblog", "sshlogin", "timeout", "retries"}, join: true, open: true, after: ":::"}, true
	case "chroot":
		return wrapper{long: []string{"userspec", "groups"}, skip: 1}, true
	case "unshare", "nsenter":
		return wrapper{takes: "tSGRw", long: []string{"target", "root", "wd", "setuid", "setgid"}}, true
	case "systemd-run":
		return wrapper{takes: "pumMEH", long: []string{"property", "unit", "machine", "description", "slice", "uid", "gid", "setenv", "on-calendar", "on-active", "working-directory"}}, true
	case "ssh", "autossh", "mosh":
		return wrapper{takes: "bBcDEeFIiJLlmOopQRSWw", skip: 1, join: true, remote: true}, true
	case "pdsh":
		return wrapper{takes: "wxlftu", join: true, remote: true}, true
	case "su", "runuser":
		return wrapper{takes: "sugG", long: []string{"shell", "user", "group", "supp-group", "session-command"}, code: "c", codes: []string{"command", "session-command"}, skip: 1}, true
	case "script":
		return wrapper{takes: "EIOBToT", code: "c", codes: []string{"command"}, skip: 99}, true
	case "man":
		return wrapper{takes: "MSLmRCer", code: "P", codes: []string{"pager"}, skip: 99}, true
	case "vagrant":
		return wrapper{code: "c", codes: []string{"command"}, skip: 99, remote: true}, true
	case "nix-shell":
		return wrapper{takes: "pIA", code: "", codes: []string{"run", "command"}, skip: 99}, true
	case "entr":
		return wrapper{}, true
	case "bundle", "poetry", "pipenv", "pdm", "uv", "rye", "hatch":
		return wrapper{skip: 1}, true // exec or run; see runs
	case "conda", "mamba", "micromamba":
		return wrapper{takes: "np", long: []string{"name", "prefix"}, skip: 1}, true
	case "direnv":
		return wrapper{skip: 2}, true
	case "npx", "bunx", "pnpx":
		return wrapper{takes: "p", long: []string{"package"}, code: "c", codes: []string{"call"}}, true
	case "dotenv", "dotenvx", "doppler", "op", "aws-vault", "chamber", "envchain", "teller":
		return wrapper{skip: 99, after: "--"}, true
	}
	return wrapper{}, false
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "rbash", "fish", "yash", "posh":
		return true
	}
	return false
}

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
		w.container(e, name, args, open, c, raw, i)
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

// finds walks -exec and its kin.
func (w *walker) finds(e *env, name string, args []Word, c ctx, raw string, i int) {
	for k := 0; k < len(args); k++ {
		switch args[k].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := k + 1
			for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
				end++
			}
			w.argvOpen(e, name+" "+args[k].Text, args[k+1:end], false, c, raw, i)
			k = end
		case "-x", "-X", "--exec", "--exec-batch":
			if strings.HasPrefix(name, "fd") {
				end := k + 1
				for end < len(args) && args[end].Text != ";" {
					end++
				}
				w.argvOpen(e, name+" --exec", args[k+1:end], true, c, raw, i)
				k = end
			}
		}
	}
}

// git walks the commands that git itself runs.
func (w *walker) git(e *env, args []Word, c ctx, raw string, i int) {
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		n := 1
		if t := args[0].Text; t == "-C" || t == "-c" || t == "--git-dir" || t == "--work-tree" || t == "--namespace" {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	if len(args) == 0 {
		return
	}
	sub, args := args[0].Text, args[1:]
	for k, a := range args {
		opt, value, has := strings.Cut(a.Text, "=")
		word := Word{Text: value, Known: a.Known}
		if !has && k+1 < len(args) {
			word = args[k+1]
		}
		switch {
		case sub == "rebase" && (opt == "-x" || opt == "--exec"),
			sub == "filter-branch" && strings.HasSuffix(opt, "-filter"):
			w.code(e, word, "git "+sub, c, i, false, raw)
		case sub == "bisect" && a.Text == "run":
			w.argvOpen(e, "git bisect", args[k+1:], false, c, raw, i)
			return
		case sub == "submodule" && a.Text == "foreach":
			rest := args[k+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0].Text, "-") {
				rest = rest[1:]
			}
			if len(rest) > 0 {
				w.code(e, joined(rest, false), "git submodule", c, i, false, raw)
			}
			return
		}
	}
}

func isContainer(name string) bool {
	switch name {
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "k3s", "lxc", "incus", "crictl", "ctr", "flatpak", "distrobox", "toolbox":
		return true
	}
	return false
}

// container walks what runs inside of one: exec, run.
func (w *walker) container(e *env, name string, args []Word, open bool, c ctx, raw string, i int) {
	const takes = "eutwvplhmacnfiNH"
	at := slices.IndexFunc(args, func(a Word) bool {
		return a.Text == "exec" || a.Text == "run" || a.Text == "enter" || a.Text == "debug"
	})
	if at < 0 {
		return
	}
	verb := args[at].Text
	args = args[at+1:]
	c.remote = true
	e = newEnvUnknownParams()
	label := name + " " + verb
	if name == "kubectl" || name == "oc" || name == "lxc" || name == "incus" {
		if at := slices.IndexFunc(args, func(a Word) bool { return a.Text == "--" }); at >= 0 {
			w.argvOpen(e, label, args[at+1:], open, c, raw, i)
			return
		}
		if verb != "exec" {
			return
		}
	}
	var entry *Word
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") && args[0].Text != "--" {
		a := args[0].Text
		n := 1
		if strings.HasPrefix(a, "--") {
			opt, value, has := strings.Cut(a[2:], "=")
			if opt == "entrypoint" {
				word := Word{Text: value, Known: args[0].Known}
				if !has && len(args) > 1 {
					word = args[1]
				}
				entry = &word
			}
			switch opt {
			case "rm", "detach", "interactive", "tty", "privileged", "init", "read-only", "no-healthcheck", "oom-kill-disable", "publish-all",
				"sig-proxy", "no-deps", "build", "quiet", "service-ports", "use-aliases", "no-TTY", "stdin":
			default:
				if !has {
					n = 2
				}
			}
		} else if last := a[len(a)-1]; strings.IndexByte(takes, last) >= 0 && a != "-i" && a != "-t" && a != "-it" && a != "-ti" && a != "-dit" {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	args = args[1:] // the container, image, service or pod
	if len(args) > 0 && args[0].Text == "--" {
		args = args[1:]
	}
	if entry != nil {
		args = append([]Word{*entry}, args...)
	}
	w.argvOpen(e, label, args, open, c, raw, i)
}

// options walks programs with options whose value is run.
func (w *walker) options(e *env, name string, args []Word, c ctx, raw string, i int) {
	for k, a := range args {
		opt, value, has := strings.Cut(a.Text, "=")
		word := Word{Text: value, Known: a.Known}
		if !has && k+1 < len(args) {
			word = args[k+1]
		}
		switch {
		case opt == "--to-command" || opt == "--use-compress-program" || opt == "--info-script" || opt == "--new-volume-script":
			w.code(e, word, name, c, i, false, raw)
		case opt == "--checkpoint-action":
			if code, ok := strings.CutPrefix(word.Text, "exec="); ok {
				w.code(e, Word{Text: code, Known: word.Known}, name, c, i, false, raw)
			}
		case name == "tar" && (opt == "-I" || opt == "-F"), name == "rsync" && (opt == "-e" || opt == "--rsh" || opt == "--rsync-path"):
			w.code(e, word, name, c, i, false, raw)
		case name == "screen" && (opt == "-dm" || opt == "-dmS" || opt == "-d"):
			if k+1 < len(args) {
				rest := args[k+1:]
				if opt == "-dmS" {
					rest = rest[min(1, len(rest)):]
				}
				w.argvOpen(e, name, rest, false, c, raw, i)
			}
			return
		case name == "tmux" && k == 0 && (strings.HasPrefix(a.Text, "new") || a.Text == "neww" || strings.HasPrefix(a.Text, "split") || strings.HasPrefix(a.Text, "run") || a.Text == "respawn-pane"):
			if last := args[len(args)-1]; len(args) > 1 && strings.Contains(last.Text, " ") {
				w.code(e, last, name, c, i, false, raw)
			}
			return
		}
	}
}

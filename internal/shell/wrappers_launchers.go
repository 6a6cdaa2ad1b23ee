package shell

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// launchers are programs that hand their operands, or the value of an option, to a queue, a session, a desktop or
// another machine, which runs them.
func launchers(name string) (grammar, bool) {
	switch name {
	case "just":
		return grammar{opts: "c,command@ f,justfile: d,working-directory: E,dotenv-path: shell: shell-arg: set:: color: " +
			"l,list! e,edit! dump! evaluate! choose show: n,dry-run!", lenient: true, tail: tailNone}, true
	case "cpulimit":
		return grammar{opts: "p,pid! e,exe! P,path! c,cpu: l,limit: v,verbose q,quiet b,background f,foreground k,kill " +
			"r,restore s,signal: z,lazy i,include-children m,monitor-forks h,help!", single: true}, true
	case "bsub": // its words are joined for a shell
		return grammar{opts: "a: app: cwd: C: D: e: E: env: eo: ext: F: f: G: g: gpu: H hl i: is: I Ip Is IS J: jsdl: k: K " +
			"L: M: m: n: N o: oo: outdir: P: p: q: Q: r rn R: S: sla: sp: T: t: u: U: v: w: W: We: x XF Zs V! h!",
			single: true, lenient: true, tail: tailShell, remote: true, stdin: kindShell}, true
	case "qsub": // a script, where -b y does not say that it is a command
		return grammar{opts: "b=~binary+ a: A: c: e: h: I j: k: l: m: M: N: o: p: pe:: P: q: r: S: sync: t: u: v: W: wd: hold_jid:",
			single: true, lenient: true, tail: tailNone, remote: true, stdin: kindShell}, true
	case "abduco":
		return grammar{opts: "a! A c n e: f l p q r v!", skip: 1}, true
	case "dtach":
		return grammar{opts: "a! A: c: n: N: p! e: E z r:"}, true
	case "tsp":
		return grammar{opts: "K! C! l! S: t: c: p: o: s: r: w: k: T: u: U: i: q! V! h! n g f m d E B L: N: D: O: z a:"}, true
	case "runcon":
		return grammar{opts: "c,compute t,type=~user+ u,user=~user+ r,role=~user+ l,range=~user+", skip: 1}, true
	case "choom":
		return grammar{opts: "n,adjust: p,pid! V! h!"}, true
	case "flatpak-spawn":
		return grammar{opts: "host verbose forward-fd: clear-env watch-bus env: unset-env: latest-version no-network " +
			"sandbox sandbox-expose: sandbox-expose-ro: sandbox-flag: sandbox-expose-path: " +
			"sandbox-expose-path-ro: directory: expose-pids share-pids", lenient: true}, true
	case "qemu-x86_64", "qemu-i386", "qemu-aarch64", "qemu-arm", "qemu-riscv64", "qemu-ppc64le", "qemu-s390x",
		"qemu-x86_64-static", "qemu-i386-static", "qemu-aarch64-static", "qemu-arm-static", "qemu-riscv64-static":
		return grammar{opts: "g: L: s: cpu: E: U: 0: r: B: R: d: dfilter: D: p: plugin: seed: trace: one-insn-per-tb " +
			"singlestep strace version! h!", single: true}, true
	case "gcc", "g++", "cc", "c++", "gfortran": // -wrapper PROGRAM,ARGUMENT,…
		return grammar{opts: "wrapper=~commas+ o: x: I: L: D: U: include: T:", single: true, lenient: true, tail: tailNone},
			true
	case "eb", "cf", "mco", "launchctl", "railway", "tox":
		return grammar{verbs: name, lenient: true}, true
	case "ranger":
		return grammar{opts: "cmd=t.ranger+ r,confdir: c,clean selectfile: choosefile: choosefiles: choosedir: datadir:",
			lenient: true, tail: tailNone}, true
	case "vifm":
		return grammar{opts: "c=t.vim+ select: choose-files: choose-dir: delimiter: on-choose=sh+ server-name: " +
			"screenshot: startuplog: no-configs f", lenient: true, tail: tailNone}, true
	case "puppet":
		return grammar{verbs: name, lenient: true}, true
	case "ftp", "lukemftp", "tnftp":
		return grammar{opts: "N: o: P: r: s: u: T: q: x:", lenient: true, tail: tailNone, stdin: "ftp"}, true
	case "pdflatex", "latex", "xelatex", "lualatex", "tex", "pdftex", "xetex", "luatex", "latexmk":
		return grammar{opts: "output-directory,outdir: jobname: fmt: interaction: output-format: progname: e: r:",
			single:  true,
			lenient: true, tail: "t.tex"}, true
	}
	return grammar{}, false
}

// launcherVerb is verbOf for them.
func launcherVerb(program, verb string) (grammar, bool) {
	switch program + " " + verb {
	case "eb ssh":
		return grammar{opts: "c,command=sh n,number: i,instance: o,keep_open e,custom: region: profile: timeout: setup",
			lenient: true, tail: tailNone, remote: true}, true
	case "cf ssh":
		return grammar{opts: "c,command=sh i,app-instance-index: process: L: N k t tt T", lenient: true, tail: tailNone,
			remote: true}, true
	case "mco shell":
		return grammar{verbs: "mco shell", lenient: true}, true
	case "mco shell run", "mco shell start":
		return grammar{opts: "F: I: C: W: S: T: t: stream tail", lenient: true, tail: tailShell, remote: true}, true
	case "launchctl asuser", "launchctl bsexec":
		return grammar{skip: 1}, true
	case "launchctl submit":
		return grammar{opts: "l: p: o: e:", lenient: true, tail: tailAfter}, true
	case "railway run":
		return grammar{opts: "s,service: e,environment: p,project: no-local", lenient: true}, true
	case "railway ssh":
		return grammar{opts: "s,service: e,environment: p,project: d,deployment-instance:", lenient: true, remote: true}, true
	case "tox exec":
		return grammar{opts: "e: c,conf: workdir: root: skip-pkg-install", lenient: true, tail: tailAfter}, true
	case "puppet apply":
		return grammar{opts: "e,execute=t.puppet l,logdest: modulepath: catalog:", lenient: true, tail: tailNone}, true
	case "kitty launch":
		return grammar{opts: "m,match: type: title,window-title,tab-title: cwd: env: location: copy-env copy-cmdline " +
			"copy-colors keep-focus,dont-take-focus no-response self hold allow-remote-control stdin-source: " +
			"marker: logo: os-window-class: os-window-title: color: var: watcher: next-to: bias:", lenient: true}, true
	}
	return grammar{}, false
}

// launcher takes the operand or the value that one of them alone reads in its way.
func (r *reading) launcher(kind string, value Word, h handed) {
	switch kind {
	case "~binary": // qsub -b y COMMAND
		if strings.HasPrefix(strings.ToLower(value.Text), "y") {
			r.g.tail = tailArgv
		}
	case "~commas": // gcc -wrapper PROGRAM,ARGUMENT,…
		var words []Word
		for part := range strings.SplitSeq(value.Text, ",") {
			words = append(words, Word{Text: part, Known: value.Known})
		}
		r.argvOpen(r.e, h.name, words, true, h.c, h.raw, h.i)
	case "~kitty": // kitty @ launch COMMAND, kitty COMMAND
		if strings.HasPrefix(value.Text, "@") {
			rest := h.args[1:]
			if verb := value.Text[1:]; verb != "" {
				rest = append([]Word{{Text: verb, Known: value.Known}}, rest...)
			}
			h.args = rest
			r.wrapped(r.e, grammar{opts: "to: password: password-file: use-password:", verbs: "kitty", lenient: true}, h)
			break
		}
		r.argvOpen(r.e, h.name, h.args, h.open, h.c, h.raw, h.i)
	case "~scripts": // npm pkg set scripts.NAME='COMMAND'
		for _, a := range h.args {
			name, code, ok := strings.Cut(a.Text, "=")
			if ok && strings.HasPrefix(name, "scripts.") {
				r.maybeCode(r.e, Word{Text: code, Known: a.Known}, h.name, h.c, h.i, h.raw)
			}
		}
	case "~rush": // rush 'TEXT for each line that it reads', or a verb of the other program of that name
		if strings.ContainsAny(value.Text, " \t|;&") {
			h.c.masked = "{}"
			r.code(r.e, value, h.name, h.c.fill("{}"), h.i, false, h.raw)
		} else {
			r.g.verbs = "rush"
			r.verb(h.args, h)
		}
	}
}

// mavenExec walks the program that the goal exec:exec of Maven runs.
func (w *walker) mavenExec(e *env, h handed) {
	runs, known := false, true
	var program, args string
	for _, a := range h.args {
		runs = runs || a.Text == "exec:exec" || strings.HasSuffix(a.Text, "exec-maven-plugin:exec") ||
			strings.HasPrefix(a.Text, "org.codehaus.mojo:exec-maven-plugin:") && strings.HasSuffix(a.Text, ":exec")
		if v, ok := strings.CutPrefix(a.Text, "-Dexec.executable="); ok {
			program, known = v, known && a.Known
		}
		if v, ok := strings.CutPrefix(a.Text, "-Dexec.args="); ok {
			args, known = v, known && a.Known
		}
	}
	if runs && program != "" {
		w.maybeCode(e, w.word(program+" "+args, known, false, false), "mvn exec:exec", h.c, h.i, h.raw)
	}
}

// bangEscape finds the command of a shell in a line that begins with an exclamation mark.
func bangEscape(line string) (string, bool) {
	code, ok := strings.CutPrefix(strings.TrimSpace(line), "!")
	return strings.TrimLeft(code, "! "), ok && code != ""
}

// dcEscape finds the command of a shell in a line for dc: an exclamation mark that no comparison follows.
func dcEscape(line string) (string, bool) {
	_, code, ok := strings.Cut(line, "!")
	return strings.TrimSpace(code), ok && code != "" && !strings.ContainsAny(code[:1], "<>=")
}

// rangerEscape finds the command of a shell in a line for ranger: shell [-FLAGS] COMMAND.
func rangerEscape(line string) (string, bool) {
	line = strings.TrimLeft(line, ": \t")
	if code, ok := strings.CutPrefix(line, "!"); ok {
		return code, true
	}
	code, ok := after(line, "shell")
	for ok && strings.HasPrefix(code, "-") {
		_, code, _ = strings.Cut(code, " ")
		code = strings.TrimLeft(code, " ")
	}
	return code, ok && code != ""
}

// puppetExec finds the command in a resource of the type exec.
var puppetExec = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bexec\s*\{\s*(?:"([^"]*)"|'([^']*)')\s*:(?:[^}]*?\bcommand\s*=>\s*(?:"([^"]*)"|'([^']*)'))?`)
})

// puppetEscape finds the command that a line of a manifest of Puppet runs.
func puppetEscape(line string) (string, bool) {
	m := puppetExec().FindStringSubmatch(line)
	if m == nil {
		return "", false
	}
	code := cmp.Or(m[3], m[4], m[1], m[2])
	return code, code != ""
}

// maxFed is how many commands in front of a crontab are looked at for lines of it.
const maxFed = 8

// fedLines walks the lines that a group or a filter adds to what crontab reads, where the rest of it is not known.
func (w *walker) fedLines(e *env, h handed) {
	for k := h.i - 1; k >= max(0, h.i-maxFed); k-- {
		c := w.reply.Commands[k]
		if !allKnown(c.Words) || slices.ContainsFunc(c.Redirects, func(r Redirect) bool { return r.FD == 1 }) {
			continue
		}
		text, ok := "", false
		switch c.Name {
		case "echo":
			text, ok = echo(texts(c.Words[1:]))
		case "printf":
			text, ok = printf(texts(c.Words[1:]))
		case "cat":
			if ok = c.Stdin != nil && c.Stdin.Known; ok {
				text = c.Stdin.Text
			}
		case "sed", "gsed": // $a LINE
			for _, a := range c.Words[1:] {
				if _, line, adds := strings.Cut(a.Text, "a"); adds && !strings.HasPrefix(a.Text, "s") {
					text, ok = text+strings.TrimLeft(line, "\\ \n")+"\n", true
				}
			}
		}
		if ok {
			w.escapes(e, "crontab", w.word(text, true, false, false), h)
		}
	}
}

// texEscape finds the command of a shell in a line for TeX: \write18{COMMAND}, or \input|"COMMAND".
func texEscape(line string) (string, bool) {
	if _, rest, ok := strings.Cut(line, `\write18`); ok {
		rest = strings.TrimLeft(rest, " ")
		depth := 0
		for i := range len(rest) {
			switch rest[i] {
			case '{':
				depth++
			case '}':
				depth--
			}
			if depth == 0 {
				return strings.TrimPrefix(rest[:i], "{"), i > 0
			}
		}
		return "", false
	}
	if _, rest, ok := strings.Cut(line, `\input|`); ok {
		rest = strings.TrimPrefix(rest, `"`)
		code, _, _ := strings.Cut(rest, `"`)
		return code, code != ""
	}
	return "", false
}

package shell

import (
	"slices"
	"strings"
)

// repl says when a program takes its commands from the terminal: always, unless its arguments give it what to run.
type repl struct {
	given  string   // short options that give it a program, such as c in sh -c; the value may stand in the same word
	givens []string // long options that do
	opens  string   // short options with which it reads the terminal besides
	values string   // short options whose value is a word of its own
	longs  []string // long options whose value is a word of its own
	need   int      // operands with which it has a program; 0: one, never: operands change nothing
}

// never is a count of operands that no command has.
const never = 1 << 20

// replOf returns how the program of the name reads commands from a terminal.
func replOf(name string) (repl, bool) {
	switch name {
	case "sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "rbash", "yash":
		return repl{given: "c", opens: "is", values: "oO", longs: []string{"rcfile", "init-file"}}, true
	case "fish":
		return repl{given: "c", givens: []string{"command"}, opens: "i", values: "CdoD"}, true
	case "pwsh", "powershell", "csh", "tcsh", "elvish", "nu", "xonsh":
		return repl{given: "cCfF", givens: []string{"command", "commands", "file"}}, true
	case "node", "nodejs", "bun", "deno":
		return repl{given: "epv", givens: []string{"eval", "print", "version", "help", "check", "run", "test"},
			opens:  "i",
			values: "rC",
			longs: []string{"require", "import", "loader", "experimental-loader", "conditions", "env-file", "title",
				"input-type",
				"inspect-port"}}, true
	case "perl", "ruby", "php", "lua", "luajit", "julia", "Rscript", "tclsh", "wish":
		return repl{given: "eEvhrl", givens: []string{"eval", "version", "help"}, values: "ICdx"}, true
	case "irb", "pry", "ghci", "iex", "R", "scala", "jshell", "clj", "ipython", "ipython3", "bpython", "ptpython",
		"expect",
		"gdb", "lldb", "pdb", "rdb", "sbcl", "guile", "racket", "ocaml", "utop", "swipl", "octave", "maxima",
		"gp", "erl":
		return repl{given: "ecfb",
			givens: []string{"version", "help", "batch", "eval", "execute", "command", "vanilla", "slave", "file"},
			need:   never}, true
	case "psql", "mysql", "mariadb", "mongosh", "mongo", "redis-cli", "sqlplus", "cqlsh", "influx", "duckdb":
		return repl{given: "cefl", givens: []string{"command", "file", "execute", "eval", "version", "help", "list"},
			need: never}, true
	case "sqlite3":
		return repl{given: "", givens: []string{"version", "help"}, values: "",
			longs: []string{"cmd", "init", "separator", "nullvalue"},
			need:  2}, true
	case "ftp", "sftp", "telnet", "nc", "ncat", "netcat", "socat", "rlogin", "mosh", "minicom", "picocom", "cu":
		return repl{need: never}, true
	case "su", "login", "newgrp", "machinectl", "script", "tmux", "screen", "zellij", "byobu", "dtach", "abduco":
		return repl{given: "c", givens: []string{"command", "version", "help"}, need: never}, true
	case "vi", "vim", "nvim", "view", "ex", "ed", "emacs", "nano", "pico", "joe", "micro", "less", "more",
		"most", "man",
		"mc",
		"ranger", "nnn", "vifm", "lf", "top", "htop":
		return repl{given: "", givens: []string{"version", "help", "batch"}, need: never}, true
	}
	return repl{}, false
}

// StaysOpen reports whether something in the text reads further commands from the terminal that it is started at: a
// shell, an interpreter, a client or an editor that its arguments give nothing to run, and that has no other input.
// name is the first of them. A text that cannot be read to its end stays open, with the name "".
//
// The list of programs is not complete, and a program of the agent's own may read the terminal, too.
func (r *Reply) StaysOpen() (name string, open bool) {
	if !r.OK || r.Truncated {
		return "", true
	}
	for i := range r.Commands {
		c := &r.Commands[i]
		byVariable := slices.ContainsFunc(c.Via, func(v string) bool { return strings.HasSuffix(v, "=") })
		if c.StdinFrom < 0 && c.Stdin == nil && !byVariable && !reads(c) && r.opens(i) {
			return c.Name, true
		}
	}
	return "", false
}

// reads reports whether standard input is redirected.
func reads(c *Command) bool {
	return slices.ContainsFunc(c.Redirects, func(d Redirect) bool {
		return d.FD == 0 && strings.HasPrefix(d.Op, "<") && d.Target.Text != "/dev/tty" &&
			!strings.HasPrefix(d.Target.Text, "/dev/pts/")
	})
}

// opens reports whether the command reads commands from its terminal.
func (r *Reply) opens(i int) bool {
	c := &r.Commands[i]
	switch c.Name {
	case "ssh", "slogin", "sudo", "doas", "pkexec", "run0", "chroot", "nsenter", "unshare", "toolbox", "distrobox":
		// What they run is a command of its own; without one they start a shell.
		return len(c.Words) > 1 && !r.wraps(i) && !slices.ContainsFunc(c.Words[1:], func(w Word) bool {
			switch w.Text {
			case "-V", "--version", "-h", "--help", "-l", "-v", "-k", "-K", "-N":
				return true
			}
			return false
		})
	case "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "incus":
		return attaches(c.Words) && !r.wraps(i)
	}
	if strings.HasPrefix(c.Name, "python") || strings.HasPrefix(c.Name, "pypy") {
		return repl{given: "cmVh", givens: []string{"version", "help"}, opens: "i", values: "WXQ"}.open(c.Words[1:])
	}
	p, ok := replOf(c.Name)
	return ok && len(c.Words) > 0 && p.open(c.Words[1:])
}

// wraps reports whether the command is a wrapper round one that is listed.
func (r *Reply) wraps(i int) bool {
	return slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Parent == i })
}

// attaches reports whether a container's verb takes the terminal: its image or its own shell reads it.
func attaches(words []Word) bool {
	interactive, verb := false, false
	for _, w := range words[min(1, len(words)):] {
		switch w.Text {
		case "run", "exec", "attach", "debug", "start", "enter", "shell", "console":
			verb = true
		}
		if t := w.Text; t == "--interactive" || t == "--tty" || t == "--attach" ||
			len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.ContainsAny(t, "it") {
			interactive = true
		}
	}
	return verb &&
		(interactive || slices.ContainsFunc(words, func(w Word) bool {
			return w.Text == "attach" ||
				w.Text == "console"
		}))
}

// open reports whether the program reads the terminal with these arguments.
func (p repl) open(args []Word) bool {
	operands := 0
	for i := 0; i < len(args); i++ {
		a := args[i].Text
		switch {
		case a == "--":
			operands += len(args) - i - 1
			i = len(args)
		case a == "-" || a == "/dev/stdin" || a == "/dev/tty":
			return true
		case strings.HasPrefix(a, "--"):
			opt, _, joined := strings.Cut(a[2:], "=")
			if slices.Contains(p.givens, opt) {
				return false
			}
			if !joined && slices.Contains(p.longs, opt) {
				i++
			}
		case len(a) > 1 && (a[0] == '-' || a[0] == '+'):
			for k := 1; k < len(a); k++ {
				switch {
				case strings.IndexByte(p.opens, a[k]) >= 0:
					return true
				case strings.IndexByte(p.given, a[k]) >= 0:
					return p.opensAfter(args[i+1:])
				case strings.IndexByte(p.values, a[k]) >= 0:
					if k == len(a)-1 {
						i++
					}
					k = len(a)
				}
			}
		default:
			operands++
		}
		if operands >= max(p.need, 1) {
			return false // what follows is for the program that it runs
		}
	}
	return true
}

// opensAfter reports whether an option behind the one that gives a program has the terminal read as well.
func (p repl) opensAfter(rest []Word) bool {
	return len(rest) > 0 && p.opens != "" &&
		slices.ContainsFunc(rest[:min(1, len(rest))], func(w Word) bool { return w.Text == "-i" })
}

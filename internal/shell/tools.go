package shell

import (
	"slices"
	"strings"
)

// finds walks -exec and its kin.
func (w *walker) finds(e *env, name string, args []Word, c ctx, raw string, i int) {
	for k := 0; k < len(args); k++ {
		switch args[k].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			end := k + 1
			for end < len(args) && args[end].Text != ";" && (args[end].Text != "+" || args[end-1].Text != "{}") {
				end++
			}
			w.argvOpen(e, name+" "+args[k].Text, args[k+1:end], false, c.fill("{}"), raw, i)
			k = end
		case "-x", "-X", "--exec", "--exec-batch":
			if strings.HasPrefix(name, "fd") {
				end := k + 1
				for end < len(args) && args[end].Text != ";" {
					end++
				}
				w.argvOpen(e, name+" --exec", args[k+1:end], true, c.fill("{").fill("}"), raw, i)
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
		if at := strings.IndexByte(a.Text, 'x'); sub == "rebase" && at > 0 && a.Text[0] == '-' &&
			strings.Trim(a.Text[1:at], "iqvnfmrk") == "" {
			if opt = "-x"; at+1 < len(a.Text) { // -ixCODE
				word = Word{Text: a.Text[at+1:], Known: a.Known}
			} else if k+1 < len(args) {
				word = args[k+1]
			}
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
			w.code(e, joined(rest, false), "git submodule", c, i, false, raw)
			return
		}
	}
}

func isContainer(name string) bool {
	switch name {
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "k3s", "lxc", "incus",
		"crictl", "ctr", "flatpak", "distrobox", "toolbox":
		return true
	}
	return false
}

// container walks what runs inside of one: exec, run.
func (w *walker) container(name string, args []Word, open bool, c ctx, raw string, i int) {
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
	e := newEnvUnknownParams()
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
			case "rm", "detach", "interactive", "tty", "privileged", "init", "read-only", "no-healthcheck", "oom-kill-disable",
				"publish-all",
				"sig-proxy", "no-deps", "build", "quiet", "service-ports", "use-aliases", "no-TTY", "stdin":
			default:
				if !has {
					n = 2
				}
			}
		} else if last := a[len(a)-1]; strings.IndexByte(takes, last) >= 0 && a != "-i" && a != "-t" && a != "-it" &&
			a != "-ti" && a != "-dit" {
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
		case opt == "--to-command" || opt == "--use-compress-program" || opt == "--info-script" ||
			opt == "--new-volume-script":
			w.code(e, word, name, c, i, false, raw)
		case opt == "--checkpoint-action":
			if code, ok := strings.CutPrefix(word.Text, "exec="); ok {
				w.code(e, Word{Text: code, Known: word.Known}, name, c, i, false, raw)
			}
		case name == "tar" && (opt == "-I" || opt == "-F"),
			name == "rsync" && (opt == "-e" || opt == "--rsh" || opt == "--rsync-path"):
			w.code(e, word, name, c, i, false, raw)
		case name == "screen" && (opt == "-dm" || opt == "-dmS" || opt == "-d"):
			rest := args[k+1:]
			if opt == "-dmS" {
				rest = rest[min(1, len(rest)):]
			}
			w.argvOpen(e, name, rest, false, c, raw, i)
			return
		case name == "tmux" && k == 0 &&
			(strings.HasPrefix(a.Text, "new") || a.Text == "neww" || strings.HasPrefix(a.Text, "split") ||
				strings.HasPrefix(a.Text, "run") || a.Text == "respawn-pane"):
			w.tmux(e, args[1:], c, raw, i)
			return
		}
	}
}

// tmux walks what a new window runs: one word is a shell's text, several are a command.
func (w *walker) tmux(e *env, args []Word, c ctx, raw string, i int) {
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		n := 1
		if last := args[0].Text[len(args[0].Text)-1]; strings.IndexByte("cefFlnpstxy", last) >= 0 {
			n = 2
		}
		args = args[min(n, len(args)):]
	}
	switch len(args) {
	case 0:
	case 1:
		w.code(e, args[0], "tmux", c, i, false, raw)
	default:
		w.argvOpen(e, "tmux", args, false, c, raw, i)
	}
}

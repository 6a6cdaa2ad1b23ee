package shell

import (
	"slices"
	"strings"
)

// runsOf returns how a program that finds the variable in its environment runs the value: a kind of value.
func runsOf(name string) string {
	switch name {
	case "GIT_SSH_COMMAND", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_EXTERNAL_DIFF",
		"GIT_PROXY_COMMAND",
		"EDITOR", "VISUAL", "FCEDIT", "SUDO_EDITOR", "SYSTEMD_EDITOR", "KUBE_EDITOR", "HGEDITOR", "SVN_EDITOR",
		"PSQL_EDITOR",
		"PAGER", "MANPAGER", "SYSTEMD_PAGER", "PSQL_PAGER", "BAT_PAGER", "DELTA_PAGER", "AWS_PAGER", "GH_PAGER",
		"MANROFFOPT",
		"RSYNC_RSH", "CVS_RSH", "SVN_SSH", "BROWSER", "GH_BROWSER", "PROMPT_COMMAND", "FZF_DEFAULT_COMMAND",
		"TAR_RSH",
		"CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER":
		return kindOpen
	case "GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER",
		"RUSTC", "CC",
		"CXX", "LD", "RUSTDOC":
		return kindArgs
	case "BASH_ENV":
		return kindScript
	case "PS1", "PS2", "PS4", "PS0", "RPROMPT":
		return "~prompt"
	case "LESSOPEN", "LESSCLOSE":
		return "~less"
	case "LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES":
		return kindFile + "native"
	case "PYTHONSTARTUP":
		return kindFile + "python"
	case "NODE_OPTIONS":
		return kindOpts + "node"
	case "PERL5OPT":
		return kindOpts + "perl"
	case "RUBYOPT":
		return kindOpts + "ruby"
	case "MAKEFLAGS", "GNUMAKEFLAGS":
		return kindOpts + "make"
	case "TAR_OPTIONS":
		return kindOpts + "tar"
	case "FZF_DEFAULT_OPTS":
		return kindOpts + "fzf"
	}
	if name == "GIT_CONFIG_PARAMETERS" {
		return "~gitconfig"
	}
	if strings.HasPrefix(name, "BASH_FUNC_") {
		return "~function"
	}
	if strings.HasPrefix(name, "CARGO_TARGET_") && strings.HasSuffix(name, "_RUNNER") {
		return kindOpen
	}
	return ""
}

// environment walks what programs run of the variables that the command i gets or sets.
func (w *walker) environment(e *env, assigns []Assign, c ctx, raw string, i int) {
	config := false
	for k := range assigns {
		a := &assigns[k]
		config = config || strings.HasPrefix(a.Name, "GIT_CONFIG_KEY_")
		kind := runsOf(a.Name)
		if kind == "" || a.Value.Known && (a.Value.Text == "" || a.Value.Text == "/dev/null") {
			continue
		}
		c := c
		c.assigns, c.redirs, c.stdin, c.stdinFrom = nil, nil, nil, -1
		h := handed{name: a.Name + "=", c: c, raw: raw, i: i}
		switch kind {
		case "~function":
			name := strings.TrimSuffix(strings.TrimSuffix(a.Name[len("BASH_FUNC_"):], "%%"), "()")
			w.code(e, Word{Text: name + " " + a.Value.Text, Known: a.Value.Known}, h.name, c, i, false, raw)
		case kindScript, "~prompt":
			w.prompt(e, a.Value, h.name, c, raw, i)
			if kind == kindScript {
				w.unknown("script", raw, i)
			}
		default:
			r := reading{walker: w, e: e, g: &grammar{lenient: true, tail: tailNone}, h: h}
			r.runs(kind, a.Value, 0)
		}
	}
	if config {
		w.gitEnvironment(e, assigns, handed{name: "git", c: c, raw: raw, i: i})
	}
}

// prompt walks the substitutions of a value that a shell expands when it uses it.
func (w *walker) prompt(e *env, value Word, label string, c ctx, raw string, i int) {
	if !value.Known {
		w.unknown("code", raw, i)
		return
	}
	if !strings.ContainsAny(value.Text, "$`") {
		return
	}
	quoted := `: "` + strings.NewReplacer(`"`, `\"`).Replace(value.Text) + `"`
	if w.extra() > maxSteps/2 { // each text is read anew
		w.reply.Truncated = true
		w.unknown("limit", raw, i)
		return
	}
	f, _, err := w.read(quoted)
	if err != nil || w.depth >= MaxDepth {
		w.unknown("code", raw, i)
		return
	}
	src := w.src
	w.src = quoted
	w.depth++
	c.parent = i
	c.via = append(slices.Clip(c.via), label)
	for _, s := range f.Stmts {
		w.substitutions(e, s, c)
	}
	w.depth--
	w.src = src
}

// optionsOf walks what a program runs of options that stand in a variable.
func (w *walker) optionsOf(e *env, name string, value Word, h handed) {
	words, ok := splitWords(value.Text)
	if !ok || !value.Known {
		w.handsProgram(Program{Language: name, Partial: true}, h)
		return
	}
	g, ok := wrapperOf(name)
	if !ok {
		g, _ = interpreterOf(name)
	}
	g.lenient, g.tail = true, tailNone
	h.args = words
	r := reading{walker: w, e: e, g: &g, h: h, given: true}
	r.read()
}

// splitWords divides a text into words as env -S does: quotes and backslashes, no expansions but ${NAME}, which is
// not known.
func splitWords(s string) (words []Word, ok bool) {
	var b strings.Builder
	inWord := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case strings.IndexByte(" \t\n\r\v\f", c) >= 0:
			if inWord {
				words, inWord = append(words, Word{Text: b.String(), Known: true}), false
				b.Reset()
			}
		case c == '#' && !inWord:
			return words, true
		case c == '$':
			return nil, false
		case c == '\'' || c == '"':
			inWord = true
			end := i + 1
			for ; end < len(s) && s[end] != c; end++ {
				if s[end] == '$' && c == '"' {
					return nil, false
				}
				if s[end] == '\\' && end+1 < len(s) && (s[end+1] == c || s[end+1] == '\\') {
					end++
				} else if s[end] == '\\' && c == '"' {
					return nil, false
				}
				b.WriteByte(s[end])
			}
			if end >= len(s) {
				return nil, false
			}
			i = end
		case c == '\\':
			if i++; i >= len(s) || strings.IndexByte("_cfnrtv", s[i]) >= 0 {
				return nil, false // a control character, or the end of the text
			}
			inWord = true
			b.WriteByte(s[i])
		default:
			inWord = true
			b.WriteByte(c)
		}
	}
	if inWord {
		words = append(words, Word{Text: b.String(), Known: true})
	}
	return words, len(words) <= maxWords
}

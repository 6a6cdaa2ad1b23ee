package shell

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// git walks the commands that git itself runs: those of its verbs, of the configuration that it is given, and of
// aliases.
func (w *walker) git(e *env, h handed) {
	global := grammar{opts: "C: c: exec-path? git-dir: work-tree: namespace: config-env: super-prefix: " +
		"attr-source: " +
		"list-cmds! v,version! h,help! html-path! man-path! info-path! p,paginate P,no-pager bare " +
		"no-replace-objects " +
		"literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs no-optional-locks no-lazy-fetch no-advice"}
	aliases := map[string]Word{}
	args := h.args
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		over := false
		used, _ := global.options(args, func(o option) bool {
			over = over || o.mark == "!" || !o.known
			return true
		})
		if setting, ok := strings.CutPrefix(args[0].Text, "--config-env"); ok { // KEY=NAME of a variable
			if setting = strings.TrimPrefix(setting, "="); setting == "" && len(args) > 1 {
				setting = args[1].Text
			}
			at := strings.LastIndexByte(setting, '=')
			w.gitConfig(e, setting[:max(at, 0)], Word{Text: "$" + setting[at+1:]}, h)
		}
		if args[0].Text == "-c" && len(args) > 1 {
			key, value, _ := strings.Cut(args[1].Text, "=")
			word := Word{Text: value, Known: args[1].Known}
			if name, ok := strings.CutPrefix(strings.ToLower(key), "alias."); ok {
				aliases[name] = word
			} else {
				w.gitConfig(e, key, word, h)
			}
		}
		if over {
			if used == 1 && !strings.HasPrefix(args[0].Text, "-h") && !strings.HasPrefix(args[0].Text, "-v") &&
				!strings.Contains("--version --help --html-path --man-path --info-path", args[0].Text) &&
				!strings.HasPrefix(args[0].Text, "--list-cmds") {
				w.unknown("name", h.raw, h.i)
			}
			return
		}
		args = args[used:]
	}
	if len(args) == 0 {
		return
	}
	verb := args[0].Text
	if !args[0].Known {
		w.unknown("name", h.raw, h.i)
		return
	}
	h.args = args[1:]
	if alias, ok := aliases[strings.ToLower(verb)]; ok {
		w.gitAlias(e, alias, h.args, h)
		delete(aliases, strings.ToLower(verb))
	}
	for _, name := range slices.Sorted(maps.Keys(aliases)) { // another alias may use them
		w.gitAlias(e, aliases[name], nil, h)
	}
	if g, ok := gitVerb(verb); ok {
		h.name = "git " + verb
		w.wrapped(e, g, h)
	}
	w.gitHooks(e, verb, h)
	switch verb {
	case "config":
		w.gitConfigCommand(e, h)
	case "clone", "fetch", "pull", "ls-remote", "remote", "submodule":
		for _, a := range h.args { // ext::COMMAND
			if command, ok := strings.CutPrefix(a.Text, "ext::"); ok {
				w.argvOpen(e, "git ext::", extWords(command, a.Known), false, h.c, h.raw, h.i)
			}
		}
	}
}

// extWords divides the address of git's transport ext:: into words: a blank behind % belongs to its word.
func extWords(command string, known bool) (words []Word) {
	const blank = "\x00"
	for word := range strings.FieldsSeq(strings.ReplaceAll(command, "% ", blank)) {
		words = append(words, Word{Text: strings.ReplaceAll(word, blank, " "), Known: known})
	}
	return words
}

// gitAlias walks what an alias stands for, with the arguments behind it.
func (w *walker) gitAlias(e *env, alias Word, args []Word, h handed) {
	if code, ok := strings.CutPrefix(alias.Text, "!"); ok {
		w.code(e, withArgs(Word{Text: code, Known: alias.Known}, args, h.open), "git alias", h.c, h.i, false, h.raw)
		return
	}
	words, ok := splitWords(alias.Text)
	if !ok || !alias.Known {
		w.unknown("code", h.raw, h.i)
		return
	}
	words = slices.Concat([]Word{{Text: "git", Known: true}}, words, args)
	w.argvOpen(e, "git alias", words, h.open, h.c, h.raw, h.i)
}

// gitVerb returns what of the arguments of a verb is run.
func gitVerb(verb string) (grammar, bool) {
	none := func(opts string) (grammar, bool) { return grammar{opts: opts, lenient: true, tail: tailNone}, true }
	switch verb {
	case "rebase":
		return none("x,exec=sh+ s,strategy: X,strategy-option: onto: C: S,gpg-sign? r,rebase-merges? whitespace: " +
			"empty:")
	case "filter-branch":
		return none("env-filter=sh+ tree-filter=sh+ index-filter=sh+ parent-filter=sh+ msg-filter=sh+ " +
			"commit-filter=sh+ " +
			"tag-name-filter=sh+ setup=sh+ d: subdirectory-filter: original: state-branch:")
	case "difftool", "mergetool":
		return none("x,extcmd=shx+ t,tool: M? C? U: S: G: O:")
	case "grep":
		return none("O,open-files-in-pager?shx+ e: f: m,max-count: A: B: C: max-depth: threads:")
	case "clone":
		return none("u,upload-pack=sh+ c,config=~config+ b,branch: o,origin: j,jobs: depth: reference: template: " +
			"separate-git-dir: filter: server-option: bundle-uri:")
	case "fetch", "pull", "ls-remote", "fetch-pack":
		return none("upload-pack=sh+ exec=sh+ o,server-option: depth: j,jobs: s,strategy: X: refmap: sort:")
	case "push", "send-pack":
		return none("receive-pack=sh+ exec=sh+ o,push-option: repo:")
	case "archive":
		return none("exec=sh+ remote: format: o,output: prefix: add-file:")
	case "send-email":
		return none("sendmail-cmd=sh+ to-cmd=sh+ cc-cmd=sh+ header-cmd=sh+ smtp-server=~first+ to: from: cc: " +
			"subject: in-reply-to:")
	case "submodule":
		return grammar{opts: "q,quiet cached", verbs: "git submodule", label: "git submodule"}, true
	case "bisect":
		return grammar{verbs: "git bisect", label: "git bisect"}, true
	case "for-each-repo":
		return grammar{opts: "config: keep-going", verbs: "git", label: "git for-each-repo"}, true
	case "init", "worktree":
		return none("template:")
	case "help", "web--browse", "instaweb":
		return none("b,browser=~first+ d,httpd=sh+ p,port: m,module-path:")
	case "daemon":
		return none("access-hook=~first+")
	case "upload-pack", "receive-pack", "shell":
		return none("c=sh+")
	}
	return grammar{}, false
}

// gitConfig walks what git runs of a setting.
func (w *walker) gitConfig(e *env, key string, value Word, h handed) {
	key = strings.ToLower(key)
	section, rest, _ := strings.Cut(key, ".")
	last := key[strings.LastIndexByte(key, '.')+1:]
	runs := false
	switch section {
	case "alias":
		w.gitAlias(e, value, nil, h)
		return
	case "include", "includeif":
		w.unknown("script", h.raw, h.i) // settings that are not seen
		return
	case "core":
		if rest == "hookspath" {
			w.hooksPath = fileKey(e, value)
		}
		switch rest {
		case "pager", "editor", "sshcommand", "fsmonitor", "askpass", "gitproxy", "alternaterefscommand":
			runs = true
		}
	case "sequence":
		runs = rest == "editor"
	case "diff":
		runs = rest == "external" || last == "command" || last == "textconv"
	case "difftool", "mergetool", "browser", "man", "guitool":
		runs = last == "cmd"
	case "merge":
		runs = last == "driver"
	case "filter":
		runs = last == "clean" || last == "smudge" || last == "process"
	case "credential":
		if last == "helper" {
			if code, ok := strings.CutPrefix(value.Text, "!"); ok {
				value.Text, runs = code, true
			} else {
				runs = strings.HasPrefix(value.Text, "/") || !value.Known
			}
		}
	case "pager":
		runs = true
	case "gpg":
		runs = last == "program" || last == "defaultkeycommand"
	case "uploadpack":
		runs = rest == "packobjectshook"
	case "remote":
		runs = last == "uploadpack" || last == "receivepack"
	case "interactive":
		runs = rest == "difffilter"
	case "sendemail":
		runs = strings.HasSuffix(last, "cmd") || last == "smtpserver" && strings.HasPrefix(value.Text, "/")
	case "trailer":
		runs = last == "command" || last == "cmd"
	case "submodule":
		if code, ok := strings.CutPrefix(value.Text, "!"); ok && last == "update" {
			value.Text, runs = code, true
		}
	case "tar":
		runs = last == "command"
	case "imap":
		runs = rest == "tunnel"
	case "hook":
		runs = last == "command"
	}
	switch value.Text {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return
	}
	if runs {
		w.code(e, value, "git "+key, h.c, h.i, false, h.raw)
	}
}

// gitConfigCommand walks what git config KEY VALUE sets.
func (w *walker) gitConfigCommand(e *env, h handed) {
	g := grammar{opts: "f,file: blob: type: t: default: comment: value: url: get! get-all! get-regexp! " +
		"get-urlmatch! " +
		"get-color! get-colorbool! unset! unset-all! l,list! e,edit! remove-section! rename-section! ", lenient: true}
	var operands []Word
	for args := h.args; len(args) > 0; {
		if !strings.HasPrefix(args[0].Text, "-") {
			operands, args = append(operands, args[0]), args[1:]
			continue
		}
		reads := false
		used, _ := g.options(args, func(o option) bool {
			reads = reads || o.mark == "!"
			return true
		})
		if reads {
			return
		}
		args = args[min(used, len(args)):]
	}
	if len(operands) > 0 && operands[0].Text == "set" {
		operands = operands[1:]
	}
	if len(operands) >= 2 {
		w.gitConfig(e, operands[0].Text, operands[1], h)
	}
}

// gitEnvironment walks settings that variables give: GIT_CONFIG_KEY_0 and GIT_CONFIG_VALUE_0.
func (w *walker) gitEnvironment(e *env, assigns []Assign, h handed) {
	for k := range assigns[:min(len(assigns), maxVars)] {
		n, ok := strings.CutPrefix(assigns[k].Name, "GIT_CONFIG_KEY_")
		if !ok {
			continue
		}
		value := Word{Text: "$GIT_CONFIG_VALUE_" + n}
		for _, a := range assigns[:min(len(assigns), maxVars)] {
			if a.Name == "GIT_CONFIG_VALUE_"+n {
				value = a.Value
			}
		}
		w.gitConfig(e, assigns[k].Value.Text, value, h)
	}
}

// withArgs is a text for a shell with words behind it.
func withArgs(code Word, args []Word, open bool) Word {
	code.Known = code.Known && !open
	var b strings.Builder
	b.WriteString(code.Text)
	for _, a := range args {
		q, err := syntax.Quote(a.Text, syntax.LangBash)
		b.WriteByte(' ')
		b.WriteString(q)
		code.Known = code.Known && a.Known && !a.Glob && err == nil
	}
	code.Text = b.String()
	return code
}

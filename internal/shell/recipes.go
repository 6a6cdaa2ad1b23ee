package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recipe says in which files a program looks for what it runs, where its arguments do not name them.
type recipe struct {
	files    []string                                  // the last element of their paths, or the end of it after a *
	lines    func(text string, args []string) []string // the texts for a shell in such a file
	language string                                    // of the program that such a file is, where it is no list of texts
}

// recipeOf returns the recipe of the program of the name, from its manual.
func recipeOf(name string) (recipe, bool) {
	program := func(language string, files ...string) (recipe, bool) {
		return recipe{files: files, language: language}, true
	}
	switch name {
	case "npm", "pnpm", "yarn", "bun", "node", "run-s", "run-p", "npm-run-all", "turbo", "lerna":
		return recipe{files: []string{"package.json"}, lines: func(text string, args []string) []string {
			return namedScripts(text, "scripts", packageScripts(name, args))
		}}, true
	case "composer", "deno":
		key := map[string]string{"composer": "scripts", "deno": "tasks"}[name]
		return recipe{files: []string{"composer.json", "deno.json", "deno.jsonc"},
			lines: func(text string, args []string) []string { return namedScripts(text, key, operandsOf(args)) }}, true
	case "just":
		return recipe{files: []string{"justfile", "Justfile", ".justfile"}, lines: recipeLines}, true
	case "make", "gmake", "bmake", "remake":
		return program("make", "Makefile", "makefile", "GNUmakefile", "BSDmakefile")
	case "direnv":
		return recipe{files: []string{".envrc"}, lines: func(text string, args []string) []string {
			if at := operandsOf(args); len(at) > 0 && slices.Contains([]string{"allow", "permit", "grant", "reload", "exec",
				"export"}, at[0]) {
				return []string{text}
			}
			return nil
		}}, true
	case "foreman", "overmind", "hivemind", "honcho", "goreman":
		return recipe{files: []string{"Procfile", "Procfile.dev"}, lines: func(text string, _ []string) []string {
			return valuesOf(text, ":", func(string) bool { return true })
		}}, true
	case "systemctl":
		return recipe{files: []string{"*.service"}, lines: unitLines}, true
	case "task", "go-task", "lefthook", "pre-commit":
		return recipe{files: []string{"Taskfile.yml", "Taskfile.yaml", "lefthook.yml", "lefthook.yaml",
			".pre-commit-config.yaml"}, lines: yamlLines}, true
	case "mise", "rtx":
		return recipe{files: []string{"mise.toml", ".mise.toml"}, lines: func(text string, _ []string) []string {
			return valuesOf(text, "=", func(key string) bool { return key == "run" })
		}}, true
	case "rake":
		return program("ruby", "Rakefile", "rakefile", "Rakefile.rb")
	case "vagrant":
		return program("ruby", "Vagrantfile")
	case "bundle":
		return program("ruby", "Gemfile")
	case "invoke", "inv":
		return program("python", "tasks.py")
	case "fab":
		return program("python", "fabfile.py")
	case "nox":
		return program("python", "noxfile.py")
	case "scons":
		return program("python", "SConstruct")
	case "pytest", "py.test":
		return program("python", "conftest.py")
	case "pip", "pip3", "uv":
		return program("python", "setup.py")
	case "gulp":
		return program("javascript", "gulpfile.js", "gulpfile.mjs")
	case "grunt":
		return program("javascript", "Gruntfile.js")
	}
	return recipe{}, false
}

// recipes walks the files that the text has written and in which the program looks for what it runs.
func (w *walker) recipes(e *env, h handed) {
	if len(w.files) == 0 {
		return
	}
	r, ok := recipeOf(h.name)
	if !ok {
		return
	}
	for _, key := range w.writtenAs(r.files...) {
		f := w.files[key]
		if r.language != "" {
			w.runsOnce(key, h, func() { w.handsText(e, r.language, w.word(f.text, true, false, false), h) })
			continue
		}
		for _, line := range r.lines(f.text, texts(h.args)) {
			if w.step() {
				w.runsOnce(key+" "+line, h, func() {
					w.maybeCode(e, w.word(line, true, false, false), h.name+" "+path.Base(key), h.c, h.i, h.raw)
				})
			}
		}
	}
}

// writtenAs returns the files of the text that have one of the names, in order.
func (w *walker) writtenAs(names ...string) (keys []string) {
	for key := range w.files {
		if slices.ContainsFunc(names, func(name string) bool {
			if end, ok := strings.CutPrefix(name, "*"); ok {
				return strings.HasSuffix(key, end)
			}
			return path.Base(key) == name
		}) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// runsOnce has a part of a file walked, but not within itself.
func (w *walker) runsOnce(part string, h handed, walk func()) {
	if slices.Contains(w.runningParts, part) {
		w.reply.Commands[h.i].Recursive = true
		return
	}
	w.runningParts = append(w.runningParts, part)
	walk()
	w.runningParts = w.runningParts[:len(w.runningParts)-1]
}

// operandsOf returns the words that are no options.
func operandsOf(args []string) []string {
	return slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
}

// packageScripts returns the names of the scripts of package.json that a command runs.
func packageScripts(program string, args []string) []string {
	operands := operandsOf(args)
	switch {
	case program == "node":
		if at := slices.Index(args, "--run"); at >= 0 {
			return args[at+1:]
		}
		return nil
	case len(operands) == 0 && program == "yarn":
		operands = []string{"install"}
	case len(operands) == 0:
		return nil
	case strings.HasPrefix(program, "run-"), program == "npm-run-all":
		return operands
	}
	switch operands[0] {
	case "run", "run-script", "rum", "urn":
		return operands[1:]
	case "test", "t", "tst", "it", "install-test":
		return []string{"test", "install", "prepare"}
	case "start", "stop", "restart":
		return operands[:1]
	case "install", "i", "ci", "add", "rebuild", "link":
		return []string{"install", "prepare", "prepublish"}
	case "publish", "pack":
		return []string{"prepublishOnly", "prepare", "pack", "publish"}
	case "version":
		return operands[:1]
	}
	if program == "npm" {
		return nil
	}
	return operands
}

// namedScripts returns the texts below a key of a document that have one of the names, with what is run before and
// after each. A name with a * stands for all.
func namedScripts(document, key string, names []string) (lines []string) {
	var members map[string]jsontext.Value
	var scripts map[string]jsontext.Value
	if json.Unmarshal([]byte(document), &members) != nil || json.Unmarshal(members[key], &scripts) != nil {
		return nil
	}
	all := slices.ContainsFunc(names, func(name string) bool { return strings.ContainsAny(name, "*$") })
	for name, raw := range scripts {
		wanted := func(n string) bool { return name == n || name == "pre"+n || name == "post"+n }
		if !all && !slices.ContainsFunc(names, wanted) {
			continue
		}
		var one string
		var several []string
		var task struct {
			Command string `json:"command"`
		}
		switch {
		case json.Unmarshal(raw, &one) == nil:
			lines = append(lines, one)
		case json.Unmarshal(raw, &several) == nil:
			lines = append(lines, several...)
		case json.Unmarshal(raw, &task) == nil:
			lines = append(lines, task.Command)
		}
	}
	slices.Sort(lines)
	return lines
}

// recipeLines returns the lines of the recipes of a justfile that the arguments name, or of the first one, and of those
// that they depend on.
func recipeLines(text string, args []string) (lines []string) {
	wanted := operandsOf(args)
	headers, bodies := []string{}, map[string][]string{}
	needs := map[string][]string{}
	name := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
			bodies[name] = append(bodies[name], strings.TrimLeft(line, " \t@-"))
			continue
		}
		head, rest, ok := strings.Cut(line, ":")
		fields := strings.Fields(strings.TrimPrefix(head, "@"))
		if !ok || len(fields) == 0 || strings.HasPrefix(rest, "=") || strings.HasPrefix(line, "#") {
			continue
		}
		name = fields[0]
		headers = append(headers, name)
		needs[name] = strings.Fields(strings.NewReplacer("&&", " ", "(", " ", ")", " ").Replace(rest))
	}
	if len(wanted) == 0 && len(headers) > 0 {
		wanted = headers[:1]
	}
	wanted = slices.Clone(wanted)
	for k := 0; k < len(wanted); k++ {
		body := bodies[wanted[k]]
		if len(body) > 0 && strings.HasPrefix(body[0], "#!") {
			body = []string{strings.Join(body, "\n")}
		}
		lines = append(lines, body...)
		for _, need := range needs[wanted[k]] {
			if !slices.Contains(wanted, need) && len(wanted) < maxFiles {
				wanted = append(wanted, need)
			}
		}
	}
	return lines
}

// valuesOf returns what stands behind the mark in the lines whose part before it is accepted.
func valuesOf(text, mark string, accepts func(key string) bool) (values []string) {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, mark)
		if key = strings.TrimSpace(key); ok && !strings.HasPrefix(key, "#") && accepts(key) {
			values = append(values, unquoted(strings.TrimSpace(value)))
		}
	}
	return values
}

func unquoted(s string) string {
	for _, q := range []string{`"""`, `'''`, `"`, "'"} {
		if len(s) >= 2*len(q) && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			return s[len(q) : len(s)-len(q)]
		}
	}
	return s
}

// unitLines returns what the unit of a service runs, where the arguments start one.
func unitLines(text string, args []string) []string {
	starts := slices.ContainsFunc(args, func(a string) bool {
		return slices.Contains([]string{"start", "restart", "reload-or-restart", "try-restart", "enable", "reenable"}, a)
	})
	if !starts {
		return nil
	}
	lines := valuesOf(text, "=", func(key string) bool { return strings.HasPrefix(key, "Exec") })
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], "-@:+!|")
	}
	return lines
}

// yamlLines returns the texts for a shell in a file of tasks or hooks: items of lists, the values of a few keys, and
// the lines of blocks.
func yamlLines(text string, _ []string) (lines []string) {
	block := -1 // the indentation of the key whose block goes on
	for line := range strings.Lines(text) {
		t := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if block >= 0 && (indent > block || t == "") {
			lines = append(lines, t)
			continue
		}
		block = -1
		item, isItem := strings.CutPrefix(t, "- ")
		key, value, isKey := strings.Cut(item, ": ")
		if !isKey {
			key, isKey = strings.CutSuffix(item, ":")
		}
		switch {
		case isKey && slices.Contains([]string{"cmd", "run", "entry", "sh", "cmds", "command", "exec"}, key):
			if value = strings.TrimSpace(value); strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
				block = indent
			} else if value != "" {
				lines = append(lines, unquoted(value))
			}
		case isItem && strings.HasPrefix(item, "|"):
			block = indent
		case isItem && !isKey:
			lines = append(lines, unquoted(strings.TrimSpace(item)))
		}
	}
	return lines
}

// hooksOf returns the hooks that a verb of git runs, from githooks(5).
func hooksOf(verb string) []string {
	switch verb {
	case "commit":
		return []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-rewrite", "pre-auto-gc",
			"reference-transaction", "post-index-change"}
	case "merge":
		return []string{"pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "reference-transaction"}
	case "pull":
		return []string{"pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-merge", "pre-rebase", "post-rewrite",
			"post-checkout", "reference-transaction"}
	case "rebase":
		return []string{"pre-rebase", "post-rewrite", "post-checkout", "post-commit", "reference-transaction"}
	case "am":
		return []string{"applypatch-msg", "pre-applypatch", "post-applypatch", "post-rewrite"}
	case "cherry-pick", "revert":
		return []string{"prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction"}
	case "checkout", "switch", "restore", "clone", "worktree", "stash", "reset":
		return []string{"post-checkout", "post-index-change", "reference-transaction"}
	case "push":
		return []string{"pre-push", "reference-transaction"}
	case "branch", "tag", "fetch", "update-ref", "remote":
		return []string{"reference-transaction"}
	case "add", "rm", "mv", "status":
		return []string{"post-index-change"}
	case "gc":
		return []string{"pre-auto-gc"}
	}
	return nil
}

// gitHooks walks the hooks that the text has written and that a verb of git runs: in a directory called hooks or
// .husky, or where the text has set core.hooksPath to.
func (w *walker) gitHooks(e *env, verb string, h handed) {
	if len(w.files) == 0 {
		return
	}
	for _, key := range w.writtenAs(hooksOf(verb)...) {
		dir := path.Dir(key)
		if base := path.Base(dir); base != "hooks" && base != ".husky" && (dir != w.hooksPath || dir == ".") {
			continue
		}
		f := w.files[key]
		w.runsOnce(key, h, func() {
			h.name = "git " + path.Base(key)
			if language, program := f.interpreter(); language != "" {
				w.handsText(e, language, w.word(f.text, true, false, false), h)
			} else if program == "" {
				h.c.stdin, h.c.stdinFrom = nil, -1
				w.maybeCode(e, w.word(f.text, true, false, false), h.name, h.c, h.i, h.raw)
			}
		})
	}
}

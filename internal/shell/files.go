package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxFiles is how many files that a text writes are remembered.
const maxFiles = 64

// written is the content of a file that the text writes.
type written struct {
	text    string // with holes in place of what is not known
	running bool
}

// fileKey is a file's name in one spelling. A name that is not known stands for itself: the same words name the same
// file.
func fileKey(e *env, file Word) string {
	if file.Text == "" || file.Glob || strings.HasPrefix(file.Text, "/dev/") || strings.HasPrefix(file.Text, "<(") {
		return ""
	}
	name := file.Text
	if e.cwd != nil && !strings.HasPrefix(name, "/") && !file.Tilde && !strings.HasPrefix(name, "$") &&
		!strings.HasPrefix(name, homeMark) && !strings.HasPrefix(name, hereMark) {
		name = e.cwd.Text + "/" + name
	}
	return path.Clean(name)
}

// fileOf returns the content of a file that the text has written.
func (w *walker) fileOf(e *env, file Word) *written {
	if len(w.files) == 0 {
		return nil
	}
	return w.files[fileKey(e, file)]
}

// writes remembers the content of a file; ok false forgets it.
func (w *walker) writes(e *env, file Word, text string, ok, appends bool) {
	key := fileKey(e, file)
	if key == "" {
		return
	}
	if old := w.files[key]; old != nil && appends && ok {
		text = old.text + text
	}
	if !ok || len(text) > MaxWordText || len(w.files) >= maxFiles {
		delete(w.files, key)
		return
	}
	if w.files == nil {
		w.files = map[string]*written{}
	}
	w.files[key] = &written{text: text}
	if r, ok := w.awaiting[key]; ok {
		delete(w.awaiting, key)
		w.maybeCode(r.e, w.word(text, true, false, false), r.label, r.c, r.i, r.raw)
	}
}

// reader is a shell that reads a file that the text has not written yet: a pipe with a name, or it waits.
type reader struct {
	e     *env
	label string
	c     ctx
	i     int
	raw   string
}

// awaits remembers a shell whose input is a file.
func (w *walker) awaits(e *env, label string, c ctx, i int, raw string) {
	for _, r := range c.redirs {
		if key := fileKey(e, r.Target); key != "" && r.FD == 0 && r.Op == "<" && len(w.awaiting) < maxFiles {
			if w.awaiting == nil {
				w.awaiting = map[string]reader{}
			}
			c.stdin, c.stdinFrom, c.redirs = nil, -1, nil
			w.awaiting[key] = reader{e: e.clone(), label: label, c: c, i: i, raw: raw}
			return
		}
	}
}

// writesFiles remembers what a statement writes to the files that its output is redirected to.
func (w *walker) writesFiles(e *env, s *syntax.Stmt, redirs []Redirect, c ctx) {
	var to []Redirect
	for _, r := range redirs {
		if r.FD == 1 && (r.Op == ">" || r.Op == ">>" || r.Op == ">|" || r.Op == "&>" || r.Op == "&>>") &&
			fileKey(e, r.Target) != "" {
			to = append(to, r)
		}
	}
	if len(to) == 0 {
		return
	}
	bare := &syntax.Stmt{Cmd: s.Cmd}
	for _, r := range s.Redirs {
		if strings.HasPrefix(r.Op.String(), "<") {
			bare.Redirs = append(bare.Redirs, r)
		}
	}
	var in *string
	if c.stdin != nil && c.stdin.Known {
		in = &c.stdin.Text
	}
	text, ok := "", true
	if s.Cmd != nil {
		text, ok = w.output(e.clone(), []*syntax.Stmt{bare}, in, 0)
	}
	for _, r := range to {
		w.writes(e, r.Target, text, ok, strings.HasSuffix(r.Op, ">>"))
	}
}

// copies remembers what a command writes to files by its arguments.
func (w *walker) copies(e *env, name string, args []Word, c ctx) {
	var operands []Word
	appends := false
	for _, a := range args {
		if strings.HasPrefix(a.Text, "-") && len(a.Text) > 1 {
			appends = appends || a.Text == "-a" || a.Text == "--append"
			continue
		}
		operands = append(operands, a)
	}
	in, known := "", false
	if c.stdin != nil {
		in, known = c.stdin.Text, c.stdin.Known
		if c.stdin.holes != "" {
			in, known = c.stdin.holes, true
		}
	}
	switch name {
	case "tee", "sponge":
		for _, file := range operands {
			w.writes(e, file, in, known, appends)
		}
	case "dd":
		for _, file := range operands {
			if to, ok := strings.CutPrefix(file.Text, "of="); ok {
				w.writes(e, Word{Text: to, Known: file.Known}, in, known, false)
			}
		}
	case "cp", "mv", "ln", "install", "rsync":
		if len(operands) < 2 {
			return
		}
		to := operands[len(operands)-1]
		if name == "install" || name == "cp" {
			if from := operands[len(operands)-2].Text; from == "/dev/stdin" || from == "/dev/fd/0" {
				w.writes(e, to, in, known, false)
			}
		}
		for _, from := range operands[:len(operands)-1] {
			if f := w.fileOf(e, from); f != nil {
				inside := to
				inside.Text = strings.TrimSuffix(to.Text, "/") + "/" + path.Base(from.Text)
				w.writes(e, to, f.text, true, false)
				w.writes(e, inside, f.text, true, false)
			}
		}
	}
}

// content returns the text of a file that the text has written, as a word that is code.
func (w *walker) content(e *env, file Word) (Word, bool) {
	f := w.fileOf(e, file)
	if f == nil {
		return Word{}, false
	}
	return w.word(f.text, true, false, false), true
}

// runsFile walks a file that the text has written and that a shell runs; with own, the running one.
func (w *walker) runsFile(e *env, file Word, args []Word, open bool, label string, c ctx, i int, own bool,
	raw string) bool {
	f := w.fileOf(e, file)
	if f == nil {
		return false
	}
	if f.running {
		w.reply.Commands[i].Recursive = true
		return true
	}
	text := w.word(f.text, true, false, false)
	if _, _, err := w.read(f.text); err != nil {
		w.unknown("code", raw, i)
		return true
	}
	f.running = true
	if !own {
		e = e.clone()
		e.set("0", variable{known: file.Known, v: textVar(file).v})
		e.setParamWords(args, !open && allKnown(args))
	}
	c.stdin, c.stdinFrom = nil, -1
	w.code(e, text, label, c, i, own, raw)
	f.running = false
	return true
}

// runsWritten walks a file that the text has written and that a command runs by its path.
func (w *walker) runsWritten(e *env, words []Word, open bool, c ctx, i int, raw string) bool {
	f := w.fileOf(e, words[0])
	if f == nil || !strings.Contains(words[0].Text, "/") && words[0].Known {
		return false
	}
	if language, program := f.interpreter(); language != "" {
		w.handsText(e, language, w.word(f.text, true, false, false), handed{name: program, c: c, raw: raw, i: i})
		return true
	} else if program != "" {
		return false
	}
	return w.runsFile(e, words[0], words[1:], open, path.Base(words[0].Text), c, i, false, raw)
}

// interpreter returns the program that the first line of the file names, and its language where it is one that reads
// programs; both are "" for a shell.
func (f *written) interpreter() (language, program string) {
	line, ok := strings.CutPrefix(f.text, "#!")
	if !ok {
		return "", ""
	}
	line, _, _ = strings.Cut(line, "\n")
	fields := strings.Fields(line)
	if len(fields) > 1 && path.Base(fields[0]) == "env" {
		fields = slices.DeleteFunc(fields[1:], func(s string) bool { return strings.HasPrefix(s, "-") })
	}
	if len(fields) == 0 || isShell(path.Base(fields[0])) {
		return "", ""
	}
	g, _ := interpreterOf(path.Base(fields[0]))
	return g.stdin, path.Base(fields[0])
}

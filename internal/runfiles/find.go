// Package runfiles finds the files that the commands of a tool call would run or apply, and reads
// what is judged of them: scripts, rules of a make, scripts of a package.json, programs of
// interpreters, patches, tables of jobs, and lists of names.
//
// It decides nothing and runs nothing. Time and memory are bounded: see the limits. Of is safe for
// concurrent use.
package runfiles

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/filesource"
	"github.com/belay-hooks/belay/internal/links"
	"github.com/belay-hooks/belay/internal/shell"
	"github.com/belay-hooks/belay/phases"
)

// Bounds of what is told about the files that a command runs. Sizes are in bytes.
const (
	maxRuns       = 16       // files of one call
	maxRunDepth   = 4        // scripts that run scripts
	maxRunFile    = 16 << 20 // one file that is looked at
	maxRunText    = 24 << 10 // of one file, as it is told
	maxRunsTexts  = 40 << 10 // of all files: the metadata of a call has 64 KiB
	maxRunCommand = 64 << 10 // text of commands that is looked through
)

// Kinds of files that commands run or apply, as hooks read them.
const (
	kindShell = "shell" // a script of a shell
	kindMake  = "make"  // the rules that a make runs
	kindNPM   = "npm"   // the scripts of a package.json that a package manager runs
	kindCode  = "code"  // a program in another language
	kindPatch = "patch" // a patch that is applied
	kindCron  = "cron"  // a table of jobs
	kindNames = "names" // names of files for a command, one a line
)

const whyLong = "it is too long"

// File is what hooks are told about a file that a command would run or apply.
type File struct {
	Path   string `json:"path"` // relative to the call's directory, or absolute
	Kind   string `json:"kind"`
	Text   string `json:"text,omitzero"`
	Digest string `json:"digest,omitzero"` // of the whole file: sha256:HEX
	Why    string `json:"why,omitzero"`    // there is no text
}

// Of returns the files that the commands of a call would run or apply, in the order in which they are
// met; none where a call carries no command, or has no absolute directory. Files outside of the
// project and of the directories for temporary files are programs that are installed, and are not
// among them. It reads files and runs nothing. A file of which its source does not tell is told without its text.
func Of(ctx context.Context, inv *phases.Invocation, from From) []File {
	if inv.Phase != phases.PreTool || !filepath.IsAbs(inv.CWD) {
		return nil
	}
	r := runs{ctx: ctx, from: from, cwd: filepath.Clean(inv.CWD), seen: map[string]bool{},
		looked: map[string]links.Found{}}
	found, _ := inv.Lines()
	for _, line := range found.Lines {
		r.command(line.Text, r.cwd, 0)
	}
	return r.files
}

// runs collects the files that commands run.
type runs struct {
	ctx     context.Context //nolint:containedctx // of one call of Of
	from    From
	cwd     string
	allowed []string // directories whose files are told, without links; nil: not asked for yet
	looked  map[string]links.Found
	seen    map[string]bool
	files   []File
	told    int // bytes of texts
}

// inside reports whether a file without links in its path is one whose text is told.
func (r *runs) inside(path string) bool {
	for _, dir := range r.places() {
		rel, ok := strings.CutPrefix(path, dir+"/")
		// What begins with a dot in a home directory is the person's own set-up.
		if ok && (dir != r.from.Home || !strings.HasPrefix(rel, ".")) {
			return true
		}
	}
	return false
}

// command looks through a text of a shell for the files that it would run.
func (r *runs) command(text, cwd string, depth int) {
	if len(text) > maxRunCommand {
		return // of a call: hooks ask about one that they cannot parse
	}
	reply, _ := shell.Parse(text)
	for i, c := range reply.Commands {
		if c.Remote {
			continue
		}
		dir := cwd
		if c.CWD != nil {
			dir = r.path(cwd, c.CWD.Text)
		}
		for _, f := range filesOf(reply, i) {
			r.read(f, dir, depth)
		}
	}
}

// path returns the absolute path of a word.
func (r *runs) path(dir, word string) string {
	if rest, ok := strings.CutPrefix(word, "~"); ok && (rest == "" || rest[0] == '/') && r.from.Home != "" {
		return filepath.Join(r.from.Home, rest)
	}
	for _, name := range []string{"$PWD", "${PWD}", "$(pwd)"} {
		if rest, ok := strings.CutPrefix(word, name); ok {
			return filepath.Join(dir, rest)
		}
	}
	if filepath.IsAbs(word) {
		return filepath.Clean(word)
	}
	return filepath.Join(dir, word)
}

// read tells about one file, and about those that it would run itself.
func (r *runs) read(f namedFile, dir string, depth int) {
	path := r.path(dir, f.name)
	real, there := r.real(path)
	if !there || r.seen[f.kind+real+f.goals()] {
		return // not there: the command would fail, or the text that makes it is judged
	}
	r.seen[f.kind+real+f.goals()] = true
	name := path
	if rel, err := filepath.Rel(r.cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
		name = rel
	}
	if !r.inside(real) {
		return
	}
	// By the name that the command says: the caller holds it against the command.
	head, err := r.from.Source.Start(r.ctx, files.Script, path, maxHead)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return
	}
	told := File{Path: name, Kind: f.kind}
	if len(r.files) >= maxRuns {
		if len(r.files) == maxRuns {
			r.files = append(r.files, File{Path: name, Kind: kindShell, Why: "the call runs more files than can be judged"})
		}
		return
	}
	if depth > maxRunDepth {
		told.Why = "scripts run scripts more deeply than can be judged"
		r.files = append(r.files, told)
		return
	}
	if f.guess && err == nil {
		kind := kindOfProgram(head[:min(len(head), maxFirstLine)])
		if kind == "" {
			return // no text: a program that was built
		}
		f.kind, told.Kind = kind, kind
	}
	src := head
	if err == nil && len(head) == maxHead {
		src, err = r.from.Source.Read(r.ctx, files.Script, path, maxRunFile)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		told.Why = whyUnread(err)
		r.files = append(r.files, told)
		return
	}
	told.Digest = phases.ByteDigest(src)
	text := strings.ToValidUTF8(string(src), "\uFFFD")
	text, nested := told.condense(f, text)
	quoted, err := jsontext.AppendQuote(nil, text) // as it counts in the metadata
	if told.Why != "" || err != nil || len(quoted) > maxRunText || r.told+len(quoted) > maxRunsTexts {
		told.Why = whyLong
	} else {
		told.Text = text
		r.told += len(quoted)
	}
	if told.Text != "" || told.Why != "" {
		r.files = append(r.files, told)
	}
	if nested {
		r.command(text, dir, depth+1)
	}
}

// maxHead is how much of a file is read at first, in bytes: all of most scripts. maxFirstLine is how much of that is
// looked at for an interpreter.
const (
	maxHead      = 64 << 10
	maxFirstLine = 512
)

// whyUnread says why a file is told without its text.
func whyUnread(err error) string {
	switch {
	case errors.Is(err, files.ErrTooLarge):
		return whyLong
	case errors.Is(err, filesource.ErrUntold):
		return "it is a file of the user who asks, whose program does not tell it"
	}
	return "it cannot be read"
}

// whole notes why there is no text where only a part of it could be told.
func (f *File) whole(text string, ok bool) (string, bool) {
	if !ok {
		f.Why = whyLong
	}
	return text, ok
}

// condense reduces a text to what is judged of it, and reports whether it is a text of a shell itself.
func (f *File) condense(of namedFile, text string) (string, bool) {
	switch of.kind {
	case kindMake:
		// told as a script of its recipes: the rules that are not asked for do not run
		f.Kind = kindShell
		text, ok := recipes(text, of.wanted)
		return f.whole(text, ok)
	case kindNPM:
		f.Kind = kindShell
		text, ok := scripts(text, of.wanted)
		return f.whole(text, ok)
	case kindPatch:
		if len(text) > maxRunText {
			text = patchHeads(text)
		}
		return text, false
	case kindShell:
		if len(text) > maxRunText {
			f.Kind = kindCode // by what it names: it is too long to be parsed
			return around(text), false
		}
		return text, true
	case kindCode:
		return around(text), false
	}
	return text, false
}

package hookbuild

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/git-pkgs/gitignore"

	"github.com/belay-hooks/belay/internal/files"
)

// maxIgnoreFile is the largest .gitignore that is read, in bytes.
const maxIgnoreFile = 1 << 20

// ignored holds the rules of .gitignore files for a folder, in git's order: a later line wins over an earlier one, and
// a file of a folder over those above it. No program is asked: a folder's own git settings can name some to run.
type ignored struct {
	prefix string // the folder, as a path with slashes from the top of the work tree; "" is the top
	lines  []ignoreLine
}

// ignoreLine is one line. The library matches what lies below a matched folder, too. That is right for a line that
// leaves out, and too much for one that takes back: "!logs/" takes back the folder, and not the files in it that
// another line leaves out. So a line that takes back counts only for what it matches by itself.
type ignoreLine struct {
	matcher *gitignore.Matcher
	all     bool // it ends in * or **, and so matches each level by itself
}

// openIgnored reads the rules that hold in dir from above: those of the work tree that dir lies in.
func openIgnored(dir string) (*ignored, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	top := workTree(dir)
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return nil, err
	}
	out := &ignored{}
	if fi, err := os.Stat(filepath.Join(top, ".git")); err == nil && fi.IsDir() {
		if err := out.read(filepath.Join(top, ".git", "info", "exclude"), ""); err != nil {
			return nil, err
		}
	}
	if rel == "." {
		return out, nil
	}
	at := ""
	for _, name := range strings.Split(filepath.ToSlash(rel), "/") {
		if err := out.read(filepath.Join(top, filepath.FromSlash(at), ".gitignore"), at); err != nil {
			return nil, err
		}
		at = path.Join(at, name)
	}
	out.prefix = at
	return out, nil
}

// workTree returns the top of the git work tree that dir lies in, and dir itself where there is none.
func workTree(dir string) string {
	for at := dir; ; {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		up := filepath.Dir(at)
		if up == at {
			return dir
		}
		at = up
	}
}

// enter reads the .gitignore of a folder below; rel is its path from the folder of the rules, "." for that itself.
func (i *ignored) enter(folder, rel string) error {
	at := path.Join(i.prefix, rel)
	if at == "." {
		at = ""
	}
	return i.read(filepath.Join(folder, ".gitignore"), at)
}

// read adds the rules of one file. A file that is there and cannot be read is an error: what it leaves out is not
// known.
func (i *ignored) read(file, at string) error {
	src, err := files.Read(file, maxIgnoreFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf")) // as git
	for line := range bytes.Lines(src) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		l := ignoreLine{matcher: new(gitignore.Matcher), all: bytes.HasSuffix(bytes.TrimRight(line, "/ "), []byte("*"))}
		l.matcher.AddPatterns(line, at)
		i.lines = append(i.lines, l)
	}
	return nil
}

// match reports whether a file or a folder is left out. rel is its path from the folder of the rules. The caller does
// not look into folders that are left out: nothing in them can be taken back.
func (i *ignored) match(rel string, folder bool) bool {
	name := path.Join(i.prefix, rel)
	for n := len(i.lines) - 1; n >= 0; n-- {
		l := &i.lines[n]
		found := l.detail(name, folder)
		if !found.Matched {
			continue
		}
		if up := path.Dir(name); found.Negate && !l.all && up != "." && l.detail(up, true).Matched {
			continue
		}
		return found.Ignored
	}
	return false
}

func (l *ignoreLine) detail(name string, folder bool) gitignore.MatchResult {
	if folder {
		name += "/"
	}
	return l.matcher.MatchDetail(name)
}

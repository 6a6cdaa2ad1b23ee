package hookbuild

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/files"
)

// Shown is a text file of a hook's folder, for a person who reviews the hook.
type Shown struct {
	Path string // from the folder, with slashes
	Text string
}

// ReadShown reads the text files of a folder: not what .gitignore leaves out, hidden files, vendored code, what
// compilers and belay write, and files that are no text. The SDK, where it is the one that comes with this belay, is
// one line. Links are not followed. More than maxFiles files, or maxBytes of names and texts, is ErrSource.
func ReadShown(dir string, maxFiles, maxBytes int) ([]Shown, error) {
	s := &showing{dir: dir, maxFiles: maxFiles, maxBytes: maxBytes, sdk: map[string]map[string]bool{}}
	err := s.read()
	if err != nil {
		return nil, failure(ErrSource, err, "the source in %s cannot be shown: %v", dir, err)
	}
	return s.found, nil
}

type showing struct {
	dir                string
	maxFiles, maxBytes int
	rules              *ignored
	found              []Shown
	bytes              int
	sdk                map[string]map[string]bool // contents of the SDKs' files by their names
	sdkFiles, leftOut  int
}

func (s *showing) read() (err error) {
	if s.rules, err = openIgnored(s.dir); err != nil {
		return err
	}
	for _, lang := range Known() {
		contents, err := sdk(lang)
		if err != nil {
			return err
		}
		for name, content := range contents {
			if s.sdk[name] == nil {
				s.sdk[name] = map[string]bool{}
			}
			s.sdk[name][string(content)] = true
		}
	}
	if err := filepath.WalkDir(s.dir, s.visit); err != nil {
		return err
	}
	if s.sdkFiles > 0 {
		text := fmt.Sprintf("%d files of the SDK that comes with belay, unchanged", s.sdkFiles)
		s.found = append(s.found, Shown{"sdk", text})
	}
	if len(s.found) == 0 {
		if s.leftOut > 0 {
			return fmt.Errorf(".gitignore leaves out all of it")
		}
		return fmt.Errorf("there are no text files")
	}
	return nil
}

func (s *showing) visit(file string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(s.dir, file)
	if err != nil {
		return err
	}
	name, rel := d.Name(), filepath.ToSlash(rel)
	switch {
	case rel == ".":
		return s.rules.enter(file, rel)
	case d.IsDir() && (name == "vendor" || name != "cases" && notSource(name)):
		return fs.SkipDir
	case s.rules.match(rel, d.IsDir()):
		s.leftOut++
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	case d.IsDir():
		return s.rules.enter(file, rel)
	case !d.Type().IsRegular() || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".wasm") ||
		strings.Contains(name, ".wasm."):
		return nil
	}
	text, err := s.text(file)
	if err != nil || text == nil {
		return err
	}
	if below, ok := strings.CutPrefix(rel, "sdk/"); ok && s.sdk[below][string(text)] {
		s.sdkFiles++
		return nil
	}
	s.found = append(s.found, Shown{rel, string(text)})
	if s.bytes += len(text) + len(rel); s.bytes > s.maxBytes || len(s.found) > s.maxFiles {
		return fmt.Errorf("there are more than %d files or %d KiB; .gitignore leaves files out, and so does a folder "+
			"with less in it (the largest are %s)", s.maxFiles, s.maxBytes>>10, s.largest())
	}
	return nil
}

// text reads a file, and nothing of one that is no text.
func (s *showing) text(file string) ([]byte, error) {
	f, err := files.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(s.maxBytes)+1))
	if err != nil {
		return nil, err
	}
	whole := b
	for cut := 0; len(b) > s.maxBytes && cut < utf8.UTFMax && !utf8.Valid(whole); cut++ {
		whole = b[:len(b)-1-cut] // the limit may have cut a character
	}
	switch {
	case !utf8.Valid(whole) || bytes.IndexByte(b, 0) >= 0:
		return nil, nil
	case len(b) > s.maxBytes:
		return nil, fmt.Errorf("%s alone is more than %d KiB; .gitignore leaves files out", file, s.maxBytes>>10)
	}
	if b == nil {
		b = []byte{}
	}
	return b, nil
}

// largest names the three largest files.
func (s *showing) largest() string {
	sizes := map[string]int{}
	for _, f := range s.found {
		sizes[f.Path] = len(f.Text)
	}
	names := slices.SortedFunc(maps.Keys(sizes), func(a, b string) int { return sizes[b] - sizes[a] })
	var out []string
	for _, name := range names[:min(3, len(names))] {
		out = append(out, fmt.Sprintf("%s, %d bytes", name, sizes[name]))
	}
	return strings.Join(out, "; ")
}

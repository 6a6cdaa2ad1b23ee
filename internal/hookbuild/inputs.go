package hookbuild

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

// Limits of what is compared with a record.
const (
	maxInputs     = 10_000   // files
	maxInputBytes = 64 << 20 // of all together
	maxVisited    = 100_000  // files that are looked at by their names
)

// inputs returns the files that the module of dir is built from, with their digests, sorted: code in the hook's
// language and the manifest. Other files, such as an invocation to try the hook on, count only where the code reads
// files when it is compiled. The error is ErrSource.
func inputs(dir, lang string) ([]Input, error) {
	roots, err := inputRoots(dir, lang)
	if err != nil {
		return nil, err
	}
	r := reader{lang: lang}
	for _, root := range roots {
		err := walkSources(filepath.Join(dir, filepath.FromSlash(root)), func(rel, file string) error {
			return r.visit(root, rel, file)
		})
		if err != nil {
			return nil, failure(ErrSource, err, "the source in %s cannot be compared: %v", dir, reason(err))
		}
	}
	if r.embeds {
		for _, o := range r.others {
			if _, err := r.read(o.name, o.file); err != nil {
				return nil, failure(ErrSource, err, "the source in %s cannot be compared: %v", dir, reason(err))
			}
		}
	}
	slices.SortFunc(r.found, func(a, b Input) int { return strings.Compare(a.Path, b.Path) })
	return r.found, nil
}

// reader reads the files that a module is built from.
type reader struct {
	lang    string
	found   []Input
	others  []namedFile // no code: they count when code embeds files
	embeds  bool
	bytes   int64
	visited int
}

type namedFile struct{ name, file string }

func (r *reader) visit(root, rel, file string) error {
	if r.visited++; r.visited > maxVisited {
		return fmt.Errorf("there are more than %d files", maxVisited)
	}
	name := path.Join(root, rel)
	if root == "." && rel == ManifestFile {
		_, err := r.read(name, file)
		return err
	}
	if !isCode(r.lang, rel) {
		if !aside(r.lang, rel) {
			r.others = append(r.others, namedFile{name, file})
		}
		return nil
	}
	content, err := r.read(name, file)
	if err != nil {
		return err
	}
	r.embeds = r.embeds || embeds(r.lang, rel, content)
	return nil
}

// read adds a file. A link that leads nowhere is no file, as for a compiler.
func (r *reader) read(name, file string) ([]byte, error) {
	b, err := files.Read(file, maxInputBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, files.ErrNotRegular):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if r.bytes += int64(len(b)); r.bytes > maxInputBytes || len(r.found) == maxInputs {
		return nil, fmt.Errorf("there are more than %d files or %d MiB", maxInputs, maxInputBytes>>20)
	}
	r.found = append(r.found, Input{Path: name, Digest: phases.ByteDigest(b)})
	return b, nil
}

// inputRoots are the folders that source is looked for in, by their names from dir: dir itself, crates beside it, and
// modules beside it that a go.mod puts in the place of others.
func inputRoots(dir, lang string) ([]string, error) {
	roots := []string{"."}
	switch lang {
	case "rust":
		crates := map[string]string{}
		if err := localCrates(dir, crates); err != nil {
			return nil, err
		}
		for name := range crates {
			roots = append(roots, name)
		}
	case "go":
		beside, err := replacedModules(dir)
		if err != nil {
			return nil, err
		}
		roots = append(roots, beside...)
	}
	slices.Sort(roots)
	return slices.Compact(roots), nil
}

// replacedModules are the folders outside of dir that its go.mod puts in the place of modules. A go.mod that cannot be
// read names none: the compiler says what is wrong with it.
func replacedModules(dir string) ([]string, error) {
	src, err := files.Read(filepath.Join(dir, "go.mod"), maxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failure(ErrSource, err, "go.mod cannot be read: %v", reason(err))
	}
	mod, err := modfile.Parse("go.mod", src, nil)
	if err != nil {
		return nil, nil //nolint:nilerr // said above
	}
	var out []string
	for _, r := range mod.Replace {
		at := filepath.FromSlash(r.New.Path)
		if r.New.Version != "" {
			continue
		}
		if filepath.IsAbs(at) {
			top, err := filepath.Abs(dir)
			if err != nil {
				return nil, failure(ErrSource, err, "%s cannot be found: %v", dir, reason(err))
			}
			if at, err = filepath.Rel(top, at); err != nil {
				continue // on another volume: a record has paths from the hook's folder
			}
		}
		if filepath.IsLocal(at) {
			continue // part of the folder
		}
		if fi, err := os.Stat(filepath.Join(dir, at)); err == nil && fi.IsDir() {
			out = append(out, path.Clean(filepath.ToSlash(at)))
		}
	}
	return out, nil
}

// isCode reports whether a compiler takes the file of this name for source, or settings of its own.
func isCode(lang, rel string) bool {
	if aside(lang, rel) {
		return false
	}
	base, ext := path.Base(rel), path.Ext(rel)
	switch lang {
	case "c":
		return ext == ".c" || ext == ".h"
	case "go":
		return ext == ".go" || ext == ".s" || base == "go.mod" || base == "go.sum"
	case "rust":
		return ext == ".rs" || base == "Cargo.toml" || base == "Cargo.lock" || strings.HasPrefix(base, "rust-toolchain") ||
			strings.HasPrefix(rel, ".cargo/config")
	case "wat":
		return ext == ".wat"
	case "assemblyscript":
		return ext == ".ts" || base == "asconfig.json" || base == "package.json" || base == "package-lock.json"
	}
	return true // a language that this program does not know: everything counts
}

// aside reports whether a file is for tests and the like, and never part of a module.
func aside(lang, rel string) bool {
	first, _, below := strings.Cut(rel, "/")
	switch lang {
	case "rust":
		return below && (first == "tests" || first == "benches" || first == "examples")
	case "go":
		return slices.Contains(strings.Split(path.Dir(rel), "/"), "testdata")
	}
	return false
}

// What code says that reads other files when it is compiled.
var (
	goEmbeds   = regexp.MustCompile(`(?m)^//go:embed\s`)
	rustEmbeds = regexp.MustCompile(`\binclude(_str|_bytes)?\s*!`)
	cReads     = regexp.MustCompile(`(?m)^\s*#\s*(include|embed)\b.*`)
	cHeader    = regexp.MustCompile(`^\s*#\s*include\s*["<][^">]*\.[ch][">]`)
)

// embeds reports whether code reads files that are no code.
func embeds(lang, rel string, content []byte) bool {
	switch lang {
	case "c":
		return slices.ContainsFunc(cReads.FindAll(content, -1), func(line []byte) bool { return !cHeader.Match(line) })
	case "go":
		return goEmbeds.Match(content)
	case "rust":
		return path.Base(rel) == "build.rs" || rustEmbeds.Match(content)
	}
	return false
}

package hookbuild

import (
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/belay-hooks/belay/internal/files"
)

// eachSource calls add with each file below dir that a module is built from, by its name below dir, with slashes.
// The error is ErrSource.
func eachSource(dir string, add func(rel string, content []byte)) error {
	err := walkSources(dir, func(rel, file string) error {
		b, err := files.Read(file, maxSource)
		if err != nil {
			return err
		}
		add(rel, b)
		return nil
	})
	if err != nil {
		return failure(ErrSource, err, "%s cannot be read: %v", dir, reason(err))
	}
	return nil
}

// walkSources visits the files below dir that can be part of a module, without reading them. Cases, READMEs, tests,
// hidden files, what belay or a compiler writes, and what lies beside a module do not count.
func walkSources(dir string, visit func(rel, file string) error) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if file != dir && notSource(name) {
				return fs.SkipDir
			}
			return nil
		}
		if name == "README.md" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".wasm") ||
			strings.Contains(name, ".wasm.") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(rel), file)
	})
}

// notSource reports whether a folder of this name holds no source. A hidden one holds none, but for cargo's settings.
func notSource(name string) bool {
	switch name {
	case "cases", "target", "build", "node_modules":
		return true
	}
	return strings.HasPrefix(name, ".") && name != ".cargo"
}

// besideThis is a dependency that a Cargo.toml finds in a directory beside its own.
var besideThis = regexp.MustCompile(`(?m)^[^#\n]*\bpath\s*=\s*"(\.\./[\w-]+)/?"`)

// localCrates adds the directories of the crates beside dir that the crate in dir is built with, also by way of each
// other, by the name that they have from dir. The error is ErrSource.
func localCrates(dir string, crates map[string]string) error {
	manifest, err := files.Read(filepath.Join(dir, "Cargo.toml"), maxSource)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return failure(ErrSource, err, "%s cannot be read: %v", dir, reason(err))
	}
	for _, m := range besideThis.FindAllSubmatch(manifest, -1) {
		name := string(m[1])
		if _, known := crates[name]; known {
			continue
		}
		crates[name] = filepath.Join(dir, filepath.FromSlash(name))
		if err := localCrates(crates[name], crates); err != nil {
			return err
		}
	}
	return nil
}

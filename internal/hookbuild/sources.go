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
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			switch name {
			case "cases", "target", "build", "node_modules":
				return fs.SkipDir
			}
			return nil
		}
		if name == "README.md" || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".wasm") ||
			strings.HasSuffix(name, "_test.go") {
			return nil
		}
		b, err := files.Read(file, maxSource)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		add(filepath.ToSlash(rel), b)
		return err
	})
	if err != nil {
		return failure(ErrSource, err, "%s cannot be read: %v", dir, reason(err))
	}
	return nil
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

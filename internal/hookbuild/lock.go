package hookbuild

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/phases"
)

// LockFile stands beside the directories of prebuilt hooks.
const LockFile = "digests.lock"

// Lock records how prebuilt modules were built. With the same compilers a
// reader can build them again and compare; without them, see that the module
// belongs to the source.
type Lock struct {
	Format  int            `json:"format"` // 1
	Modules []LockedModule `json:"modules"`
}

// LockedModule is one prebuilt module.
type LockedModule struct {
	Name      string `json:"name"`      // the directory's name
	Language  string `json:"language"`  // see Known
	File      string `json:"file"`      // relative to the lock, with slashes
	Digest    string `json:"digest"`    // sha256:<hex> of the module file
	Size      int    `json:"size"`      // bytes
	Source    string `json:"source"`    // sha256:<hex> of its source (see SourceDigest)
	Toolchain string `json:"toolchain"` // Result.Toolchain
}

// ReadLock decodes a lock strictly.
func ReadLock(b []byte) (Lock, error) {
	var l Lock
	if err := json.Unmarshal(b, &l, json.RejectUnknownMembers(true)); err != nil {
		return Lock{}, failure(ErrSource, err, "%s: %v", LockFile, err)
	}
	if l.Format != 1 {
		return Lock{}, failure(ErrSource, nil, "%s has format %d; this program knows 1", LockFile, l.Format)
	}
	return l, nil
}

// Encode returns the lock as text: sorted by name, the same bytes for the same lock.
func (l Lock) Encode() ([]byte, error) {
	sort.Slice(l.Modules, func(i, k int) bool { return l.Modules[i].Name < l.Modules[k].Name })
	b, err := json.Marshal(l, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return nil, failure(ErrWrite, err, "%s cannot be written: %v", LockFile, err)
	}
	return append(b, '\n'), nil
}

// SourceDigest returns the SHA-256 over the files that the module of dir is
// built from: names and contents, sorted. Cases, READMEs, tests, built modules and
// what compilers keep do not count. The SDK counts for C, Rust and AssemblyScript, which
// find it in the same tree, and so does a crate beside dir that a hook in Rust is built with.
func SourceDigest(dir, lang string) (string, error) {
	lines := []string{}
	add := func(name string, content []byte) {
		sum := sha256.Sum256(content)
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum, name))
	}
	crates := map[string]string{"": dir}
	if lang == "rust" {
		if err := localCrates(dir, crates); err != nil {
			return "", err
		}
	}
	for name, at := range crates {
		if err := eachSource(at, func(rel string, content []byte) { add(path.Join(name, rel), content) }); err != nil {
			return "", err
		}
	}
	if lang == "c" || lang == "rust" || lang == "assemblyscript" {
		files, err := sdk(lang)
		if err != nil {
			return "", err
		}
		for name, content := range files {
			if !strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, "src/testing/") &&
				!strings.HasPrefix(name, "testing/") {
				add("sdk/"+name, content)
			}
		}
	}
	sort.Strings(lines)
	return phases.ByteDigest([]byte(strings.Join(lines, ""))), nil
}

// Limits of files that are read, in bytes.
const (
	maxSource   = 64 << 20  // of a hook's source
	maxModule   = 8<<20 + 1 // one more than belay loads
	maxCompiled = 256 << 20 // before it is packed, with what debuggers want
)

// Drift is a prebuilt module that is not what its source says.
type Drift struct {
	Name, Text string
}

// CheckLocked compares the modules of a lock in root with their digests and
// sources, without building anything.
func CheckLocked(root string, l Lock) ([]Drift, error) {
	var out []Drift
	for _, m := range l.Modules {
		drift := func(format string, args ...any) {
			out = append(out, Drift{m.Name, fmt.Sprintf(format, args...)})
		}
		file, err := files.Read(filepath.Join(root, filepath.FromSlash(m.File)), maxModule)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			drift("%s is missing", m.File)
			continue
		case err != nil:
			return nil, failure(ErrSource, err, "%s cannot be read: %v", m.File, reason(err))
		}
		if phases.ByteDigest(file) != m.Digest {
			drift("%s is not the module that was locked", m.File)
		}
		source, err := SourceDigest(filepath.Join(root, m.Name), m.Language)
		if err != nil {
			return nil, err
		}
		if source != m.Source {
			drift("the source has changed since %s was built", m.File)
		}
	}
	return out, nil
}

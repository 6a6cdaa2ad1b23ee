// Package exampleswasm holds the prebuilt example hooks and the lock that says
// what they were built from. It hands out bytes; which of them are trusted, and
// as what, is decided elsewhere.
package exampleswasm

import (
	"embed"
	"io/fs"
	"path"
	"sort"
	"strings"
)

//go:embed */*.wasm digests.lock
var files embed.FS

// Module returns the module file of a prebuilt hook, or false. The slice is the
// caller's.
func Module(name string) ([]byte, bool) {
	if name == "" || strings.ContainsAny(name, "/\\.") {
		return nil, false
	}
	b, err := files.ReadFile(name + "/" + name + ".wasm")
	return b, err == nil
}

// Names returns the names of all prebuilt hooks, sorted.
func Names() []string {
	found, err := fs.Glob(files, "*/*.wasm")
	if err != nil {
		return nil // the pattern is constant
	}
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = path.Dir(f)
	}
	sort.Strings(names)
	return names
}

// Lock returns digests.lock: for each module its digest, the digest of its
// source, and the compilers (see internal/hookbuild.ReadLock).
func Lock() []byte {
	b, err := files.ReadFile("digests.lock")
	if err != nil {
		return nil // it is embedded
	}
	return b
}

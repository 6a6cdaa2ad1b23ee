package loader

import (
	"bytes"
	"crypto/sha256"
	"sync"
	"weak"

	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/tiers"
)

// maxKnown bounds what is remembered of files, in files.
const maxKnown = 256

// known remembers what was found out about files by their bytes alone: of many bindings of one file the first
// has it hashed, its manifest decoded and its schema compiled. It is safe for concurrent use.
type known struct {
	mu        sync.Mutex
	files     map[string]weak.Pointer[sandbox.File] // as bindings name them; memory is kept by who uses a file
	manifests map[[sha256.Size]byte]*tiers.Manifest // those that can be used; they do not change
}

// file hashes the bytes that were read for a binding's module, unless the last ones of that name were the same.
func (k *known) file(module string, read []byte) *sandbox.File {
	k.mu.Lock()
	last := k.files[module].Value()
	k.mu.Unlock()
	if last != nil && bytes.Equal(last.Bytes(), read) {
		return last
	}
	f := sandbox.NewFile(read)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.files == nil || len(k.files) >= maxKnown {
		k.files = map[string]weak.Pointer[sandbox.File]{}
	}
	k.files[module] = weak.Make(&f)
	return &f
}

// manifest decodes the manifest of a file. Errors are those of tiers.DecodeManifest.
func (k *known) manifest(f *sandbox.File, section []byte) (*tiers.Manifest, error) {
	k.mu.Lock()
	m := k.manifests[f.Sum()]
	k.mu.Unlock()
	if m != nil {
		return m, nil
	}
	m, err := tiers.DecodeManifest(section)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.manifests == nil || len(k.manifests) >= maxKnown {
		k.manifests = map[[sha256.Size]byte]*tiers.Manifest{}
	}
	k.manifests[f.Sum()] = m
	return m, nil
}

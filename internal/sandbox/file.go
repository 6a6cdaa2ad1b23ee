package sandbox

import (
	"crypto/sha256"

	"github.com/belay-hooks/belay/phases"
)

// File is a module file with its digest: callers with several questions about it hash it once. It does not change.
type File struct {
	bytes []byte
	sum   [sha256.Size]byte
}

// NewFile hashes b, which the File keeps: it must not change any more.
func NewFile(b []byte) File { return File{b, sha256.Sum256(b)} }

// Bytes returns the file's bytes, which are not to be changed.
func (f *File) Bytes() []byte { return f.bytes }

// Sum returns the SHA-256 of the file.
func (f *File) Sum() [sha256.Size]byte { return f.sum }

// Digest returns that sum as sha256:<hex>.
func (f *File) Digest() string { return phases.SumDigest(f.sum[:]) }

package statedir

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

// MaxModule is the size in bytes that a module file has at most.
const MaxModule = 8 << 20

// ReadModule reads a module file of at most MaxModule bytes. Errors are those of
// package files.
func ReadModule(path string) ([]byte, error) { return files.Read(path, MaxModule) }

// StoreBlob writes a module under its digest, unless it is there. The error is
// ErrUnusable.
func StoreBlob(dir, digest string, file []byte) error {
	path := Blob(dir, digest)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Unusable("blobs", err)
	}
	if have, err := ReadModule(path); err == nil && bytes.Equal(have, file) {
		return nil
	}
	if err := Replace(path, file, privateMode); err != nil {
		return Unusable("blobs", err)
	}
	return nil
}

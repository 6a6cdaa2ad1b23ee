package statedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/files"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

// maxKeyFile is enough to tell a key from a file that is none, in bytes.
const maxKeyFile = 4 << 10

// Key returns the file of the key for a use, in a directory of keys.
func Key(keys, use string) string { return filepath.Join(keys, use+".key") }

// MakeKey reads the key for a use, or makes it, and the directory (mode 0700). Processes that start together agree on
// one: only the first makes it, whole. Errors are those of ReadKey and Create.
func MakeKey(keys, use string) ([]byte, error) {
	if err := os.MkdirAll(keys, 0o700); err != nil {
		return nil, err
	}
	path := Key(keys, use)
	b, err := ReadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	fresh := make([]byte, KeySize)
	rand.Read(fresh) // never fails: the runtime ends the process instead
	if err := Create(path, fresh, privateMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return ReadKey(path)
}

// ReadKey reads a key. It refuses keys that others can read: they are no secrets any
// more. Errors are those of package files, or that the file is no key.
func ReadKey(path string) ([]byte, error) {
	b, err := files.Private(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	if len(b) != KeySize {
		return nil, fmt.Errorf("%s has %d bytes instead of %d; restore it, or move it away to begin with a new key", path,
			len(b), KeySize)
	}
	return b, nil
}

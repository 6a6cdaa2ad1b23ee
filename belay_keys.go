package belay

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/readfile"
	"github.com/belay-hooks/belay/internal/statedir"
)

const keySize = 32

// keyring is the secrets of a state directory, one for each use.
type keyring struct {
	digests audit.Keys
	redact  []byte // placeholders of covered secrets
	lease   []byte // hashes tokens of leases
	cache   []byte // authenticates compiled code
	events  *eventlog.Key
}

// openKeys reads the keys and makes those that are missing.
func openKeys(dir string) (*keyring, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	k := &keyring{digests: audit.Keys{}}
	var err error
	for _, u := range audit.Uses() {
		if k.digests[u], err = key(dir, string(u)); err != nil {
			return nil, err
		}
	}
	if k.redact, err = key(dir, "redact"); err != nil {
		return nil, err
	}
	if k.lease, err = key(dir, "lease"); err != nil {
		return nil, err
	}
	if k.cache, err = key(dir, "cache"); err != nil {
		return nil, err
	}
	seed, err := key(dir, "checkpoint")
	if err != nil {
		return nil, err
	}
	if k.events, err = eventlog.NewKey(seed); err != nil {
		return nil, err
	}
	return k, nil
}

// key reads the key of a use, or makes it. Processes that start together agree
// on one: only the first makes it, whole.
func key(dir, use string) ([]byte, error) {
	path := filepath.Join(dir, use+".key")
	b, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	fresh := make([]byte, keySize)
	rand.Read(fresh) // never fails: the runtime ends the process instead
	if err := statedir.Create(path, fresh, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readKey(path)
}

// maxKeyFile is enough to tell a key from a file that is none, in bytes.
const maxKeyFile = 4 << 10

// readKey refuses keys that others can read: they are no secrets any more.
func readKey(path string) ([]byte, error) {
	b, err := readfile.Private(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	if len(b) != keySize {
		return nil, fmt.Errorf("%s has %d bytes instead of %d; restore it, or move it away to begin with a new key", path, len(b), keySize)
	}
	return b, nil
}

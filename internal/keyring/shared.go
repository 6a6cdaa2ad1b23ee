package keyring

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
)

// Kernels that share a store compare digests with each other: a token that one of them made, a question that it
// asked, a call that it released, a placeholder in what was signed. The keys of these are the organisation's, and the
// store hands them out. All other keys stay the state directory's own.

// SharedUses are the uses of keys that such kernels have in common, in the order of the file that remembers them.
func SharedUses() []string {
	return []string{"lease", "redact", audit.UseApproval, audit.UseApprovalItem, audit.UseCall}
}

// Share puts the organisation's keys in the place of the state directory's own. Either all of them are taken into
// use, or none. Preconditions: nothing uses the ring yet.
func (k *Ring) Share(keys map[string][]byte) error {
	for _, u := range SharedUses() {
		if len(keys[u]) != statedir.KeySize {
			return fmt.Errorf("the store has no key for the use %q; migrate it", u)
		}
	}
	k.Lease, k.Redact = keys["lease"], keys["redact"]
	for _, u := range []string{audit.UseApproval, audit.UseApprovalItem, audit.UseCall} {
		k.Digests[u] = keys[u]
	}
	return nil
}

func sharedFile(dir string) string { return filepath.Join(statedir.Keys(dir), "organisation.keys") }

// Remember writes the organisation's keys into the state directory, for a start while the store cannot be
// reached. A file that holds them already is not written. The error is statedir.ErrUnusable.
func Remember(dir string, keys map[string][]byte) error {
	var all []byte
	for _, u := range SharedUses() {
		all = append(all, keys[u]...)
	}
	path := sharedFile(dir)
	if have, err := files.Private(path, int64(len(all))); err == nil && string(have) == string(all) {
		return nil
	}
	if err := statedir.Replace(path, all, 0o600); err != nil {
		return statedir.Unusable("keys", err)
	}
	return nil
}

// Remembered reads what Remember wrote. The error is statedir.ErrUnusable, and fs.ErrNotExist where nothing was.
func Remembered(dir string) (map[string][]byte, error) {
	uses := SharedUses()
	all, err := files.Private(sharedFile(dir), int64(len(uses)*statedir.KeySize))
	if err == nil && len(all) != len(uses)*statedir.KeySize {
		err = errors.New("organisation.keys holds no keys; remove it, and start belay while the database is there")
	}
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	out := map[string][]byte{}
	for n, u := range uses {
		out[u] = all[n*statedir.KeySize : (n+1)*statedir.KeySize]
	}
	return out, nil
}

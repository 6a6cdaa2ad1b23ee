package statedir

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// ErrUnusable means that a state directory cannot be used, for errors.Is.
var ErrUnusable = errors.New("the state directory cannot be used")

// Unusable returns an error of class ErrUnusable and of the class of err. doing
// names the part of the state directory, or the operation on it.
func Unusable(doing string, err error) error {
	return fmt.Errorf("%w: %s: %w", ErrUnusable, doing, err)
}

// Keys returns the directory of the keys.
func Keys(dir string) string { return filepath.Join(dir, "keys") }

// Cache returns the directory of compiled code.
func Cache(dir string) string { return filepath.Join(dir, "cache") }

// Inside returns the file that a name means which stands in a file of the state
// directory: relative names start from the state directory.
func Inside(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// IsOwn reports whether belay keeps the file or directory of that name at the top of a state
// directory for itself, so that nothing configured may be written there.
func IsOwn(name string) bool {
	if file, ok := strings.CutSuffix(name, ".lock"); ok && strings.HasPrefix(file, ".") {
		name = file[1:] // see lockName
	}
	switch name {
	case "belay.yaml", "trust.yaml", "denials.json", "revision.json", "clock.json", "upgrades.json", "tools.json",
		"belay.db", "belay.sock", "frame.sock", "belay.lock", "spool.jsonl", "spool.reserve", "keys", "cache", "blobs":
		return true
	}
	return strings.HasPrefix(name, "belay.db-") || strings.HasPrefix(name, "spool.jsonl.")
}

// Blob returns the file of the module with that digest (sha256:<hex>). Preconditions:
// the digest was computed here, or compared with one that was.
func Blob(dir, digest string) string {
	return filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

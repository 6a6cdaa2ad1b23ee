package client

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/belay-hooks/belay/internal/daemonapi"
	"github.com/belay-hooks/belay/internal/files"
)

const maxTokenBytes = 256

// ErrToken says that there is no usable token for a role.
var ErrToken = errors.New("client: no usable token")

// ReadToken reads the token of a role in a state directory. The error is ErrToken,
// and also fs.ErrNotExist when there is none. A file that others can read is refused.
func ReadToken(dir string, r Role) (string, error) {
	path := daemonapi.TokenPath(dir, r)
	fi, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %s: %w", ErrToken, path, fs.ErrNotExist)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	if !fi.Mode().IsRegular() || fi.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%w: %s must be a regular file that only its owner can read (chmod 600)", ErrToken, path)
	}
	b, err := files.Private(path, maxTokenBytes)
	if errors.Is(err, files.ErrTooLarge) {
		return "", fmt.Errorf("%w: %s holds no token", ErrToken, path)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrToken, err)
	}
	t := strings.TrimSuffix(string(b), "\n")
	if len(b) > maxTokenBytes || !plausible(t) {
		return "", fmt.Errorf("%w: %s holds no token", ErrToken, path)
	}
	return t, nil
}

// plausible reports whether t can stand in a header and is long enough not to be guessed.
func plausible(t string) bool {
	if len(t) < 32 || len(t) > maxTokenBytes {
		return false
	}
	return strings.Trim(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

package belay

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/tiers"
)

// EditTrust replaces the trust policy in dir as a whole, or leaves it as it was:
// edit gets its text (that of an empty policy when there is none), and the result
// is written only if it is valid. The error is of class tiers.PolicyUnusable, of
// edit, or of the file system.
//
// An open Belay takes the change into use by itself, within a second.
func EditTrust(dir string, edit func(src []byte) ([]byte, error)) error {
	path := filepath.Join(dir, tiers.PolicyFile)
	src, err := readSmall(path, tiers.MaxPolicy)
	if errors.Is(err, fs.ErrNotExist) {
		src, err = []byte(config.EmptyTrust), nil
	}
	if err != nil {
		return err
	}
	out, err := edit(bytes.Clone(src))
	if err != nil {
		return err
	}
	if _, err := parsePolicy(dir, out); err != nil {
		return fmt.Errorf("the result would not be valid: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return stateError("create", err)
	}
	return renameio.WriteFile(path, out, 0o600)
}

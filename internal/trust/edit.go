package trust

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/tiers"
)

// Edit replaces the trust policy in dir as a whole, or leaves it as it was:
// edit gets its text (that of an empty policy when there is none), and the result
// is written only if it is valid. edit runs under the file's lock, and again when an
// editor has saved meanwhile. When Edit returns nil, the edit is durable. The error
// is of class tiers.PolicyUnusable, of edit, as of statedir.Edit, or of the file system.
//
// An open Belay takes the change into use by itself, within a second.
func Edit(dir string, edit func(src []byte) ([]byte, error)) error {
	path := filepath.Join(dir, tiers.PolicyFile)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return statedir.Unusable("create", err)
	}
	return statedir.Edit(path, tiers.MaxPolicy, func(src []byte) ([]byte, error) {
		if src == nil {
			src = []byte(config.EmptyTrust)
		}
		out, err := edit(src)
		if err != nil {
			return nil, err
		}
		if _, err := parsePolicy(dir, out); err != nil {
			return nil, fmt.Errorf("the result would not be valid: %w", err)
		}
		return out, nil
	})
}

package cli

import (
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// trustDir is the trust policy of a state directory, with what verifies signatures by it.
func trustDir(dir string) trust.Dir { return trust.Dir{Path: dir, Signatures: sigstore.New} }

// Package keyring decides which secrets a state directory has, one for each use, and makes
// those that are missing. It never replaces a key that is there, and shows none.
package keyring

import (
	"crypto/ed25519"
	"errors"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/statedir"
)

// Ring is the secrets of a state directory.
type Ring struct {
	Digests audit.Keys
	Redact  []byte        // placeholders of covered secrets
	Lease   []byte        // hashes tokens of leases
	Cache   []byte        // authenticates compiled code
	Events  *eventlog.Key // signs checkpoints

	// Terminal signs what a person decides at a terminal while no reviewer is registered. A program of the
	// same user can read it: it shows that a decision came by the command, not that a person made it.
	Terminal ed25519.PrivateKey
}

// Open reads the keys of a state directory and makes those that are missing. The error is
// statedir.ErrUnusable.
func Open(dir string) (*Ring, error) {
	k, err := open(statedir.Keys(dir))
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	return k, nil
}

func open(dir string) (*Ring, error) {
	k := &Ring{Digests: audit.Keys{}}
	var err error
	for _, u := range audit.Uses() {
		if k.Digests[u], err = statedir.MakeKey(dir, u); err != nil {
			return nil, err
		}
	}
	k.Digests[audit.UseCall] = k.Digests[audit.UseInput]
	if k.Redact, err = statedir.MakeKey(dir, "redact"); err != nil {
		return nil, err
	}
	if k.Lease, err = statedir.MakeKey(dir, "lease"); err != nil {
		return nil, err
	}
	if k.Cache, err = statedir.MakeKey(dir, "cache"); err != nil {
		return nil, err
	}
	if k.Events, err = events(dir); err != nil {
		return nil, err
	}
	if k.Terminal, err = terminal(dir); err != nil {
		return nil, err
	}
	return k, nil
}

// Events reads the key that signs checkpoints, and makes it where it is missing. The error is statedir.ErrUnusable.
func Events(dir string) (*eventlog.Key, error) {
	key, err := events(statedir.Keys(dir))
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	return key, nil
}

func events(keys string) (*eventlog.Key, error) {
	seed, err := statedir.MakeKey(keys, "checkpoint")
	if err != nil {
		return nil, err
	}
	return eventlog.NewKey(seed)
}

// Terminal reads the key that signs what a person decides at a terminal, and makes it where it is
// missing. The error is statedir.ErrUnusable.
func Terminal(dir string) (ed25519.PrivateKey, error) {
	key, err := terminal(statedir.Keys(dir))
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	return key, nil
}

func terminal(keys string) (ed25519.PrivateKey, error) {
	seed, err := statedir.MakeKey(keys, "terminal")
	if err != nil {
		return nil, err
	}
	if len(seed) != ed25519.SeedSize {
		return nil, errors.New("terminal.key is no key")
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

package belay

import (
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/statedir"
)

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
	k := &keyring{digests: audit.Keys{}}
	var err error
	for _, u := range audit.Uses() {
		if k.digests[u], err = statedir.MakeKey(dir, string(u)); err != nil {
			return nil, err
		}
	}
	if k.redact, err = statedir.MakeKey(dir, "redact"); err != nil {
		return nil, err
	}
	if k.lease, err = statedir.MakeKey(dir, "lease"); err != nil {
		return nil, err
	}
	if k.cache, err = statedir.MakeKey(dir, "cache"); err != nil {
		return nil, err
	}
	seed, err := statedir.MakeKey(dir, "checkpoint")
	if err != nil {
		return nil, err
	}
	if k.events, err = eventlog.NewKey(seed); err != nil {
		return nil, err
	}
	return k, nil
}

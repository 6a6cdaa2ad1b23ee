package keyring_test

import (
	"bytes"
	"testing"

	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/statedir"
)

// The organisation's keys replace those that kernels compare by, all or none, and no others.
func TestShare(t *testing.T) {
	ring, err := keyring.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string][]byte{}
	for n, u := range keyring.SharedUses() {
		keys[u] = bytes.Repeat([]byte{byte(n + 1)}, statedir.KeySize)
	}
	lease, input := ring.Lease, ring.Digests["event-input"]
	for _, u := range keyring.SharedUses() {
		whole := keys[u]
		for _, bad := range [][]byte{nil, whole[:31]} {
			if keys[u] = bad; ring.Share(keys) == nil || !bytes.Equal(ring.Lease, lease) {
				t.Errorf("%s of %d bytes is taken", u, len(bad))
			}
		}
		keys[u] = whole
	}
	if err := ring.Share(keys); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ring.Lease, keys["lease"]) || !bytes.Equal(ring.Redact, keys["redact"]) ||
		!bytes.Equal(
			ring.Digests["call"],
			keys["call"],
		) || !bytes.Equal(ring.Digests["approval-key"], keys["approval-key"]) ||
		!bytes.Equal(ring.Digests["event-input"], input) {
		t.Error("not the keys that were handed out, or more than those")
	}
}

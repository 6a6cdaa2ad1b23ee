package keyring_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/statedir"
)

// A directory of before there was a key for decisions at a terminal gets one, once, and keeps the others.
func TestKeysOfBefore(t *testing.T) {
	dir := t.TempDir()
	before, err := keyring.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(statedir.Keys(dir), "terminal.key")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	after, err := keyring.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Lease, after.Lease) || before.Events.StoreID() != after.Events.StoreID() ||
		bytes.Equal(before.Terminal, after.Terminal) {
		t.Error("other keys are new, or the terminal's is not")
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	again, err := keyring.Terminal(dir)
	if err != nil || !again.Equal(after.Terminal) {
		t.Errorf("the key is read as another one: %v", err)
	}
}

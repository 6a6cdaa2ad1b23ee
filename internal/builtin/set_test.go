package builtin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/belay-hooks/belay/internal/builtin"
)

func TestEmbeddedHooksFitTheirDigests(t *testing.T) {
	s, err := builtin.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Hooks()) < 10 {
		t.Fatalf("only %d hooks are embedded", len(s.Hooks()))
	}
	for _, h := range s.Hooks() {
		sum := sha256.Sum256(h.Module)
		if d := "sha256:" + hex.EncodeToString(sum[:]); d != h.Digest || !s.Trusted(d) {
			t.Errorf("%s: digest %s, recorded %s", h.Name, d, h.Digest)
		}
	}
	if _, err := s.Get("command-block"); err != nil {
		t.Error(err)
	}
	if _, err := s.Get("no-such-hook"); !errors.Is(err, builtin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	other := sha256.Sum256([]byte("anything else"))
	if s.Trusted("sha256:" + hex.EncodeToString(other[:])) {
		t.Error("a foreign digest is trusted")
	}
}

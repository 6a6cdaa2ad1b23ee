package builtin_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
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
	now, err := s.Get("command-guard")
	if err != nil {
		t.Error(err)
	}
	if old, err := s.Get("command-block"); err != nil || old.Digest != now.Digest || old.Name != "command-guard" {
		t.Errorf("by its older name: %q %s, %v", old.Name, old.Digest, err)
	}
	if len(slices.DeleteFunc(s.Hooks(), func(h builtin.Hook) bool { return h.Digest != now.Digest })) != 1 {
		t.Error("a hook with an older name is listed twice")
	}
	for _, h := range s.Hooks() {
		for _, other := range h.Others {
			if same, err := s.Get(other); err != nil || same.Digest != h.Digest || builtin.Name(other) != h.Name {
				t.Errorf("%s by the name %s: %q, %v", h.Name, other, same.Name, err)
			}
			if builtin.Name(h.Name) != h.Name {
				t.Errorf("%s is another name", h.Name)
			}
		}
	}
	if h, err := builtin.Checked(builtin.Hook{Digest: now.Digest, Module: append([]byte{0},
		now.Module...)}); h.Module != nil ||
		!errors.Is(err, builtin.ErrDigest) {
		t.Errorf("a module that does not fit its digest: %v", err)
	}
	if _, err := s.Get("no-such-hook"); !errors.Is(err, builtin.ErrUnknown) {
		t.Errorf("got %v", err)
	}
	other := sha256.Sum256([]byte("anything else"))
	if s.Trusted("sha256:" + hex.EncodeToString(other[:])) {
		t.Error("a foreign digest is trusted")
	}
}

package tiers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Entries are added to the deny lists of a policy, each once, and take effect; the policy itself stays as it is.
func TestDenying(t *testing.T) {
	digest := phases.ByteDigest([]byte("x"))
	d, err := tiers.ParseDeny([]byte(`{"digests":["` + digest + `"],"identities":[{"subject":{"regex":"m.*"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	before := tiers.NoPolicy()
	p, err := before.Denying(d)
	if err != nil || p.Digest() == before.Digest() || p.Evaluate(digest, nil, nil, time.Now()).Code != tiers.Revoked ||
		before.Evaluate(digest, nil, nil, time.Now()).Code == tiers.Revoked {
		t.Errorf("%+v, %v", p, err)
	}
	if again, err := p.Denying(d, d); err != nil || again != p {
		t.Errorf("once more: %+v, %v", again, err)
	}
	var many tiers.Deny
	for n := range 5000 {
		many.Digests = append(many.Digests, phases.ByteDigest([]byte{byte(n), byte(n >> 8)}))
	}
	if _, err := p.Denying(many); err == nil || !strings.Contains(err.Error(), "too many entries") {
		t.Error(err)
	}
	for _, bad := range []string{`{"digests":["x"]}`, `{"allow":[]}`, `{"identities":[{"subject":{"regex":"("}}]}`, `[`,
		`{"keys":["x"]}`, `{"digests":[],"digests":[]}`} {
		if d, err := tiers.ParseDeny([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, d)
		}
	}
}

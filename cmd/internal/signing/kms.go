package signing

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/signature/kms"

	"github.com/belay-hooks/belay/tiers/sigstore"
)

// IsKMS reports whether the text names a key in a key management service
// (NAME://…) and not a file.
func IsKMS(ref string) bool { return strings.Contains(ref, "://") }

// OpenKMS opens a key in a key management service, through the program
// sigstore-kms-NAME on the PATH. The error is sigstore.ErrKey.
func OpenKMS(ctx context.Context, ref string) (*sigstore.Signer, error) {
	s, err := openKMS(ctx, ref, crypto.SHA256)
	if err != nil {
		return nil, err
	}
	if k, ok := s.Key().Public.(*ecdsa.PublicKey); ok && k.Curve == elliptic.P384() { // which is known only now
		return openKMS(ctx, ref, crypto.SHA384)
	}
	return s, nil
}

func openKMS(ctx context.Context, ref string, hash crypto.Hash) (*sigstore.Signer, error) {
	sv, err := kms.Get(ctx, ref, hash)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sigstore.ErrKey, err)
	}
	return sigstore.NewSigner(sv)
}

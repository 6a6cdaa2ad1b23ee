package signing

import (
	"crypto/elliptic"
	"fmt"

	"github.com/sigstore/sigstore/pkg/cryptoutils"

	"github.com/belay-hooks/belay/tiers"
)

// GenerateKey makes a P-256 key pair as cosign does: the private half encrypted
// with the password, both in PEM. An empty password is one, as with cosign.
func GenerateKey(password []byte) (private, public []byte, key tiers.Key, err error) {
	if password == nil {
		password = []byte{}
	}
	private, public, err = cryptoutils.GeneratePEMEncodedECDSAKeyPair(elliptic.P256(),
		func(bool) ([]byte, error) { return password, nil })
	if err != nil {
		return nil, nil, tiers.Key{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	key, err = tiers.ParseKey(public)
	return private, public, key, err
}

package signing

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

// GenerateEd25519 makes an Ed25519 key pair. The private half is encrypted with the
// password (scrypt, NaCl secretbox) in the same PEM form as GenerateKey's. An empty
// password is refused.
func GenerateEd25519(password []byte) (private []byte, public ed25519.PublicKey, err error) {
	if len(password) == 0 {
		return nil, nil, fmt.Errorf("%w: an empty password", ErrPassword)
	}
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	der, err := cryptoutils.MarshalPrivateKeyToEncryptedDER(key, func(bool) ([]byte, error) { return password, nil })
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return cryptoutils.PEMEncode(cryptoutils.EncryptedSigstorePrivateKeyPEMType, der), public, nil
}

// OpenEd25519 reads an Ed25519 private key in any of the forms that OpenKey reads.
// Errors are ErrKey or ErrPassword.
func OpenEd25519(src []byte, ask Password) (ed25519.PrivateKey, error) {
	key, err := openPrivate(src, ask)
	if err != nil {
		return nil, err
	}
	switch k := key.(type) {
	case ed25519.PrivateKey:
		return k, nil
	case *ed25519.PrivateKey:
		return *k, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrKey, errors.New("an Ed25519 key is wanted"))
}

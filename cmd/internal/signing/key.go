package signing

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/kms"

	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// mediaType names a bundle of version 0.3.
const mediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Classes of errors, for errors.Is.
var (
	ErrKey      = errors.New("the key cannot be used")
	ErrPassword = errors.New("the password does not open the key")
)

// Password returns the password of a key; it is called at most once. Nil means that
// no person can be asked.
type Password func() ([]byte, error)

// Signer signs with one private key, which may be elsewhere.
type Signer struct {
	key tiers.Key
	s   signature.SignerVerifier
}

// Key is the public half.
func (s *Signer) Key() tiers.Key { return s.key }

// IsKMS reports whether the text names a key in a key management service
// (NAME://…) and not a file.
func IsKMS(ref string) bool { return strings.Contains(ref, "://") }

// OpenKMS opens a key in a key management service, through the program
// sigstore-kms-NAME on the PATH. The error is ErrKey.
func OpenKMS(ctx context.Context, ref string) (*Signer, error) {
	s, err := openKMS(ctx, ref, crypto.SHA256)
	if err == nil && isP384(s.key.Public) { // which is known only now
		s, err = openKMS(ctx, ref, crypto.SHA384)
	}
	return s, err
}

func openKMS(ctx context.Context, ref string, hash crypto.Hash) (*Signer, error) {
	sv, err := kms.Get(ctx, ref, hash)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return newSigner(sv)
}

// isP384 tells keys whose signatures are made over SHA-384 from all others.
func isP384(pub crypto.PublicKey) bool {
	k, ok := pub.(*ecdsa.PublicKey)
	return ok && k.Curve == elliptic.P384()
}

// OpenKey reads a private key in PEM: cosign's encrypted form, PKCS #8 (encrypted
// or not), PKCS #1 or SEC 1. Errors are ErrKey or ErrPassword.
func OpenKey(src []byte, ask Password) (*Signer, error) {
	priv, err := openPrivate(src, ask)
	if err != nil {
		return nil, err
	}
	// The default of each kind of key: SHA-384 for P-384, and so on; a fixed hash
	// would make signatures that other tools refuse.
	sv, err := signature.LoadDefaultSignerVerifier(priv)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return newSigner(sv)
}

func openPrivate(src []byte, ask Password) (crypto.PrivateKey, error) {
	if len(src) > tiers.MaxKeyFile {
		return nil, fmt.Errorf("%w: a key file of more than 64 KiB", ErrKey)
	}
	block, _ := pem.Decode(src)
	if block == nil {
		return nil, fmt.Errorf("%w: not a private key in PEM", ErrKey)
	}
	if strings.HasSuffix(block.Type, "PUBLIC KEY") || block.Type == "CERTIFICATE" {
		return nil, fmt.Errorf("%w: it holds a %s", ErrKey, strings.ToLower(block.Type))
	}
	encrypted := strings.Contains(block.Type, "ENCRYPTED") ||
		x509.IsEncryptedPEMBlock(block) //nolint:staticcheck // only asked, to say so
	priv, err := cryptoutils.UnmarshalPEMToPrivateKey(src, func(bool) ([]byte, error) {
		if ask == nil {
			return nil, errors.New("the key is encrypted and there is no password")
		}
		return ask()
	})
	switch {
	case err != nil && encrypted:
		return nil, fmt.Errorf("%w: %w", ErrPassword, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return priv, nil
}

func newSigner(sv signature.SignerVerifier) (*Signer, error) {
	pub, err := sv.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	k, err := tiers.NewKey(pub)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return &Signer{key: k, s: sv}, nil
}

// SignFile signs the file and returns a Sigstore bundle v0.3 with a message
// signature. The bundle has been verified with the public half.
func (s *Signer) SignFile(file []byte) ([]byte, error) {
	sig, err := s.s.SignMessage(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	algorithm, digest := s.hash(file)
	v, err := encodeBundle(&protobundle.Bundle{
		MediaType: mediaType,
		VerificationMaterial: &protobundle.VerificationMaterial{
			Content: &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{Hint: s.key.ID}},
		},
		Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: algorithm, Digest: digest},
			Signature:     sig,
		}},
	})
	if err != nil {
		return nil, err
	}
	check := sigstore.NewVerifier([]tiers.Key{s.key}, nil, nil)
	for _, f := range check.Facts(file, []tiers.Evidence{{Kind: tiers.EvidenceBundle, Data: v}}) {
		if f.Problem != nil {
			return nil, fmt.Errorf("%w: what it signed does not verify: %w", ErrKey, f.Problem)
		}
	}
	return append(v, '\n'), nil
}

// encodeBundle writes a bundle in one form: the library's white space is random.
func encodeBundle(b *protobundle.Bundle) (jsontext.Value, error) {
	checked, err := bundle.NewBundle(b)
	if err != nil {
		return nil, err
	}
	out, err := checked.MarshalJSON()
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(out)
	return v, v.Compact()
}

// hash returns the digest that the key's kind of signature is made over, as other
// tools write it into bundles.
func (s *Signer) hash(file []byte) (protocommon.HashAlgorithm, []byte) {
	if isP384(s.key.Public) {
		sum := sha512.Sum384(file)
		return protocommon.HashAlgorithm_SHA2_384, sum[:]
	}
	sum := sha256.Sum256(file)
	return protocommon.HashAlgorithm_SHA2_256, sum[:]
}

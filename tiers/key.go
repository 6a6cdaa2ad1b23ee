package tiers

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
)

// Key is a public key and its id.
type Key struct {
	ID     string // base64 of the SHA-256 of the SPKI; what cosign writes as hint into bundles
	Public crypto.PublicKey
	Kind   string // "ECDSA P-256" and so on, for people
}

// ParseKey reads one public key in PEM. Other blocks, and anything beside the
// block, are refused: a file with two keys would be ambiguous. The error's text is
// for people.
func ParseKey(src []byte) (Key, error) {
	if len(src) > MaxKeyFile {
		return Key{}, errors.New("a key file of more than 64 KiB")
	}
	block, rest := pem.Decode(src)
	switch {
	case block == nil:
		return Key{}, errors.New("not a public key in PEM")
	case strings.Contains(block.Type, "PRIVATE"):
		return Key{}, errors.New("this is a private key; the policy holds public keys only")
	case block.Type != "PUBLIC KEY":
		return Key{}, errors.New("a PEM block of type PUBLIC KEY is wanted")
	case len(strings.TrimSpace(string(rest))) > 0:
		return Key{}, errors.New("more than one PEM block")
	}
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return Key{}, errors.New("not a public key: " + clip(err.Error()))
	}
	return NewKey(pub)
}

// NewKey gives a public key its id, unless it is of a kind that is not accepted.
func NewKey(pub crypto.PublicKey) (Key, error) {
	key := Key{Public: pub}
	switch p := pub.(type) {
	case *ecdsa.PublicKey:
		switch p.Curve {
		case elliptic.P256():
			key.Kind = "ECDSA P-256"
		case elliptic.P384():
			key.Kind = "ECDSA P-384"
		default:
			return Key{}, errors.New("of the ECDSA curves only P-256 and P-384 are accepted")
		}
	case ed25519.PublicKey:
		key.Kind = "Ed25519"
	case *rsa.PublicKey:
		if n := p.N.BitLen(); n < 2048 || n > 8192 {
			return Key{}, errors.New("an RSA key has 2048 to 8192 bits")
		}
		key.Kind = "RSA"
	default:
		return Key{}, errors.New("only ECDSA, Ed25519 and RSA keys are accepted")
	}
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return Key{}, err
	}
	sum := sha256.Sum256(der)
	key.ID = base64.StdEncoding.EncodeToString(sum[:])
	return key, nil
}

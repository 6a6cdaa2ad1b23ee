package sigstore

import (
	"crypto"
	"crypto/sha256"
	"errors"

	"github.com/belay-hooks/belay/tiers"
)

// Holds checks a bundle that the caller just made with a certificate for the key: it
// reads as a bundle of the file, and its signature is the key's. With a trusted root,
// nil for none, the certificate and what want asks for hold by that root, too. The
// error's text is one line, and safe to show.
func Holds(file, bundle []byte, key crypto.PublicKey, root []byte, want tiers.Assurance) error {
	digest := sha256.Sum256(file)
	a := &artifact{file: file, digest: digest, subjects: map[[sha256.Size]byte]bool{digest: true}}
	c, err := readBundle(a, bundle)
	if err != nil {
		return errors.New("what the services answered does not make a bundle that can be read again")
	}
	k, err := tiers.NewKey(key)
	if err == nil {
		err = c.verifyWith(k)
	}
	if err != nil {
		return errors.New("the signature does not fit the certificate")
	}
	if root == nil {
		return nil
	}
	material, err := parseRoot(root)
	if err == nil {
		_, err = verifyCertificate(material, c, want)
	}
	if err != nil {
		return errors.New("the signature does not hold by the trusted root: " + certificateProblem(err))
	}
	return nil
}

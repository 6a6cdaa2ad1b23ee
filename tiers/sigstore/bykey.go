package sigstore

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const maxDetached = 8 << 10 // bytes of a detached signature; RSA of 8192 bits has 1 KiB

// verifiersFor returns what may verify signatures of the key: one for its hash
// function, and for Ed25519 both the pure form and the one over a hash.
func verifiersFor(k tiers.Key) ([]signature.Verifier, error) {
	v, err := signature.LoadDefaultVerifier(k.Public)
	if err != nil {
		return nil, err
	}
	if _, ok := k.Public.(ed25519.PublicKey); !ok {
		return []signature.Verifier{v}, nil
	}
	ph, err := signature.LoadDefaultVerifier(k.Public, options.WithED25519ph())
	if err != nil {
		return nil, err
	}
	return []signature.Verifier{v, ph}, nil
}

// byKey finds the policy's key that made the bundle's signature. The hint is not
// signed: it only saves trying, and tells a signature that does not hold from an
// unknown signer.
func (v *verifier) byKey(fact tiers.Fact, c *content, hint string) tiers.Fact {
	keys, named := v.keys, false
	for _, k := range v.keys {
		if hint != "" && hint == k.ID {
			keys, named = []tiers.Key{k}, true
		}
	}
	var last error
	for _, k := range keys {
		err := c.verifyWith(k)
		if err == nil {
			fact.KeyID = k.ID
			return fact
		}
		last = err
	}
	if named {
		return problem(fact, tiers.SignatureInvalid, "the signature is not one of the key "+hint+
			" over this file: one of them was changed", last)
	}
	who := "by a key that it does not name"
	if hint != "" {
		who = "by the key " + phases.SafeLine(hint, 100)
	}
	return problem(fact, tiers.SignerNotTrusted, "signed "+who+", which is not in the trust policy", last)
}

// verifyWith checks the bundle's signature with one key.
func (c *content) verifyWith(k tiers.Key) error {
	vs, err := verifiersFor(k)
	if err != nil {
		return err
	}
	for _, s := range vs {
		if c.file != nil {
			if err = s.VerifySignature(bytes.NewReader(c.signature), bytes.NewReader(c.file)); err == nil {
				return nil
			}
			continue
		}
		material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
			return root.NewExpiringKey(s, time.Time{}, time.Time{}), nil
		})
		// Nothing proves when a key signed: the policy compares windows of keys with
		// the present time.
		var ver *verify.Verifier
		if ver, err = verify.NewVerifier(material, verify.WithNoObserverTimestamps(),
			verify.WithoutStatementPredicate()); err != nil {
			return err
		}
		if _, err = ver.Verify(c.bundle, verify.NewPolicy(c.artifact(), verify.WithKey())); err == nil {
			return nil
		}
	}
	return err
}

// detached checks a signature in a file of its own: base64, as cosign writes it, or raw.
func (v *verifier) detached(artifact *artifact, e tiers.Evidence) tiers.Fact {
	fact := tiers.Fact{Source: e.Name, Kind: e.Kind}
	if len(e.Data) > maxDetached {
		return problem(fact, tiers.BundleMalformed, fmt.Sprintf("a detached signature of more than %d bytes", maxDetached),
			nil)
	}
	sig := bytes.TrimSpace(e.Data)
	if raw, err := base64.StdEncoding.Strict().DecodeString(string(sig)); err == nil {
		sig = raw
	} else {
		sig = e.Data
	}
	if len(sig) == 0 {
		return problem(fact, tiers.BundleMalformed, "the signature is empty", nil)
	}
	fact.Signature = SignatureID(sig)
	if len(v.keys) == 0 {
		return problem(fact, tiers.SignerNotTrusted, "a detached signature names no signer, and the trust policy has no keys",
			nil)
	}
	for _, k := range v.keys {
		vs, err := verifiersFor(k)
		if err != nil {
			continue
		}
		for _, s := range vs {
			if s.VerifySignature(bytes.NewReader(sig), bytes.NewReader(artifact.file)) == nil {
				fact.KeyID = k.ID
				return fact
			}
		}
	}
	return problem(fact, tiers.SignatureInvalid,
		"it is no signature over this file by any key of the trust policy: the file was changed, or another key signed", nil)
}

// SignatureID names a signature for deny lists: sha256:<hex>. Of an ECDSA
// signature (r, s) only r counts, because (r, -s) is as valid: a name over all of it
// would be slipped by flipping s.
func SignatureID(sig []byte) string {
	h := sha256.New()
	var rs struct{ R, S *big.Int }
	if rest, err := asn1.Unmarshal(sig, &rs); err == nil && len(rest) == 0 {
		h.Write([]byte("ecdsa\x00"))
		h.Write(rs.R.Bytes())
	} else {
		h.Write([]byte("raw\x00"))
		h.Write(sig)
	}
	return phases.SumDigest(h.Sum(nil))
}

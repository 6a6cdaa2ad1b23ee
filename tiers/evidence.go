package tiers

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// EvidenceKind is the form of a piece of evidence.
type EvidenceKind string

// The kinds of evidence.
const (
	EvidenceBundle    EvidenceKind = "bundle"    // Sigstore bundle v0.3: signature of the file, or a statement about it
	EvidenceSignature EvidenceKind = "signature" // detached signature of the file, base64 or raw
	// OCI manifest whose single layer is the file: bundles may be about it instead
	EvidenceManifest EvidenceKind = "manifest"
)

// Limits of evidence.
const (
	MaxEvidence     = 1 << 20 // bytes of one piece
	MaxEvidenceList = 32      // pieces for one file
)

// Evidence is one piece of evidence as it was found. Nothing in it is believed
// before a verifier has looked at it.
type Evidence struct {
	Kind EvidenceKind
	Name string // where it was found, for people
	Data []byte
}

// EvidenceVerifier finds out what evidence proves, by the keys and the trusted root of one
// policy. It returns a Fact for every signature, and for every piece that cannot be used;
// it never fails as a whole. Package tiers/sigstore makes one. It is safe for concurrent use.
type EvidenceVerifier interface {
	Facts(file []byte, evidence []Evidence) []Fact
}

// EvidenceDigest names a list of evidence, whatever its order is.
func EvidenceDigest(list []Evidence) string {
	var acc [sha256.Size]byte
	for _, e := range list {
		h := sha256.New()
		fmt.Fprintf(h, "%s\x00%d\x00", e.Kind, len(e.Data))
		h.Write(e.Data)
		for i, b := range h.Sum(nil) {
			acc[i] += b // a sum: order does not matter, duplicates do
		}
	}
	return fmt.Sprintf("%d:%s", len(list), hex.EncodeToString(acc[:]))
}

// Fact is the finding of a verifier in one piece of evidence.
type Fact struct {
	Source    string       // Evidence.Name
	Kind      EvidenceKind //
	Signature string       // id of the signature: sha256:<hex>; "" when there is none
	KeyID     string       // the key that made it, among the policy's keys
	Identity  *Identity    // whom the certificate names; nil with a key
	Assurance Assurance    // with an identity
	From, To  time.Time    // with an identity: first and last proven time of the signature
	Statement *Statement   // the signed statement; nil when the file itself was signed

	// Problem says why the fact proves nothing; nil means that the signature holds
	// and is about the file. Its Class is a Code.
	Problem *Error
}

// Signer names who signed, for records: key:<id> or issuer and subject.
func (f *Fact) Signer() string {
	switch {
	case f.Identity != nil:
		return "identity:" + f.Identity.Subject + " (" + f.Identity.Issuer + ")"
	case f.KeyID != "":
		return "key:" + f.KeyID
	}
	return ""
}

package signing

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"slices"
	"time"

	"github.com/digitorus/timestamp"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// SignKeyless compares each service's answer with the signed file before it
// asks the next service. So it finds a service that mixes up two requests, or
// that lies, and not a verifier months later.

// checkCertificate: for our key, for the token's owner, and for signing.
func (s *keylessRun) checkCertificate() error {
	refuse := func(text string) error { return signFail(ErrService, s.fulcio.what+" "+text) }
	pub, ok := s.cert.PublicKey.(*ecdsa.PublicKey)
	if !ok || !pub.Equal(s.key.GetPublicKey()) {
		return refuse("answered with a certificate for another key")
	}
	if !slices.Contains(s.cert.ExtKeyUsage, x509.ExtKeyUsageCodeSigning) {
		return refuse("answered with a certificate that is not for signing code")
	}
	// A certificate lies in the bundle, and in a public log.
	if bytes.Contains(s.cert.Raw, []byte(s.token.secret())) {
		return refuse("answered with a certificate that shows the token")
	}
	sum, err := certificate.SummarizeCertificate(s.cert)
	if err != nil || sum.SubjectAlternativeName == "" || sum.Issuer == "" {
		return refuse("answered with a certificate that does not name who signs and who says so")
	}
	// Other kinds of subjects are written otherwise in certificates than in tokens, and
	// an authority may name the provider behind the token's issuer: those are shown to
	// the person who signs, not compared.
	if s.token.email && sum.SubjectAlternativeName != s.token.subject {
		return refuse("answered with a certificate for another identity")
	}
	s.out.Identity = tiers.Identity{Issuer: phases.SafeLine(sum.Issuer, 512),
		Subject: phases.SafeLine(sum.SubjectAlternativeName, 512)}
	return nil
}

// within reports whether the certificate was valid then, to the second.
func (s *keylessRun) within(t time.Time) bool {
	return !t.Before(s.cert.NotBefore.Truncate(time.Second)) && !t.After(s.cert.NotAfter)
}

// checkEntry: one entry, about our digest, our signature and our certificate, made
// while the certificate was valid.
func (s *keylessRun) checkEntry() error {
	refuse := func(text string) error { return signFail(ErrService, s.rekor.what+" "+text) }
	entries := s.bundle.VerificationMaterial.TlogEntries
	if len(entries) != 1 {
		return refuse("did not answer with one entry")
	}
	e, err := tlog.ParseTransparencyLogEntry(entries[0])
	if err != nil {
		return refuse("answered with an entry that cannot be read")
	}
	if err := tlog.ValidateEntry(e); err != nil {
		return refuse("answered with an entry that is not whole")
	}
	if !bytes.Equal(e.Signature(), s.signature) {
		return refuse("answered with an entry about another signature")
	}
	if c, ok := e.PublicKey().(*x509.Certificate); !ok || !c.Equal(s.cert) {
		return refuse("answered with an entry about another certificate")
	}
	if digest, _, ok := e.GetHashedRekordDigest(); !ok || !bytes.Equal(digest, s.digest[:]) {
		return refuse("answered with an entry about another file")
	}
	if !e.HasInclusionPromise() && !e.HasInclusionProof() {
		return refuse("answered with an entry that it does not vouch for")
	}
	if !s.within(e.IntegratedTime()) {
		return refuse("answered with an entry from when the certificate was not valid")
	}
	s.out.LogIndex, s.out.Signed = e.LogIndex(), e.IntegratedTime()
	return nil
}

// checkStamp: over our signature, at a time when the certificate was valid.
func (s *keylessRun) checkStamp(answer []byte) error {
	refuse := func(text string) error { return signFail(ErrService, s.tsa.what+" "+text) }
	ts, err := timestamp.ParseResponse(answer)
	if err != nil {
		return refuse("answered with a timestamp that cannot be read")
	}
	sum := sha256.Sum256(s.signature)
	if ts.HashAlgorithm != crypto.SHA256 || !bytes.Equal(ts.HashedMessage, sum[:]) {
		return refuse("answered with a timestamp over something else")
	}
	if !s.within(ts.Time.Truncate(time.Second)) {
		return refuse("answered with a time when the certificate was not valid")
	}
	if s.out.Signed.IsZero() {
		s.out.Signed = ts.Time
	}
	return nil
}

// check reads the finished bundle as every verifier will, and sets out.Bundle if it
// holds.
func (s *keylessRun) check() error {
	data, err := s.encode()
	if err != nil {
		return signFail(ErrService, "what the services answered does not make a bundle")
	}
	evidence := []tiers.Evidence{{Kind: tiers.EvidenceBundle, Data: data}}
	// A verifier without keys and identities reads the bundle, and trusts no signer.
	read := sigstore.NewVerifier(nil, nil, nil).Facts(s.file, evidence)[0]
	if read.Problem == nil || !errors.Is(read.Problem, tiers.SignerNotTrusted) {
		return signFail(ErrService, "what the services answered does not make a bundle that can be read again")
	}
	certified, err := signature.LoadDefaultVerifier(s.cert.PublicKey)
	if err == nil {
		err = certified.VerifySignature(bytes.NewReader(s.signature), bytes.NewReader(s.file))
	}
	if err != nil || read.Signature != sigstore.SignatureID(s.signature) {
		return signFail(ErrService, "the signature does not fit the certificate")
	}
	if s.root != nil {
		v := sigstore.NewVerifier(nil, []tiers.Assurance{{Log: s.rekor != nil}},
			func() ([]byte, error) { return s.root, nil })
		if f := v.Facts(s.file, evidence)[0]; f.Problem != nil {
			return signFail(ErrService, "the signature does not hold by the trusted root: "+f.Problem.Text)
		}
	}
	s.out.Bundle = data
	return nil
}

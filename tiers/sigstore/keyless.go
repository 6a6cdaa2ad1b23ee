package sigstore

import (
	"strings"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// byCertificate checks a signature by a short-lived certificate: the chain to the
// trusted root at a time that a log or a timestamp proves, the entry in the log,
// and the signature. Whose name counts is decided by the policy.
func (v *verifier) byCertificate(fact tiers.Fact, c *content) tiers.Fact {
	if len(v.requirements) == 0 {
		return problem(fact, tiers.SignerNotTrusted, "signed by a certificate, and no rule has a seat for an identity", nil)
	}
	material, te := v.trusted()
	if te != nil {
		fact.Problem = te
		return fact
	}
	var last error
	for _, want := range v.requirements { // the strictest first: what holds is not understated
		res, err := verifyCertificate(material, c, want)
		if err != nil {
			last = err
			continue
		}
		cert := res.Signature.Certificate
		fact.Identity = &tiers.Identity{Issuer: cert.Issuer, Subject: cert.SubjectAlternativeName}
		fact.Assurance = want
		for _, t := range res.VerifiedTimestamps {
			if fact.From.IsZero() || t.Timestamp.Before(fact.From) {
				fact.From = t.Timestamp
			}
			if t.Timestamp.After(fact.To) {
				fact.To = t.Timestamp
			}
		}
		return fact
	}
	return problem(fact, tiers.SignatureInvalid, certificateProblem(last), last)
}

func verifyCertificate(material root.TrustedMaterial, content *content,
	want tiers.Assurance) (*verify.VerificationResult, error) {
	opts := []verify.VerifierOption{verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	if want.Log {
		opts = append(opts, verify.WithTransparencyLog(1))
	}
	if want.CertificateTimestamp {
		opts = append(opts, verify.WithSignedCertificateTimestamps(1))
	}
	v, err := verify.NewVerifier(material, opts...)
	if err != nil {
		return nil, err
	}
	// The identity is matched by the policy, with patterns that are anchored.
	return v.Verify(content.bundle, verify.NewPolicy(content.artifact(), verify.WithoutIdentitiesUnsafe()))
}

// certificateProblem says for people which check failed. The library's steps are
// told apart by the words that it puts before its causes.
func certificateProblem(err error) string {
	text := err.Error()
	if strings.Contains(text, "outside certificate validity") {
		return "its certificate had expired when it signed, by the transparency log"
	}
	for _, s := range []struct{ prefix, says string }{
		{"failed to verify log inclusion", "its entry in the transparency log is missing or does not hold"},
		{"failed to verify timestamps", "nothing that is trusted proves when it was signed"},
		{"failed to verify leaf certificate", "its certificate comes from another authority, or had expired when it signed"},
		{"failed to verify signed certificate timestamp", "its certificate is in no trusted certificate log"},
		{"failed to verify signature", "the signature does not fit the file or the statement"},
	} {
		if strings.HasPrefix(text, s.prefix) {
			return s.says
		}
	}
	return "it does not hold: " + phases.SafeLine(text, 200)
}

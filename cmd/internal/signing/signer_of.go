package signing

import (
	"crypto/x509"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
)

// SignerOf names who made a bundle, as the bundle itself says: the hint of a key; or the identity of a certificate,
// with the authority that issued it, since another infrastructure's signature is another one. It is "" for a bundle
// that says neither, and for one with a signed statement. Nothing of it is verified: it only says which file of the
// signer's own a new signature takes the place of.
func SignerOf(bundle []byte) string {
	type certificateOf struct {
		Raw []byte `json:"rawBytes"`
	}
	var b struct {
		Material struct {
			Key struct {
				Hint string `json:"hint"`
			} `json:"publicKey"`
			Certificate certificateOf `json:"certificate"`
			Chain       struct {
				Certificates []certificateOf `json:"certificates"`
			} `json:"x509CertificateChain"`
		} `json:"verificationMaterial"`
		Signature jsontext.Value `json:"messageSignature"`
	}
	if json.Unmarshal(bundle, &b) != nil || len(b.Signature) == 0 {
		return ""
	}
	raw := b.Material.Certificate.Raw
	if len(raw) == 0 && len(b.Material.Chain.Certificates) > 0 {
		raw = b.Material.Chain.Certificates[0].Raw
	}
	switch {
	case len(raw) == 0 && b.Material.Key.Hint != "":
		return "key " + b.Material.Key.Hint
	case len(raw) == 0:
		return ""
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		return ""
	}
	sum, err := certificate.SummarizeCertificate(cert)
	if err != nil || sum.SubjectAlternativeName == "" || sum.Issuer == "" {
		return ""
	}
	return "identity " + sum.Issuer + "\x00" + sum.SubjectAlternativeName + "\x00" + string(cert.RawIssuer)
}

package sigstoretest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

func bigInt(b []byte) *big.Int { return new(big.Int).SetBytes(b) }

// serveFulcio answers POST /api/v2/signingCert.
func (w *World) serveFulcio(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body) // all of it: a server waits for an unread body
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/api/v2/signingCert" {
		http.Error(rw, "not here", http.StatusNotFound)
		return
	}
	subject, key, err := w.certificateRequest(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.Write(w.CertificateAnswer(subject, Issuer, key)) //nolint:errcheck // the client is gone then
}

func (w *World) certificateRequest(token string, body []byte) (string, *ecdsa.PublicKey, error) {
	subject, err := w.subjectOf(token)
	if err != nil {
		return "", nil, err
	}
	var req struct {
		PublicKeyRequest struct {
			PublicKey struct {
				Algorithm string `json:"algorithm"`
				Content   string `json:"content"`
			} `json:"publicKey"`
			ProofOfPossession string `json:"proofOfPossession"`
		} `json:"publicKeyRequest"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return "", nil, err
	}
	block, _ := pem.Decode([]byte(req.PublicKeyRequest.PublicKey.Content))
	if block == nil {
		return "", nil, errors.New("not a key")
	}
	pub, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return "", nil, err
	}
	key, ok := pub.(*ecdsa.PublicKey)
	proof, err := base64.StdEncoding.DecodeString(req.PublicKeyRequest.ProofOfPossession)
	if err != nil || !ok {
		return "", nil, errors.New("not a proof of an ECDSA key")
	}
	if sum := sha256.Sum256([]byte(subject)); !ecdsa.VerifyASN1(key, sum[:], proof) {
		return "", nil, errors.New("no proof of possession")
	}
	return subject, key, nil
}

// CertificateAnswer is the authority's answer with a certificate for the key.
func (w *World) CertificateAnswer(subject, issuer string, key *ecdsa.PublicKey) []byte {
	var chain []string
	for _, der := range [][]byte{w.Certificate(subject, issuer, key), w.issuing.Raw, w.rootCert.Raw} {
		chain = append(chain, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	b, err := json.Marshal(
		map[string]any{"signedCertificateEmbeddedSct": map[string]any{"chain": map[string]any{"certificates": chain}}})
	if err != nil {
		panic(err)
	}
	return b
}

// Certificate makes a certificate that is valid for ten minutes from now on, with the
// certificate log's timestamp in it (RFC 6962, section 3.3). A subject with a scheme is
// a URI, else a mail address.
func (w *World) Certificate(subject, issuer string, key *ecdsa.PublicKey) []byte {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Second),
		NotAfter: time.Now().Add(10 * time.Minute),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}, Value: []byte(issuer)}},
	}
	if u, err := url.Parse(subject); err == nil && u.Scheme != "" {
		template.URIs = []*url.URL{u}
	} else {
		template.EmailAddresses = []string{subject}
	}
	create := func() *x509.Certificate {
		der, err := x509.CreateCertificate(rand.Reader, template, w.issuing, key, w.issuingKey)
		if err != nil {
			panic(err)
		}
		c, err := x509.ParseCertificate(der)
		if err != nil {
			panic(err)
		}
		return c
	}
	// What the log signs is the certificate without the log's signature in it.
	list, err := asn1.Marshal(w.sctList(create().RawTBSCertificate))
	if err != nil {
		panic(err)
	}
	template.ExtraExtensions = append(template.ExtraExtensions,
		pkix.Extension{Id: asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}, Value: list})
	return create().Raw
}

// sctList is a SignedCertificateTimestampList with one entry.
func (w *World) sctList(tbs []byte) []byte {
	at := binary.BigEndian.AppendUint64(nil, uint64(time.Now().UnixMilli()))
	issuer := sha256.Sum256(w.issuing.RawSubjectPublicKeyInfo)
	signed := append([]byte{0, 0}, at...) // version 1, certificate_timestamp
	signed = append(signed, 0, 1)         // precert_entry
	signed = append(signed, issuer[:]...) //
	signed = append(signed, byte(len(tbs)>>16), byte(len(tbs)>>8), byte(len(tbs)))
	signed = append(append(signed, tbs...), 0, 0) // no extensions
	sum := sha256.Sum256(signed)
	sig, err := ecdsa.SignASN1(rand.Reader, w.ctKey, sum[:])
	if err != nil {
		panic(err)
	}
	id := w.ctID()
	sct := append([]byte{0}, id[:]...)
	sct = append(append(sct, at...), 0, 0, 4, 3) // no extensions; SHA-256 with ECDSA
	sct = append(binary.BigEndian.AppendUint16(sct, uint16(len(sig))), sig...)
	one := append(binary.BigEndian.AppendUint16(nil, uint16(len(sct))), sct...)
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(one))), one...)
}

package sigstoretest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
)

// The identity that Token names.
const (
	Issuer  = "https://issuer.example"
	Subject = "release@acme.example"
)

// World is the infrastructure.
type World struct {
	t testing.TB

	Fulcio, Rekor, TSA *httptest.Server

	rootCert    *x509.Certificate
	issuing     *x509.Certificate
	issuingKey  *ecdsa.PrivateKey
	ctKey       *ecdsa.PrivateKey
	stampCA     *x509.Certificate
	stamp       *x509.Certificate
	stampKey    *ecdsa.PrivateKey
	tokenKey    *ecdsa.PrivateKey
	transparent *ca.VirtualSigstore
}

// Wrap replaces the handler of a server; it gets the original one.
type Wrap func(http.Handler) http.Handler

// Option changes one of the servers.
type Option func(fulcio, rekor, tsa *http.Handler)

// WrapFulcio changes the certificate authority.
func WrapFulcio(w Wrap) Option { return func(f, _, _ *http.Handler) { *f = w(*f) } }

// WrapRekor changes the log.
func WrapRekor(w Wrap) Option { return func(_, r, _ *http.Handler) { *r = w(*r) } }

// WrapTSA changes the timestamp authority.
func WrapTSA(w Wrap) Option { return func(_, _, s *http.Handler) { *s = w(*s) } }

// New starts the infrastructure; it stops with the test.
func New(t testing.TB, opts ...Option) *World {
	t.Helper()
	w := &World{t: t}
	rootCert, rootKey, err := ca.GenerateRootCa()
	w.must(err)
	w.rootCert = rootCert
	w.issuing, w.issuingKey, err = ca.GenerateFulcioIntermediate(rootCert, rootKey)
	w.must(err)
	stampCA, stampCAKey, err := ca.GenerateTSAIntermediate(rootCert, rootKey)
	w.must(err)
	w.stampCA = stampCA
	w.stampKey, w.ctKey, w.tokenKey = newKey(t), newKey(t), newKey(t)
	w.stamp, err = ca.GenerateTSALeafCert(time.Now().Add(-5*time.Minute), w.stampKey, stampCA, stampCAKey)
	w.must(err)
	w.transparent, err = ca.NewVirtualSigstore()
	w.must(err)
	var fulcio, rekor, tsa http.Handler = http.HandlerFunc(w.serveFulcio), http.HandlerFunc(w.serveRekor),
		http.HandlerFunc(w.serveTSA)
	for _, o := range opts {
		o(&fulcio, &rekor, &tsa)
	}
	for _, s := range []struct {
		at **httptest.Server
		h  http.Handler
	}{{&w.Fulcio, fulcio}, {&w.Rekor, rekor}, {&w.TSA, tsa}} {
		*s.at = httptest.NewServer(s.h)
		t.Cleanup((*s.at).Close)
	}
	return w
}

// Root is the trusted root, as a file holds it.
func (w *World) Root() []byte {
	w.t.Helper()
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	logs := map[string]*root.TransparencyLog{}
	for id, l := range w.transparent.RekorLogs() {
		c := *l
		raw, err := hex.DecodeString(id) // the authority keeps the name of its log in hexadecimal
		w.must(err)
		c.ID = raw
		logs[id] = &c
	}
	ctID := w.ctID()
	certificateLogs := map[string]*root.TransparencyLog{hex.EncodeToString(ctID[:]): {
		BaseURL: "https://ct.localhost", ID: ctID[:], ValidityPeriodStart: from, ValidityPeriodEnd: to,
		HashFunc: crypto.SHA256, PublicKey: w.ctKey.Public(), SignatureHashFunc: crypto.SHA256,
	}}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01,
		[]root.CertificateAuthority{&root.FulcioCertificateAuthority{
			Root: w.rootCert, Intermediates: []*x509.Certificate{w.issuing}, ValidityPeriodStart: from, ValidityPeriodEnd: to,
			URI: "https://fulcio.localhost"}},
		certificateLogs,
		[]root.TimestampingAuthority{&root.SigstoreTimestampingAuthority{
			Root: w.rootCert, Intermediates: []*x509.Certificate{w.stampCA}, Leaf: w.stamp, ValidityPeriodStart: from,
			ValidityPeriodEnd: to, URI: "https://tsa.localhost"}},
		logs)
	w.must(err)
	b, err := r.MarshalJSON()
	w.must(err)
	return b
}

func (w *World) ctID() [sha256.Size]byte {
	spki, err := x509.MarshalPKIXPublicKey(w.ctKey.Public())
	w.must(err)
	return sha256.Sum256(spki)
}

func (w *World) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

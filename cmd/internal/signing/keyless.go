package signing

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"time"

	openapi "github.com/go-openapi/runtime/client"
	"github.com/go-openapi/strfmt"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	rekor "github.com/sigstore/rekor/pkg/generated/client"
	"github.com/sigstore/sigstore-go/pkg/sign"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

// Keyless says with whose word, and with which services, a file is signed. There are
// no default addresses: whom a token is shown to is the operator's choice.
type Keyless struct {
	Token        *IdentityToken
	FulcioURL    string // certificate authority, Fulcio's API v2
	RekorURL     string // transparency log, Rekor's API v1; "" does without, and then TimestampURL is wanted
	TimestampURL string // timestamp authority (RFC 3161), whole address; "" does without
	Root         []byte // trusted root; nil means that only what needs none is checked
}

// KeylessSignature is a signature and what its certificate and log entry say.
type KeylessSignature struct {
	Bundle   []byte // Sigstore bundle v0.3
	Identity tiers.Identity
	LogIndex int64 // -1 without a log
	Signed   time.Time
}

// SignKeyless signs the file with a key that exists for this call only. The
// certificate authority names the token's owner for the key, the log and the
// timestamp authority say when. The result has been compared with the signed
// file: the signature, the certificate's key, and that log entry and timestamp
// are about this signature; with a root, also that all of them come from it.
// Errors are *SignError of the classes ErrToken, ErrEndpoint and ErrService, or
// of the code tiers.RootMissing. It takes at most KeylessTimeout.
func SignKeyless(ctx context.Context, file []byte, k Keyless) (*KeylessSignature, error) {
	ctx, cancel := context.WithTimeout(ctx, KeylessTimeout)
	defer cancel()
	s, err := newKeylessRun(ctx, file, k)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		asks *endpoint
		do   func(context.Context) error
	}{{s.fulcio, s.certify}, {s.rekor, s.log}, {s.tsa, s.stamp}} {
		if step.asks == nil {
			continue
		}
		if err := guarded(step.asks.failed(nil), func() error { return step.do(ctx) }); err != nil {
			return nil, err
		}
	}
	if err := guarded(signFail(ErrService, "what the services answered does not hold together"), s.check); err != nil {
		return nil, err
	}
	return &s.out, nil
}

// keylessRun is one signature in the making.
type keylessRun struct {
	file  []byte
	token *IdentityToken
	key   *sign.EphemeralKeypair

	fulcio, rekor, tsa *endpoint // the last two may be nil
	root               []byte    // may be nil

	signature []byte
	digest    [sha256.Size]byte
	cert      *x509.Certificate
	bundle    *protobundle.Bundle
	out       KeylessSignature
}

func newKeylessRun(ctx context.Context, file []byte, k Keyless) (*keylessRun, error) {
	s := &keylessRun{file: file, token: k.Token, root: k.Root, digest: sha256.Sum256(file)}
	s.out.LogIndex = -1
	var err error
	if s.fulcio, err = newEndpoint(ctx, "the certificate authority", k.FulcioURL, true); err != nil {
		return nil, err
	}
	if k.RekorURL != "" || k.TimestampURL == "" {
		if s.rekor, err = newEndpoint(ctx, "the transparency log", k.RekorURL, true); err != nil {
			return nil, err
		}
	}
	if k.TimestampURL != "" {
		if s.tsa, err = newEndpoint(ctx, "the timestamp authority", k.TimestampURL, false); err != nil {
			return nil, err
		}
	}
	if k.Root != nil {
		if err := sigstore.CheckRoot(k.Root); err != nil {
			return nil, &tiers.Error{Class: tiers.RootMissing, Text: "the trusted root cannot be read: " +
				phases.SafeLine(err.Error(), 200), Cause: err}
		}
	}
	if k.Token == nil {
		return nil, signFail(ErrToken, "there is none")
	}
	if !time.Now().Before(k.Token.expires) {
		return nil, signFail(ErrToken, "it has expired: get a new one")
	}
	if s.key, err = sign.NewEphemeralKeypair(nil); err != nil { // P-256 with SHA-256
		return nil, err
	}
	return s, s.sign(ctx)
}

// guarded makes a failure of a panic: a library that panics on a service's
// answer must neither look like success nor quote the answer.
func guarded(failed error, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = failed
		}
	}()
	return f()
}

func (s *keylessRun) sign(ctx context.Context) error {
	sig, digest, err := s.key.SignData(ctx, s.file)
	if err != nil {
		return err
	}
	s.signature = sig
	s.bundle = &protobundle.Bundle{MediaType: mediaType, VerificationMaterial: &protobundle.VerificationMaterial{}}
	(&sign.PlainData{Data: s.file}).Bundle(s.bundle, sig, digest, s.key.GetHashAlgorithm())
	return nil
}

// certify gets a certificate for the key. It is looked at before anything is written
// into a log, where it stays.
func (s *keylessRun) certify(ctx context.Context) error {
	f := sign.NewFulcio(&sign.FulcioOptions{BaseURL: s.fulcio.url.String(), Timeout: -1, Transport: s.fulcio})
	der, err := f.GetCertificate(ctx, s.key, &sign.CertificateProviderOptions{IDToken: s.token.raw})
	if err != nil {
		return s.fulcio.failed(err)
	}
	if s.cert, err = x509.ParseCertificate(der); err != nil {
		return s.fulcio.failed(err)
	}
	if err := s.checkCertificate(); err != nil {
		return err
	}
	s.bundle.VerificationMaterial.Content =
		&protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: der}}
	return nil
}

func (s *keylessRun) log(ctx context.Context) error {
	rt := openapi.NewWithClient(s.rekor.url.Host, s.rekor.url.Path, []string{s.rekor.url.Scheme},
		&http.Client{Transport: s.rekor})
	rt.SetDebug(false) // an environment variable would have it print everything
	r := sign.NewRekor(&sign.RekorOptions{Client: rekor.New(rt, strfmt.Default).Entries, Timeout: -1})
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.cert.Raw})
	if err := r.GetTransparencyLogEntry(ctx, cert, s.bundle); err != nil {
		return s.rekor.failed(err)
	}
	return s.checkEntry()
}

func (s *keylessRun) stamp(ctx context.Context) error {
	a := sign.NewTimestampAuthority(&sign.TimestampAuthorityOptions{URL: s.tsa.url.String(), Timeout: -1,
		Transport: s.tsa})
	stamp, err := a.GetTimestamp(ctx, s.signature)
	if err != nil {
		return s.tsa.failed(err)
	}
	s.bundle.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{
		Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp}},
	}
	return s.checkStamp(stamp)
}

// failed keeps what the endpoint has said itself, and says no more than that of any
// other error.
func (e *endpoint) failed(err error) error {
	var se *SignError
	if errors.As(err, &se) {
		return se
	}
	return signFail(ErrService, e.what+" answered with something that cannot be read")
}

// encode writes the bundle as it lies on disk.
func (s *keylessRun) encode() ([]byte, error) {
	v, err := encodeBundle(s.bundle)
	if err != nil {
		return nil, err
	}
	if len(v) >= tiers.MaxEvidence {
		return nil, fmt.Errorf("the bundle has more than %d bytes", tiers.MaxEvidence)
	}
	return append(v, '\n'), nil
}

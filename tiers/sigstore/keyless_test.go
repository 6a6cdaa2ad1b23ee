package sigstore

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	protodsse "github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/testing/ca"
	"github.com/sigstore/sigstore-go/pkg/tlog"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const (
	issuer  = "https://issuer.example"
	subject = "release@acme.example"
)

// world is a whole signing infrastructure in memory: authority, log, timestamps.
func world(t testing.TB) *ca.VirtualSigstore {
	t.Helper()
	w, err := ca.NewVirtualSigstore()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// complete adds what the test authority keeps apart: the entry's kind, and the
// log's promise, which is what proves the time.
func complete(t testing.TB, w *ca.VirtualSigstore,
	e *protorekor.TransparencyLogEntry) *protorekor.TransparencyLogEntry {
	t.Helper()
	var body struct {
		Kind    string `json:"kind"`
		Version string `json:"apiVersion"`
	}
	if err := json.Unmarshal(e.CanonicalizedBody, &body); err != nil {
		t.Fatal(err)
	}
	e.KindVersion = &protorekor.KindVersion{Kind: body.Kind, Version: body.Version}
	promise, err := w.RekorSignPayload(tlog.RekorPayload{
		Body: base64.StdEncoding.EncodeToString(e.CanonicalizedBody), IntegratedTime: e.IntegratedTime, LogIndex: e.LogIndex,
		LogID: hex.EncodeToString(e.LogId.KeyId),
	})
	if err != nil {
		t.Fatal(err)
	}
	e.InclusionPromise = &protorekor.InclusionPromise{SignedEntryTimestamp: promise}
	return e
}

// bundleFrom turns what the test authority signs into a bundle as it lies on disk.
func bundleFrom(t testing.TB, w *ca.VirtualSigstore, e *ca.TestEntity,
	change func(*protobundle.Bundle)) tiers.Evidence {
	t.Helper()
	vc, err := e.VerificationContent()
	if err != nil {
		t.Fatal(err)
	}
	sc, err := e.SignatureContent()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := e.TlogEntries()
	if err != nil {
		t.Fatal(err)
	}
	stamps, err := e.Timestamps()
	if err != nil {
		t.Fatal(err)
	}
	b := &protobundle.Bundle{MediaType: mediaTypeBundle, VerificationMaterial: &protobundle.VerificationMaterial{
		Content: &protobundle.VerificationMaterial_Certificate{
			Certificate: &protocommon.X509Certificate{RawBytes: vc.Certificate().Raw}},
		TimestampVerificationData: &protobundle.TimestampVerificationData{},
	}}
	for _, entry := range entries {
		b.VerificationMaterial.TlogEntries = append(b.VerificationMaterial.TlogEntries,
			complete(t, w, entry.TransparencyLogEntry()))
	}
	for _, s := range stamps {
		b.VerificationMaterial.TimestampVerificationData.Rfc3161Timestamps = append(
			b.VerificationMaterial.TimestampVerificationData.Rfc3161Timestamps,
			&protocommon.RFC3161SignedTimestamp{SignedTimestamp: s})
	}
	if m := sc.MessageSignatureContent(); m != nil {
		b.Content = &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
			MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm(
				protocommon.HashAlgorithm_value[m.DigestAlgorithm()]), Digest: m.Digest()}, Signature: sc.Signature()}}
	} else {
		env := sc.EnvelopeContent().RawEnvelope()
		payload, err := base64.StdEncoding.DecodeString(env.Payload)
		if err != nil {
			t.Fatal(err)
		}
		b.Content = &protobundle.Bundle_DsseEnvelope{DsseEnvelope: &protodsse.Envelope{Payload: payload,
			PayloadType: env.PayloadType, Signatures: []*protodsse.Signature{{Sig: sc.Signature()}}}}
	}
	if change != nil {
		change(b)
	}
	out, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bundleOf(out)
}

// attested signs a statement about the file, with an entry in the log that proves
// its inclusion.
func attested(t testing.TB, w *ca.VirtualSigstore, who, from string, file []byte, at time.Time) *ca.TestEntity {
	t.Helper()
	sum := sha256.Sum256(file)
	payload := fmt.Sprintf(
		`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"hook","digest":{"sha256":"%x"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, sum)
	e, err := w.AttestAtTime(who, from, []byte(payload), at, true)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// verifierOf trusts w, and requires the given assurances of certificates.
func verifierOf(w root.TrustedMaterial, want ...tiers.Assurance) *verifier {
	v := &verifier{requirements: want, material: w}
	v.once.Do(func() {})
	return v
}

var withoutSCT = tiers.Assurance{Log: true} // the authority in memory has no certificate log

func TestKeyless(t *testing.T) {
	file := fixture(t, "guard.wasm")
	w, other := world(t), world(t)
	soon := time.Now().Add(5 * time.Minute) // within the certificate's ten minutes
	good := attested(t, w, subject, issuer, file, soon)
	v := verifierOf(w, withoutSCT)
	f := one(t, v, file, bundleFrom(t, w, good, nil))
	if f.Problem != nil {
		t.Fatalf("%v: %v", f.Problem, errors.Unwrap(f.Problem))
	}
	if f.Identity == nil || *f.Identity != (tiers.Identity{Issuer: issuer, Subject: subject}) || f.KeyID != "" ||
		f.Assurance != withoutSCT || f.From.IsZero() || f.To.Before(f.From) {
		t.Errorf("%+v", f)
	}
	if d := soon.Sub(f.To).Abs(); d > time.Minute {
		t.Errorf("signed until %v, want about %v", f.To, soon)
	}
	expired := attested(t, w, subject, issuer, file, time.Now().Add(time.Hour))
	for _, c := range []struct {
		name string
		v    *verifier
		file []byte
		e    tiers.Evidence
		code tiers.Code
		says string
	}{
		{"tampered file", v, fixture(t, "minter.wasm"), bundleFrom(t, w, good, nil), tiers.SignatureInvalid, "another file"},
		{"another authority", verifierOf(other, withoutSCT), file, bundleFrom(t, w, good, nil), tiers.SignatureInvalid,
			"transparency log"},
		{"another authority, no log wanted", verifierOf(other, tiers.Assurance{}), file, bundleFrom(t, w, good, nil),
			tiers.SignatureInvalid, ""},
		{"no log entry", v, file,
			bundleFrom(t, w, good, func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil }),
			tiers.SignatureInvalid, "transparency log"},
		{"neither log nor timestamp", verifierOf(w, tiers.Assurance{}), file,
			bundleFrom(t, w, good, func(b *protobundle.Bundle) {
				b.VerificationMaterial.TlogEntries, b.VerificationMaterial.TimestampVerificationData = nil, nil
			}), tiers.SignatureInvalid, "proves when it was signed"},
		{"expired when it signed", v, file, bundleFrom(t, w, expired, nil), tiers.SignatureInvalid, "expired"},
		{"log entry of another signature", v, file, bundleFrom(t, w, good, func(b *protobundle.Bundle) {
			b.VerificationMaterial.TlogEntries = entriesOf(t, w, attested(t, w, subject, issuer, file, soon))
		}), tiers.SignatureInvalid, "transparency log"},
		{"no certificate log", verifierOf(w, tiers.Assurance{Log: true, CertificateTimestamp: true}), file,
			bundleFrom(t, w, good, nil), tiers.SignatureInvalid, "certificate log"},
		{"edited payload", v, file, bundleFrom(t, w, good, func(b *protobundle.Bundle) {
			b.GetDsseEnvelope().Payload = append(b.GetDsseEnvelope().Payload, ' ')
		}), tiers.SignatureInvalid, ""},
		{"no keyless rule", verifierOf(w), file, bundleFrom(t, w, good, nil), tiers.SignerNotTrusted, "no rule has a seat"},
		{"garbage certificate", v, file, bundleFrom(t, w, good, func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content =
				&protobundle.VerificationMaterial_Certificate{Certificate: &protocommon.X509Certificate{RawBytes: []byte("x")}}
		}), tiers.SignatureInvalid, ""},
		{"a chain in the bundle", v, file, bundleFrom(t, w, good, func(b *protobundle.Bundle) {
			b.VerificationMaterial.Content =
				&protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{}}
		}), tiers.BundleMalformed, ""},
	} {
		t.Run(c.name, func(t *testing.T) { wantCode(t, one(t, c.v, c.file, c.e), c.code, c.says) })
	}
}

func entriesOf(t testing.TB, w *ca.VirtualSigstore, e *ca.TestEntity) []*protorekor.TransparencyLogEntry {
	t.Helper()
	entries, err := e.TlogEntries()
	if err != nil {
		t.Fatal(err)
	}
	out := []*protorekor.TransparencyLogEntry{}
	for _, entry := range entries {
		out = append(out, complete(t, w, entry.TransparencyLogEntry()))
	}
	return out
}

// A policy that does without the log still proves the time, by timestamps.
func TestKeylessByTimestamp(t *testing.T) {
	file := fixture(t, "guard.wasm")
	w := world(t)
	e, err := w.SignAtTime(subject, issuer, file, time.Now().Add(5*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	stamped := bundleFrom(t, w, e, func(b *protobundle.Bundle) { b.VerificationMaterial.TlogEntries = nil })
	if f := one(t, verifierOf(w, tiers.Assurance{}), file, stamped); f.Problem != nil || f.Identity == nil ||
		f.Assurance.Log {
		t.Errorf("%+v, problem %v, %v", f, f.Problem, errors.Unwrap(f.Problem))
	}
	changed := append([]byte{}, file...)
	changed[9] ^= 1
	sum := sha256.Sum256(changed)
	lying := bundleFrom(t, w, e, func(b *protobundle.Bundle) {
		b.VerificationMaterial.TlogEntries = nil
		b.GetMessageSignature().MessageDigest.Digest = sum[:]
	})
	wantCode(t, one(t, verifierOf(w, tiers.Assurance{}), changed, lying), tiers.SignatureInvalid, "does not fit the file")
}

// From a policy file to a decision, with a trusted root on disk.
func TestKeylessPolicy(t *testing.T) {
	file := fixture(t, "guard.wasm")
	w := world(t)
	soon := time.Now().Add(5 * time.Minute)
	evidence := []tiers.Evidence{bundleFrom(t, w, attested(t, w, subject, issuer, file, soon), nil)}
	rootJSON := rootOf(t, w)
	decide := func(t *testing.T, seat string, root func() ([]byte, error)) tiers.Decision {
		t.Helper()
		p, err := tiers.ParsePolicy(
			[]byte("version: belay/v1\ntrustedRoot: root.json\nrules:\n- name: people\n  allOf:\n  - {keyless: {issuer: 'https://issuer.example', subject: {equal: release@acme.example}, unsafeWithout: [certificateTimestamp]}"+seat+"}\n"),
			func(string, int64) ([]byte, error) { return root() })
		if err != nil {
			t.Fatal(err)
		}
		return p.Evaluate("sha256:00", nil, New(p).Facts(file, evidence), time.Now())
	}
	there := func() ([]byte, error) { return rootJSON, nil }
	if d := decide(t, "", there); d.Tier != phases.Trusted || d.Rule != "people" {
		t.Errorf("%+v: %v", d, errors.Unwrap(errors.Unwrap(d.Err())))
	}
	window := func(from, to time.Time) string {
		return fmt.Sprintf(", notBefore: %s, notAfter: %s", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	}
	// The window is held against the time that is proven, not against now.
	if d := decide(t, window(time.Now().Add(-time.Hour), soon.Add(time.Hour)), there); d.Tier != phases.Trusted {
		t.Errorf("in the window: %s", d.Why)
	}
	if d := decide(t, window(time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)),
		there); d.Code != tiers.SignerNotTrusted {
		t.Errorf("after the window: %s %s", d.Tier, d.Code)
	}
	for name, root := range map[string]func() ([]byte, error){
		"missing":    func() ([]byte, error) { return nil, errors.New("no such file") },
		"garbage":    func() ([]byte, error) { return []byte("{"), nil },
		"duplicates": func() ([]byte, error) { return []byte(`{"mediaType":"x","mediaType":"x"}`), nil },
		"empty":      func() ([]byte, error) { return []byte(""), nil },
	} {
		if d := decide(t, "", root); d.Code != tiers.RootMissing {
			t.Errorf("root %s: %s %q: %s", name, d.Tier, d.Code, d.Why)
		}
	}
	if err := CheckRoot(rootJSON); err != nil {
		t.Error(err)
	}
	if err := CheckRoot([]byte("{}")); err == nil {
		t.Error("an empty document is a trusted root")
	}
}

// rootOf writes the infrastructure's trusted root as it lies on disk.
func rootOf(t testing.TB, w *ca.VirtualSigstore) []byte {
	t.Helper()
	logs := map[string]*root.TransparencyLog{}
	for id, l := range w.RekorLogs() {
		c := *l
		raw, err := hex.DecodeString(id) // the authority keeps the name of its log in hexadecimal
		if err != nil {
			t.Fatal(err)
		}
		c.ID = raw
		logs[id] = &c
	}
	r, err := root.NewTrustedRoot(root.TrustedRootMediaType01, w.FulcioCertificateAuthorities(), nil,
		w.TimestampingAuthorities(), logs)
	if err != nil {
		t.Fatal(err)
	}
	b, err := r.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

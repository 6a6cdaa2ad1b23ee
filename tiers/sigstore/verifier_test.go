package sigstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/tiers"
)

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "cosign", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func publicKey(t testing.TB, name string) tiers.Key {
	t.Helper()
	k, err := tiers.ParseKey(fixture(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func bundleOf(data []byte) tiers.Evidence {
	return tiers.Evidence{Kind: tiers.EvidenceBundle, Name: "a bundle", Data: data}
}

func detachedOf(data []byte) tiers.Evidence {
	return tiers.Evidence{Kind: tiers.EvidenceSignature, Name: "a signature", Data: data}
}

func one(t testing.TB, v *verifier, file []byte, e ...tiers.Evidence) tiers.Fact {
	t.Helper()
	facts := v.Facts(file, e)
	if len(facts) != 1 {
		t.Fatalf("%d facts: %+v", len(facts), facts)
	}
	return facts[0]
}

func wantCode(t testing.TB, f tiers.Fact, code tiers.Code, says string) {
	t.Helper()
	if f.Problem == nil || f.Problem.Class != code || !strings.Contains(f.Problem.Text, says) {
		t.Errorf("got %+v (problem %v), want %q with %q", f, f.Problem, code, says)
	}
}

// What cosign made holds for every kind of key and of evidence, and no longer after
// one byte of the file or of the evidence changed.
func TestCosignEvidence(t *testing.T) {
	file := fixture(t, "guard.wasm")
	for _, name := range []string{"c0", "c1", "p384", "ed25519", "rsa"} {
		key := publicKey(t, name+".pub")
		v := &verifier{keys: []tiers.Key{publicKey(t, "c1.pub"), key}}
		for kind, e := range map[string]tiers.Evidence{
			"bundle":   bundleOf(fixture(t, "guard."+name+".sigstore.json")),
			"detached": detachedOf(fixture(t, "guard."+name+".sig")),
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				if f := one(t, v, file, e); f.Problem != nil || f.KeyID != key.ID || !strings.HasPrefix(f.Signature, "sha256:") {
					t.Fatalf("%+v, problem %v %v", f, f.Problem, errors.Unwrap(f.Problem))
				}
				changed := bytes.Clone(file)
				changed[len(changed)-1] ^= 1
				wantCode(t, one(t, v, changed, e), tiers.SignatureInvalid, "changed")
			})
		}
	}
}

func TestAttestation(t *testing.T) {
	file, data := fixture(t, "guard.wasm"), fixture(t, "guard.attest.sigstore.json")
	v := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub")}}
	f := one(t, v, file, bundleOf(data))
	if f.Problem != nil || f.Statement == nil || f.Statement.PredicateType != "https://acme.example/review/v1" {
		t.Fatalf("%+v, problem %v", f, f.Problem)
	}
	wantCode(t, one(t, v, fixture(t, "minter.wasm"), bundleOf(data)), tiers.SignatureInvalid, "another file")
	// The payload is edited so that it is about the other file.
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	env := doc["dsseEnvelope"].(map[string]any)
	payload, err := base64.StdEncoding.DecodeString(env["payload"].(string))
	if err != nil {
		t.Fatal(err)
	}
	other := sha256.Sum256(fixture(t, "minter.wasm"))
	mine := sha256.Sum256(file)
	env["payload"] = base64.StdEncoding.EncodeToString(bytes.ReplaceAll(payload, []byte(hex.EncodeToString(mine[:])),
		[]byte(hex.EncodeToString(other[:]))))
	edited, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, one(t, v, fixture(t, "minter.wasm"), bundleOf(edited)), tiers.SignatureInvalid, "not one of the key")
}

func TestWhoSigned(t *testing.T) {
	file := fixture(t, "guard.wasm")
	good := fixture(t, "guard.c0.sigstore.json")
	hint := publicKey(t, "c0.pub").ID
	both := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub"), publicKey(t, "c1.pub")}}
	only1 := &verifier{keys: []tiers.Key{publicKey(t, "c1.pub")}}
	none := &verifier{}
	for _, c := range []struct {
		name string
		v    *verifier
		e    tiers.Evidence
		code tiers.Code
		says string
	}{
		{"unknown key", only1, bundleOf(good), tiers.SignerNotTrusted, hint},
		{"unknown key, detached", only1, detachedOf(fixture(t, "guard.c0.sig")), tiers.SignatureInvalid, "another key"},
		{"no keys", none, detachedOf(fixture(t, "guard.c0.sig")), tiers.SignerNotTrusted, "no keys"},
		{"hint of another key", both, bundleOf(bytes.Replace(good, []byte(hint), []byte(publicKey(t, "c1.pub").ID), 1)),
			tiers.SignatureInvalid, "not one of the key"},
		{"foreign hint, known key", both, bundleOf(bytes.Replace(good, []byte(hint), []byte("x"), 1)), "", ""},
		{"bundle of another file", both, bundleOf(fixture(t, "minter.c0.sigstore.json")), tiers.SignatureInvalid,
			"another file"},
		{"not JSON", both, bundleOf([]byte("{")), tiers.BundleMalformed, "not a Sigstore bundle"},
		{"empty", both, bundleOf(nil), tiers.BundleMalformed, ""},
		{"duplicate name", both,
			bundleOf(bytes.Replace(good, []byte(`{"mediaType"`), []byte(`{"mediaType":"x","mediaType"`), 1)),
			tiers.BundleMalformed, "without duplicate names"},
		{"unknown member", both, bundleOf(bytes.Replace(good, []byte(`{"mediaType"`), []byte(`{"x":1,"mediaType"`), 1)),
			tiers.BundleMalformed, ""},
		{"older bundle", both,
			bundleOf(bytes.Replace(good, []byte(`bundle.v0.3+json`), []byte(`bundle+json;version=0.2`), 1)),
			tiers.BundleMalformed, "media type"},
		{"newer bundle", both, bundleOf(bytes.Replace(good, []byte(`v0.3`), []byte(`v0.4`), 1)), tiers.BundleMalformed, ""},
		{"no signature", both, bundleOf(strip(t, good, "signature")), tiers.BundleMalformed, ""},
		{"no verification material", both, bundleOf([]byte(`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json"}`)),
			tiers.BundleMalformed, ""},
		{"too large", both, bundleOf(bytes.Repeat([]byte(" "), tiers.MaxEvidence+1)), tiers.BundleMalformed, "larger than"},
		{"detached too large", both, detachedOf(bytes.Repeat([]byte("A"), maxDetached+1)), tiers.BundleMalformed,
			"more than"},
		{"detached empty", both, detachedOf([]byte("\n")), tiers.BundleMalformed, "empty"},
		{"unknown kind", both, tiers.Evidence{Kind: "gpg"}, tiers.BundleMalformed, "kind"},
		{"raw instead of base64", both, detachedOf(unbase64(t, fixture(t, "guard.c0.sig"))), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := one(t, c.v, file, c.e)
			if c.code != "" {
				wantCode(t, f, c.code, c.says)
			} else if f.Problem != nil || f.KeyID != hint {
				t.Errorf("%+v, problem %v", f, f.Problem)
			}
		})
	}
}

// One flipped bit anywhere in the file, its manifest section included, and nothing
// that vouched for it does any more.
func TestEveryByteOfTheFile(t *testing.T) {
	file := fixture(t, "guard.wasm")
	v := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub"), publicKey(t, "ed25519.pub")}}
	evidence := []tiers.Evidence{bundleOf(fixture(t, "guard.c0.sigstore.json")),
		bundleOf(fixture(t, "guard.ed25519.sigstore.json")),
		bundleOf(fixture(t, "guard.attest.sigstore.json")), detachedOf(fixture(t, "guard.c0.sig"))}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 1
		for _, f := range v.Facts(changed, evidence) {
			if f.Problem == nil || f.Problem.Class != tiers.SignatureInvalid {
				t.Fatalf("byte %d: %+v, problem %v", i, f, f.Problem)
			}
		}
	}
	for _, f := range v.Facts(file, evidence) {
		if f.Problem != nil {
			t.Errorf("unchanged: %v", f.Problem)
		}
	}
}

// One flipped bit anywhere in a bundle never leaves another signer, and where the
// bundle still holds, it was a bit that means nothing.
func TestEveryBitOfABundle(t *testing.T) {
	file, good := fixture(t, "guard.wasm"), fixture(t, "guard.c0.sigstore.json")
	key := publicKey(t, "c0.pub")
	v := &verifier{keys: []tiers.Key{key, publicKey(t, "c1.pub")}}
	held := 0
	for i := range good {
		changed := bytes.Clone(good)
		changed[i] ^= 1
		f := one(t, v, file, bundleOf(changed))
		if f.Problem == nil {
			held++
			if f.KeyID != key.ID || f.Signature != SignatureID(signatureIn(t, good)) {
				t.Fatalf("byte %d: %+v", i, f)
			}
		}
	}
	if hint := len(key.ID); held > hint+8 {
		t.Errorf("%d of %d flips leave the bundle good; only the hint (%d bytes) and white space may", held, len(good), hint)
	}
}

func signatureIn(t testing.TB, data []byte) []byte {
	t.Helper()
	var doc struct {
		MessageSignature struct {
			Signature []byte `json:"signature"`
		} `json:"messageSignature"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.MessageSignature.Signature
}

func unbase64(t testing.TB, b []byte) []byte {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// strip removes a member of the message signature.
func strip(t testing.TB, data []byte, member string) []byte {
	t.Helper()
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	delete(top["messageSignature"].(map[string]any), member)
	out, err := json.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// An ECDSA signature has a twin that is as valid; both have one name, so that a
// denied signature does not come back as its twin.
func TestSignatureIDOfTheTwin(t *testing.T) {
	file := fixture(t, "guard.wasm")
	sig := unbase64(t, fixture(t, "guard.c0.sig"))
	twin := twinOf(t, sig)
	v := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub")}}
	f := one(t, v, file, detachedOf([]byte(base64.StdEncoding.EncodeToString(twin))))
	if f.Problem != nil {
		t.Fatal("the twin is not valid: the test has lost its point")
	}
	if f.Signature != SignatureID(sig) || bytes.Equal(sig, twin) {
		t.Errorf("%s and %s", f.Signature, SignatureID(sig))
	}
	if SignatureID(sig) == SignatureID(unbase64(t, fixture(t, "guard.c1.sig"))) {
		t.Error("different signatures have one name")
	}
}

// A statement about an OCI manifest counts when the manifest is there and binds
// exactly this file.
func TestManifestSubject(t *testing.T) {
	file := fixture(t, "guard.wasm")
	s := signerOf(t)
	sum := sha256.Sum256(file)
	manifest := func(layers string) []byte {
		return fmt.Appendf(nil,
			`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:%064x","size":2},"layers":[%s]}`, 0, layers)
	}
	layer := fmt.Sprintf(`{"mediaType":"application/wasm","digest":"sha256:%x","size":%d}`, sum, len(file))
	good := manifest(layer)
	about := func(m []byte) tiers.Evidence {
		d := sha256.Sum256(m)
		return bundleOf(statementBundle(t, s,
			fmt.Sprintf(
				`{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%x"}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}`, d)))
	}
	asEvidence := func(m []byte) tiers.Evidence {
		return tiers.Evidence{Kind: tiers.EvidenceManifest, Name: "manifest", Data: m}
	}
	v := &verifier{keys: []tiers.Key{s.Key()}}
	if f := one(t, v, file, about(good), asEvidence(good)); f.Problem != nil || f.KeyID != s.Key().ID {
		t.Fatalf("%+v, problem %v", f, f.Problem)
	}
	wantCode(t, one(t, v, file, about(good)), tiers.SignatureInvalid, "another file")
	for name, bad := range map[string][]byte{
		"two layers":    manifest(layer + "," + layer),
		"another layer": manifest(strings.Replace(layer, hex.EncodeToString(sum[:]), strings.Repeat("0", 64), 1)),
		"another size": manifest(fmt.Sprintf(`{"mediaType":"application/wasm","digest":"sha256:%x","size":%d}`, sum,
			len(file)+1)),
		"no layer":         manifest(""),
		"not an image":     bytes.Replace(good, []byte("image.manifest"), []byte("image.index"), 1),
		"duplicate layers": bytes.Replace(good, []byte(`"layers"`), []byte(`"layers":[],"layers"`), 1),
		"garbage":          []byte("x"),
	} {
		t.Run(name, func(t *testing.T) {
			facts := v.Facts(file, []tiers.Evidence{about(bad), asEvidence(bad)})
			for _, f := range facts {
				if f.Problem == nil {
					t.Errorf("%+v", f)
				}
			}
			if len(facts) != 2 {
				t.Errorf("%d facts", len(facts))
			}
		})
	}
}

func TestStatements(t *testing.T) {
	file := fixture(t, "guard.wasm")
	s := signerOf(t)
	v := &verifier{keys: []tiers.Key{s.Key()}}
	sum := sha256.Sum256(file)
	subject := fmt.Sprintf(`{"name":"guard.wasm","digest":{"sha256":"%x"}}`, sum)
	statement := func(typ, subjects string) string {
		return fmt.Sprintf(`{"_type":"%s","subject":[%s],"predicateType":"p","predicate":{}}`, typ, subjects)
	}
	const v1 = "https://in-toto.io/Statement/v1"
	for _, c := range []struct{ name, payload, says string }{
		{"good", statement(v1, subject), ""},
		{"good v0.1", statement("https://in-toto.io/Statement/v0.1", subject), ""},
		{"another type", statement("https://in-toto.io/Statement/v2", subject), "statement of type"},
		{"no subject", statement(v1, ""), "0 subjects"},
		{"two subjects",
			statement(v1, subject+","+strings.Replace(subject, hex.EncodeToString(sum[:]), strings.Repeat("0", 64), 1)),
			"2 subjects"},
		{"the same subject twice", statement(v1, subject+","+subject), "2 subjects"},
		{"no digest", statement(v1, `{"name":"guard.wasm"}`), "another file"},
		{"digest of another kind", statement(v1, strings.Replace(subject, "sha256", "sha1", 1)), "another file"},
		{"duplicate subject", strings.Replace(statement(v1, subject), `"subject"`, `"subject":[],"subject"`, 1),
			"not an in-toto statement"},
		{"not JSON", "x", "not an in-toto statement"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := one(t, v, file, bundleOf(statementBundle(t, s, c.payload)))
			switch {
			case c.says == "" && f.Problem != nil:
				t.Errorf("%v: %v", f.Problem, errors.Unwrap(f.Problem))
			case c.says != "" && (f.Problem == nil || !strings.Contains(f.Problem.Text, c.says)):
				t.Errorf("got %v, want %q", f.Problem, c.says)
			}
		})
	}
	t.Run("two signatures", func(t *testing.T) {
		b := statementBundle(t, s, statement(v1, subject))
		i := bytes.Index(b, []byte(`"signatures":[`)) + len(`"signatures":[`)
		j := i + bytes.IndexByte(b[i:], ']')
		twice := append(append(append([]byte{}, b[:j]...), ','), b[i:]...)
		wantCode(t, one(t, v, file, bundleOf(twice)), tiers.BundleMalformed, "2 signatures")
	})
}

// statementBundle wraps a payload as a DSSE envelope signed by s.
func statementBundle(t testing.TB, s *signer, payload string) []byte {
	t.Helper()
	pae := fmt.Sprintf("DSSEv1 %d %s %d %s", len(inTotoPayload), inTotoPayload, len(payload), payload)
	sig, err := s.key.SignMessage(strings.NewReader(pae))
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(map[string]any{
		"mediaType":            mediaTypeBundle,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": s.Key().ID}},
		"dsseEnvelope": map[string]any{
			"payload": []byte(payload), "payloadType": inTotoPayload, "signatures": []any{map[string]any{"sig": sig}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTooMuchEvidence(t *testing.T) {
	file := fixture(t, "guard.wasm")
	v := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub")}}
	var list []tiers.Evidence
	for range tiers.MaxEvidenceList + 2 {
		list = append(list, bundleOf(fixture(t, "guard.c0.sigstore.json")))
	}
	bad := 0
	for _, f := range v.Facts(file, list) {
		if f.Problem != nil {
			bad++
		}
	}
	if bad != 2 {
		t.Errorf("%d refused, want 2", bad)
	}
}

func FuzzEvidence(f *testing.F) {
	file := fixture(f, "guard.wasm")
	for _, n := range []string{"guard.c0.sigstore.json", "guard.attest.sigstore.json", "guard.c0.sig", "guard.rsa.sig"} {
		f.Add(fixture(f, n))
	}
	f.Add(certificateSeed)
	key := publicKey(f, "c0.pub")
	v := &verifier{keys: []tiers.Key{key, publicKey(f, "ed25519.pub")}, requirements: []tiers.Assurance{{Log: true}},
		root: func() ([]byte, error) { return nil, errors.New("none") }}
	known := map[string]bool{}
	for _, n := range []string{"guard.c0.sig", "guard.ed25519.sig"} {
		known[SignatureID(unbase64(f, fixture(f, n)))] = true
	}
	known[SignatureID(signatureIn(f, fixture(f, "guard.c0.sigstore.json")))] = true
	known[one(f, v, file, bundleOf(fixture(f, "guard.attest.sigstore.json"))).Signature] = true
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []tiers.EvidenceKind{tiers.EvidenceBundle, tiers.EvidenceSignature, tiers.EvidenceManifest} {
			for _, fact := range v.Facts(file, []tiers.Evidence{{Kind: kind, Name: "x", Data: data}}) {
				if fact.Problem == nil && !known[fact.Signature] {
					t.Fatalf("%s: a signature that nobody made holds: %+v", kind, fact)
				}
				if fact.Problem != nil && (fact.Problem.Text == "" || len(fact.Problem.Text) > 500) {
					t.Fatalf("text of %d bytes", len(fact.Problem.Text))
				}
			}
		}
	})
}

var certificateSeed = []byte(
	`{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"certificate":{"rawBytes":"MIIB"}},"messageSignature":{"messageDigest":{"algorithm":"SHA2_256","digest":"bjOqcqa+J04MIqA7yhcQJsXSfFrL5KmR1ARP1SKrgJQ="},"signature":"MEUC"}}`)

// Hosts without a keyless rule, and hooks without a certificate, never pay for the
// trusted root.
func TestTrustedRootIsReadLast(t *testing.T) {
	asked := 0
	v := &verifier{keys: []tiers.Key{publicKey(t, "c0.pub")}, root: func() ([]byte, error) {
		asked++
		return nil, errors.New("none")
	}}
	file := fixture(t, "guard.wasm")
	v.Facts(file, []tiers.Evidence{bundleOf(fixture(t, "guard.c0.sigstore.json")), detachedOf(fixture(t, "guard.c0.sig")),
		bundleOf(certificateSeed)})
	if asked != 0 {
		t.Errorf("the root was read %d times", asked)
	}
	v.requirements = []tiers.Assurance{{Log: true}}
	v.Facts(file, []tiers.Evidence{bundleOf(certificateSeed), bundleOf(certificateSeed)})
	if asked != 1 {
		t.Errorf("the root was read %d times, want once", asked)
	}
}

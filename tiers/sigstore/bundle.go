package sigstore

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

const inTotoPayload = "application/vnd.in-toto+json"

// The two media types that name a bundle of version 0.3.
const (
	mediaTypeBundle    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	mediaTypeBundleOld = "application/vnd.dev.sigstore.bundle+json;version=0.3"
)

// content is a decoded bundle. If its signature holds, it is about the file.
type content struct {
	bundle    *bundle.Bundle
	signature []byte
	file      []byte // the signed bytes; nil for a statement
	artifact  func() verify.ArtifactPolicyOption
	statement *tiers.Statement // the signed statement; nil when the file was signed
}

// bundle looks at one Sigstore bundle.
func (v *verifier) bundle(a *artifact, e tiers.Evidence) tiers.Fact {
	f := tiers.Fact{Source: e.Name, Kind: e.Kind}
	c, err := readBundle(a, e.Data)
	if c != nil {
		f.Statement, f.Signature = c.statement, SignatureID(c.signature)
	}
	var te *tiers.Error
	if errors.As(err, &te) {
		f.Problem = te
		return f
	}
	if err != nil {
		return problem(f, tiers.BundleMalformed, "not a Sigstore bundle v0.3: "+err.Error(), err)
	}
	switch m := c.bundle.GetVerificationMaterial().GetContent().(type) {
	case *protobundle.VerificationMaterial_PublicKey:
		return v.byKey(f, c, m.PublicKey.GetHint())
	case *protobundle.VerificationMaterial_Certificate:
		return v.byCertificate(f, c)
	}
	return problem(f, tiers.BundleMalformed, "neither a key nor a single certificate", nil)
}

// readBundle decodes a bundle and checks that it is about the file. With an error
// the content may be there as far as it was read.
func readBundle(a *artifact, data []byte) (*content, error) {
	if !strictJSON(data) {
		return nil, errors.New("not JSON in UTF-8 without duplicate names")
	}
	b := new(bundle.Bundle)
	if err := b.UnmarshalJSON(data); err != nil {
		return nil, errors.New(phases.SafeLine(err.Error(), 200))
	}
	if mt := b.GetMediaType(); mt != mediaTypeBundle && mt != mediaTypeBundleOld {
		return nil, fmt.Errorf("media type %s", phases.SafeLine(mt, 100))
	}
	sig, err := b.SignatureContent()
	if err != nil {
		return nil, err
	}
	c := &content{bundle: b, signature: sig.Signature()}
	if len(c.signature) == 0 {
		return c, errors.New("no signature in it")
	}
	if env := b.GetDsseEnvelope(); env != nil {
		if env.GetPayloadType() != inTotoPayload {
			return c, fmt.Errorf("payload of type %s", phases.SafeLine(env.GetPayloadType(), 100))
		}
		if len(env.GetSignatures()) != 1 {
			return c, fmt.Errorf("%d signatures in the envelope, exactly one is wanted", len(env.GetSignatures()))
		}
		subject, err := c.readStatement(a, env.GetPayload())
		if err != nil {
			return c, err
		}
		c.artifact = func() verify.ArtifactPolicyOption { return verify.WithArtifactDigest("sha256", subject) }
		return c, nil
	}
	m := b.GetMessageSignature()
	if m == nil || m.GetMessageDigest() == nil {
		return c, errors.New("neither a statement nor a signature of a message")
	}
	var sum []byte
	switch m.GetMessageDigest().GetAlgorithm().String() {
	case "HASH_ALGORITHM_UNSPECIFIED":
		// cosign leaves the digest out where the key signs the file itself (Ed25519).
		if len(m.GetMessageDigest().GetDigest()) > 0 {
			return c, errors.New("a digest of no kind")
		}
	case "SHA2_256":
		sum = a.digest[:]
	case "SHA2_384":
		s := sha512.Sum384(a.file)
		sum = s[:]
	case "SHA2_512":
		s := sha512.Sum512(a.file)
		sum = s[:]
	default:
		return c, errors.New("a digest of a kind that is not accepted")
	}
	// The digest in the bundle is an unsigned hint: it only tells a bundle of another
	// file from a signature that does not hold.
	if !bytes.Equal(sum, m.GetMessageDigest().GetDigest()) {
		return c, &tiers.Error{Class: tiers.SignatureInvalid,
			Text: fmt.Sprintf(
				"the bundle is for another file (digest %.16x…): this file was changed, or the bundle belongs elsewhere",
				m.GetMessageDigest().GetDigest())}
	}
	c.file = a.file
	c.artifact = func() verify.ArtifactPolicyOption { return verify.WithArtifact(bytes.NewReader(a.file)) }
	return c, nil
}

// inToto is an in-toto statement.
type inToto struct {
	Type          string         `json:"_type"`
	PredicateType string         `json:"predicateType"`
	Predicate     jsontext.Value `json:"predicate,omitzero"`
	Subject       []struct {
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
}

// readStatement decodes an in-toto statement and returns the digest of its only
// subject, which is the file or a manifest that binds it.
func (c *content) readStatement(a *artifact, payload []byte) ([]byte, error) {
	var s, folded inToto
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, errors.New("the payload is not an in-toto statement")
	}
	// The signer may have read it with a tool that takes "PredicateType" for "predicateType".
	err := json.Unmarshal(payload, &folded, json.MatchCaseInsensitiveNames(true))
	if err != nil || !reflect.DeepEqual(s, folded) {
		return nil, errors.New("a name in the statement is written in other letters")
	}
	c.statement = &tiers.Statement{PredicateType: s.PredicateType, Predicate: s.Predicate}
	switch {
	case s.Type != "https://in-toto.io/Statement/v1" && s.Type != "https://in-toto.io/Statement/v0.1":
		return nil, fmt.Errorf("a statement of type %s", phases.SafeLine(s.Type, 100))
	case len(s.Subject) != 1:
		return nil, fmt.Errorf("the statement has %d subjects, exactly one is wanted", len(s.Subject))
	}
	got := s.Subject[0].Digest["sha256"]
	for sum := range a.subjects {
		if len(got) == 2*sha256.Size && equalHex(got, sum[:]) {
			return sum[:], nil
		}
	}
	return nil, &tiers.Error{Class: tiers.SignatureInvalid, Text: "the statement is about another file (sha256:" +
		phases.SafeLine(got, 64) + "): this file was changed, or the bundle belongs elsewhere"}
}

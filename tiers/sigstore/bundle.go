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
	fact := tiers.Fact{Source: e.Name, Kind: e.Kind}
	content, err := readBundle(a, e.Data)
	if content != nil {
		fact.Statement, fact.Signature = content.statement, SignatureID(content.signature)
	}
	var te *tiers.Error
	if errors.As(err, &te) {
		fact.Problem = te
		return fact
	}
	if err != nil {
		return problem(fact, tiers.BundleMalformed, "not a Sigstore bundle v0.3: "+err.Error(), err)
	}
	switch m := content.bundle.GetVerificationMaterial().GetContent().(type) {
	case *protobundle.VerificationMaterial_PublicKey:
		return v.byKey(fact, content, m.PublicKey.GetHint())
	case *protobundle.VerificationMaterial_Certificate:
		return v.byCertificate(fact, content)
	}
	return problem(fact, tiers.BundleMalformed, "neither a key nor a single certificate", nil)
}

// readBundle decodes a bundle and checks that it is about the file. With an error
// the content may be there as far as it was read.
func readBundle(artifact *artifact, data []byte) (*content, error) {
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
		subject, err := c.readStatement(artifact, env.GetPayload())
		if err != nil {
			return c, err
		}
		c.artifact = func() verify.ArtifactPolicyOption { return verify.WithArtifactDigest("sha256", subject) }
		return c, nil
	}
	signature := b.GetMessageSignature()
	if signature == nil || signature.GetMessageDigest() == nil {
		return c, errors.New("neither a statement nor a signature of a message")
	}
	var sum []byte
	switch signature.GetMessageDigest().GetAlgorithm().String() {
	case "HASH_ALGORITHM_UNSPECIFIED":
		// cosign leaves the digest out where the key signs the file itself (Ed25519).
		if len(signature.GetMessageDigest().GetDigest()) > 0 {
			return c, errors.New("a digest of no kind")
		}
	case "SHA2_256":
		sum = artifact.digest[:]
	case "SHA2_384":
		s := sha512.Sum384(artifact.file)
		sum = s[:]
	case "SHA2_512":
		s := sha512.Sum512(artifact.file)
		sum = s[:]
	default:
		return c, errors.New("a digest of a kind that is not accepted")
	}
	// The digest in the bundle is an unsigned hint: it only tells a bundle of another
	// file from a signature that does not hold.
	if !bytes.Equal(sum, signature.GetMessageDigest().GetDigest()) {
		return c, &tiers.Error{Class: tiers.SignatureInvalid,
			Text: fmt.Sprintf(
				"the bundle is for another file (digest %.16x…): this file was changed, or the bundle belongs elsewhere",
				signature.GetMessageDigest().GetDigest())}
	}
	c.file = artifact.file
	c.artifact = func() verify.ArtifactPolicyOption { return verify.WithArtifact(bytes.NewReader(artifact.file)) }
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
func (c *content) readStatement(artifact *artifact, payload []byte) ([]byte, error) {
	var statement, folded inToto
	if err := json.Unmarshal(payload, &statement); err != nil {
		return nil, errors.New("the payload is not an in-toto statement")
	}
	// The signer may have read it with a tool that takes "PredicateType" for "predicateType".
	err := json.Unmarshal(payload, &folded, json.MatchCaseInsensitiveNames(true))
	if err != nil || !reflect.DeepEqual(statement, folded) {
		return nil, errors.New("a name in the statement is written in other letters")
	}
	c.statement = &tiers.Statement{PredicateType: statement.PredicateType, Predicate: statement.Predicate}
	switch {
	case statement.Type != "https://in-toto.io/Statement/v1" && statement.Type != "https://in-toto.io/Statement/v0.1":
		return nil, fmt.Errorf("a statement of type %s", phases.SafeLine(statement.Type, 100))
	case len(statement.Subject) != 1:
		return nil, fmt.Errorf("the statement has %d subjects, exactly one is wanted", len(statement.Subject))
	}
	got := statement.Subject[0].Digest["sha256"]
	for sum := range artifact.subjects {
		if len(got) == 2*sha256.Size && equalHex(got, sum[:]) {
			return sum[:], nil
		}
	}
	return nil, &tiers.Error{Class: tiers.SignatureInvalid, Text: "the statement is about another file (sha256:" +
		phases.SafeLine(got, 64) + "): this file was changed, or the bundle belongs elsewhere"}
}

package oci

import (
	"fmt"

	"github.com/belay-hooks/belay/phases"
)

// Kind says what a piece of evidence is.
type Kind string

// Kinds of evidence.
const (
	KindBundle    Kind = "bundle"    // Sigstore bundle, JSON
	KindSignature Kind = "signature" // detached signature over the module file, base64
)

func (k Kind) mediaType() string {
	if k == KindSignature {
		return MediaTypeSignature
	}
	return MediaTypeBundle
}

func kindOf(mediaType string) (Kind, bool) {
	switch mediaType {
	case MediaTypeBundle:
		return KindBundle, true
	case MediaTypeSignature:
		return KindSignature, true
	}
	return "", false
}

// Evidence is something that may prove who made a hook. Nothing about it has
// been verified but its digest and size.
type Evidence struct {
	Kind      Kind   `json:"kind"`
	Bytes     []byte `json:"-"`
	MediaType string `json:"media_type"`
	Digest    string `json:"digest"`   // sha256:<hex> of Bytes
	Subject   string `json:"subject"`  // digest of the hook's manifest that it is attached to
	Referrer  string `json:"referrer"` // digest of the manifest that attaches it
}

// Skipped is a referrer that was not taken, and why. It does not stop a pull:
// every account with push rights can attach things to a hook.
type Skipped struct {
	Referrer string `json:"referrer"`
	Why      string `json:"why"`
}

// quote makes text from a registry short and harmless.
func quote(s string) string { return fmt.Sprintf("%q", phases.SafeLine(s, 100)) }

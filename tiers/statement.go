package tiers

import (
	"github.com/go-json-experiment/json/jsontext"
)

// PredicateSignature is the type of the statement that cosign writes for a signature: it says nothing but "signed".
// Source: sigstore/cosign, specs/BUNDLE_SPEC.md.
const PredicateSignature = "https://sigstore.dev/cosign/sign/v1"

// Statement is a signed in-toto statement about the file.
type Statement struct {
	PredicateType string         // as it is signed, at any length
	Predicate     jsontext.Value // valid JSON in UTF-8 without duplicate names; nil when there is none
}

// key tells statements apart.
func (s *Statement) key() string {
	if s == nil {
		return ""
	}
	return s.PredicateType + "\x00" + string(s.Predicate)
}

// approves reports whether the fact is an approval of the file: a signature of the file itself, or the statement
// that stands for one. Any other statement can say the opposite.
func (f *Fact) approves() bool {
	return f.Statement == nil || f.Statement.PredicateType == PredicateSignature
}

package tiers

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// attestation checks a statement that a rule requires: a member that does not belong to its type is refused, since it
// would look as if it were checked.
func (c policyParser) attestation(attestation *Attestation, at string) error {
	if attestation.Signers != nil && len(attestation.Signers) == 0 || len(attestation.Signers) > maxSlots {
		return c.doc.Errorf(at+"/signers", "lists from 1 to %d signers, or is left out", maxSlots)
	}
	for i := range attestation.Signers {
		if err := c.slot(&attestation.Signers[i], fmt.Sprintf("%s/signers/%d", at, i)); err != nil {
			return err
		}
	}
	ofProvenance := map[string]bool{"builder": attestation.Builder != "", "buildType": attestation.BuildType != "",
		"parameters": attestation.Parameters != nil}
	ofSummary := map[string]bool{"verifier": attestation.Verifier != "", "resourceUri": attestation.ResourceURI != "",
		"policyUri": attestation.PolicyURI != "", "levels": attestation.Levels != nil}
	foreign, needed := ofSummary, []string{"builder", "buildType"}
	switch attestation.PredicateType {
	case PredicateProvenance:
	case PredicateSummary:
		foreign, needed = ofProvenance, []string{"verifier"}
	default:
		return c.doc.Errorf(at+"/predicateType", "must be %s or %s", PredicateProvenance, PredicateSummary)
	}
	for _, member := range sortedKeys(foreign) {
		if foreign[member] {
			return c.doc.Errorf(at+"/"+member, "does not belong to statements of type %s", attestation.PredicateType)
		}
	}
	for _, member := range needed {
		if !ofProvenance[member] && !ofSummary[member] {
			return c.doc.Errorf(at, "needs %s", member)
		}
	}
	for _, text := range append([]string{attestation.Builder, attestation.BuildType, attestation.Verifier,
		attestation.ResourceURI, attestation.PolicyURI}, attestation.Levels...) {
		if len(text) > 2048 {
			return c.doc.Errorf(at, "a text of more than 2048 bytes")
		}
	}
	if attestation.Levels != nil && len(attestation.Levels) == 0 || len(attestation.Levels) > maxNamed {
		return c.doc.Errorf(at+"/levels", "lists from 1 to %d levels, or is left out", maxNamed)
	}
	return c.parameters(attestation.Parameters, at+"/parameters")
}

func (c policyParser) parameters(conditions map[string]Condition, at string) error {
	if len(conditions) > maxNamed {
		return c.doc.Errorf(at, "more than %d parameters", maxNamed)
	}
	for _, ptr := range sortedKeys(conditions) {
		here := string(jsontext.Pointer(at).AppendToken(ptr))
		if p := jsontext.Pointer(ptr); ptr == "" || !p.IsValid() {
			return c.doc.Errorf(here, "a parameter is named by a JSON Pointer, such as /workflow/repository")
		}
		cond := conditions[ptr]
		if cond.Any {
			if cond.Subject.Equal+cond.Subject.URLPrefix+cond.Subject.Regex != "" {
				return c.doc.Errorf(here, "needs exactly one of equal, urlPrefix, regex, any")
			}
			continue
		}
		if err := c.subject(&cond.Subject, here); err != nil {
			return err
		}
		conditions[ptr] = cond // with its pattern compiled
	}
	return nil
}

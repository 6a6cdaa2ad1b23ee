package tiers

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// attestation checks a statement that a rule requires: a member that does not belong to its type is refused, since it
// would look as if it were checked.
func (c policyParser) attestation(a *Attestation, at string) error {
	if a.Signers != nil && len(a.Signers) == 0 || len(a.Signers) > maxSlots {
		return c.doc.Errorf(at+"/signers", "lists from 1 to %d signers, or is left out", maxSlots)
	}
	for i := range a.Signers {
		if err := c.slot(&a.Signers[i], fmt.Sprintf("%s/signers/%d", at, i)); err != nil {
			return err
		}
	}
	ofProvenance := map[string]bool{"builder": a.Builder != "", "buildType": a.BuildType != "",
		"parameters": a.Parameters != nil}
	ofSummary := map[string]bool{"verifier": a.Verifier != "", "resourceUri": a.ResourceURI != "",
		"policyUri": a.PolicyURI != "", "levels": a.Levels != nil}
	foreign, needed := ofSummary, []string{"builder", "buildType"}
	switch a.PredicateType {
	case PredicateProvenance:
	case PredicateSummary:
		foreign, needed = ofProvenance, []string{"verifier"}
	default:
		return c.doc.Errorf(at+"/predicateType", "must be %s or %s", PredicateProvenance, PredicateSummary)
	}
	for _, member := range sortedKeys(foreign) {
		if foreign[member] {
			return c.doc.Errorf(at+"/"+member, "does not belong to statements of type %s", a.PredicateType)
		}
	}
	for _, member := range needed {
		if !ofProvenance[member] && !ofSummary[member] {
			return c.doc.Errorf(at, "needs %s", member)
		}
	}
	for _, text := range append([]string{a.Builder, a.BuildType, a.Verifier, a.ResourceURI, a.PolicyURI}, a.Levels...) {
		if len(text) > 2048 {
			return c.doc.Errorf(at, "a text of more than 2048 bytes")
		}
	}
	if a.Levels != nil && len(a.Levels) == 0 || len(a.Levels) > maxNamed {
		return c.doc.Errorf(at+"/levels", "lists from 1 to %d levels, or is left out", maxNamed)
	}
	return c.parameters(a.Parameters, at+"/parameters")
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

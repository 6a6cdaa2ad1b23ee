package tiers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// The statements that a rule can require.
const (
	// PredicateProvenance says how a file was built. Source: SLSA v1.0, "Provenance".
	PredicateProvenance = "https://slsa.dev/provenance/v1"

	// PredicateSummary says that a verifier has checked a file against a policy. Source: SLSA v1.0,
	// "Verification Summary Attestation (VSA)".
	PredicateSummary = "https://slsa.dev/verification_summary/v1"
)

// Attestation is a statement that a rule requires beside its signatures. Its signer fills a slot of Signers, never a
// slot of the rule. The statement has to meet every condition that is given here. Its other members have to be
// in its specification.
type Attestation struct {
	PredicateType string `json:"predicateType"`

	// Signers are those whose statement counts. Left out, they are the signers that have a slot in the rule.
	Signers []Slot `json:"signers,omitzero"`

	// Of provenance. Builder and BuildType are compared exactly. Parameters names every external parameter of the
	// build, by JSON Pointer, and limits its value: one that is not named is refused, as SLSA asks for.
	Builder    string               `json:"builder,omitzero"`
	BuildType  string               `json:"buildType,omitzero"`
	Parameters map[string]Condition `json:"parameters,omitzero"`

	// Of a verification summary, which has to say PASSED. Verifier, ResourceURI and PolicyURI are compared exactly;
	// every one of Levels has to be among the verified levels.
	Verifier    string   `json:"verifier,omitzero"`
	ResourceURI string   `json:"resourceUri,omitzero"`
	PolicyURI   string   `json:"policyUri,omitzero"`
	Levels      []string `json:"levels,omitzero"`
}

// Condition limits a value in exactly one way.
type Condition struct {
	Subject
	Any bool `json:"any,omitzero"` // it may be anything
}

// provenance is the predicate of PredicateProvenance, all of it.
type provenance struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   jsontext.Value `json:"externalParameters"`
		InternalParameters   jsontext.Value `json:"internalParameters,omitzero"`
		ResolvedDependencies jsontext.Value `json:"resolvedDependencies,omitzero"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID                  string         `json:"id"`
			BuilderDependencies jsontext.Value `json:"builderDependencies,omitzero"`
			Version             jsontext.Value `json:"version,omitzero"`
		} `json:"builder"`
		Metadata   jsontext.Value `json:"metadata,omitzero"`
		Byproducts jsontext.Value `json:"byproducts,omitzero"`
	} `json:"runDetails"`
}

// summary is the predicate of PredicateSummary, all of it.
type summary struct {
	Verifier struct {
		ID      string         `json:"id"`
		Version jsontext.Value `json:"version,omitzero"`
	} `json:"verifier"`
	TimeVerified time.Time `json:"timeVerified,omitzero"`
	ResourceURI  string    `json:"resourceUri"`
	Policy       struct {
		URI              string         `json:"uri,omitzero"`
		Name             jsontext.Value `json:"name,omitzero"`
		Digest           jsontext.Value `json:"digest,omitzero"`
		Content          jsontext.Value `json:"content,omitzero"`
		DownloadLocation jsontext.Value `json:"downloadLocation,omitzero"`
		MediaType        jsontext.Value `json:"mediaType,omitzero"`
		Annotations      jsontext.Value `json:"annotations,omitzero"`
	} `json:"policy"`
	InputAttestations  jsontext.Value `json:"inputAttestations,omitzero"`
	VerificationResult string         `json:"verificationResult"`
	VerifiedLevels     []string       `json:"verifiedLevels"`
	DependencyLevels   jsontext.Value `json:"dependencyLevels,omitzero"`
	SLSAVersion        jsontext.Value `json:"slsaVersion,omitzero"`
}

// met returns the fact with the required statement, or nil and why there is none. slots are those of the rule.
// Of the summaries of one signer the newest counts, and of equally old ones the worse.
func (a *Attestation) met(facts []Fact, slots []Slot, now time.Time) (by *Fact, why string) {
	if len(a.Signers) > 0 {
		slots = a.Signers
	}
	type verdict struct {
		at    time.Time
		wrong string
		by    *Fact
	}
	latest := map[string]verdict{} // by signer
	uncounted, other := "", ""
	for i := range facts {
		fact := &facts[i]
		if fact.Statement == nil || fact.Statement.PredicateType != a.PredicateType {
			continue
		}
		if !slices.ContainsFunc(slots, func(s Slot) bool { return s.fits(fact, now) }) {
			uncounted = "it is signed by " + clipTo(fact.Signer(), 200) + ", whose statements do not count here"
			continue
		}
		at, wrong, about := a.check(fact.Statement)
		if !about {
			other = wrong
			continue
		}
		if last, seen := latest[fact.Signer()]; !seen || at.After(last.at) || at.Equal(last.at) && wrong != "" {
			latest[fact.Signer()] = verdict{at, wrong, fact}
		}
	}
	failed := ""
	for _, signer := range sortedKeys(latest) {
		if latest[signer].wrong == "" {
			return latest[signer].by, ""
		}
		failed = latest[signer].wrong
	}
	return nil, "the statement of type " + a.PredicateType + " is missing or does not count: " +
		cmp.Or(failed, other, uncounted, "there is none")
}

// check compares the statement with the conditions; wrong is "" when it meets them. about is false when it could never
// meet them: it is not readable, by another builder or verifier, or about another resource. at is the time of
// a summary.
func (a *Attestation) check(s *Statement) (at time.Time, wrong string, about bool) {
	if a.PredicateType == PredicateProvenance {
		wrong = a.checkProvenance(s.Predicate)
		return time.Time{}, wrong, wrong == ""
	}
	var v summary
	if wrong = decodePredicate(s.Predicate, &v); wrong != "" {
		return at, wrong, false
	}
	for _, c := range []struct{ what, got, want string }{
		{"it is made by the verifier", v.Verifier.ID, a.Verifier},
		{"it is about", v.ResourceURI, cmp.Or(a.ResourceURI, v.ResourceURI)},
		{"it is by the policy", v.Policy.URI, cmp.Or(a.PolicyURI, v.Policy.URI)},
	} {
		if c.got != c.want {
			return at, fmt.Sprintf("%s %s, wanted is %s", c.what, show(c.got), show(c.want)), false
		}
	}
	if v.VerificationResult != "PASSED" {
		return v.TimeVerified, "its result is " + show(v.VerificationResult) + ", not PASSED", true
	}
	for _, l := range a.Levels {
		if !slices.Contains(v.VerifiedLevels, l) {
			return v.TimeVerified, "the level " + show(l) + " is not among its verified ones", true
		}
	}
	return v.TimeVerified, "", true
}

// checkProvenance returns the first condition that the predicate does not meet, or "".
func (a *Attestation) checkProvenance(src jsontext.Value) (wrong string) {
	var p provenance
	if wrong = decodePredicate(src, &p); wrong != "" {
		return wrong
	}
	switch {
	case p.RunDetails.Builder.ID != a.Builder:
		return fmt.Sprintf("it is built by %s, wanted is %s", show(p.RunDetails.Builder.ID), show(a.Builder))
	case p.BuildDefinition.BuildType != a.BuildType:
		return fmt.Sprintf("it is a build of type %s, wanted is %s", show(p.BuildDefinition.BuildType), show(a.BuildType))
	}
	return a.parameters(p.BuildDefinition.ExternalParameters)
}

// parameters compares the external parameters with the conditions: each leaf needs one, and each condition a value.
func (a *Attestation) parameters(doc jsontext.Value) (wrong string) {
	if doc.Kind() != '{' {
		return "externalParameters is not an object"
	}
	for _, ptr := range sortedKeys(a.Parameters) {
		v, ok := phases.Get(doc, ptr)
		if !ok {
			return "it has no external parameter " + show(ptr)
		}
		if c := a.Parameters[ptr]; !c.holds(v) {
			return "the external parameter " + show(ptr) + " is " + show(string(v))
		}
	}
	return a.unnamed(doc, "")
}

// unnamed finds a value that no condition names, itself or with an object that contains it.
func (a *Attestation) unnamed(v jsontext.Value, ptr string) (wrong string) {
	if _, ok := a.Parameters[ptr]; ok {
		return ""
	}
	if v.Kind() != '{' {
		return "no condition names the external parameter " + show(cmp.Or(ptr, "itself"))
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(v, &members); err != nil {
		return "externalParameters cannot be read"
	}
	for _, name := range sortedKeys(members) {
		if wrong = a.unnamed(members[name], string(jsontext.Pointer(ptr).AppendToken(name))); wrong != "" {
			return wrong
		}
	}
	return ""
}

// holds reports whether the value is as wanted. Text is compared with text only.
func (c *Condition) holds(v jsontext.Value) bool {
	if c.Any {
		return true
	}
	var s string
	return v.Kind() == '"' && json.Unmarshal(v, &s) == nil && c.matches(s)
}

// String shows the condition to people.
func (c Condition) String() string {
	if c.Any {
		return "*"
	}
	return c.Subject.String()
}

// decodePredicate decodes a predicate strictly: it refuses members that its specification does not have.
func decodePredicate(src jsontext.Value, v any) (wrong string) {
	if len(src) == 0 || src.Kind() != '{' {
		return "it has no predicate"
	}
	err := json.Unmarshal(src, v, json.RejectUnknownMembers(true))
	var sem *json.SemanticError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &sem) && sem.JSONPointer != "":
		return "its predicate is not as specified at " + show(string(sem.JSONPointer))
	}
	return "its predicate is not as specified"
}

// show makes one safe line of foreign text.
func show(s string) string { return phases.SafeLine(s, 120) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

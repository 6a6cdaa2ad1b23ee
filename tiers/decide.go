package tiers

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/belay-hooks/belay/phases"
)

// Decision says how far a file is trusted, and why.
type Decision struct {
	Tier     phases.Tier       `json:"tier"`             // trusted or sandboxed
	Code     Code              `json:"code,omitzero"`    // why it is not trusted
	Why      string            `json:"why"`              // one sentence
	Advice   string            `json:"advice,omitzero"`  // what to do about it
	Rule     string            `json:"rule,omitzero"`    // the rule that is satisfied
	Signers  []string          `json:"signers,omitzero"` // who counted for it
	Rules    []RuleOutcome     `json:"rules"`            // every rule of the policy
	Evidence []EvidenceOutcome `json:"evidence"`         // every piece of evidence
	Policy   string            `json:"policy"`           // Policy.Digest
	Until    time.Time         `json:"until,omitzero"`   // it may be another one from then on
	cause    error
}

// RuleOutcome says what became of one rule.
type RuleOutcome struct {
	Rule      string   `json:"rule"`
	Satisfied bool     `json:"satisfied"`
	Counted   []string `json:"counted"` // signers that fill a slot
	Need      int      `json:"need"`    // slots to be filled
	Why       string   `json:"why"`
}

// EvidenceOutcome says what became of one piece of evidence.
type EvidenceOutcome struct {
	Source    string       `json:"source"`
	Kind      EvidenceKind `json:"kind"`
	Signer    string       `json:"signer,omitzero"`
	Signature string       `json:"signature,omitzero"`
	Predicate string       `json:"predicate,omitzero"`
	Code      Code         `json:"code,omitzero"` // why it does not count
	Why       string       `json:"why"`
}

// Err returns nil for a trusted file, else an *Error whose class is the code.
func (d *Decision) Err() error {
	if d.Tier == phases.Trusted {
		return nil
	}
	return &Error{Class: d.Code, Text: d.Why, Cause: d.cause}
}

// Evaluate decides about a file with the digest sha256:<hex> and its manifest. facts
// are the findings of a verifier in its evidence. Their order does not matter, and a
// fact that is listed twice counts once.
func (p *Policy) Evaluate(digest string, manifest *Manifest, facts []Fact, now time.Time) Decision {
	decision := Decision{Tier: phases.Sandboxed, Policy: p.digest, Rules: []RuleOutcome{}, Evidence: []EvidenceOutcome{},
		Until: p.NextChange(now)}
	var problems []*Error
	revoked := ""
	good := map[string][]Fact{}  // approvals, by signer
	var attested []Fact          // other statements
	outcomes := map[string]int{} // of those: where they stand in the list, by key
	for _, fact := range sorted(facts) {
		outcome := EvidenceOutcome{Source: fact.Source, Kind: fact.Kind, Signer: fact.Signer(), Signature: fact.Signature,
			Why: "the signature holds"}
		if fact.Statement != nil {
			outcome.Predicate = phases.SafeLine(fact.Statement.PredicateType, 200)
		}
		if fact.Problem == nil && outcome.Signer == "" {
			fact.Problem = &Error{Class: SignatureInvalid, Text: "it names no signer"}
		}
		why := ""
		if fact.Problem == nil {
			why = p.Deny.signer(&fact)
		}
		switch {
		case fact.Problem != nil:
			outcome.Code, outcome.Why = codeOf(fact.Problem), fact.Problem.Text
			problems = append(problems, fact.Problem)
		case why != "":
			outcome.Code, outcome.Why, revoked = Revoked, why, why
		case !fact.approves():
			outcome.Code, outcome.Why = NotAnApproval,
				"the signature holds; what it says is no approval, and counts only where a rule requires it"
			attested = append(attested, fact)
			outcomes[fact.key()] = len(decision.Evidence)
		default:
			good[outcome.Signer] = append(good[outcome.Signer], fact)
		}
		decision.Evidence = append(decision.Evidence, outcome)
	}
	partial, outside, lacking, closed := "", "", "", ""
	for i := range p.Rules {
		rule := &p.Rules[i]
		ruleOutcome := rule.evaluate(manifest, good, attested, now)
		decision.Rules = append(decision.Rules, ruleOutcome.RuleOutcome)
		switch {
		case ruleOutcome.Satisfied && decision.Rule == "":
			decision.Rule, decision.Signers = rule.Name, ruleOutcome.Counted
			for _, f := range ruleOutcome.required {
				e := &decision.Evidence[outcomes[f.key()]]
				e.Code, e.Why = "", "the statement says what rule "+rule.Name+" requires"
			}
		case ruleOutcome.lacking && lacking == "":
			lacking = fmt.Sprintf("rule %s: %s", rule.Name, ruleOutcome.Why)
		case ruleOutcome.outside && len(ruleOutcome.Counted) > 0:
			outside = fmt.Sprintf("rule %s: %s", rule.Name, ruleOutcome.Why)
		case !ruleOutcome.Satisfied && len(ruleOutcome.Counted) > 0 && partial == "":
			partial = fmt.Sprintf("rule %s: %s", rule.Name, ruleOutcome.Why)
		case ruleOutcome.closed && closed == "":
			closed = fmt.Sprintf("rule %s: %s", rule.Name, ruleOutcome.Why)
		}
	}
	if slices.Contains(p.Deny.Digests, digest) {
		decision.Rule, decision.Signers = "", nil
		return decision.refuse(Revoked, "the file "+digest+" is on the deny list", nil)
	}
	if decision.Rule != "" {
		decision.Tier, decision.Why = phases.Trusted, "rule "+decision.Rule+" is satisfied"
		return decision
	}
	worst := func(c Code) *Error {
		if i := slices.IndexFunc(problems, func(e *Error) bool { return codeOf(e) == c }); i >= 0 {
			return problems[i]
		}
		return nil
	}
	switch {
	case revoked != "":
		return decision.refuse(Revoked, revoked, nil)
	case len(facts) == 0:
		return decision.refuse(Unsigned, "nothing vouches for it", nil)
	case lacking != "":
		return decision.refuse(AttestationMissing, lacking, nil)
	case partial != "":
		return decision.refuse(ThresholdNotMet, partial, nil)
	case outside != "":
		return decision.refuse(SignerNotTrusted, outside, nil)
	case closed != "":
		return decision.refuse(SignerNotTrusted, closed, nil)
	}
	for _, c := range []Code{SignatureInvalid, RootMissing} {
		if e := worst(c); e != nil {
			return decision.refuse(c, e.Text, e)
		}
	}
	switch e := worst(SignerNotTrusted); {
	case len(p.Rules) == 0 && (e != nil || len(good) > 0):
		return decision.refuse(SignerNotTrusted, "the trust policy has no rules: it trusts no signer", nil)
	case len(good) > 0:
		var names []string
		for s := range good {
			names = append(names, s)
		}
		slices.Sort(names)
		return decision.refuse(SignerNotTrusted, "no rule has a seat for "+clipTo(strings.Join(names, ", "), 300), nil)
	case e != nil:
		return decision.refuse(SignerNotTrusted, e.Text, e)
	case len(problems) == 0:
		return decision.refuse(NotAnApproval, "there are statements about it, and no signature that approves it", nil)
	}
	e := problems[0]
	return decision.refuse(codeOf(e), e.Text, e)
}

func (d Decision) refuse(c Code, why string, cause error) Decision {
	d.Tier, d.Code, d.Why, d.Advice, d.cause = phases.Sandboxed, c, why, c.Advice(), cause
	return d
}

// codeOf returns the code of a problem. Another class counts as malformed evidence.
func codeOf(e *Error) Code {
	var c Code
	if errors.As(e.Class, &c) {
		return c
	}
	return BundleMalformed
}

// sorted brings facts into an order of their own and drops duplicates.
func sorted(facts []Fact) []Fact {
	out := slices.Clone(facts)
	slices.SortStableFunc(out, func(a, b Fact) int { return strings.Compare(a.key(), b.key()) })
	return slices.CompactFunc(out, func(a, b Fact) bool { return a.key() == b.key() })
}

// key tells facts apart.
func (f *Fact) key() string {
	s := strings.Join([]string{f.Source, string(f.Kind), f.Signature, f.Signer(), f.Statement.key(), f.From.UTC().String(),
		f.To.UTC().String(), fmt.Sprint(f.Assurance)}, "\x00")
	if f.Problem != nil {
		s += "\x00" + f.Problem.Error()
	}
	return s
}

// signer returns why a fact is denied, or "".
func (d *Deny) signer(f *Fact) string {
	switch {
	case f.KeyID != "" && slices.Contains(d.Keys, f.KeyID):
		return "the key " + f.KeyID + " is on the deny list"
	case f.Signature != "" && slices.Contains(d.Signatures, f.Signature):
		return "the signature " + f.Signature + " is on the deny list"
	case f.Identity != nil:
		for i := range d.Identities {
			if x := &d.Identities[i]; (x.Issuer == "" || x.Issuer == f.Identity.Issuer) &&
				x.Subject.matches(f.Identity.Subject) {
				return "the identity " + clipTo(f.Identity.Subject, 200) + " is on the deny list"
			}
		}
	}
	return ""
}

type ruleOutcome struct {
	RuleOutcome
	outside bool // the rule does not vouch for this hook, with any signer
	lacking bool // enough signers, and a statement that it requires is missing
	closed  bool // one of its signers has signed, and that signer's window is not open

	required []*Fact // the statements that it requires
}

func (r *Rule) evaluate(manifest *Manifest, good map[string][]Fact, attested []Fact, now time.Time) ruleOutcome {
	var signers []string
	for s := range good {
		signers = append(signers, s)
	}
	slices.Sort(signers)
	slots := slices.Clone(r.AllOf)
	need := len(slots)
	if r.AnyOf != nil {
		slots = append(slots, r.AnyOf.Signers...)
		need += r.AnyOf.MinimumMatches
	}
	fits := make([][]int, len(slots))
	for i := range slots {
		for j, s := range signers {
			if slices.ContainsFunc(good[s], func(f Fact) bool { return slots[i].fits(&f, now) }) {
				fits[i] = append(fits[i], j)
			}
		}
	}
	taken := fillSlots(fits, len(signers))
	outcome := ruleOutcome{RuleOutcome: RuleOutcome{Rule: r.Name, Need: need, Counted: []string{}}}
	var empty []string
	all, some := 0, 0
	for i, s := range taken {
		switch {
		case s >= 0 && i < len(r.AllOf):
			all++
			outcome.Counted = append(outcome.Counted, signers[s])
		case s >= 0:
			some++
			outcome.Counted = append(outcome.Counted, signers[s])
		case i < len(r.AllOf):
			empty = append(empty, slots[i].String())
		}
	}
	filled := all == len(r.AllOf) && (r.AnyOf == nil || some >= r.AnyOf.MinimumMatches)
	required, lacks := r.required(attested, now)
	switch why := r.Limits.exceeded(manifest); {
	case why != "":
		outcome.outside, outcome.Why = true, why
	case filled && lacks != "":
		outcome.lacking, outcome.Why = true, lacks
	case filled:
		outcome.required = required
		outcome.Satisfied, outcome.Why = true, fmt.Sprintf("%d of %d signers", len(outcome.Counted), need)
	default:
		outcome.Why = fmt.Sprintf("%d of %d signers", all+min(some, need-len(r.AllOf)), need)
		if len(empty) > 0 {
			outcome.Why += "; missing " + clipTo(strings.Join(empty, ", "), 300)
		}
		if why := closedWindow(slots, good, now); why != "" {
			outcome.closed, outcome.Why = true, outcome.Why+"; "+why
		}
	}
	return outcome
}

// closedWindow names the first slot that is not filled only because its window is not open.
func closedWindow(slots []Slot, good map[string][]Fact, now time.Time) string {
	for i := range slots {
		slot := slots[i]
		if slot.NotBefore.IsZero() && slot.NotAfter.IsZero() {
			continue
		}
		open := slot
		open.NotBefore, open.NotAfter = time.Time{}, time.Time{}
		for _, facts := range good {
			for j := range facts {
				if slot.fits(&facts[j], now) || !open.fits(&facts[j], now) {
					continue
				}
				if !slot.NotBefore.IsZero() && now.Before(slot.NotBefore) {
					return slot.String() + " counts from " + slot.NotBefore.Format(time.RFC3339) + " on"
				}
				return slot.String() + " counted until " + slot.NotAfter.Format(time.RFC3339)
			}
		}
	}
	return ""
}

// required returns the statements that the rule requires, or says which is missing.
func (r *Rule) required(attested []Fact, now time.Time) (found []*Fact, lacks string) {
	slots := slices.Clone(r.AllOf)
	if r.AnyOf != nil {
		slots = append(slots, r.AnyOf.Signers...)
	}
	for i := range r.Require {
		f, why := r.Require[i].met(attested, slots, now)
		if f == nil {
			return nil, why
		}
		found = append(found, f)
	}
	return found, ""
}

// fits reports whether the fact fills the slot at that time.
func (slot *Slot) fits(f *Fact, now time.Time) bool {
	from, to := now, now
	switch {
	case slot.PublicKey != nil:
		if f.Identity != nil || f.KeyID == "" || f.KeyID != slot.PublicKey.key.ID {
			return false
		}
	case slot.Keyless != nil:
		if f.Identity == nil || !slot.Keyless.matches(*f.Identity) || !f.Assurance.covers(slot.Keyless.wants()) ||
			f.From.IsZero() || f.To.IsZero() {
			return false
		}
		from, to = f.From, f.To
	default:
		return false
	}
	return (slot.NotBefore.IsZero() || !from.Before(slot.NotBefore)) &&
		(slot.NotAfter.IsZero() || to.Before(slot.NotAfter))
}

// String names the slot for people.
func (slot *Slot) String() string {
	switch {
	case slot.Name != "":
		return slot.Name
	case slot.PublicKey != nil:
		return "key:" + slot.PublicKey.key.ID
	case slot.Keyless != nil:
		return "identity:" + slot.Keyless.Subject.String()
	}
	return "?"
}

// KeyID returns the id of the slot's key, or "".
func (slot *Slot) KeyID() string {
	if slot.PublicKey == nil {
		return ""
	}
	return slot.PublicKey.key.ID
}

// exceeded returns why the rule does not vouch for the hook, or "".
func (l *Limits) exceeded(manifest *Manifest) string {
	if len(l.Hooks)+len(l.Capabilities)+len(l.Phases) == 0 && l.Capabilities == nil && l.MinimumVersion == "" {
		return ""
	}
	if manifest == nil {
		return "the rule is limited, and the hook has no manifest to hold against it"
	}
	if l.Hooks != nil &&
		!slices.ContainsFunc(l.Hooks, func(pattern string) bool { return nameMatches(pattern, manifest.Name) }) {
		return "it does not vouch for hooks named " + manifest.Name
	}
	if l.Capabilities != nil {
		for _, w := range manifest.Capabilities {
			want, err := ParseCapability(w.Name)
			if err != nil ||
				!slices.ContainsFunc(l.Capabilities, func(s string) bool {
					c, err := ParseCapability(s)
					return err == nil && c.covers(want)
				}) {
				return "it does not vouch for the capability " + w.Name
			}
		}
	}
	if l.Phases != nil {
		for _, ph := range manifest.Phases {
			if !slices.Contains(l.Phases, ph) {
				return "it does not vouch for the phase " + string(ph)
			}
		}
	}
	if l.MinimumVersion != "" &&
		(!semver.IsValid("v"+manifest.Version) || semver.Compare("v"+manifest.Version, "v"+l.MinimumVersion) < 0) {
		return fmt.Sprintf("it vouches for versions from %s on, and this is %s", l.MinimumVersion, manifest.Version)
	}
	return ""
}

func nameMatches(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/**"); ok {
		// The pattern names the first parts; the rest is free.
		n := strings.Count(dir, "/") + 1
		parts := strings.SplitN(name, "/", n+1)
		if len(parts) != n+1 {
			return false
		}
		ok, err := path.Match(dir, strings.Join(parts[:n], "/"))
		return err == nil && ok
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

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

// Evaluate decides about a file with the digest sha256:<hex> and the manifest m. facts
// are the findings of a verifier in its evidence. Their order does not matter, and a
// fact that is listed twice counts once.
func (p *Policy) Evaluate(digest string, m *Manifest, facts []Fact, now time.Time) Decision {
	d := Decision{Tier: phases.Sandboxed, Policy: p.digest, Rules: []RuleOutcome{}, Evidence: []EvidenceOutcome{},
		Until: p.NextChange(now)}
	var problems []*Error
	revoked := ""
	good := map[string][]Fact{}  // approvals, by signer
	var attested []Fact          // other statements
	outcomes := map[string]int{} // of those: where they stand in the list, by key
	for _, f := range sorted(facts) {
		o := EvidenceOutcome{Source: f.Source, Kind: f.Kind, Signer: f.Signer(), Signature: f.Signature,
			Why: "the signature holds"}
		if f.Statement != nil {
			o.Predicate = phases.SafeLine(f.Statement.PredicateType, 200)
		}
		if f.Problem == nil && o.Signer == "" {
			f.Problem = &Error{Class: SignatureInvalid, Text: "it names no signer"}
		}
		why := ""
		if f.Problem == nil {
			why = p.Deny.signer(&f)
		}
		switch {
		case f.Problem != nil:
			o.Code, o.Why = codeOf(f.Problem), f.Problem.Text
			problems = append(problems, f.Problem)
		case why != "":
			o.Code, o.Why, revoked = Revoked, why, why
		case !f.approves():
			o.Code, o.Why = NotAnApproval,
				"the signature holds; what it says is no approval, and counts only where a rule requires it"
			attested = append(attested, f)
			outcomes[f.key()] = len(d.Evidence)
		default:
			good[o.Signer] = append(good[o.Signer], f)
		}
		d.Evidence = append(d.Evidence, o)
	}
	partial, outside, lacking := "", "", ""
	for i := range p.Rules {
		r := &p.Rules[i]
		o := r.evaluate(m, good, attested, now)
		d.Rules = append(d.Rules, o.RuleOutcome)
		switch {
		case o.Satisfied && d.Rule == "":
			d.Rule, d.Signers = r.Name, o.Counted
			for _, f := range o.required {
				e := &d.Evidence[outcomes[f.key()]]
				e.Code, e.Why = "", "the statement says what rule "+r.Name+" requires"
			}
		case o.lacking && lacking == "":
			lacking = fmt.Sprintf("rule %s: %s", r.Name, o.Why)
		case o.outside && len(o.Counted) > 0:
			outside = fmt.Sprintf("rule %s: %s", r.Name, o.Why)
		case !o.Satisfied && len(o.Counted) > 0 && partial == "":
			partial = fmt.Sprintf("rule %s: %s", r.Name, o.Why)
		}
	}
	if slices.Contains(p.Deny.Digests, digest) {
		d.Rule, d.Signers = "", nil
		return d.refuse(Revoked, "the file "+digest+" is on the deny list", nil)
	}
	if d.Rule != "" {
		d.Tier, d.Why = phases.Trusted, "rule "+d.Rule+" is satisfied"
		return d
	}
	worst := func(c Code) *Error {
		if i := slices.IndexFunc(problems, func(e *Error) bool { return codeOf(e) == c }); i >= 0 {
			return problems[i]
		}
		return nil
	}
	switch {
	case revoked != "":
		return d.refuse(Revoked, revoked, nil)
	case len(facts) == 0:
		return d.refuse(Unsigned, "nothing vouches for it", nil)
	case lacking != "":
		return d.refuse(AttestationMissing, lacking, nil)
	case partial != "":
		return d.refuse(ThresholdNotMet, partial, nil)
	case outside != "":
		return d.refuse(SignerNotTrusted, outside, nil)
	}
	for _, c := range []Code{SignatureInvalid, RootMissing} {
		if e := worst(c); e != nil {
			return d.refuse(c, e.Text, e)
		}
	}
	switch e := worst(SignerNotTrusted); {
	case len(p.Rules) == 0 && (e != nil || len(good) > 0):
		return d.refuse(SignerNotTrusted, "the trust policy has no rules: it trusts no signer", nil)
	case len(good) > 0:
		var names []string
		for s := range good {
			names = append(names, s)
		}
		slices.Sort(names)
		return d.refuse(SignerNotTrusted, "no rule has a seat for "+clipTo(strings.Join(names, ", "), 300), nil)
	case e != nil:
		return d.refuse(SignerNotTrusted, e.Text, e)
	case len(problems) == 0:
		return d.refuse(NotAnApproval, "there are statements about it, and no signature that approves it", nil)
	}
	e := problems[0]
	return d.refuse(codeOf(e), e.Text, e)
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

	required []*Fact // the statements that it requires
}

func (r *Rule) evaluate(m *Manifest, good map[string][]Fact, attested []Fact, now time.Time) ruleOutcome {
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
	o := ruleOutcome{RuleOutcome: RuleOutcome{Rule: r.Name, Need: need, Counted: []string{}}}
	var empty []string
	all, some := 0, 0
	for i, s := range taken {
		switch {
		case s >= 0 && i < len(r.AllOf):
			all++
			o.Counted = append(o.Counted, signers[s])
		case s >= 0:
			some++
			o.Counted = append(o.Counted, signers[s])
		case i < len(r.AllOf):
			empty = append(empty, slots[i].String())
		}
	}
	filled := all == len(r.AllOf) && (r.AnyOf == nil || some >= r.AnyOf.MinimumMatches)
	required, lacks := r.required(attested, now)
	switch why := r.Limits.exceeded(m); {
	case why != "":
		o.outside, o.Why = true, why
	case filled && lacks != "":
		o.lacking, o.Why = true, lacks
	case filled:
		o.required = required
		o.Satisfied, o.Why = true, fmt.Sprintf("%d of %d signers", len(o.Counted), need)
	default:
		o.Why = fmt.Sprintf("%d of %d signers", all+min(some, need-len(r.AllOf)), need)
		if len(empty) > 0 {
			o.Why += "; missing " + clipTo(strings.Join(empty, ", "), 300)
		}
	}
	return o
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
func (l *Limits) exceeded(m *Manifest) string {
	if len(l.Hooks)+len(l.Capabilities)+len(l.Phases) == 0 && l.Capabilities == nil && l.MinimumVersion == "" {
		return ""
	}
	if m == nil {
		return "the rule is limited, and the hook has no manifest to hold against it"
	}
	if l.Hooks != nil && !slices.ContainsFunc(l.Hooks, func(pattern string) bool { return nameMatches(pattern, m.Name) }) {
		return "it does not vouch for hooks named " + m.Name
	}
	if l.Capabilities != nil {
		for _, w := range m.Capabilities {
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
		for _, ph := range m.Phases {
			if !slices.Contains(l.Phases, ph) {
				return "it does not vouch for the phase " + string(ph)
			}
		}
	}
	if l.MinimumVersion != "" &&
		(!semver.IsValid("v"+m.Version) || semver.Compare("v"+m.Version, "v"+l.MinimumVersion) < 0) {
		return fmt.Sprintf("it vouches for versions from %s on, and this is %s", l.MinimumVersion, m.Version)
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

package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/belay-hooks/belay/phases"
)

var (
	ruleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[a-z0-9][a-z0-9._-]{0,63}\z`) })
	metaKey  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\z`) })
)

// checkHead checks what is not of one rule, before the rules are looked at.
func (f *File) checkHead(rules int) error {
	switch {
	case f.Version != Version:
		return f.doc.Errorf("/version", "must be %s", Version)
	case f.Name != "" && !ruleName().MatchString(f.Name):
		return f.doc.Errorf("/name", "a name is lower-case letters, digits, - . _, at most 64 bytes")
	case len(f.Description) > maxText:
		return f.doc.Errorf("/description", "longer than %d bytes", maxText)
	case f.CannotTell != "" && f.CannotTell != "ask" && f.CannotTell != "block":
		return f.doc.Errorf("/cannot_tell", "must be ask or block")
	case rules == 0:
		return f.doc.Errorf("/rules", "has no rule")
	case rules > MaxRules:
		return f.doc.Errorf(fmt.Sprintf("/rules/%d", MaxRules), "at most %d rules", MaxRules)
	}
	return nil
}

// check returns the faults of the rules that could be decoded: of each rule, as many as do not follow from each other.
func (f *File) check() (faults []error) {
	names, limits, whole := map[string]string{}, 0, true
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.faulty {
			whole = false
			continue
		}
		if len(faults) > maxFaults {
			return faults
		}
		before, taken := names[r.Name]
		switch {
		case !ruleName().MatchString(r.Name):
			faults = append(faults,
				f.doc.Errorf(r.at+"/name", "a name is lower-case letters, digits, - . _, at most 64 bytes"))
		case taken:
			faults = append(faults,
				f.doc.Errorf(r.at+"/name", "line %d has a rule named %s, too", f.doc.Line(before), r.Name))
		default:
			names[r.Name] = r.at + "/name"
		}
		faults = append(faults, f.checkRule(r)...)
		if r.answer == answerLimit {
			if limits++; limits == maxLimits+1 {
				faults = append(faults, f.doc.Errorf(r.at+"/limit", "at most %d rules of a file have a limit", maxLimits))
			}
		}
	}
	if len(faults) > 0 || !whole {
		return faults
	}
	places := map[string]bool{}
	for i := range f.Rules {
		r := &f.Rules[i]
		for _, ptr := range r.textsAt() {
			places[ptr] = true
		}
		if len(places) > maxPlaces {
			return []error{f.doc.Errorf(r.at, "at most %d different places of texts in a file", maxPlaces)}
		}
	}
	for name, values := range f.configs() {
		if len(values) > maxList {
			return []error{f.doc.Errorf("/rules", "ask about more than %d values of the member %s of config", maxList, name)}
		}
	}
	if len(f.configs()) > maxConfigs {
		return []error{f.doc.Errorf("/rules", "ask about more than %d members of config", maxConfigs)}
	}
	return f.checkTogether()
}

func (f *File) checkRule(r *Rule) (faults []error) {
	add := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	found := r.answers()
	switch {
	case len(found) == 0:
		add(f.doc.Errorf(r.at, "has no answer: one of block, ask, annotate, limit, require_lease, require_stage, "+
			"redact, default, fix and scopes, with what it says"))
	case len(found) > 1:
		add(f.doc.Errorf(r.at+"/"+found[1].String(), "a rule has one answer, and %s is another", found[0]))
	default:
		r.answer = found[0]
	}
	if err := f.checkPhases(r); err != nil {
		return append(faults, err) // what it matches and answers depends on them
	}
	if r.CannotTell != "" && r.CannotTell != "ask" && r.CannotTell != "block" {
		add(f.doc.Errorf(r.at+"/cannot_tell", "must be ask or block"))
	}
	if r.When == nil {
		return append(faults, f.doc.Errorf(r.at, "when is missing: {} matches every action of the phase"))
	}
	add(f.checkMatch(r, r.When, r.at+"/when"))
	if r.Unless != nil {
		add(f.checkUnless(r))
	}
	if r.answer != 0 {
		add(f.checkAnswer(r))
	}
	return faults
}

// cannotTell is the answer where it cannot be told whether the rule applies.
func (f *File) cannotTell(r *Rule) string { return cmp.Or(r.CannotTell, f.CannotTell, "ask") }

func (f *File) checkPhases(r *Rule) error {
	if r.Phase == nil {
		r.phases = []phases.Phase{phases.PreTool}
		return nil
	}
	if len(r.Phase) == 0 {
		return f.doc.Errorf(r.at+"/phase", "lists no phase")
	}
	for _, name := range r.Phase {
		p := phases.Phase(name)
		switch {
		case !p.Valid():
			return f.doc.Errorf(r.at+"/phase", "%q is not a phase", name)
		case p == phases.Audit:
			return f.doc.Errorf(r.at+"/phase", "rules cannot be about audit, where nothing is decided")
		case slices.Contains(r.phases, p):
			return f.doc.Errorf(r.at+"/phase", "%s is listed twice", name)
		}
		r.phases = append(r.phases, p)
	}
	order := phases.Phases()
	slices.SortFunc(r.phases, func(a, b phases.Phase) int {
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	return nil
}

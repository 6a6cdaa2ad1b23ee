package phases

import (
	"slices"
	"strings"
)

// refusedText begins each text about a refused effect. Recordings made before it had more words end after it.
const refusedText = "a hook asked for something that it may not do"

// IsRefusal reports whether two texts are about a refused effect, the one with and the other without its details.
func IsRefusal(before, after string) bool {
	return (before == refusedText || before == "the"+refusedText[1:]) && strings.HasPrefix(after, before+": ")
}

// explain adds to the refusal of an effect in which phase it was, and what would have been legal there.
func explain(err error, rules Rules, by Actor, effect Effect) error {
	if e, ok := err.(*effectProblem); ok { //nolint:errorlint // made here, never wrapped
		e.phase, e.legal = rules.Phase, legal(rules, by, effect)
	}
	return err
}

// legal says what an effect of that kind could have been in the phase, for an author.
func legal(rules Rules, by Actor, effect Effect) string {
	switch {
	case !rules.Legal(effect.Kind):
		return LegalIn(rules.Phase)
	case !by.granted(effect.Kind):
		return "grant " + effect.Kind.Capability() + " to the binding, and list it in the manifest"
	case effect.Kind == EffectRewrite:
		var places []string
		for _, r := range rules.Rewrite {
			text := r.Pointer
			if r.Subset {
				text += " (entries may only be dropped)"
			}
			if !slices.ContainsFunc(by.Rewrite, func(g string) bool {
				return Covers(r.Pointer, g) || !r.Explicit && Covers(g, r.Pointer)
			}) {
				text += " (with the capability rewrite:" + r.Pointer + ")"
			}
			places = append(places, text)
		}
		return "legal here: a rewrite at or below " + orNothing(places) + mutator(rules, by)
	case effect.Kind == EffectRedact:
		return "legal here: a redaction at or below " + orNothing(rules.Redact) + mutator(rules, by)
	case effect.Kind == EffectClamp:
		return strings.TrimPrefix(mutator(rules, by), "; ")
	}
	return ""
}

// LegalIn says which effects the phase permits, for an author.
func LegalIn(p Phase) string {
	rules := RulesFor(p)
	var kinds []string
	for _, k := range EffectKinds() {
		if rules.Legal(k) {
			kinds = append(kinds, string(k))
		}
	}
	return "legal here: " + orNothing(kinds)
}

// mutator says what a hook lacks that may not change the action.
func mutator(rules Rules, by Actor) string {
	if by.Mutator || rules.Phase == Audit {
		return ""
	}
	return "; a hook changes something in " + string(rules.Phase) + " only if its manifest lists it under `mutates`"
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

package fuzz

import "fmt"

// weaker reports whether the second run of a pair restricts an agent less. A block that becomes a
// question is not weaker when the hook says that it asks because it cannot tell: nothing is let
// through, and its policy may want that.
func weaker(base, varied *result) bool {
	return base.decided() && varied.decided() && varied.strength() < base.strength() && !varied.unsure()
}

func outcomes(base, varied *result) string {
	name := func(r *result) string {
		if r.strength() == 1 {
			return "changed"
		}
		return string(r.verdict.Decision)
	}
	return name(base) + " became " + name(varied)
}

// padding makes the input longer.
func (f *fuzzer) padding(e *entry, v variant, size int) *job {
	vary := padded(v)
	return &job{make: func() attempt { return attempt{plan: vary(e.plan, size)} }, look: func(_ *plan, res *result) error {
		if weaker(e.res, res) {
			key := fmt.Sprintf("%s|%s|%s|%d", ClassEvasion, e.plan.inv.Phase, v.name, e.res.strength())
			f.report(verdictOn{ClassEvasion, key, outcomes(e.res, res) + " with " + v.name}, v.name,
				&repro{base: e.plan, vary: vary, param: size, holds: weaker})
		}
		return nil
	}}
}

// equivalent writes the same JSON in another way.
func (f *fuzzer) equivalent(e *entry, name string, form func(int) style, seed int) *job {
	vary := rewritten(form)
	other := func(base, varied *result) bool {
		return base.decided() && varied.decided() &&
			(varied.strength() != base.strength() || varied.verdict.Decision != base.verdict.Decision)
	}
	return &job{make: func() attempt { return attempt{plan: vary(e.plan, seed)} }, look: func(_ *plan, res *result) error {
		if other(e.res, res) {
			key := fmt.Sprintf("%s|%s|%s", ClassFlip, e.plan.inv.Phase, name)
			f.report(verdictOn{ClassFlip, key, outcomes(e.res, res) + " with " + name}, name, &repro{
				base: e.plan, param: 0, holds: other, vary: func(p *plan, _ int) *plan { return vary(p, seed) },
			})
		}
		return nil
	}}
}

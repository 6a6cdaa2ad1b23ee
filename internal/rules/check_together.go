package rules

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// checkTogether compares rules that match the same actions.
func (f *File) checkTogether() (faults []error) {
	limits := map[string][]*Rule{}                   // by what they match
	type place struct{ match, kind, pointer string } // that rules set
	set := map[place]*Rule{}
	for i := range f.Rules {
		r := &f.Rules[i]
		switch r.answer {
		case answerLimit:
			key := r.canonical()
			for _, other := range limits[key] { // of maxLimits
				if err := f.limitsContradict(other, r); err != nil {
					faults = append(faults, err)
					break
				}
			}
			limits[key] = append(limits[key], r)
		case answerDefault, answerFix:
			values, match := r.rewrites(), r.canonical()
			for _, ptr := range slices.Sorted(maps.Keys(values)) {
				at := place{match, r.answer.String(), ptr}
				other := set[at]
				if other == nil {
					set[at] = r
				} else if canonicalJSON(other.rewrites()[ptr]) != canonicalJSON(values[ptr]) {
					faults = append(faults, f.doc.Errorf(phases.Join(r.at+"/"+r.answer.String(), ptr),
						"contradicts the rule %s in line %d, which matches the same actions", other.Name, f.doc.Line(other.at)))
					break
				}
			}
		}
		if len(faults) > maxFaults {
			break
		}
	}
	return faults
}

func (f *File) limitsContradict(a, b *Rule) error {
	at := b.at + "/" + b.answer.String()
	line := f.doc.Line(a.at)
	x, _ := a.Limit.parse() // checked before
	y, _ := b.Limit.parse()
	if x.by != y.by {
		return nil
	}
	switch {
	case x.window == y.window:
		return f.doc.Errorf(at, "contradicts the limit of %s in line %d: the same actions, window and subject", a.Name, line)
	case x.window > y.window && x.count <= y.count, y.window > x.window && y.count <= x.count:
		long, short := a, b
		if y.window > x.window {
			long, short = b, a
		}
		return f.doc.Errorf(at,
			"contradicts the limit in line %d: %s lets at most %d pass in %s, so that %d in %s is never reached",
			line, long.Name, *long.Limit.Count, long.Limit.Per, *short.Limit.Count, short.Limit.Per)
	}
	return nil
}

// canonical is the same for rules that match the same actions.
func (r *Rule) canonical() string {
	b, err := json.Marshal([]any{r.phases, r.When, r.Unless}, json.Deterministic(true))
	if err != nil {
		return r.Name
	}
	return string(b)
}

func canonicalJSON(v jsontext.Value) string {
	c := v.Clone()
	if err := c.Canonicalize(); err != nil {
		return string(v)
	}
	return string(c)
}

package rules

import "slices"

// answer is the kind of a rule's answer, as the engine numbers them.
type answer uint32

const (
	answerBlock    answer = 1
	answerAsk      answer = 2
	answerAnnotate answer = 3
	answerLimit    answer = 5
	answerLease    answer = 6
	answerStage    answer = 7
	answerRedact   answer = 8
	answerDefault  answer = 9
	answerFix      answer = 10
	answerScopes   answer = 11
)

func (a answer) String() string {
	return map[answer]string{answerBlock: "block", answerAsk: "ask", answerAnnotate: "annotate", answerLimit: "limit",
		answerLease: "require_lease", answerStage: "require_stage", answerRedact: "redact", answerDefault: "default",
		answerFix: "fix", answerScopes: "scopes"}[a]
}

// changes reports whether the answer changes the action, so that it belongs to a mutator.
func (a answer) changes() bool {
	return slices.Contains([]answer{answerRedact, answerDefault, answerFix, answerScopes}, a)
}

// restricts reports whether the answer can only make less happen.
func (a answer) restricts() bool {
	return !slices.Contains([]answer{answerAnnotate, answerDefault, answerFix}, a)
}

// answers returns the kinds that the rule names.
func (r *Rule) answers() []answer {
	var out []answer
	add := func(is bool, a answer) {
		if is {
			out = append(out, a)
		}
	}
	add(r.Block != "", answerBlock)
	add(r.Ask != "", answerAsk)
	add(r.Annotate != nil, answerAnnotate)
	add(r.Limit != nil, answerLimit)
	add(r.RequireLease != nil, answerLease)
	add(r.RequireStage != nil, answerStage)
	add(r.Redact != nil, answerRedact)
	add(r.Default != nil, answerDefault)
	add(r.Fix != nil, answerFix)
	add(r.Scopes != nil, answerScopes)
	return out
}

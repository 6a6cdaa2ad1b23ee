package rules

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// Traced says of one rule how far it applies to an action.
type Traced struct {
	Rule       string            `json:"rule"`
	Answer     string            `json:"answer,omitzero"`
	Missing    int               `json:"missing"` // conditions of when that do not hold: 0 or 1
	Exempt     bool              `json:"exempt"`  // unless exempts the action
	Conditions []TracedCondition `json:"conditions"`
}

// TracedCondition is one condition of a rule.
type TracedCondition struct {
	Is     string `json:"is"`     // the member of when or unless
	Unless bool   `json:"unless"` // it belongs to unless
	Holds  string `json:"holds"`  // yes, no or cannot tell
	Why    string `json:"why,omitzero"`
}

// Applies says whether the rule applies: yes, no or cannot tell.
func (t *Traced) Applies() string {
	if t.Missing > 0 || t.Exempt {
		return "no"
	}
	for _, c := range t.Conditions {
		if !c.Unless && c.Holds == "cannot tell" {
			return c.Holds
		}
	}
	return "yes"
}

// ReadTrace reads what a module of BuildTrace has logged: the rules that apply, and those
// that one condition keeps from it.
func (f *File) ReadTrace(logs []string) ([]Traced, error) {
	answers := map[string]string{}
	for i := range f.Rules {
		answers[f.Rules[i].Name] = f.Rules[i].answer.String()
	}
	var out []Traced
	for _, line := range logs {
		var some []Traced
		if err := json.Unmarshal([]byte(line), &some, json.RejectUnknownMembers(true)); err != nil {
			return nil, fmt.Errorf("the trace of the rules cannot be read: %w", err)
		}
		for _, t := range some {
			t.Answer = answers[t.Rule]
			out = append(out, t)
		}
	}
	return out, nil
}

package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// manifest says what the hook of a part is and asks for: what its rules need.
func (f *File) manifest(p Part, rules []*Rule) *tiers.Manifest {
	m := &tiers.Manifest{ABI: tiers.ABI, Name: f.HookName(p), Version: "1.0.0",
		Description: cmp.Or(f.Description, "Rules without code, compiled by belay rules build."),
		Budget:      tiers.Budget{Fuel: 500_000_000}}
	for _, phase := range engagedPhases() {
		if slices.ContainsFunc(rules, func(r *Rule) bool { return slices.Contains(r.phases, phase) }) {
			m.Phases = append(m.Phases, phase)
		}
	}
	m.ConfigSchema = f.configSchema()
	if p == Changes {
		m.Mutates = slices.Clone(m.Phases)
	}
	var order []string
	by := map[string][]string{}
	want := func(name string, r *Rule) {
		if by[name] == nil {
			order = append(order, name)
		}
		if list := by[name]; len(list) == 0 || list[len(list)-1] != r.Name {
			by[name] = append(list, r.Name)
		}
	}
	sorted := slices.Clone(rules)
	slices.SortFunc(sorted, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	for _, r := range sorted {
		for _, c := range r.needs(f.cannotTell(r)) {
			want(c, r)
		}
	}
	slices.Sort(order)
	for _, name := range order {
		m.Capabilities = append(m.Capabilities, tiers.WantedCapability{Name: name, Reason: reason(by[name])})
	}
	return m
}

func reason(rules []string) string {
	const named = 3
	if len(rules) == 1 {
		return "for the rule " + rules[0]
	}
	if len(rules) <= named {
		return "for the rules " + strings.Join(rules, ", ")
	}
	return fmt.Sprintf("for the rules %s and %d more", strings.Join(rules[:named], ", "), len(rules)-named)
}

// needs returns the capabilities that the rule needs.
func (r *Rule) needs(cannotTell string) []string {
	var out []string
	m := r.When
	paths, hosts := m.Path != nil, m.Host != nil || m.HostNot != nil
	texts := m.Text != nil || r.answer == answerRedact
	if m.Command != nil || paths || hosts {
		out = append(out, "shell_parse")
	}
	if paths {
		out = append(out, "path_resolve")
	}
	if paths || texts {
		out = append(out, "pattern_match")
	}
	doubt := m.Command != nil || paths || hosts || m.Text != nil || m.Branch != nil || m.Repository != nil || m.Time != nil
	asks := r.answer == answerAsk || doubt && cannotTell != "block"
	out = append(out, "block")
	otherwise := ""
	switch r.answer {
	case answerAnnotate:
		out, asks = append(out, "annotate"), false
	case answerLimit:
		out, otherwise = append(out, "state_get", "state_put"), r.Limit.Answer
	case answerLease:
		out, otherwise = append(out, "check_lease"), r.RequireLease.Answer
	case answerStage:
		otherwise = r.RequireStage.Answer
	case answerRedact, answerFix, answerDefault:
		out = append(out, r.rewriteGrants()...)
		asks = asks && r.answer != answerDefault
	case answerScopes:
		out, asks = append(out, "clamp_scopes"), false
	}
	if asks || otherwise == "ask" {
		if slices.ContainsFunc(r.phases, func(p phases.Phase) bool { return phases.RulesFor(p).Ask }) {
			out = append(out, "request_approval")
		}
	}
	return out
}

// rewriteGrants are the places that the rule may change.
func (r *Rule) rewriteGrants() []string {
	var out []string
	for _, p := range r.phases {
		var at Texts
		if r.answer == answerRedact {
			at = r.Redact.where(p)
		} else {
			for ptr := range r.rewrites() {
				at = append(at, ptr)
			}
		}
		for _, ptr := range at {
			for _, rule := range phases.RulesFor(p).Rewrite {
				if grant := "rewrite:" + rule.Pointer; phases.Covers(rule.Pointer, ptr) && !slices.Contains(out, grant) {
					out = append(out, grant)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func scopesJSON(s *phases.Scopes) string {
	b, err := json.Marshal(s, json.Deterministic(true))
	if err != nil {
		return "{}"
	}
	return string(b)
}

// compact is a value as the engine writes it: without blanks.
func compact(v jsontext.Value) string {
	c := v.Clone()
	if err := c.Compact(); err != nil {
		return string(v)
	}
	return string(c)
}

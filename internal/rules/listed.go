package rules

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// Listed is what a built module says about its rules.
type Listed struct {
	Format int     `json:"format"` // 1
	Source string  `json:"source"` // sha256:<hex> of the rules file
	Part   string  `json:"part"`   // judges or changes
	Rules  []Entry `json:"rules"`  // by name
}

// Entry is one rule of a built module.
type Entry struct {
	Name   string         `json:"name"`
	Phases []phases.Phase `json:"phases"`
	Answer string         `json:"answer"`
}

func (f *File) listed(p Part, rules []*Rule) *Listed {
	l := &Listed{Format: 1, Source: f.source, Part: p.String()}
	for _, r := range rules {
		l.Rules = append(l.Rules, Entry{Name: r.Name, Phases: r.phases, Answer: r.answer.String()})
	}
	slices.SortFunc(l.Rules, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return l
}

// ReadListed returns what a module says about its rules; nil when it has none.
func ReadListed(module []byte) *Listed {
	m, err := wasm.Parse(module, wasm.DefaultLimits())
	if err != nil {
		return nil
	}
	for _, c := range m.Customs {
		if c.Name == Section {
			var l Listed
			if json.Unmarshal(c.Payload, &l, json.RejectUnknownMembers(true)) == nil && l.Format == 1 {
				return &l
			}
		}
	}
	return nil
}

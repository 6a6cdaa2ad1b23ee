package config

import (
	"fmt"

	"github.com/belay-hooks/belay/internal/redact"
)

// Pattern is a form of secrets that the operator names.
type Pattern struct {
	Name     string   `json:"name"`           // the kind in placeholders: a-z 0-9 _ -
	Regex    string   `json:"regex"`          // RE2
	Keywords []string `json:"keywords"`       // one of them stands near by, in any case; lower case here
	Group    int      `json:"group,omitzero"` // of the expression: the secret; default: all that matches
}

// Redact returns the pattern as the detector takes it.
func (p *Pattern) Redact() redact.Pattern {
	return redact.Pattern{Name: p.Name, Regex: p.Regex, Keywords: p.Keywords, Group: p.Group}
}

// maxPatterns bounds the patterns of belay.yaml; a rule file may have more.
const maxPatterns = 128

// validatePatterns checks a list, whose names are no others of those that are taken.
func validatePatterns(c checker, place string, list []Pattern, names map[string]bool) error {
	if len(list) > maxPatterns {
		return c.errorf(place, "at most %d", maxPatterns)
	}
	for i := range list {
		at := fmt.Sprintf("%s/%d", place, i)
		if names[list[i].Name] {
			return c.errorf(at+"/name", "there is another pattern of that name")
		}
		names[list[i].Name] = true
		if len(list[i].Keywords) == 0 {
			return c.errorf(at, "a pattern needs keywords: texts of which one stands wherever it matches")
		}
		for n, k := range list[i].Keywords {
			if len(k) < 3 {
				return c.errorf(fmt.Sprintf("%s/keywords/%d", at, n), "a keyword has at least 3 bytes")
			}
		}
		p := list[i].Redact()
		if err := p.Check(); err != nil {
			return c.errorf(at, "%v", err)
		}
	}
	return nil
}

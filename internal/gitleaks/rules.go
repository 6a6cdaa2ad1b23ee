// Package gitleaks reads rule files of the gitleaks scanner (TOML) as patterns of
// secrets. It decides what of a rule means something for a text that stands in no
// file and no commit; it never looks for secrets itself.
package gitleaks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/belay-hooks/belay/internal/redact"
)

// MaxBytes is the size of the largest rule file.
const MaxBytes = 2 << 20

// ErrRules is the class of this package's errors.
var ErrRules = errors.New("gitleaks rules that cannot be used")

type file struct {
	Title       string `toml:"title"`
	Description string `toml:"description"`
	MinVersion  string `toml:"minVersion"`
	Extend      *struct {
		Path          string   `toml:"path"`
		URL           string   `toml:"url"`
		UseDefault    bool     `toml:"useDefault"`
		DisabledRules []string `toml:"disabledRules"`
	} `toml:"extend"`
	Rules      []rule      `toml:"rules"`
	Allowlist  *allowlist  `toml:"allowlist"` // the older form of one
	Allowlists []allowlist `toml:"allowlists"`
}

type rule struct {
	ID          string      `toml:"id"`
	Description string      `toml:"description"`
	Path        string      `toml:"path"`
	Regex       string      `toml:"regex"`
	SecretGroup int         `toml:"secretGroup"`
	Entropy     float64     `toml:"entropy"`
	Keywords    []string    `toml:"keywords"`
	Tags        []string    `toml:"tags"`
	SkipReport  bool        `toml:"skipReport"`
	Allowlist   *allowlist  `toml:"allowlist"`
	Allowlists  []allowlist `toml:"allowlists"`
	Required    []struct {
		ID            string `toml:"id"`
		WithinLines   *int   `toml:"withinLines"`
		WithinColumns *int   `toml:"withinColumns"`
	} `toml:"required"`
}

type allowlist struct {
	Description string   `toml:"description"`
	Condition   string   `toml:"condition"` // OR (default), AND
	Commits     []string `toml:"commits"`
	Paths       []string `toml:"paths"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	Stopwords   []string `toml:"stopwords"`
	TargetRules []string `toml:"targetRules"`
}

// Parse reads a rule file. Rules about names of files alone say nothing about a
// text and are left out, as are conditions about files and commits. Errors are of
// class ErrRules and name the rule, or the line.
func Parse(raw []byte) ([]redact.Pattern, error) {
	if len(raw) > MaxBytes {
		return nil, fail("the file has more than %d bytes", MaxBytes)
	}
	var f file
	if err := toml.NewDecoder(strings.NewReader(string(raw))).DisallowUnknownFields().Decode(&f); err != nil {
		return nil, fail("%s", explain(err))
	}
	if f.Extend != nil {
		return nil, fail("it extends other rules; give a file that has all of them")
	}
	global := f.Allowlists
	if f.Allowlist != nil {
		global = append(global, *f.Allowlist)
	}
	ids := map[string]bool{}
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.ID == "" {
			return nil, fail("rule %d has no id", i+1)
		}
		if ids[r.ID] {
			return nil, fail("rule %s: there are two of that id", name(r.ID))
		}
		ids[r.ID] = true
	}
	var out []redact.Pattern
	var from []string // their ids
	for i := range f.Rules {
		r := &f.Rules[i]
		if r.Regex == "" && r.Path != "" {
			continue
		}
		p, err := r.pattern(global)
		if err != nil {
			return nil, fail("rule %s: %v", name(r.ID), err)
		}
		out, from = append(out, p), append(from, r.ID)
	}
	if i, err := redact.CheckPatterns(out); err != nil {
		return nil, fail("rule %s: %v", name(from[i]), err)
	}
	for i := range global {
		for _, id := range global[i].TargetRules {
			if !ids[id] {
				return nil, fail("an allowlist is for the rule %s, which is not there", name(id))
			}
		}
	}
	if len(out) == 0 {
		return nil, fail("there is no rule with an expression")
	}
	if len(out) > redact.MaxPatterns {
		return nil, fail("there are more than %d rules", redact.MaxPatterns)
	}
	return out, nil
}

func (r *rule) pattern(global []allowlist) (redact.Pattern, error) {
	p := redact.Pattern{Name: kind(r.ID), Regex: r.Regex, Group: r.SecretGroup, FirstGroup: true, Entropy: r.Entropy}
	if len(r.Required) > 0 || r.SkipReport {
		// It counts beside other rules only: what such a part matches alone is no secret.
		return p, errors.New("rules made of several (required, skipReport) are not supported")
	}
	if r.SecretGroup < 0 || r.Entropy < 0 || r.Entropy > 8 {
		return p, errors.New("secretGroup or entropy is out of range")
	}
	for _, k := range r.Keywords {
		p.Keywords = append(p.Keywords, strings.ToLower(k))
	}
	lists := r.Allowlists
	if r.Allowlist != nil {
		lists = append(lists, *r.Allowlist)
	}
	for i := range lists {
		if len(lists[i].TargetRules) > 0 {
			return p, errors.New("targetRules belongs to an allowlist of the whole file")
		}
	}
	for _, g := range global {
		if len(g.TargetRules) == 0 || contains(g.TargetRules, r.ID) {
			lists = append(lists, g)
		}
	}
	for i := range lists {
		a, ok, err := lists[i].allowed()
		if err != nil {
			return p, err
		}
		if ok {
			p.Allowed = append(p.Allowed, a)
		}
	}
	return p, nil
}

// allowed returns what an allowlist means for a text. Conditions about files and
// commits never hold there: where all have to hold, the list allows nothing.
func (a *allowlist) allowed() (redact.Allowed, bool, error) {
	out := redact.Allowed{Regexes: a.Regexes, Target: a.RegexTarget, Stopwords: a.Stopwords}
	switch strings.ToUpper(a.Condition) {
	case "", "OR", "||":
	case "AND", "&&":
		out.All = true
		if len(a.Paths)+len(a.Commits) > 0 {
			return out, false, nil
		}
	default:
		return out, false, fmt.Errorf("an allowlist has the condition %s; there are OR and AND", name(a.Condition))
	}
	return out, len(a.Regexes)+len(a.Stopwords) > 0, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// kind makes the kind of a placeholder of a rule's id.
func kind(id string) string {
	k := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r | 32
		}
		return '-'
	}, id)
	return strings.TrimRight(k[:min(len(k), redact.MaxPatternName)], "-_")
}

func fail(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRules, fmt.Sprintf(format, args...))
}

// name is an id that stands in an error.
func name(id string) string { return fmt.Sprintf("%.80q", id) }

// explain says where a file could not be decoded.
func explain(err error) string {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, column := strict.Errors[0].Position()
		return fmt.Sprintf("line %d, column %d: there is no member %s", row, column,
			name(strings.Join(strict.Errors[0].Key(), ".")))
	}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		row, column := decode.Position()
		return fmt.Sprintf("line %d, column %d: %.200s", row, column, decode.Error())
	}
	return fmt.Sprintf("%.200s", err.Error())
}

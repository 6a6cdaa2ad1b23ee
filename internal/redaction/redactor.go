// Package redaction decides what of a state directory's records counts as secret: what
// the detector of package redact finds, and what belay.yaml names, masks or removes. It
// never decides what an action comes to.
package redaction

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/gitleaks"
	"github.com/belay-hooks/belay/internal/readfile"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Redactor is the detector with the operator's masks. It is safe for concurrent
// use: Use swaps its rules.
type Redactor struct {
	current atomic.Pointer[pair]
}

// pair is the two that a configuration makes: one for logged actions, and one
// for texts that hooks write and read again (reasons, metadata, state), which
// profile strict leaves to the detector, for hashed it would be of no use.
type pair struct{ actions, rest *redact.Redactor }

// New makes the Redactor of a configuration. key makes placeholders; what the
// configuration names is read now, relative to dir. The error names its place in
// belay.yaml.
func New(dir string, key []byte, f *config.File) (*Redactor, error) {
	made, err := newPair(dir, key, f)
	if err != nil {
		return nil, err
	}
	r := new(Redactor)
	r.current.Store(made)
	return r, nil
}

func newPair(dir string, key []byte, f *config.File) (*pair, error) {
	exact, err := exactSecrets(dir, f.Redact.Secrets)
	if err != nil {
		return nil, err
	}
	c := redact.Config{Key: key, KeyNames: f.Redact.Keys, Exact: exact}
	if c.Patterns, err = redactPatterns(dir, &f.Redact); err != nil {
		return nil, err
	}
	for _, m := range f.Redact.Masks {
		place := "/action" + m.Path // records hold the action as a member
		if m.How == config.MaskRemove {
			c.Removals = append(c.Removals, place)
		} else {
			c.Masks = append(c.Masks, place)
		}
	}
	made := new(pair)
	if made.rest, err = redact.New(c); err != nil {
		return nil, err
	}
	made.actions = made.rest
	if f.Redact.Profile == string(redact.Strict) {
		c.Profile = redact.Strict
		// what events say of themselves anyway
		c.Allow = []string{"/phase", "/id", "/runtime", "/session", "/agent", "/run", "/action/tool", "/effects/*/kind",
			"/effects/*/path", "/effects/*/label"}
		for _, p := range f.Redact.Allow {
			c.Allow = append(c.Allow, "/action"+p)
		}
		if made.actions, err = redact.New(c); err != nil {
			return nil, err
		}
	}
	return made, nil
}

// exactSecrets reads what the configuration names. One that cannot be read is an
// error: it would not be redacted.
func exactSecrets(dir string, names []string) ([]string, error) {
	var out []string
	for i, n := range names {
		kind, rest, _ := strings.Cut(n, ":")
		value := os.Getenv(rest)
		if kind == "file" {
			raw, err := readfile.All(statedir.Inside(dir, rest), 64<<10)
			if err != nil {
				return nil, fmt.Errorf("/redact/secrets/%d: %w", i, err)
			}
			value = strings.TrimRight(string(raw), "\r\n")
		}
		if len(value) < redact.MinExact {
			return nil, fmt.Errorf("/redact/secrets/%d: %s has fewer than %d bytes", i, n, redact.MinExact)
		}
		out = append(out, value)
	}
	return out, nil
}

// redactPatterns returns the patterns that the configuration writes down or names.
func redactPatterns(dir string, r *config.Redact) (out []redact.Pattern, err error) {
	if r.Gitleaks != "" {
		raw, err := readfile.All(statedir.Inside(dir, r.Gitleaks), gitleaks.MaxBytes)
		if err != nil {
			return nil, fmt.Errorf("/redact/gitleaks: %w", err)
		}
		if out, err = gitleaks.Parse(raw); err != nil {
			return nil, fmt.Errorf("/redact/gitleaks: %s: %w", r.Gitleaks, err)
		}
	}
	for i := range r.Patterns {
		out = append(out, r.Patterns[i].Redact())
	}
	return out, nil
}

// Use takes what another Redactor does.
func (r *Redactor) Use(from *Redactor) { r.current.Store(from.current.Load()) }

// JSON implements kernel.Redactor.
func (r *Redactor) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	return r.current.Load().forDocument(raw).JSON(raw)
}

func (r *pair) forDocument(raw jsontext.Value) *redact.Redactor {
	for _, member := range []string{"/action", "/effects"} {
		if _, ok := phases.Get(raw, member); ok {
			return r.actions
		}
	}
	return r.rest
}

// Text implements kernel.Redactor.
func (r *Redactor) Text(s string) (string, error) {
	redacted, _ := r.current.Load().rest.Text(s)
	return redacted, nil
}

// Line redacts a line that is logged. It returns "" when it cannot.
func (r *Redactor) Line(s string) string {
	redacted, err := r.Text(s)
	if err != nil {
		return ""
	}
	return redacted
}

// Remember returns a redactor for one invocation.
func (r *Redactor) Remember() kernel.Memory {
	return &remembering{r: r.current.Load(), record: redact.NewRecord()}
}

// remembering redacts the records of one invocation.
type remembering struct {
	r      *pair
	record *redact.Record
}

// JSON implements kernel.Redactor.
func (m *remembering) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	return m.record.JSON(m.r.forDocument(raw), raw)
}

// Text implements kernel.Redactor.
func (m *remembering) Text(s string) (string, error) {
	covered, _ := m.record.Text(m.r.rest, s)
	return covered, nil
}

// Removed implements audit.Cutting.
func (m *remembering) Removed(cuts []redact.Cut) { m.record.Removed(m.r.rest, cuts) }

// JSONCut implements audit.Cutting.
func (m *remembering) JSONCut(raw jsontext.Value, cuts []redact.Cut) (jsontext.Value, []string, error) {
	return m.record.JSONCut(m.r.forDocument(raw), raw, cuts)
}

// Known implements kernel.Memory.
func (m *remembering) Known() int { return m.record.Known() }

var (
	_ audit.Remembering = (*Redactor)(nil)
	_ audit.Cutting     = (*remembering)(nil)
)

// Of returns the redactor of actions in this state directory,
// by its key and configuration. It opens and makes nothing else; the directory
// must have been set up. Errors are of class config.ErrUnusable or
// statedir.ErrUnusable.
func Of(dir string) (*redact.Redactor, error) {
	key, err := statedir.ReadKey(statedir.Key(statedir.Keys(dir), "redact"))
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	src, err := readfile.All(filepath.Join(dir, config.FileName), 4<<20)
	if err != nil {
		return nil, statedir.Unusable("config", err)
	}
	f, err := config.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	made, err := newPair(dir, key, f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	return made.actions, nil
}

// Refusal returns r with its names and its fault's text redacted as dir is
// configured. If the configuration cannot be read, r stays as it is: the next
// Open redacts the record.
func Refusal(dir string, r kernel.Refusal) kernel.Refusal {
	red, err := Of(dir)
	if err != nil {
		return r
	}
	for _, name := range [...]*string{&r.Invocation.Runtime, &r.Invocation.Session} {
		*name, _ = red.Text(*name)
	}
	if r.Fault != nil {
		text, _ := red.Text(r.Fault.Text)
		r.Fault = phases.NewFault(r.Fault.Kind, text, nil)
	}
	return r
}

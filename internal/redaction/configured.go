// Package redaction decides what of a state directory's records counts as secret: what
// the detector of package redact finds, and what belay.yaml names, masks or removes. It
// makes an audit.Detector of that, which redacts; it never decides what an action comes to.
package redaction

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/gitleaks"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// New makes the detector of a configuration. key makes placeholders; what the
// configuration names is read now, relative to dir. The error names its place in
// belay.yaml.
func New(dir string, key []byte, f *config.File) (*audit.Detector, error) {
	exact, err := exactSecrets(dir, f.Redact.Secrets)
	if err != nil {
		return nil, err
	}
	c := redact.Config{Key: key, KeyNames: f.Redact.Keys, Exact: exact}
	if c.Patterns, err = redactPatterns(dir, &f.Redact); err != nil {
		return nil, err
	}
	addMasks(&c, f.Redact.Masks)
	stored, err := redact.New(c)
	if err != nil {
		return nil, err
	}
	rest := stored
	if more := &f.Redact.Recorded; len(more.Masks)+len(more.Keys)+len(more.Patterns) > 0 {
		c.Masks, c.Removals = slices.Clone(c.Masks), slices.Clone(c.Removals)
		addMasks(&c, more.Masks)
		c.KeyNames, c.Patterns = slices.Concat(c.KeyNames, more.Keys), slices.Clone(c.Patterns)
		for i := range more.Patterns {
			c.Patterns = append(c.Patterns, more.Patterns[i].Redact())
		}
		if rest, err = redact.New(c); err != nil {
			return nil, err
		}
	}
	actions := rest
	if f.Redact.Profile == string(redact.Strict) {
		c.Profile = redact.Strict
		// what events say of themselves anyway
		c.Allow = []string{"/phase", "/id", "/runtime", "/session", "/agent", "/run", "/action/tool", "/effects/*/kind",
			"/effects/*/path", "/effects/*/label"}
		for _, p := range f.Redact.Allow {
			c.Allow = append(c.Allow, "/action"+p)
		}
		if actions, err = redact.New(c); err != nil {
			return nil, err
		}
	}
	return audit.NewDetector(actions, rest).Storing(stored), nil
}

// addMasks adds masks of actions, which records hold as a member.
func addMasks(c *redact.Config, masks []config.Mask) {
	for _, m := range masks {
		if m.How == config.MaskRemove {
			c.Removals = append(c.Removals, "/action"+m.Path)
		} else {
			c.Masks = append(c.Masks, "/action"+m.Path)
		}
	}
}

// exactSecrets reads what the configuration names. One that cannot be read is an
// error: it would not be redacted.
func exactSecrets(dir string, names []string) ([]string, error) {
	var out []string
	for i, n := range names {
		kind, rest, _ := strings.Cut(n, ":")
		value := os.Getenv(rest)
		if kind == "file" {
			raw, err := files.Read(statedir.Inside(dir, rest), 64<<10)
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
		raw, err := files.Read(statedir.Inside(dir, r.Gitleaks), gitleaks.MaxBytes)
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

var _ kernel.Remembering = (*audit.Detector)(nil)

// Of returns the redactor of actions in this state directory,
// by its key and configuration. It opens and makes nothing else; the directory
// must have been set up. Errors are of class config.ErrUnusable or
// statedir.ErrUnusable.
func Of(dir string) (*redact.Redactor, error) {
	d, err := detector(dir)
	if err != nil {
		return nil, err
	}
	return d.Actions(), nil
}

func detector(dir string) (*audit.Detector, error) {
	key, err := statedir.ReadKey(statedir.Key(statedir.Keys(dir), "redact"))
	if err != nil {
		return nil, statedir.Unusable("keys", err)
	}
	src, err := files.Read(filepath.Join(dir, config.FileName), 4<<20)
	if err != nil {
		return nil, statedir.Unusable("config", err)
	}
	f, err := config.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	made, err := New(dir, key, f)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, err)
	}
	return made, nil
}

// Refusal returns r with its names and its fault's text redacted as dir is
// configured. If the configuration cannot be read, r stays as it is: the next
// Open redacts the record.
func Refusal(dir string, r kernel.Refusal) kernel.Refusal {
	d, err := detector(dir)
	if err != nil {
		return r
	}
	names := d.Stored() // as the kernel redacts them: a latch is found again by them
	for _, name := range [...]*string{&r.Invocation.Runtime, &r.Invocation.Session} {
		*name, _ = names.Text(*name)
	}
	if r.Fault != nil {
		text, _ := d.Actions().Text(r.Fault.Text)
		r.Fault = phases.NewFault(r.Fault.Kind, text, nil)
	}
	return r
}

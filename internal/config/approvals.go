package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/yamledit"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// Approvals bound the queue of what people decide.
type Approvals struct {
	// such as 10m: how long a question waits, and an approval can be used; 1s…24h; default 10m
	Timeout string `json:"timeout,omitzero"`
	Quota   int    `json:"quota,omitzero"` // undecided questions of one agent, 1…1000; default 20
	// while there is no reviewer, decisions count without a signature: the agent can make them, too
	Unsigned bool `json:"unsigned,omitzero"`
}

// Reviewer is a person whose decisions count.
type Reviewer struct {
	Name string `json:"name"`
	Key  string `json:"key"` // ed25519:BASE64
}

// SingleUser are opt-ins for a person who works alone.
type SingleUser struct {
	AutoAccept bool `json:"auto_accept,omitzero"` // proposed hooks that can only restrict are accepted without a person
}

func (a *Approvals) validate(c checker, at string) error {
	if a.Timeout != "" {
		if d, err := time.ParseDuration(a.Timeout); err != nil || d < time.Second || d > queue.MaxTimeout {
			return c.errorf(at+"/timeout", "is a duration such as 10m, from 1s to %v", queue.MaxTimeout)
		}
	}
	if a.Quota < 0 || a.Quota > queue.MaxQuota {
		return c.errorf(at+"/quota", "must be between 1 and %d", queue.MaxQuota)
	}
	return nil
}

// Settings returns the bounds as the kernel takes them. Preconditions: the file was parsed.
func (a *Approvals) Settings() approvals.Settings {
	d, _ := time.ParseDuration(a.Timeout) // "" and 0 mean the default
	return approvals.Settings{Timeout: d, Quota: a.Quota, Unsigned: a.Unsigned}
}

func validateReviewers(c checker, list []Reviewer) error {
	names, keys := map[string]bool{}, map[string]bool{}
	for i, r := range list {
		at := fmt.Sprintf("/reviewers/%d", i)
		if !isBindingName(r.Name) {
			return c.errorf(at+"/name", "a name is lower-case letters, digits, - . _, at most 64 bytes")
		}
		if _, err := queue.ParseReviewerKey(r.Key); err != nil {
			return c.errorf(at+"/key", "%v", err)
		}
		if names[r.Name] || keys[r.Key] {
			return c.errorf(at, "this name or key is listed twice")
		}
		names[r.Name], keys[r.Key] = true, true
	}
	return nil
}

// Authorities returns the reviewers as the kernel takes them. Preconditions: the file was parsed.
func (f *File) Authorities() []approvals.Reviewer {
	var out []approvals.Reviewer
	for _, r := range f.Reviewers {
		if k, err := queue.ParseReviewerKey(r.Key); err == nil {
			out = append(out, approvals.Reviewer{Name: r.Name, Key: k})
		}
	}
	return out
}

// AddReviewer returns the file with the reviewer appended.
func AddReviewer(src []byte, r Reviewer) ([]byte, error) {
	return edit(src, func(*File) ([]byte, error) {
		j, err := json.Marshal(r)
		if err != nil {
			return nil, &Error{Reason: "the reviewer cannot be written", Cause: err}
		}
		return yamledit.Append(src, yamledit.Path{"reviewers"}, j)
	})
}

// RemoveReviewer returns the file without the named reviewer.
func RemoveReviewer(src []byte, name string) ([]byte, error) {
	return edit(src, func(f *File) ([]byte, error) {
		i := slices.IndexFunc(f.Reviewers, func(r Reviewer) bool { return r.Name == name })
		if i < 0 {
			return nil, &Error{Reason: fmt.Sprintf("there is no reviewer %q", name)}
		}
		return yamledit.Remove(src, yamledit.Path{"reviewers", i})
	})
}

// MayRegister reports whether a file that cannot be read as a configuration could be
// one that registers a reviewer: a person's verbs are refused then.
func MayRegister(src []byte) bool { return bytes.Contains(src, []byte("reviewers")) }

// ReviewersKnown refuses a person's verb while belay.yaml cannot be used (bad is of class
// ErrUnusable) and may register a reviewer. The error is bad.
func ReviewersKnown(dir string, bad error) error {
	if !errors.Is(bad, ErrUnusable) {
		return nil
	}
	src, err := ReadFile(dir)
	if err != nil || MayRegister(src) {
		return bad
	}
	return nil
}

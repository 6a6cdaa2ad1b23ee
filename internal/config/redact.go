package config

import (
	"fmt"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// maxSecrets bounds the list of secrets that are covered exactly.
const maxSecrets = 1024

func (r *Redact) validate(c checker) error {
	switch r.Profile {
	case "", "standard", "strict":
	default:
		return c.errorf("/redact/profile", "must be standard or strict")
	}
	if len(r.Allow) > 0 && r.Profile != "strict" {
		return c.errorf("/redact/allow", "means something with profile: strict only")
	}
	for i, p := range r.Allow {
		if p == "" || phases.CheckPointer(p) != nil {
			return c.errorf(fmt.Sprintf("/redact/allow/%d", i), "must be a JSON Pointer such as /args/command")
		}
	}
	if len(r.Secrets) > maxSecrets {
		return c.errorf("/redact/secrets", "at most %d", maxSecrets)
	}
	for i, s := range r.Secrets {
		kind, rest, _ := strings.Cut(s, ":")
		if kind != "env" && kind != "file" || rest == "" || kind == "env" && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			return c.errorf(fmt.Sprintf("/redact/secrets/%d", i), "must be env:NAME or file:PATH") // not repeated: it may be a secret itself
		}
	}
	return nil
}

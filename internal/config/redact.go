package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// maxSecrets bounds the list of secrets that are covered exactly.
const maxSecrets = 1024

// Mask names a part of an action that is never logged, and how it is left out:
// a JSON Pointer alone, or {path: POINTER, how: hash or remove}.
type Mask struct {
	Path string `json:"path"` // JSON Pointer into the action; * stands for one member or element
	How  string `json:"how"`  // MaskHash or MaskRemove
}

// What a mask does: leave a placeholder with a keyed hash, or nothing.
const (
	MaskHash   = "hash"
	MaskRemove = "remove"
)

// errMask is what a mask of another type is.
var errMask = errors.New("a mask is a JSON Pointer such as /args/token, or {path: /args/token, how: remove}")

// UnmarshalJSONFrom decodes either form.
func (m *Mask) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '"':
		m.How = MaskHash
		return json.UnmarshalDecode(dec, &m.Path)
	case '{':
		type plain Mask
		p := plain{How: MaskHash}
		if err := json.UnmarshalDecode(dec, &p); err != nil {
			return err
		}
		*m = Mask(p)
		return nil
	}
	return errMask
}

func (m *Mask) validate(c checker, at string) error {
	if m.Path == "" || phases.CheckPointer(m.Path) != nil {
		return c.errorf(at, "%v", errMask)
	}
	if m.How != MaskHash && m.How != MaskRemove {
		return c.errorf(at+"/how", "must be %s or %s", MaskHash, MaskRemove)
	}
	return nil
}

func validateKeys(c checker, place string, list []string) error {
	for i, k := range list {
		if k == "" || len(k) > 128 {
			return c.errorf(fmt.Sprintf("%s/%d", place, i), "a key is a member's name of at most 128 bytes")
		}
	}
	return nil
}

func (r *Redact) validate(c checker) error {
	for i := range r.Masks {
		if err := r.Masks[i].validate(c, fmt.Sprintf("/redact/masks/%d", i)); err != nil {
			return err
		}
	}
	for i := range r.Recorded.Masks {
		if err := r.Recorded.Masks[i].validate(c, fmt.Sprintf("/redact/recorded/masks/%d", i)); err != nil {
			return err
		}
	}
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
	if err := validateKeys(c, "/redact/keys", r.Keys); err != nil {
		return err
	}
	if err := validateKeys(c, "/redact/recorded/keys", r.Recorded.Keys); err != nil {
		return err
	}
	names := map[string]bool{}
	if err := validatePatterns(c, "/redact/patterns", r.Patterns, names); err != nil {
		return err
	}
	if err := validatePatterns(c, "/redact/recorded/patterns", r.Recorded.Patterns, names); err != nil {
		return err
	}
	if len(r.Secrets) > maxSecrets {
		return c.errorf("/redact/secrets", "at most %d", maxSecrets)
	}
	for i, s := range r.Secrets {
		kind, rest, _ := strings.Cut(s, ":")
		if kind != "env" && kind != "file" || rest == "" || kind == "env" &&
			strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			// not repeated: it may be a secret itself
			return c.errorf(fmt.Sprintf("/redact/secrets/%d", i), "must be env:NAME or file:PATH")
		}
	}
	return nil
}

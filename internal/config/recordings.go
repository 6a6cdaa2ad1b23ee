package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// Recordings is the operator's policy to keep full inputs: everything that actions
// were decided from, originals and no redacted records, so that it can be run again.
// Without it nothing of the kind is kept.
type Recordings struct {
	Dir        string   `json:"dir"`                 // absolute, and not in the state directory
	Recipients []string `json:"recipients,omitzero"` // age1…: who can open the recordings; needed, unless UnsafePlaintext
	// UnsafePlaintext writes originals, secrets included, without sealing them.
	UnsafePlaintext bool           `json:"unsafe_plaintext,omitzero"`
	Phases          []phases.Phase `json:"phases,omitzero"` // default: all
	// RE2, unanchored, in phases that are about tools; default: all
	Tools string `json:"tools,omitzero"`
	// such as 15m: a file is ended after so long; 1s…24h; default 15m
	Rotate    string `json:"rotate,omitzero"`
	RotateMiB int64  `json:"rotate_mib,omitzero"` // a file is ended at this size; 1…4096; default 64
	// such as 30d or 12h: older recordings are removed; 1m…3650d; default 30d
	Keep string `json:"keep,omitzero"`
	// of the directory: the oldest is removed; at least twice rotate_mib, at most 16777216; default 1024
	MaxMiB int64 `json:"max_mib,omitzero"`
	// drop (default): what cannot be kept is counted, reported, and goes on; block: nothing goes on
	OnError string `json:"on_error,omitzero"`
}

// What Recordings says when it says nothing.
const (
	defaultRotate    = 15 * time.Minute
	defaultRotateMiB = 64
	defaultKeep      = 30 * 24 * time.Hour
	defaultMaxMiB    = 1024
)

const (
	maxRotateMiB  = 4096
	maxKept       = 3650 * 24 * time.Hour
	maxKeptMiB    = 16 << 20
	maxRecipients = 32

	maxRecipientBytes = 4096 // those for hybrid keys have about 2000
)

// OnErrorBlock is Recordings.OnError of those who would rather do nothing than not keep it.
const OnErrorBlock = "block"

// An age recipient is bech32; whether its checksum holds says who seals with it.
var recipientForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\Aage1[02-9ac-hj-np-z]{20,}\z`) })

func (r *Recordings) validate(c checker, at string) error {
	switch {
	case r.Dir == "":
		return c.errorf(at+"/dir", "is missing: where recordings are kept, outside the state directory")
	case !filepath.IsAbs(r.Dir):
		return c.errorf(at+"/dir", "must be an absolute path")
	case len(r.Recipients) == 0 && !r.UnsafePlaintext:
		return c.errorf(at+"/recipients",
			"is missing: what is kept holds originals, secrets included; say who can open it (age1…, from `belay record keygen FILE`)")
	case len(r.Recipients) > 0 && r.UnsafePlaintext:
		return c.errorf(at+"/unsafe_plaintext", "contradicts recipients: what is sealed is not in plain text")
	case len(r.Recipients) > maxRecipients:
		return c.errorf(at+"/recipients", "at most %d", maxRecipients)
	}
	for i, to := range r.Recipients {
		here := fmt.Sprintf("%s/recipients/%d", at, i)
		if strings.HasPrefix(to, "AGE-SECRET-KEY-") {
			return c.errorf(here,
				"is a secret key: every reader of this file could open every recording; take it out and make a new one (`belay record keygen FILE` prints the age1… that belongs here)")
		}
		if len(to) > maxRecipientBytes || !recipientForm().MatchString(to) {
			return c.errorf(here, "is no age recipient (age1…)")
		}
		if slices.Contains(r.Recipients[:i], to) {
			return c.errorf(here, "listed twice")
		}
	}
	if r.Phases != nil && len(r.Phases) == 0 {
		return c.errorf(at+"/phases", "lists no phase: leave it out for all, or take recordings out to keep nothing")
	}
	for i, p := range r.Phases {
		if !p.Valid() {
			return c.errorf(fmt.Sprintf("%s/phases/%d", at, i), "%q is not a phase", string(p))
		}
		if slices.Contains(r.Phases[:i], p) {
			return c.errorf(fmt.Sprintf("%s/phases/%d", at, i), "listed twice")
		}
	}
	if _, err := regexp.Compile(r.Tools); err != nil {
		return c.errorf(at+"/tools", "not an RE2 pattern")
	}
	return r.validateBounds(c, at)
}

func (r *Recordings) validateBounds(c checker, at string) error {
	if d, err := time.ParseDuration(r.Rotate); r.Rotate != "" && (err != nil || d < time.Second || d > 24*time.Hour) {
		return c.errorf(at+"/rotate", "is a duration such as 15m, from 1s to 24h")
	}
	if d, err := days(r.Keep); r.Keep != "" && (err != nil || d < time.Minute || d > maxKept) {
		return c.errorf(at+"/keep", "is a time such as 30d or 12h, from 1m to 3650d")
	}
	if r.RotateMiB < 0 || r.RotateMiB > maxRotateMiB {
		return c.errorf(at+"/rotate_mib", "must be between 1 and %d", maxRotateMiB)
	}
	if r.MaxMiB < 0 || r.MaxMiB > maxKeptMiB {
		return c.errorf(at+"/max_mib", "must be between 2 and %d", maxKeptMiB)
	}
	if s := r.Settings(); s.MaxBytes < 2*s.RotateBytes {
		return c.errorf(at+"/max_mib",
			"must be at least twice rotate_mib (%d), so that something stays while a new file is written", s.RotateBytes>>20)
	}
	switch r.OnError {
	case "", "drop", OnErrorBlock:
		return nil
	}
	return c.errorf(at+"/on_error", "must be drop or block")
}

// RecordingSettings are the bounds of Recordings with the defaults filled in.
type RecordingSettings struct {
	Rotate      time.Duration
	RotateBytes int64
	Keep        time.Duration
	MaxBytes    int64
}

// Settings returns the bounds. Preconditions: the file was parsed.
func (r *Recordings) Settings() RecordingSettings {
	s := RecordingSettings{Rotate: defaultRotate, RotateBytes: defaultRotateMiB << 20, Keep: defaultKeep,
		MaxBytes: defaultMaxMiB << 20}
	if d, err := time.ParseDuration(r.Rotate); err == nil {
		s.Rotate = d
	}
	if d, err := days(r.Keep); err == nil {
		s.Keep = d
	}
	if r.RotateMiB > 0 {
		s.RotateBytes = r.RotateMiB << 20
	}
	if r.MaxMiB > 0 {
		s.MaxBytes = r.MaxMiB << 20
	}
	return s
}

// days reads a duration that may be counted in days.
func days(s string) (time.Duration, error) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		v, err := strconv.ParseUint(n, 10, 12)
		return time.Duration(v) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

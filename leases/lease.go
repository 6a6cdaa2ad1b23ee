package leases

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/belay-hooks/belay/phases"
)

// State says how a lease stands.
type State string

const (
	Active    State = "active"
	Exhausted State = "exhausted" // every use is used
	Expired   State = "expired"   // never stored: it follows from the clocks
	Revoked   State = "revoked"
)

// Holder is who may use a lease: exactly this agent of this session. Session and
// Agent are claims of the caller; Credential is proved.
type Holder struct {
	Runtime    string `json:"runtime,omitzero"`
	Session    string `json:"session,omitzero"`
	Agent      string `json:"agent,omitzero"`
	Credential string `json:"credential,omitzero"` // of a lease: "" admits every credential
}

// Allows reports whether the caller who may use a lease that h holds.
func (h Holder) Allows(who Holder) bool {
	return h.Runtime == who.Runtime && h.Session == who.Session && h.Agent == who.Agent &&
		(h.Credential == "" || h.Credential == who.Credential)
}

// HolderOf returns the holder that an invocation names, with the credential that came with it.
func HolderOf(inv phases.Invocation, credential string) Holder {
	return Holder{Runtime: inv.Runtime, Session: inv.Session, Agent: inv.Agent, Credential: credential}
}

// Issuer says who made a lease.
type Issuer struct {
	Kind       string `json:"kind"`                // hook, person, rule, or spawn (passed on to a child agent)
	Hook       string `json:"hook,omitzero"`       // binding name
	Digest     string `json:"digest,omitzero"`     // of the hook's file
	Signer     string `json:"signer,omitzero"`     // who signed it
	Invocation string `json:"invocation,omitzero"` // in which it was made
	Person     string `json:"person,omitzero"`
}

// Kinds of issuers.
const (
	ByHook   = "hook"
	ByPerson = "person"
	ByRule   = "rule"
	BySpawn  = "spawn"
)

// Lease is one lease. Its id is path-like, and the id of a child lies below its
// parent's, so that everything below an id can be taken back at once.
type Lease struct {
	ID         string    `json:"id"`
	Holder     Holder    `json:"holder"`
	Capability string    `json:"capability"` // NS:NAME or NS:*
	Scope      Scope     `json:"scope"`
	NotBefore  time.Time `json:"not_before"`
	ExpiresAt  time.Time `json:"expires_at"`
	MaxTTLS    int64     `json:"max_ttl_s"` // seconds between not_before and the latest end that renewing may give
	MaxUses    int64     `json:"max_uses"`
	Uses       int64     `json:"uses"`
	Parent     string    `json:"parent,omitzero"`
	Depth      int       `json:"depth,omitzero"` // leases above it
	Issuer     Issuer    `json:"issuer"`
	State      State     `json:"state"`
	Created    time.Time `json:"created"`

	// On the boot that Boot names, CLOCK_BOOTTIME decides: from BootFrom until
	// BootUntil. "" means that the host has no such clock.
	Boot      string        `json:"-"`
	BootFrom  time.Duration `json:"-"`
	BootUntil time.Duration `json:"-"`

	Token []byte `json:"-"` // keyed hash of the token
}

// Clone returns a copy. A change of the copy never changes the lease.
func (l Lease) Clone() Lease {
	l.Scope = l.Scope.Clone()
	l.Token = append([]byte{}, l.Token...)
	return l
}

// sameBoot reports whether CLOCK_BOOTTIME decides.
func (l *Lease) sameBoot(at Instant) bool { return l.Boot != "" && l.Boot == at.Boot }

// ended reports whether the lease's time is up. at.High must be set.
func (l *Lease) ended(at Instant) bool {
	if l.sameBoot(at) {
		return at.Since >= l.BootUntil
	}
	return !at.Latest().Before(l.ExpiresAt)
}

// begun reports whether its time has come.
func (l *Lease) begun(at Instant) bool {
	if l.sameBoot(at) {
		return at.Since >= l.BootFrom
	}
	return !at.Wall.Before(l.NotBefore)
}

// Remaining returns how long the lease still lasts; 0 when it is over.
func (l *Lease) Remaining(at Instant) time.Duration {
	d := l.ExpiresAt.Sub(at.Latest())
	if l.sameBoot(at) {
		d = l.BootUntil - at.Since
	}
	return max(d, 0)
}

// Usable reports whether this lease itself, its parents apart, can be claimed.
func (l *Lease) Usable(at Instant) bool {
	return l.State == Active && l.Uses < l.MaxUses && l.begun(at) && !l.ended(at)
}

// StateAt returns the state with the clocks looked at.
func (l *Lease) StateAt(at Instant) State {
	if l.State == Active && l.ended(at) {
		return Expired
	}
	return l.State
}

// containedIn says why the lease is not contained in p in some dimension, or "".
func (l *Lease) containedIn(parent *Lease) string {
	switch {
	case !covers(parent.Capability, l.Capability):
		return "the capability is not the parent's"
	case !parent.Scope.Contains(l.Scope):
		return "the scope goes beyond the parent's"
	case l.MaxUses > parent.MaxUses-parent.Uses:
		return "more uses than the parent has left"
	case l.NotBefore.Before(parent.NotBefore):
		return "it would begin before the parent"
	case l.ExpiresAt.After(parent.ExpiresAt):
		return "it would outlive the parent"
	case l.MaxTTLS > parent.MaxTTLS:
		return "a longer max_ttl than the parent's"
	case l.Depth != parent.Depth+1 || l.Depth > MaxDepth:
		return "too many leases above it"
	case !Below(parent.ID, l.ID):
		return "its id does not lie below the parent's"
	case parent.Holder.Runtime != l.Holder.Runtime || parent.Holder.Credential != l.Holder.Credential:
		return "another runtime's or another credential's agent"
	}
	return ""
}

// covers reports whether the capability pattern have covers want.
func covers(have, want string) bool {
	return phases.Scope{have}.Contains(phases.ScopeTool, phases.Scope{want})
}

// CoversCapability reports whether the lease lends the capability.
func (l *Lease) CoversCapability(want string) bool { return covers(l.Capability, want) }

// checkCapability returns why c is no capability: NS:NAME or NS:*.
func checkCapability(c string) string {
	if c == "" || len(c) > phases.MaxIDBytes {
		return "a capability has 1 to 256 bytes"
	}
	if err := (phases.Scope{c}).Validate(phases.ScopeTool); err != nil || !plain(c) {
		return "a capability is NS:NAME or NS:*, without blanks"
	}
	if c != "spawn" && !strings.Contains(c, ":") {
		return "a capability is NS:NAME or NS:*, such as tool:exec"
	}
	return ""
}

// CheckCapability says why c is no capability. The error is ErrInvalid.
func CheckCapability(c string) error {
	if reason := checkCapability(c); reason != "" {
		return invalid("capability: " + reason)
	}
	return nil
}

// checkID returns why id is no id: parts of letters, digits and . _ - @ + = joined by /.
func checkID(id string) string {
	if id == "" || len(id) > maxIDBytes {
		return "an id has 1 to 256 bytes"
	}
	n := 0
	for part := range strings.SplitSeq(id, "/") {
		if n++; n > maxSegments {
			return "an id has at most 16 parts"
		}
		if part == "" || part == "." || part == ".." || len(part) > maxSegmentBytes {
			return "a part of an id is empty, . or .., or longer than 64 bytes"
		}
		if strings.ContainsFunc(part, func(r rune) bool { return !idRune(r) }) {
			return "an id has letters, digits and . _ - @ + = only, in parts joined by /"
		}
	}
	return ""
}

func idRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-@+=", r)
}

// Below reports whether id lies below prefix, part by part.
func Below(prefix, id string) bool {
	return len(id) > len(prefix) && id[len(prefix)] == '/' && strings.HasPrefix(id, prefix)
}

// Prefixes returns every id above id, longest first.
func Prefixes(id string) []string {
	var out []string
	for i := len(id) - 1; i > 0; i-- {
		if id[i] == '/' {
			out = append(out, id[:i])
		}
	}
	return out
}

// segment makes one part of an id of a name that may hold anything. Different
// names give different parts.
func segment(name string) string {
	if name != "" && len(name) <= 48 && checkID(name) == "" && !strings.Contains(name, "/") {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	clean := strings.Map(func(r rune) rune {
		if idRune(r) {
			return r
		}
		return '-'
	}, name)
	return strings.Trim(clean[:min(len(clean), 40)], ".") + "-" + hex.EncodeToString(sum[:6])
}

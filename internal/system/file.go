package system

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

// Version is the only version of the format.
const Version = "belay-system/v1"

// Config is system.yaml.
type Config struct {
	Version string `json:"version"`
	// Contact is what a person is told whose agent is blocked because the daemon is away: whom to call. One line of
	// at most 200 bytes.
	Contact string `json:"contact,omitzero"`
	Users   Users  `json:"users,omitzero"`
	// Reviewers says whose signature decides the questions of which user: a user's name, its uid, or "*" for all
	// others, with names of the reviewers in belay.yaml. A user without an entry has none.
	Reviewers map[string][]string `json:"reviewers,omitzero"`
	// AllowState: --state, $BELAY_HOME and deciding without the daemon count for ordinary users, too.
	AllowState bool   `json:"allow_state,omitzero"`
	Limits     Limits `json:"limits,omitzero"`

	Revision string `json:"-"` // sha256:<hex> of the file
}

// Users says who may ask.
type Users struct {
	Allow []string `json:"allow,omitzero"` // names, uids, @groups; default: uids 1000 to 59999
	Max   int      `json:"max,omitzero"`   // users that may have a state directory; 1…4096, default 64
}

// Limits bound what each user takes.
type Limits struct {
	Connections int `json:"connections,omitzero"` // on each socket; 2…4096, default 64
	Running     int `json:"running,omitzero"`     // actions decided at once; 1…256, default 8
	Waiting     int `json:"waiting,omitzero"`     // actions that wait for that; 1…4096, default 64
	StateMiB    int `json:"state_mib,omitzero"`   // of the user's state directory; 16…1048576, default 512
	// IdleMinutes is how long a user's server stays open without a connection; 1…43200, default 60
	IdleMinutes int `json:"idle_minutes,omitzero"`
}

const (
	firstUser = 1000 // where ordinary users begin, and end, on Linux distributions
	lastUser  = 59999

	maxContact = 200
	maxEntries = 1024
	maxName    = 256
)

func defaults() Config {
	return Config{Users: Users{Max: 64}, Limits: Limits{Connections: 64, Running: 8, Waiting: 64, StateMiB: 512,
		IdleMinutes: 60}}
}

// Parse decodes and checks system.yaml. Errors are of class ErrConfig, with the line.
func Parse(src []byte) (*Config, error) {
	doc, err := strictyaml.Parse(src)
	if err != nil {
		return nil, atLine(err)
	}
	c := defaults()
	if err := doc.Decode(&c); err != nil {
		return nil, atLine(err)
	}
	if err := c.validate(doc); err != nil {
		return nil, atLine(err)
	}
	c.Revision = phases.ByteDigest(src)
	return &c, nil
}

func atLine(err error) error {
	out := &Error{Path: ConfigFile, Reason: err.Error(), Class: ErrConfig, Cause: err}
	if e := (*strictyaml.Error)(nil); errors.As(err, &e) {
		out.Line = e.Line
		out.Reason = e.Reason
		if e.Pointer != "" {
			out.Reason = e.Pointer + ": " + e.Reason
		}
	}
	return out
}

func (c *Config) validate(doc *strictyaml.Document) error {
	if c.Version != Version {
		return doc.Errorf("/version", "must be %s", Version)
	}
	if len(c.Contact) > maxContact || strings.ContainsFunc(c.Contact, unicode.IsControl) {
		return doc.Errorf("/contact", "is one line of at most %d bytes", maxContact)
	}
	if doc.Has("/users/allow") && len(c.Users.Allow) == 0 {
		return doc.Errorf("/users/allow", "lists no user: leave it out for all ordinary users, or name one")
	}
	if len(c.Users.Allow) > maxEntries {
		return doc.Errorf("/users/allow", "at most %d", maxEntries)
	}
	for i, name := range c.Users.Allow {
		if !isUser(strings.TrimPrefix(name, "@")) {
			return doc.Errorf(fmt.Sprintf("/users/allow/%d", i), "is a user's name or uid, or a group as @NAME")
		}
	}
	if len(c.Reviewers) > maxEntries {
		return doc.Errorf("/reviewers", "at most %d", maxEntries)
	}
	for user, reviewers := range c.Reviewers {
		at := "/reviewers/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(user)
		if user != "*" && !isUser(user) {
			return doc.Errorf(at, "is a user's name or uid, or *")
		}
		for i, r := range reviewers {
			if r == "" || len(r) > maxName || strings.ContainsFunc(r, unicode.IsControl) {
				return doc.Errorf(fmt.Sprintf("%s/%d", at, i), "is the name of a reviewer in belay.yaml")
			}
		}
	}
	for _, b := range []struct {
		at               string
		value, low, high int
	}{
		{"/users/max", c.Users.Max, 1, 4096},
		{"/limits/connections", c.Limits.Connections, 2, 4096},
		{"/limits/running", c.Limits.Running, 1, 256},
		{"/limits/waiting", c.Limits.Waiting, 1, 4096},
		{"/limits/state_mib", c.Limits.StateMiB, 16, 1 << 20},
		{"/limits/idle_minutes", c.Limits.IdleMinutes, 1, 30 * 24 * 60},
	} {
		if b.value < b.low || b.value > b.high {
			return doc.Errorf(b.at, "must be between %d and %d", b.low, b.high)
		}
	}
	return nil
}

// Idle is how long a user's server stays open without a connection.
func (l Limits) Idle() time.Duration { return time.Duration(l.IdleMinutes) * time.Minute }

// isUser reports whether the text can name a user or group of a Unix system, or is a uid.
func isUser(name string) bool {
	if name == "" || len(name) > maxName || name[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == ':' || r == '/' || r == '*' || unicode.IsControl(r)
	})
}

// uidOf reads a uid in decimal digits.
func uidOf(text string) (uid int, ok bool) {
	n, err := strconv.ParseUint(text, 10, 32)
	return int(n), err == nil && strconv.FormatUint(n, 10) == text
}

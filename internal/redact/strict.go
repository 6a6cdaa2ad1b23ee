package redact

import (
	"strings"
	"time"
)

// Profile says which values are redacted.
type Profile string

// Profiles. Standard redacts what the detector finds and the masks name. Strict
// replaces every string that is not allowed by place (Config.Allow) or harmless
// by its form with a keyed hash; names of members, numbers, true, false and null stay.
const (
	Standard Profile = "standard"
	Strict   Profile = "strict"
)

// plainValue reports a string that says nothing of its own by its form: empty, a
// UUID, a digest with its algorithm, a time of RFC 3339.
func plainValue(s string) bool {
	switch {
	case s == "":
		return true
	case len(s) == 36:
		return uuid(s)
	case strings.HasPrefix(s, "sha256:"):
		return len(s) == 71 && strings.Trim(s[7:], "0123456789abcdef") == ""
	case len(s) >= 20 && len(s) <= 35:
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	}
	return false
}

func uuid36(s string) bool { return len(s) == 36 && uuid(s) }

func uuid(s string) bool {
	for i := 0; i < len(s); i++ {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !inClass(s[i], "h") {
			return false
		}
	}
	return true
}

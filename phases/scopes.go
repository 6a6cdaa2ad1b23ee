package phases

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Scope is a set of prefix patterns of one kind. Only prefix patterns are
// allowed, so that containment and intersection are exact and closed:
//
//   - paths: a clean absolute path, DIR/** (DIR itself and everything below it), or *
//   - net: HOST:PORT where HOST is exact, *.suffix (names below suffix, not suffix itself) or *, and PORT is a
//     number, LOW-HIGH or *; * alone is *:*
//   - tools: an exact name, ns:* (every name that begins with "ns:") or *
//
// A nil Scope means unrestricted, the same as {"*"}; an empty one means
// nothing. A pattern that is not valid allows nothing, and nothing contains it;
// the kinds do not share a syntax, so every operation is told the kind.
type Scope []string

// ScopeKind says what the patterns of a scope are about.
type ScopeKind string

const (
	ScopePath ScopeKind = "path"
	ScopeNet  ScopeKind = "net"
	ScopeTool ScopeKind = "tool"
)

// Scopes is what an action may touch.
type Scopes struct {
	FSRead  Scope `json:"fs_read,omitzero"`
	FSWrite Scope `json:"fs_write,omitzero"`
	Net     Scope `json:"net,omitzero"`
	Tools   Scope `json:"tools,omitzero"`
}

// scopeError says which pattern is not valid; it is of class ErrScope.
type scopeError struct {
	pointer string // into the scopes document, or into the scope
	reason  string
}

// Error returns place and reason.
func (e *scopeError) Error() string { return "scope " + e.pointer + ": " + e.reason }

// Is reports the class ErrScope.
func (e *scopeError) Is(target error) bool { return target == ErrScope }

var errArray = errors.New("a scope is an array of strings")

// UnmarshalJSONFrom decodes an array of strings; null, which would mean
// "unrestricted" by accident, is refused.
func (s *Scope) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return errArray
	}
	list := []string{}
	if err := json.UnmarshalDecode(dec, &list); err != nil {
		return err
	}
	*s = list
	return nil
}

// Validate checks every pattern and their number (at most 256). The error is of class ErrScope, and its text
// begins with the place.
func (s Scope) Validate(k ScopeKind) error {
	if len(s) > maxScopePatterns {
		return &scopeError{"", fmt.Sprintf("more than %d patterns", maxScopePatterns)}
	}
	for i, p := range s {
		if reason := checkPattern(k, p); reason != "" {
			return &scopeError{"/" + strconv.Itoa(i), reason}
		}
	}
	return nil
}

func checkPattern(k ScopeKind, path string) string {
	if path == "" {
		return "the pattern is empty"
	}
	if len(path) > maxPatternBytes {
		return fmt.Sprintf("the pattern is longer than %d bytes", maxPatternBytes)
	}
	var reason string
	switch k {
	case ScopePath:
		_, reason = parsePath(path)
	case ScopeNet:
		_, reason = parseNet(path)
	case ScopeTool:
		_, reason = parseTool(path)
	default:
		reason = "unknown kind of scope"
	}
	return reason
}

// Normalize returns the normal form: invalid and redundant patterns dropped, the
// rest in one spelling, sorted. Two scopes allow the same if and only if their
// normal forms are equal. Unrestricted becomes {"*"}; the result is never nil.
func (s Scope) Normalize(k ScopeKind) Scope {
	if s.everything(k) {
		return Scope{"*"}
	}
	switch k {
	case ScopePath:
		return parsePrefixes(s, parsePath).normal(pathText)
	case ScopeTool:
		return parsePrefixes(s, parseTool).normal(toolText)
	case ScopeNet:
		return parseNets(s).normal()
	}
	return Scope{}
}

// Intersect returns what both allow, in normal form: exact, commutative,
// associative and idempotent.
func (s Scope) Intersect(k ScopeKind, o Scope) Scope {
	if s.everything(k) {
		return o.Normalize(k)
	}
	if o.everything(k) {
		return s.Normalize(k)
	}
	switch k {
	case ScopePath:
		return parsePrefixes(s, parsePath).intersect(parsePrefixes(o, parsePath)).normal(pathText)
	case ScopeTool:
		return parsePrefixes(s, parseTool).intersect(parsePrefixes(o, parseTool)).normal(toolText)
	case ScopeNet:
		return parseNets(s).intersect(parseNets(o)).normal()
	}
	return Scope{}
}

// Contains reports whether s allows everything that o names: no pattern of o
// that is not valid, and no value that o allows and s does not.
func (s Scope) Contains(k ScopeKind, o Scope) bool {
	for _, p := range o {
		if checkPattern(k, p) != "" {
			return false
		}
	}
	if s.everything(k) {
		return true
	}
	switch k {
	case ScopePath:
		return parsePrefixes(s, parsePath).contains(parsePrefixes(o, parsePath))
	case ScopeTool:
		return parsePrefixes(s, parseTool).contains(parsePrefixes(o, parseTool))
	case ScopeNet:
		return parseNets(s).contains(parseNets(o))
	}
	return false
}

// Equal reports whether both allow the same.
func (s Scope) Equal(k ScopeKind, o Scope) bool {
	if (s == nil) == (o == nil) && slices.Equal(s, o) {
		return true
	}
	return slices.Equal(s.Normalize(k), o.Normalize(k))
}

// everything reports a scope that is unrestricted as it is usually written.
func (s Scope) everything(k ScopeKind) bool {
	return (s == nil || len(s) == 1 && s[0] == "*") && (k == ScopePath || k == ScopeNet || k == ScopeTool)
}

// Unrestricted reports whether the scope allows everything of its kind.
func (s Scope) unrestricted(k ScopeKind) bool {
	return s == nil || slices.Equal(s.Normalize(k), Scope{"*"})
}

// each calls f for the four scopes with their kind and member name.
func (s Scopes) each(o Scopes, f func(name string, k ScopeKind, a, b Scope)) {
	f("fs_read", ScopePath, s.FSRead, o.FSRead)
	f("fs_write", ScopePath, s.FSWrite, o.FSWrite)
	f("net", ScopeNet, s.Net, o.Net)
	f("tools", ScopeTool, s.Tools, o.Tools)
}

// Validate checks every scope. The error is of class ErrScope and begins with a pointer such as "/net/2".
func (s Scopes) Validate() error {
	if s.isZero() {
		return nil
	}
	var err error
	s.each(s, func(name string, k ScopeKind, a, _ Scope) {
		var e *scopeError
		if err == nil && errors.As(a.Validate(k), &e) {
			err = &scopeError{"/" + name + e.pointer, e.reason}
		}
	})
	return err
}

// Normalize returns the normal form of each scope; see Scope.Normalize.
func (s Scopes) Normalize() Scopes {
	return Scopes{
		FSRead: s.FSRead.Normalize(ScopePath), FSWrite: s.FSWrite.Normalize(ScopePath),
		Net: s.Net.Normalize(ScopeNet), Tools: s.Tools.Normalize(ScopeTool),
	}
}

// Intersect returns what both allow, in normal form.
func (s Scopes) Intersect(o Scopes) Scopes {
	if s.isZero() && o.isZero() {
		all := []string{"*", "*", "*", "*"} // of one piece, in which each scope ends with its own
		return Scopes{FSRead: all[0:1:1], FSWrite: all[1:2:2], Net: all[2:3:3], Tools: all[3:4:4]}
	}
	return Scopes{
		FSRead: s.FSRead.Intersect(ScopePath, o.FSRead), FSWrite: s.FSWrite.Intersect(ScopePath, o.FSWrite),
		Net: s.Net.Intersect(ScopeNet, o.Net), Tools: s.Tools.Intersect(ScopeTool, o.Tools),
	}
}

// Contains reports whether s allows everything that o names, in each kind.
func (s Scopes) Contains(o Scopes) bool {
	all := true
	s.each(o, func(_ string, k ScopeKind, a, b Scope) { all = all && a.Contains(k, b) })
	return all
}

// Equal reports whether both allow the same, in each kind.
func (s Scopes) Equal(o Scopes) bool {
	all := true
	s.each(o, func(_ string, k ScopeKind, a, b Scope) { all = all && a.Equal(k, b) })
	return all
}

func (s Scopes) isZero() bool {
	return s.FSRead == nil && s.FSWrite == nil && s.Net == nil && s.Tools == nil
}

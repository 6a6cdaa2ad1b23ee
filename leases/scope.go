package leases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"github.com/belay-hooks/belay/phases"
)

// Scope limits a lease in four dimensions. A missing dimension is not
// restricted, an empty one covers nothing. Paths, hosts and tools are prefix
// patterns as in phases.Scope, so that Contains and Narrow are exact and closed.
type Scope struct {
	Paths phases.Scope `json:"paths,omitzero"` // files that a call names, symbolic links followed
	Hosts phases.Scope `json:"hosts,omitzero"` // HOST:PORT
	Tools phases.Scope `json:"tools,omitzero"` // normalised names
	Args  Digests      `json:"args,omitzero"`  // of whole calls; see ArgsDigest
}

// Digests is a set of digests sha256:<hex>; nil or {"*"} means every one.
type Digests []string

var errDigests = errors.New("must be an array of strings")

// UnmarshalJSONFrom decodes an array of strings; null is refused.
func (d *Digests) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' {
		return errDigests
	}
	list := []string{}
	if err := json.UnmarshalDecode(dec, &list); err != nil {
		return err
	}
	*d = list
	return nil
}

func (d Digests) any() bool { return d == nil || slices.Contains(d, "*") }

func (d Digests) normalize() Digests {
	if d.any() {
		return Digests{"*"}
	}
	out := Digests{}
	for _, s := range d {
		if isDigest(s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (d Digests) intersect(o Digests) Digests {
	switch {
	case d.any():
		return o.normalize()
	case o.any():
		return d.normalize()
	}
	return slices.DeleteFunc(d.normalize(), func(s string) bool { return !slices.Contains(o, s) })
}

func (d Digests) contains(o Digests) bool {
	if d.any() {
		return !slices.ContainsFunc(o, func(s string) bool { return s != "*" && !isDigest(s) })
	}
	return !o.any() && !slices.ContainsFunc(o, func(s string) bool { return !isDigest(s) || !slices.Contains(d, s) })
}

func isDigest(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// Validate checks every pattern. The error is ErrInvalid for errors.Is and names the place.
func (s Scope) Validate() error {
	for _, d := range []struct {
		name string
		kind phases.ScopeKind
		list phases.Scope
	}{{"paths", phases.ScopePath, s.Paths}, {"hosts", phases.ScopeNet, s.Hosts}, {"tools", phases.ScopeTool, s.Tools}} {
		if err := d.list.Validate(d.kind); err != nil {
			return invalid("scope: /" + d.name + strings.TrimPrefix(err.Error(), "scope ")) // it begins with the place
		}
		for i, p := range d.list {
			if !plain(p) {
				return invalid(fmt.Sprintf("scope: /%s/%d: characters that cannot be seen, or that look like others", d.name, i))
			}
		}
	}
	if len(s.Args) > maxDigests {
		return invalid(fmt.Sprintf("scope: /args: more than %d digests", maxDigests))
	}
	for i, a := range s.Args {
		if a != "*" && !isDigest(a) {
			return invalid(fmt.Sprintf("scope: /args/%d: not sha256: and 64 hexadecimal digits", i))
		}
	}
	return nil
}

// plain reports whether a reader sees the characters that are compared: s has no
// invisible ones, and none that compatibility forms map to others.
func plain(s string) bool {
	return norm.NFKC.IsNormalString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || unicode.IsSpace(r) && r != ' ' ||
			r == unicode.ReplacementChar
	})
}

// Normalize returns the normal form: two scopes cover the same if and only if
// their normal forms are equal.
func (s Scope) Normalize() Scope {
	return Scope{s.Paths.Normalize(phases.ScopePath), s.Hosts.Normalize(phases.ScopeNet),
		s.Tools.Normalize(phases.ScopeTool), s.Args.normalize()}
}

// Narrow returns what both cover, in normal form: associative, commutative, idempotent.
func (s Scope) Narrow(o Scope) Scope {
	return Scope{
		s.Paths.Intersect(phases.ScopePath, o.Paths), s.Hosts.Intersect(phases.ScopeNet, o.Hosts),
		s.Tools.Intersect(phases.ScopeTool, o.Tools), s.Args.intersect(o.Args),
	}
}

// Contains reports whether s covers everything that o covers, in every dimension.
// A pattern of o that is not valid is contained in nothing.
func (s Scope) Contains(o Scope) bool {
	return s.Paths.Contains(phases.ScopePath, o.Paths) && s.Hosts.Contains(phases.ScopeNet, o.Hosts) &&
		s.Tools.Contains(phases.ScopeTool, o.Tools) && s.Args.contains(o.Args)
}

// Clone returns a copy that shares nothing.
func (s Scope) Clone() Scope {
	return Scope{slices.Clone(s.Paths), slices.Clone(s.Hosts), slices.Clone(s.Tools), slices.Clone(s.Args)}
}

// ArgsDigest returns the digest by which a scope's args name a call: of the
// canonical arguments of a tool call (phases.Digest), of the action without call
// id and durations in other phases (phases.ActionDigest). "" when it has none.
func ArgsDigest(inv phases.Invocation) string {
	if inv.Phase != phases.PreTool && inv.Phase != phases.PostTool {
		d, _ := phases.ActionDigest(inv)
		return d
	}
	args, ok := phases.Get(inv.Action, "/args")
	if !ok {
		args = jsontext.Value("{}")
	}
	d, _ := phases.Digest(args)
	return d
}

// Covers reports whether the scope covers the invocation's action. What an action
// touches is read off its arguments as phases.CheckScopes does. Where that cannot
// be told (a command), only a scope that restricts neither paths nor hosts covers
// it, or one whose args name this very call. follow is as for CheckScopesFollowing.
func (s Scope) Covers(inv phases.Invocation, follow func(string) (string, bool)) bool {
	digest := ""
	if !s.Args.any() {
		if digest = ArgsDigest(inv); digest == "" || !slices.Contains(s.Args, digest) {
			return false
		}
	}
	all := inv
	all.Scopes = phases.Scopes{} // whatever the lease restricts counts as narrowed
	if phases.CheckScopesFollowing(all, inv.Action,
		phases.Scopes{FSRead: s.Paths, FSWrite: s.Paths, Net: s.Hosts, Tools: s.Tools}, follow) == nil {
		return true
	}
	// The maker of the lease named this very call. Its tools are still compared.
	return digest != "" && phases.Opaque(all) && phases.CheckScopes(all, inv.Action, phases.Scopes{Tools: s.Tools}) == nil
}

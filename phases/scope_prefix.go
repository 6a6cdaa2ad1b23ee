package phases

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// prefix is one path or tool pattern: everything that begins with text (subtree),
// or text exactly. Paths: a subtree's text ends in a slash and also covers
// the directory itself, which is why paths are compared with a slash appended.
type prefix struct {
	text    string
	subtree bool
}

// parsePath parses a path pattern. Paths carry a trailing slash inside: "/a"
// becomes "/a/", so that DIR/** covers DIR and not its siblings.
func parsePath(p string) (prefix, string) {
	if p == "*" {
		return prefix{"/", true}, ""
	}
	dir, subtree := strings.CutSuffix(p, "/**")
	if subtree && dir == "" {
		return prefix{"/", true}, ""
	}
	if strings.ContainsRune(dir, '*') {
		return prefix{}, "a * is allowed only as DIR/** or alone"
	}
	if reason := checkPath(dir); reason != "" {
		return prefix{}, reason
	}
	if dir == "/" {
		if subtree {
			return prefix{}, "the path is not clean" // "//**"
		}
		return prefix{"/", false}, ""
	}
	return prefix{dir + "/", subtree}, ""
}

// checkPath returns why path is no clean absolute path, or "".
func checkPath(path string) string {
	if path == "" || path[0] != '/' {
		return "the path is not absolute"
	}
	if !utf8.ValidString(path) {
		return "the path is not UTF-8"
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "the path has a NUL"
	}
	if path == "/" {
		return ""
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return "the path is not clean: empty element, . or .."
		}
	}
	return ""
}

func pathText(p prefix) string {
	if p.text == "/" {
		if p.subtree {
			return "*"
		}
		return "/"
	}
	if p.subtree {
		return p.text + "**"
	}
	return strings.TrimSuffix(p.text, "/")
}

// parseTool parses a tool pattern. The rest after "ns:" is not empty in any tool's name.
func parseTool(p string) (prefix, string) {
	if p == "*" {
		return prefix{"", true}, ""
	}
	name, subtree := strings.CutSuffix(p, ":*")
	if strings.ContainsRune(name, '*') {
		return prefix{}, "a * is allowed only as ns:* or alone"
	}
	if reason := checkToolName(name); reason != "" {
		return prefix{}, reason
	}
	if subtree {
		return prefix{name + ":", true}, ""
	}
	return prefix{name, false}, ""
}

// checkToolName returns why s is no tool name, or "".
func checkToolName(s string) string {
	if s == "" || s[0] == ':' || s[len(s)-1] == ':' || strings.Contains(s, "::") {
		return "the tool name has an empty part"
	}
	if len(s) > MaxIDBytes {
		return "the tool name is too long"
	}
	if hasControl(s) || strings.ContainsAny(s, " ") {
		return "the tool name has blanks or control characters"
	}
	return ""
}

func toolText(p prefix) string {
	if p.subtree {
		return p.text + "*"
	}
	return p.text
}

// covers reports whether every value of q is one of p.
func (p prefix) covers(q prefix) bool {
	if p.subtree {
		return strings.HasPrefix(q.text, p.text)
	}
	return !q.subtree && p.text == q.text
}

type prefixes []prefix

// parsePrefixes parses a scope; patterns that are not valid allow nothing.
func parsePrefixes(s Scope, parse func(string) (prefix, string)) prefixes {
	if s == nil {
		s = Scope{"*"}
	}
	out := make(prefixes, 0, len(s))
	for _, p := range s {
		if q, reason := parse(p); reason == "" && len(p) <= maxPatternBytes {
			out = append(out, q)
		}
	}
	return out
}

// minimal drops patterns that another one covers. Prefixes form a tree, so the
// result is the only such set that allows the same values.
func (ps prefixes) minimal() prefixes {
	sorted := slices.Clone(ps)
	slices.SortFunc(sorted, func(a, b prefix) int {
		if c := strings.Compare(a.text, b.text); c != 0 {
			return c
		}
		switch {
		case a.subtree == b.subtree:
			return 0
		case a.subtree:
			return -1
		}
		return 1
	})
	// Whatever covers a pattern sorts before it, with nothing kept in between.
	var out prefixes
	for _, p := range sorted {
		if n := len(out); n > 0 && out[n-1].covers(p) {
			continue
		}
		out = append(out, p)
	}
	return out
}

func (ps prefixes) normal(text func(prefix) string) Scope {
	out := Scope{}
	for _, p := range ps.minimal() {
		out = append(out, text(p))
	}
	slices.Sort(out)
	return out
}

func (ps prefixes) coverOne(q prefix) bool {
	return slices.ContainsFunc(ps, func(p prefix) bool { return p.covers(q) })
}

func (ps prefixes) contains(qs prefixes) bool {
	return !slices.ContainsFunc(qs, func(q prefix) bool { return !ps.coverOne(q) })
}

// intersect keeps each pattern that the other side covers: of two patterns that
// overlap, one covers the other.
func (ps prefixes) intersect(qs prefixes) prefixes {
	var out prefixes
	for _, p := range ps {
		if qs.coverOne(p) {
			out = append(out, p)
		}
	}
	for _, q := range qs {
		if ps.coverOne(q) {
			out = append(out, q)
		}
	}
	return out
}

// AllowsPath reports whether the clean absolute path is in a path scope. A path
// that is relative or not clean is in none, not even in an unrestricted one. Symlinks
// and letter case are not looked at: resolve the path first.
func (s Scope) allowsPath(path string) bool {
	if checkPath(path) != "" {
		return false
	}
	q := prefix{text: path + "/"}
	if path == "/" {
		q.text = "/"
	}
	return parsePrefixes(s, parsePath).coverOne(q)
}

// AllowsTool reports whether the tool's normalised name is in a tool scope.
func (s Scope) AllowsTool(name string) bool {
	if checkToolName(name) != "" {
		return s.unrestricted(ScopeTool) && name != "" // odd names of unknown runtimes: only "*" covers them
	}
	return parsePrefixes(s, parseTool).coverOne(prefix{text: name})
}

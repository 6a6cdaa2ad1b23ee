package phases

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrMatcher is the class of patterns that are refused.
var ErrMatcher = errors.New("phases: matcher not valid")

// maxPatternSize is the most bytes of a pattern.
const maxPatternSize = 1 << 10

// Matcher is a regular expression (RE2) on a name, not anchored: "read" also
// matches "memory_read"; write ^read$ for one name. The zero value matches
// nothing. Safe for concurrent use.
type Matcher struct {
	all     bool
	re      *regexp.Regexp
	pattern string
}

// matcherError says why a matcher is refused; it is of class ErrMatcher.
type matcherError struct {
	pattern string
	reason  string
}

// Error returns pattern and reason.
func (e *matcherError) Error() string {
	quoted, _ := jsontext.AppendQuote(nil, SafeLine(e.pattern, 100)) // the error only tells of replaced bytes
	return fmt.Sprintf("matcher %s: %s", quoted, e.reason)
}

// Is reports the class ErrMatcher.
func (e *matcherError) Is(target error) bool { return target == ErrMatcher }

// CompileTools compiles a matcher on tool names. "" and "*" match every name.
// A pattern that matches no known tool is refused with the list of known names,
// since a guard with a typing error guards nothing, unless any is set (for
// tools of one's own) or it begins with mcp: (servers are open-ended). The error
// is of class ErrMatcher.
func CompileTools(pattern string, any bool) (*Matcher, error) {
	m, err := CompileNames(pattern)
	if err != nil || m.all || any || strings.HasPrefix(strings.TrimPrefix(pattern, "^"), "mcp:") {
		return m, err
	}
	if !slices.ContainsFunc(KnownTools(), m.Match) {
		return nil, &matcherError{pattern, "matches no known tool; known are " + strings.Join(KnownTools(), ", ") +
			" and mcp:SERVER:TOOL; mark the matcher as any for tools of your own"}
	}
	return m, nil
}

// CompileNames compiles a matcher on other names, such as agents and
// runtimes, of which no list exists. The error is of class ErrMatcher.
func CompileNames(pattern string) (*Matcher, error) {
	if pattern == "" || pattern == "*" {
		return &Matcher{all: true, pattern: pattern}, nil
	}
	if len(pattern) > maxPatternSize {
		return nil, &matcherError{pattern, fmt.Sprintf("longer than %d bytes", maxPatternSize)}
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &matcherError{pattern, "not a regular expression (RE2), " + SafeLine(strings.TrimPrefix(err.Error(), "error parsing regexp: "), 200)}
	}
	return &Matcher{re: re, pattern: pattern}, nil
}

// Match reports whether the name matches.
func (m *Matcher) Match(name string) bool {
	return m.all || m.re != nil && m.re.MatchString(name)
}

// All reports whether the matcher was compiled to match every name.
func (m *Matcher) All() bool { return m.all }

// String returns the pattern as it was given.
func (m *Matcher) String() string { return m.pattern }

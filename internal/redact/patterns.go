package redact

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Limits of Config.Patterns.
const (
	MaxPatterns     = 512
	MaxPatternBytes = 4 << 10 // of one expression
	MaxKeywords     = 64      // of one pattern
	MinKeyword      = 2       // bytes
	MaxPatternName  = 24      // bytes: the kind in a placeholder
	MaxAllowed      = 4096    // allowances of one pattern

	minPatternMatch = 4      // characters
	maxInstructions = 20_000 // of a compiled expression
	maxUnprompted   = 16     // patterns without a keyword

	// How often the patterns may look through a text, all together.
	maxTries = 16

	// A match is looked for from keyBefore bytes before a keyword to keyAfter behind it.
	keyBefore = 512
	keyAfter  = 4 << 10
)

// Pattern is a form of secrets that the operator names. It is a regular expression
// as of package regexp (RE2: the time it takes is linear in the text).
type Pattern struct {
	Name  string // the kind in placeholders: a-z 0-9 _ -, at most MaxPatternName bytes
	Regex string
	// Keywords are texts in lower case, in any case in the text: without one of them
	// near by the expression is not tried.
	Keywords []string
	// Group is the number of the group that is the secret; 0 means the first group
	// that is not empty if FirstGroup says so, else all that matched.
	Group      int
	FirstGroup bool
	Entropy    float64 // least entropy of a secret in bits for each byte; 0 means any
	Allowed    []Allowed
}

// Allowed says which matches are no secrets: those for which one of its conditions
// holds, or, with All, each that it has.
type Allowed struct {
	Regexes   []string
	Target    string   // of the patterns: secret (or ""), match, line
	Stopwords []string // in the secret, in any case
	All       bool
}

// patterns are compiled Patterns.
type patterns struct {
	list     []pattern
	unprompt []int              // numbers of patterns without a keyword
	byHead   map[uint16][]keyed // by the first two bytes of a keyword
	heads    headSet
}

type keyed struct {
	keyword string
	pattern int
}

type pattern struct {
	*Pattern
	re      *regexp.Regexp
	allowed []allowance
}

type allowance struct {
	*Allowed
	re []*regexp.Regexp
}

// Check compiles the pattern. Errors are of class ErrConfig and name the fault.
func (p *Pattern) Check() error {
	_, err := p.compile(expressions{})
	return err
}

// CheckPatterns checks several patterns and returns the number of the first that is
// not good.
func CheckPatterns(list []Pattern) (int, error) {
	done := expressions{}
	for i := range list {
		if _, err := list[i].compile(done); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// expressions are those that were compiled, by their text: the rules of a file share
// what they allow.
type expressions map[string]*regexp.Regexp

func (e expressions) compile(s string) (*regexp.Regexp, error) {
	if re, ok := e[s]; ok {
		return re, nil
	}
	re, err := compileRE2(s)
	if err == nil {
		e[s] = re
	}
	return re, err
}

func (p *Pattern) compile(done expressions) (pattern, error) {
	bad := func(format string, args ...any) (pattern, error) {
		return pattern{}, &Error{ErrConfig, fmt.Sprintf(format, args...)}
	}
	if p.Name == "" || len(p.Name) > MaxPatternName ||
		strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
		return bad("the name must have 1 to %d of a-z 0-9 _ -", MaxPatternName)
	}
	re, err := done.compile(p.Regex)
	if err != nil {
		return bad("the expression %v", err)
	}
	if p.Group < 0 || p.Group > re.NumSubexp() {
		return bad("there is no group %d: the expression has %d", p.Group, re.NumSubexp())
	}
	tree, _ := syntax.Parse(p.Regex, syntax.Perl) // it compiled
	if n := leastLength(tree); n < minPatternMatch {
		return bad("the expression matches texts of %d characters; what it matches must have at least %d", n, minPatternMatch)
	}
	for _, text := range ordinary() {
		if m := re.FindStringIndex(text); m != nil && 2*(m[1]-m[0]) > len(text) {
			return bad("the expression matches ordinary text such as %q", text)
		}
	}
	if len(p.Keywords) > MaxKeywords {
		return bad("more than %d keywords", MaxKeywords)
	}
	for _, k := range p.Keywords {
		if len(k) < MinKeyword || len(k) > 64 || lower(k) != k {
			return bad("a keyword must have %d to 64 bytes, in lower case: %q", MinKeyword, k)
		}
	}
	out := pattern{Pattern: p, re: re}
	if len(p.Allowed) > MaxAllowed {
		return bad("more than %d allowances", MaxAllowed)
	}
	for i := range p.Allowed {
		a := allowance{Allowed: &p.Allowed[i]}
		switch a.Target {
		case "", "secret", "match", "line":
		default:
			return bad("an allowance is about a secret, a match or a line, not %q", a.Target)
		}
		for _, s := range a.Regexes {
			re, err := done.compile(s)
			if err != nil {
				return bad("an allowed expression %v", err)
			}
			a.re = append(a.re, re)
		}
		out.allowed = append(out.allowed, a)
	}
	return out, nil
}

// compileRE2 compiles an expression of bounded size. The error continues a sentence.
func compileRE2(s string) (*regexp.Regexp, error) {
	if s == "" {
		return nil, fmt.Errorf("is empty")
	}
	if len(s) > MaxPatternBytes {
		return nil, fmt.Errorf("has more than %d bytes", MaxPatternBytes)
	}
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("is not RE2: %w", err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, fmt.Errorf("is not RE2: %w", err)
	}
	if len(prog.Inst) > maxInstructions {
		return nil, fmt.Errorf("is too large: %d instructions, at most %d", len(prog.Inst), maxInstructions)
	}
	return regexp.Compile(s)
}

// leastLength is the least number of characters that an expression matches.
func leastLength(re *syntax.Regexp) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return leastLength(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min * leastLength(re.Sub[0])
	case syntax.OpConcat:
		for _, s := range re.Sub {
			n += leastLength(s)
		}
	case syntax.OpAlternate:
		n = leastLength(re.Sub[0])
		for _, s := range re.Sub[1:] {
			n = min(n, leastLength(s))
		}
	}
	return n
}

// ordinary are texts that no pattern may take for a secret.
func ordinary() []string {
	return []string{"the quick brown fox jumps over the lazy dog", "/usr/local/bin/python3",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "0000000000", "git push origin main", "https://example.com/index.html"}
}

func newPatterns(list []Pattern) (*patterns, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if len(list) > MaxPatterns {
		return nil, &Error{ErrConfig, fmt.Sprintf("more than %d patterns", MaxPatterns)}
	}
	ps := &patterns{byHead: map[uint16][]keyed{}}
	done := expressions{}
	for i := range list {
		p, err := list[i].compile(done)
		if err != nil {
			return nil, &Error{ErrConfig, "pattern " + list[i].Name + ": " + err.Error()}
		}
		ps.list = append(ps.list, p)
		if len(p.Keywords) == 0 {
			if ps.unprompt = append(ps.unprompt, i); len(ps.unprompt) > maxUnprompted {
				return nil, &Error{ErrConfig,
					fmt.Sprintf("pattern %s: more than %d patterns have no keyword", p.Name, maxUnprompted)}
			}
		}
		for _, k := range p.Keywords {
			h := uint16(k[0])<<8 | uint16(k[1])
			ps.byHead[h] = append(ps.byHead[h], keyed{k, i})
			ps.heads.add(h)
		}
	}
	return ps, nil
}

// span is a part of a text.
type span struct{ from, to int }

// find reports the matches of the patterns. The windows around keywords are
// bounded, and so is their sum: beyond that the rest of the text is redacted
// unread.
func (ps *patterns) find(s string, add func(kind string, from, to int)) {
	if ps == nil {
		return
	}
	windows := ps.windows(s)
	work := maxTries*len(s) + 256<<10
	for i := range ps.list {
		for _, w := range windows[i] {
			if work -= w.to - w.from; work < 0 {
				add("unread", 0, len(s))
				return
			}
			ps.list[i].find(s, w, add)
		}
	}
}

// windows returns for each pattern where in the text it is tried, in order and apart.
func (ps *patterns) windows(s string) map[int][]span {
	out := map[int][]span{}
	for _, i := range ps.unprompt {
		out[i] = []span{{0, len(s)}}
	}
	low := lower(s)
	for at := 0; at+MinKeyword <= len(low); at++ {
		h := uint16(low[at])<<8 | uint16(low[at+1])
		if !ps.heads.has(h) {
			continue
		}
		for _, k := range ps.byHead[h] {
			if !strings.HasPrefix(low[at:], k.keyword) {
				continue
			}
			list := out[k.pattern]
			if n := len(list); n > 0 && at < list[n-1].to-keyAfter/2 {
				continue // well inside of a window that was tried
			}
			w := span{max(0, at-keyBefore), min(len(s), at+len(k.keyword)+keyAfter)}
			if n := len(list); n > 0 && list[n-1].to >= w.from {
				list[n-1].to = w.to
				continue
			}
			out[k.pattern] = append(list, w)
		}
	}
	return out
}

// find looks through one window.
func (p *pattern) find(s string, w span, add func(kind string, from, to int)) {
	text := s[w.from:w.to]
	for _, m := range p.re.FindAllStringSubmatchIndex(text, -1) {
		from, to := p.secret(m)
		if from < 0 || from == to {
			continue
		}
		secret := text[from:to]
		if p.Entropy > 0 && entropy(secret) <= p.Entropy || p.allows(text, secret, span{m[0], m[1]}) {
			continue
		}
		add(p.Name, w.from+from, w.from+to)
	}
}

// secret returns the part of a match that is the secret.
func (p *pattern) secret(m []int) (from, to int) {
	if p.Group > 0 {
		return m[2*p.Group], m[2*p.Group+1]
	}
	if p.FirstGroup {
		for g := 2; g+1 < len(m); g += 2 {
			if m[g] >= 0 && m[g] < m[g+1] {
				return m[g], m[g+1]
			}
		}
	}
	return m[0], m[1]
}

func (p *pattern) allows(text, secret string, match span) bool {
	for i := range p.allowed {
		if p.allowed[i].holds(text, secret, match) {
			return true
		}
	}
	return false
}

func (a *allowance) holds(text, secret string, match span) bool {
	about := secret
	switch a.Target {
	case "match":
		about = text[match.from:match.to]
	case "line":
		from := strings.LastIndexByte(text[:match.from], '\n') + 1
		to := match.to
		if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
			to += end
		} else {
			to = len(text)
		}
		about = text[from:to]
	}
	matches := slices.ContainsFunc(a.re, func(re *regexp.Regexp) bool { return re.MatchString(about) })
	low := lower(secret)
	stops := slices.ContainsFunc(a.Stopwords, func(w string) bool { return w != "" && strings.Contains(low, lower(w)) })
	if !a.All {
		return matches || stops
	}
	return len(a.re)+len(a.Stopwords) > 0 && (matches || len(a.re) == 0) && (stops || len(a.Stopwords) == 0)
}

// entropy is Shannon's, in bits for each byte.
func entropy(s string) (bits float64) {
	var n [256]int
	for i := 0; i < len(s); i++ {
		n[s[i]]++
	}
	for _, c := range n {
		if c > 0 {
			f := float64(c) / float64(len(s))
			bits -= f * math.Log2(f)
		}
	}
	return bits
}

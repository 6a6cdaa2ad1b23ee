package hostcalls

import (
	"context"
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/belay-hooks/belay/internal/glob"
)

const (
	maxPatterns     = 64
	maxPatternTexts = 64
	maxPattern      = 1 << 10 // bytes of one pattern
	maxRegexpSize   = 4_000   // instructions of one compiled expression
	maxPatternWork  = 8 << 20 // sum over all pairs of instructions × bytes of text
	maxClassWork    = 8 << 20 // sum over all patterns of classWork
	maxGlobText     = 4 << 10 // bytes of a text that globs are matched against
	maxGlobStars    = 8       // * and ** in one glob
	maxGlobAlts     = 64      // alternatives of all braces of one glob, multiplied
)

func patternMatch(ctx context.Context, session *Session, args *Args) (Result, error) {
	var req patternQuery
	if err := strictObject(args.In[0], &req); err != nil {
		return Result{Code: int64(Invalid)}, nil
	}
	if len(req.Patterns) > maxPatterns || len(req.Texts) > maxPatternTexts {
		return Result{Code: int64(TooLarge)}, nil
	}
	if req.Kind != "re2" && req.Kind != "glob" {
		return Result{Code: int64(Invalid)}, nil
	}
	var match []matcher
	work, classes := 0, 0
	for _, path := range req.Patterns {
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		if req.Kind == "re2" {
			if classes += classWork(path, req.IgnoreCase); classes > maxClassWork {
				return Result{Code: int64(TooLarge), Fuel: int64(work)}, nil
			}
		}
		m, e := newMatcher(req.Kind, path, req.IgnoreCase)
		if e != 0 {
			return Result{Code: int64(e), Fuel: int64(work) + int64(classes)}, nil
		}
		match = append(match, m)
		if work += max(20*m.size, 8*len(path)); args.spent(int64(work) + int64(classes)) {
			return Result{Fuel: int64(work) + int64(classes)}, nil
		}
		for _, t := range req.Texts {
			if req.Kind == "glob" && len(t) > maxGlobText {
				return Result{Code: int64(TooLarge), Fuel: int64(work)}, nil
			}
			if work += m.size * (len(t) + 1); work > maxPatternWork {
				return Result{Code: int64(TooLarge), Fuel: int64(work) + int64(classes)}, nil
			}
		}
	}
	reply := patternReply{Matches: []patternHit{}}
	steps := &glob.Work{Stop: ctx.Err}
	for i, t := range req.Texts {
		for pi, m := range match {
			if ctx.Err() != nil {
				return Result{}, ctx.Err()
			}
			if fuel := 4*int64(work) + int64(classes); args.spent(fuel) {
				return Result{Fuel: fuel}, nil
			}
			before, paid := steps.Steps, m.size*(len(t)+1)
			steps.Max = before + paid + maxPatternWork - work
			start, end, ok, err := m.find(t, steps)
			switch {
			case errors.Is(err, glob.ErrWork):
				return Result{Code: int64(TooLarge), Fuel: 4*int64(maxPatternWork) + int64(classes)}, nil
			case err != nil:
				return Result{}, err
			}
			work += max(0, steps.Steps-before-paid)
			if ok {
				reply.Any = true
				reply.Matches = append(reply.Matches, patternHit{Text: i, Pattern: pi, Start: start, End: end})
			}
		}
	}
	return session.answer(reply, 4*int64(work)+int64(classes))
}

// Costs of reading character classes, in nanoseconds. They are found before the
// expression is read: the reader expands a class before anyone can see how large
// it is, and the expanded form may be small again ([\pL\pL…], (?i)[B-\x{1E942}…]).
const (
	classTable = 50_000  // a Unicode class
	classRune  = 16      // a character of a range, where letter case is folded
	lastFold   = 0x1e943 // no character beyond has another case
)

// classWork is an upper bound of what the classes of an expression cost to read.
func classWork(pattern string, fold bool) int {
	fold = fold || strings.Contains(pattern, "(?")
	work := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			if i++; i < len(pattern) && (pattern[i] == 'p' || pattern[i] == 'P') {
				work += classTable
			}
		case '-':
			if fold {
				work += classRune * min(rangeEnd(pattern[i+1:]), lastFold)
			}
		}
	}
	return work
}

// rangeEnd is the character that a range ends with, or more.
func rangeEnd(rest string) int {
	if len(rest) < 2 || rest[0] != '\\' {
		r, _ := utf8.DecodeRuneInString(rest)
		return int(r)
	}
	if rest[1] != 'x' {
		return 0o777
	}
	digits, _, braced := strings.Cut(strings.TrimPrefix(rest[2:], "{"), "}")
	if !strings.HasPrefix(rest[2:], "{") || !braced {
		return 0xff
	}
	n, err := strconv.ParseUint(digits, 16, 31)
	if err != nil {
		return lastFold
	}
	return int(n)
}

// matcher is one compiled pattern; size stands for what a byte of text costs.
type matcher struct {
	size int
	find func(text string, steps *glob.Work) (start, end int, ok bool, err error)
}

func newMatcher(kind, pattern string, fold bool) (matcher, Errno) {
	if len(pattern) > maxPattern {
		return matcher{}, TooLarge
	}
	if kind == "glob" {
		return newGlob(pattern, fold)
	}
	return newRegexp(pattern, fold)
}

func newRegexp(pattern string, fold bool) (matcher, Errno) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return matcher{}, Invalid
	}
	if fold {
		pattern = "(?i:" + pattern + ")" // it parses by itself, so it cannot leave the group
	}
	size := regexpSize(tree) // before Compile, which expands repetitions
	if size > maxRegexpSize {
		return matcher{}, TooLarge
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return matcher{}, Invalid
	}
	return matcher{size: size, find: func(text string, _ *glob.Work) (int, int, bool, error) {
		at := re.FindStringIndex(text)
		if at == nil {
			return 0, 0, false, nil
		}
		return at[0], at[1], true, nil
	}}, 0
}

// regexpSize is about the number of instructions of the compiled expression.
func regexpSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		if n += regexpSize(sub); n > maxRegexpSize {
			return n
		}
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Max, re.Min+1, 1)
		n *= times
	}
	return n
}

// newGlob prices a glob by its stars and alternatives. Alternatives within others may
// take more steps than that: those are counted, and charged on top.
func newGlob(pattern string, fold bool) (matcher, Errno) {
	g, err := glob.Compile(pattern)
	if err != nil {
		return matcher{}, Invalid
	}
	stars, alts := strings.Count(pattern, "*"), 1
	for i := 0; i < len(pattern); i++ { // nested braces count as if they were apart
		if pattern[i] == '{' {
			inner, _, _ := strings.Cut(pattern[i:], "}")
			alts *= 1 + strings.Count(inner, ",")
		}
		if alts > maxGlobAlts {
			return matcher{}, TooLarge
		}
	}
	if stars-strings.Count(pattern, "**") > maxGlobStars {
		return matcher{}, TooLarge
	}
	if fold {
		if g, err = glob.Compile(strings.ToLower(pattern)); err != nil {
			return matcher{}, Invalid
		}
	}
	return matcher{size: 4 * alts * (stars + 1), find: func(text string, steps *glob.Work) (int, int, bool, error) {
		if fold {
			text = strings.ToLower(text)
		}
		ok, err := g.Match(text, steps)
		return 0, len(text), ok, err
	}}, 0
}

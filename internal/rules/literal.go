package rules

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// Windows
//
// A pattern can match a text only if certain pieces stand in it. Three bytes of such a
// piece, in lower case, are a window: the engine looks once through a text for all
// windows of all rules, and tries only the rules whose window it finds.

// window is three bytes, the first lowest.
type window uint32

const (
	windowBytes = 3
	mostWindows = 64 // of one pattern with alternatives
)

// pieces are texts of which one has to occur wherever a pattern matches; nil: none is known.
type pieces []string

func windowsOf(piece string) []window {
	var out []window
	for i := 0; i+windowBytes <= len(piece); i++ {
		out = append(out, window(piece[i])|window(piece[i+1])<<8|window(piece[i+2])<<16)
	}
	return out
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// longest returns the longest piece that has a window.
func longest(runs []string) pieces {
	best := ""
	for _, r := range runs {
		if len(r) > len(best) {
			best = r
		}
	}
	if len(best) < windowBytes {
		return nil
	}
	return pieces{best}
}

// wildPieces is for patterns in which only * is special.
func wildPieces(pattern string) pieces {
	return longest(strings.Split(lowerASCII(pattern), "*"))
}

// globPieces is for globs of paths, in lower case. What stands beside ** may be missing
// with it, and what stands in braces or classes is one of several.
func globPieces(pattern string) pieces {
	var runs []string
	var run strings.Builder
	end := func(trim bool) {
		s := run.String()
		if trim {
			s = strings.TrimSuffix(s, "/")
		}
		runs = append(runs, s)
		run.Reset()
	}
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '\\':
			end(false)
			i++
		case '*':
			deep := i+1 < len(pattern) && pattern[i+1] == '*'
			end(deep)
			for i+1 < len(pattern) && (pattern[i+1] == '*' || deep && pattern[i+1] == '/') {
				i++
			}
		case '[':
			end(false)
			for i++; i < len(pattern) && pattern[i] != ']'; i++ {
				if pattern[i] == '\\' {
					i++
				}
			}
		case '{':
			end(false)
			depth++
		case '}':
			run.Reset()
			depth = max(0, depth-1)
		case '?':
			end(false)
		default:
			if depth == 0 {
				run.WriteByte(c)
			}
		}
	}
	end(false)
	return longest(runs)
}

// regexPieces is for RE2.
func regexPieces(pattern string) pieces {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return piecesOf(re)
}

func piecesOf(re *syntax.Regexp) pieces {
	switch re.Op {
	case syntax.OpLiteral:
		return longest(literalRuns(re))
	case syntax.OpCapture, syntax.OpPlus:
		return piecesOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return piecesOf(re.Sub[0])
		}
	case syntax.OpConcat:
		var best pieces
		for _, sub := range re.Sub {
			p := piecesOf(sub)
			if p != nil && (best == nil || len(p) < len(best) || len(p) == len(best) && shortest(p) > shortest(best)) {
				best = p
			}
		}
		return best
	case syntax.OpAlternate:
		var all pieces
		for _, sub := range re.Sub {
			p := piecesOf(sub)
			if p == nil || len(all)+len(p) > mostWindows {
				return nil
			}
			all = append(all, p...)
		}
		return all
	}
	return nil
}

func shortest(p pieces) int {
	n := len(p[0])
	for _, s := range p {
		n = min(n, len(s))
	}
	return n
}

// literalRuns leaves out characters that have another case beyond ASCII where case does
// not count: K and the Kelvin sign, s and the long s.
func literalRuns(re *syntax.Regexp) []string {
	fold := re.Flags&syntax.FoldCase != 0
	var runs []string
	var run strings.Builder
	for _, r := range re.Rune {
		if fold && (r >= 0x80 || strings.ContainsRune("kKsS", r)) {
			runs = append(runs, run.String())
			run.Reset()
			continue
		}
		run.WriteRune(r)
	}
	runs = append(runs, run.String())
	for i := range runs {
		runs[i] = lowerASCII(runs[i])
	}
	return runs
}

// byLine reports whether the expression finds in a text what it finds in its lines: it
// matches no line feed and asks for no begin or end of the text.
func byLine(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && lineOnly(re)
}

func lineOnly(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpAnyChar:
		return false
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return false
			}
		}
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '\n' && re.Rune[i+1] >= '\n' {
				return false
			}
		}
	}
	for _, sub := range re.Sub {
		if !lineOnly(sub) {
			return false
		}
	}
	return true
}

// matchesNothing reports whether an RE2 pattern can match without a character: at the begin of a line, between
// words, or anywhere.
func matchesNothing(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil && empty(re)
}

func empty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpCapture, syntax.OpPlus:
		return empty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || empty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !empty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, empty)
	}
	return false
}

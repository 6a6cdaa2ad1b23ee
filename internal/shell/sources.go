package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// maxFrom is how many of the commands that a text comes from are told.
const maxFrom = 8

// span is where the commands of a substitution stand in the reply.
type span struct{ from, to int }

// ran remembers which commands a substitution started.
func (w *walker) ran(n syntax.Node, from int) {
	if to := len(w.reply.Commands); to > from && len(w.within) < maxSteps {
		if w.within == nil {
			w.within = map[syntax.Node]span{}
		}
		w.within[n] = span{from, to}
	}
}

// sources returns the commands whose output is in a node: those of its substitutions, and of those in the values of its
// variables.
func (w *walker) sources(e *env, n syntax.Node) (from []int) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if !w.pass() {
			return false
		}
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			s := w.within[n]
			for i := max(s.from, s.to-maxFrom); i < s.to; i++ {
				from = union(from, []int{i})
			}
			return false
		case *syntax.ParamExp:
			from = union(from, e.vars[paramName(n)].from)
		case *syntax.Lit:
			if hasHole(n.Value) {
				from = union(from, w.inHoles(n.Value))
			}
		}
		return true
	})
	return from
}

// inputFrom returns the commands whose output is the standard input.
func inputFrom(c ctx, redirs []Redirect) (from []int) {
	if c.stdinFrom >= 0 {
		from = union(from, []int{c.stdinFrom})
	}
	if c.stdin != nil {
		from = union(from, c.stdin.From)
	}
	for _, r := range redirs {
		if r.FD == 0 && strings.HasPrefix(r.Op, "<") {
			from = union(from, r.Target.From)
		}
	}
	return from
}

func union(a, b []int) []int {
	if len(b) == 0 {
		return a
	}
	a = slices.Clip(a)
	for _, i := range b {
		if len(a) < maxFrom && !slices.Contains(a, i) {
			a = append(a, i)
		}
	}
	return a
}

// Holes are characters that stand for parts of a text that are not known, while the text is walked as shell: each for
// one part, so that it can be told as its source. A text that has them itself loses them first.
const (
	firstHole = '\U0010FE00'
	lastHole  = '\U0010FEFF'
	holeStart = "\xf4\x8f\xb8" // the bytes that the first of them begin with
	holeMid   = "\xf4\x8f\xb9"
	holeLate  = "\xf4\x8f\xba"
	holeEnd   = "\xf4\x8f\xbb"
)

// hole is a part that is not known.
type hole struct {
	source string
	from   []int
}

func hasHole(s string) bool {
	if strings.IndexByte(s, 0xf4) < 0 {
		return false
	}
	return strings.Contains(s, holeStart) || strings.Contains(s, holeMid) || strings.Contains(s, holeLate) ||
		strings.Contains(s, holeEnd)
}

func isHole(r rune) bool { return r >= firstHole && r <= lastHole }

func withoutHoles(s string) string {
	if !hasHole(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isHole(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// hole returns what stands for a part of a word that is not known: a hole, or the text with holes of a variable.
func (w *walker) hole(e *env, p syntax.WordPart) string {
	if x, ok := p.(*syntax.ParamExp); ok && x.Exp == nil && x.Slice == nil && x.Repl == nil && x.Index == nil &&
		!x.Length && !x.Excl {
		if held := e.vars[paramName(x)].holes; held != "" {
			return held
		}
	}
	one := hole{source: w.raw(p), from: w.sources(e, p)}
	at := slices.IndexFunc(w.parts, func(h hole) bool { return h.source == one.source && slices.Equal(h.from, one.from) })
	if at < 0 {
		at = len(w.parts)
		if at > lastHole-firstHole {
			return string(lastHole)
		}
		w.parts = append(w.parts, one)
	}
	return string(rune(firstHole + at))
}

// inHoles returns the commands whose output the holes of a text stand for.
func (w *walker) inHoles(s string) (from []int) {
	if !hasHole(s) {
		return nil
	}
	for _, r := range s {
		if isHole(r) && int(r-firstHole) < len(w.parts) {
			from = union(from, w.parts[r-firstHole].from)
		}
	}
	return from
}

// fillHoles puts the sources of the parts that are not known in place of their holes.
func (w *walker) fillHoles(s string) string {
	if !hasHole(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !isHole(r):
			b.WriteRune(r)
		case int(r-firstHole) < len(w.parts) && b.Len() < MaxWordText:
			b.WriteString(w.parts[r-firstHole].source)
		default:
			b.WriteString("?")
		}
	}
	return b.String()
}

// knownPart returns a text that is code with holes in place of what is not known, if it is shell as it stands and more
// than a hole.
func (w *walker) knownPart(text Word) (Word, bool) {
	if text.Known || text.Glob || text.holes == "" || w.depth >= MaxDepth {
		return Word{}, false
	}
	if strings.TrimFunc(text.holes, func(r rune) bool { return isHole(r) || r <= ' ' }) == "" {
		return Word{}, false
	}
	if w.extra() > maxSteps/2 { // each text is read anew
		return Word{}, false
	}
	if _, _, err := w.read(text.holes); err != nil {
		return Word{}, false
	}
	return Word{Text: text.holes, Known: true}, true
}

// inPart says of the last unknown code that it is known but for words in it.
func (w *walker) inPart() {
	if n := len(w.reply.Unknown); n > 0 && w.reply.Unknown[n-1].What == "code" {
		w.reply.Unknown[n-1].Partial = true
	}
}

// printable reports words whose text can be told with holes in place of what is not known.
func printable(words []Word) bool {
	for i, word := range words {
		if word.Glob || !word.Known && (word.holes == "" || i == 0) {
			return false
		}
	}
	return words[0].Text == "echo" || words[0].Text == "printf"
}

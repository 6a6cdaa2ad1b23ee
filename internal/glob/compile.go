package glob

import (
	"errors"
	"unicode/utf8"
)

// ErrPattern: a class or an alternative is not closed, or closed twice, a class is
// empty, or the pattern ends with a backslash.
var ErrPattern = errors.New("glob: malformed pattern")

// kind is what a place in a pattern asks for.
type kind uint8

const (
	end     kind = iota // nothing: the text ends here
	literal             // one given character
	anyOne              // ?
	oneOf               // a class
	star                // *, or ** where no directory begins
	deep                // **/ where a directory begins: any number of them
	rest                // ** where a directory begins, at the end: all that is left
	branch              // {: the places where its alternatives begin
)

// place is what a pattern asks for from one of its bytes on. Alternatives do not
// multiply places: the last byte of each leads to what follows all of them.
type place struct {
	kind    kind
	next    int // the place behind it; for branch unused
	alts    []int
	char    rune
	class   class
	tails   uint8 // what may be left from here
	starred uint8 // tails, where this is behind a star: another star takes its place

	// At the beginning of a directory ** means something else than elsewhere.
	begins kind
	after  int
}

// Glob is a pattern that was read. It is safe for concurrent use.
type Glob struct {
	places []place
}

// Compile reads a pattern. The error is ErrPattern. Time and memory are linear in
// the length of the pattern.
func Compile(pattern string) (*Glob, error) {
	follow, alts, err := braces(pattern)
	if err != nil {
		return nil, err
	}
	r := &reader{s: pattern, follow: follow}
	places := make([]place, len(pattern)+1)
	places[len(pattern)] = place{kind: end, tails: isNothing, starred: isNothing}
	for i := len(pattern) - 1; i >= 0; i-- { // what follows a place is known before it
		if follow[i] == i {
			places[i] = r.place(i, alts[i])
			places[i].tails = r.tails(i, places)
			places[i].starred = behindStar(i, places)
		}
	}
	return &Glob{places: places}, nil
}

// reader reads the places of a pattern that is well formed.
type reader struct {
	s      string
	follow []int
}

// inside marks a byte at which nothing begins: the rest of a character, of an escape or of a class.
const inside = -1

// braces checks a pattern and finds what follows each of its bytes: the byte itself,
// or where an alternative ends, what comes behind all of them. alts holds where
// the alternatives of a brace begin.
func braces(s string) (follow []int, alts [][]int, err error) {
	follow, alts = make([]int, len(s)+1), make([][]int, len(s)+1)
	ends := make([]int, len(s)) // of an alternative: the brace that it belongs to, plus one
	closes := make([]int, len(s))
	var open []int
	for i := 0; i < len(s); {
		n := 1
		switch c := s[i]; {
		case c == '\\':
			if i+1 == len(s) {
				return nil, nil, ErrPattern
			}
			_, size := utf8.DecodeRuneInString(s[i+1:])
			n += size
		case c == '[':
			if n = classLen(s[i:]); n < 0 {
				return nil, nil, ErrPattern
			}
		case c == '{':
			open = append(open, i)
			alts[i] = []int{i + 1}
		case c == ',' && len(open) > 0:
			b := open[len(open)-1]
			ends[i], alts[b] = b+1, append(alts[b], i+1)
		case c == '}':
			if len(open) == 0 {
				return nil, nil, ErrPattern
			}
			b := open[len(open)-1]
			ends[i], closes[b], open = b+1, i, open[:len(open)-1]
		case c >= utf8.RuneSelf:
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		follow[i] = i
		for k := i + 1; k < i+n; k++ {
			follow[k] = inside
		}
		i += n
	}
	if len(open) > 0 {
		return nil, nil, ErrPattern
	}
	follow[len(s)] = len(s)
	for i := len(s) - 1; i >= 0; i-- {
		if b := ends[i]; b > 0 {
			follow[i] = follow[closes[b-1]+1]
		}
	}
	for _, list := range alts {
		for n, at := range list {
			list[n] = follow[at]
		}
	}
	return follow, alts, nil
}

// classLen is the length of the class that s begins with, or -1.
func classLen(s string) int {
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		i++
	}
	if i >= len(s) || s[i] == ']' {
		return -1
	}
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return -1
}

// place reads what the pattern asks for at byte i, where something begins.
func (r *reader) place(i int, alts []int) place {
	s := r.s
	switch s[i] {
	case '*':
		next := r.follow[i+1]
		if next == len(s) || s[next] != '*' {
			return place{kind: star, next: next, begins: star, after: next}
		}
		next = r.follow[next+1]
		p := place{kind: star, next: next, begins: star, after: next}
		switch {
		case next == len(s):
			p.begins = rest
		case s[next] == '/':
			p.begins, p.after = deep, r.follow[next+1]
		}
		return p
	case '?':
		return place{kind: anyOne, next: r.follow[i+1]}
	case '[':
		n := classLen(s[i:])
		return place{kind: oneOf, next: r.follow[i+n], class: newClass(s[i+1 : i+n-1])}
	case '{':
		return place{kind: branch, alts: alts}
	case '\\':
		c, n := utf8.DecodeRuneInString(s[i+1:])
		return place{kind: literal, next: r.follow[i+1+n], char: c}
	}
	c, n := utf8.DecodeRuneInString(s[i:])
	return place{kind: literal, next: r.follow[i+n], char: c}
}

// The rest of a pattern matches the end of the text when it is, with its
// alternatives written out, nothing, * or **, the latter also with / before or
// behind it: a directory is below itself. These are all the ends of such texts,
// by the bit that stands for them.
const (
	isNothing uint8 = 1 << iota
	isStar
	isStars
	isSlash
	isStarSlash
	isStarsSlash
	isSlashStars
	isSlashStarsSlash

	matchesEnd = isNothing | isStar | isStars | isStarsSlash | isSlashStars | isSlashStarsSlash
)

// tails finds which of those texts the pattern is from byte i on.
func (r *reader) tails(i int, places []place) (out uint8) {
	move := func(from, to uint8, left uint8) {
		if left&from != 0 {
			out |= to
		}
	}
	switch p := &places[i]; {
	case p.kind == branch:
		for _, alt := range p.alts {
			out |= places[alt].tails
		}
	case r.s[i] == '*':
		left := places[r.follow[i+1]].tails
		move(isNothing, isStar, left)
		move(isStar, isStars, left)
		move(isSlash, isStarSlash, left)
		move(isStarSlash, isStarsSlash, left)
	case r.s[i] == '/':
		left := places[r.follow[i+1]].tails
		move(isNothing, isSlash, left)
		move(isStars, isSlashStars, left)
		move(isStarsSlash, isSlashStarsSlash, left)
	}
	return out
}

// behindStar is tails without what begins with a star.
func behindStar(i int, places []place) (out uint8) {
	switch p := &places[i]; p.kind {
	case star:
	case branch:
		for _, alt := range p.alts {
			out |= places[alt].starred
		}
	default:
		out = p.tails
	}
	return out
}

package shell

import (
	"errors"
	"io"
	"strings"
)

// Work beyond the steps of the walker, in steps.
const (
	stepsPerNest  = 2 // a character that can begin one more level of the parser
	nodesPerStep  = 8 // nodes that are only looked at for their children
	maxParseBlock = 512
)

var errStopped = errors.New("stopped")

// extra is the work beyond steps.
func (w *walker) extra() int { return w.nests*stepsPerNest + w.passed/nodesPerStep }

// stopped asks whether to give up. Once it has said so, nothing goes on.
func (w *walker) stopped() bool {
	if !w.gaveUp && w.stop != nil {
		w.gaveUp = w.stop(w.steps + w.extra())
	}
	return w.gaveUp
}

// pass counts a node that is only looked at, and reports whether to go on.
func (w *walker) pass() bool {
	if w.passed++; w.passed%(stopEvery*nodesPerStep) == 0 && w.stopped() {
		w.steps = maxSteps
	}
	return !w.gaveUp
}

// nests counts the characters by which a text may nest: the parser has a level
// for each, and the stack for thousands of them is what takes its time.
// Parentheses nest anywhere, the others in arithmetic, subscripts and
// expansions; a question mark takes three levels. Quotes are not understood
// here, so that a text with arithmetic pays for data, too.
func nests(text string) int {
	arithmetic := strings.Contains(text, "((") || strings.Contains(text, "[") || strings.Contains(text, "${") ||
		strings.Contains(text, "let")
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			n++
		case '?':
			if arithmetic {
				n += 3
			}
		case '+', '-', '!', '~', '*', ':', '=', ',', '<', '>', '&', '|', '^', '%', '/', '#', '$', '\'', '"', '`', '@':
			if arithmetic {
				n++
			}
		}
	}
	return n
}

// blocks hands a text to the parser in small blocks, and ends where the walker stops.
type blocks struct {
	w    *walker
	rest string
}

func (w *walker) reader(text string) io.Reader { return &blocks{w, text} }

func (b *blocks) Read(p []byte) (int, error) {
	switch {
	case b.w.stopped():
		return 0, errStopped
	case b.rest == "":
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), maxParseBlock)], b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

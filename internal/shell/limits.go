package shell

import (
	"errors"
	"io"
	"strings"
)

// Limits of one Parse. Reaching one sets Truncated, or fails the text where
// nothing could be told at all.
const (
	MaxText       = 64 << 10 // bytes of text
	MaxNesting    = 60       // ( within each other: subshells, substitutions, arithmetic
	MaxDepth      = 8        // texts within texts: sh -c inside of ssh inside of …
	MaxCommands   = 512      // commands told
	MaxUnknown    = 64       // unknowns told
	MaxWordText   = 8 << 10  // bytes of one word after expansion
	MaxRaw        = 512      // bytes of source text quoted
	maxBraceDepth = 200      // { within each other
	maxIndexDepth = 500      // [ within each other; often data, such as colour codes
	maxBars       = 4_096    // | anywhere: pipelines nest as deep as they are long
	stopEvery     = 32       // steps between two looks at the clock
	maxSteps      = 20_000   // nodes walked, inner texts included
	maxWords      = 4_096    // words of all commands told
	maxTold       = 512 << 10
	maxVars       = 256
	maxUnroll     = 16
	maxBraces     = 64
)

var (
	errTooLong = errors.New("the text is longer than 64 KiB")
	errNested  = errors.New("the text nests too deeply")
)

// prescan refuses, in one pass, what the parser must not see: its time grows
// with the square of the depth of nested parentheses, and its stack with the
// depth of anything. Quotes are not understood here, so that a text which holds
// many opening brackets as data is refused too; that errs on the safe side.
func prescan(text string) error {
	if len(text) > MaxText {
		return errTooLong
	}
	var depth, most [3]int // ( { [
	ticks, bars := 0, 0
	word := 0
	open, closed := 0, 0
	for i := 0; i <= len(text); i++ {
		c := byte(' ')
		if i < len(text) {
			c = text[i]
		}
		switch c {
		case '(', '{', '[':
			k := strings.IndexByte("({[", c)
			depth[k]++
			most[k] = max(most[k], depth[k])
		case ')', '}', ']':
			k := strings.IndexByte(")}]", c)
			depth[k] = max(depth[k]-1, 0)
		case '`':
			ticks++
		case '|':
			bars++
		case '!':
			open++ // "! ! ! cmd" nests
		}
		if c >= 'a' && c <= 'z' {
			continue
		}
		switch text[word:min(i, len(text))] {
		case "if", "while", "until", "for", "case", "select", "function", "time", "coproc", "elif":
			open++
		case "fi", "done", "esac":
			closed++
		}
		word = i + 1
	}
	if most[0] > MaxNesting || most[1] > maxBraceDepth || most[2] > maxIndexDepth || ticks > 1024 || bars > maxBars ||
		open-closed > 256 || open > 2048 {
		return errNested
	}
	return nil
}

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

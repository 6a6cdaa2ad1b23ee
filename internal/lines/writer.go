package lines

import (
	"bytes"
	"cmp"
	"io"
	"slices"
	"strings"
)

// Bounds of what is looked at.
const (
	Max      = 200     // lines
	maxKept  = 8 << 10 // bytes of a line that are looked at, so that a secret at the end of the shown part is complete
	minValue = 8       // bytes of a value that is redacted: shorter ones stand everywhere
)

// Writer takes what a program writes to standard error, and says it line by line, without what the program was given by
// its environment. It never fails. It is for one goroutine.
type Writer struct {
	say    func(line string, last bool)
	values *strings.Replacer

	rest  []byte
	lines int
}

// New returns one for a program with this environment. say is called at most Max times; last is true the last
// time that it can be.
func New(env []string, say func(line string, last bool)) *Writer {
	type value struct{ name, text string }
	var list []value
	for _, e := range env {
		name, all, _ := strings.Cut(e, "=")
		for text := range strings.Lines(all) { // a key may have many
			if text = strings.TrimSpace(text); len(text) >= minValue {
				list = append(list, value{name, text})
			}
		}
	}
	// the first that fits is taken
	slices.SortStableFunc(list, func(a, b value) int { return cmp.Compare(len(b.text), len(a.text)) })
	var pairs []string
	for _, v := range list {
		pairs = append(pairs, v.text, "[value of "+v.name+"]")
	}
	return &Writer{say: say, values: strings.NewReplacer(pairs...)}
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && w.lines < Max {
		line, after, complete := bytes.Cut(b, []byte("\n"))
		w.rest = append(w.rest, line[:min(len(line), maxKept-len(w.rest))]...)
		b = after
		if !complete {
			break
		}
		w.next()
	}
	return n, nil
}

// End says what came after the last line break: often why the server has ended.
func (w *Writer) End() {
	if len(w.rest) > 0 && w.lines < Max {
		w.next()
	}
}

func (w *Writer) next() {
	w.lines++
	text := w.values.Replace(string(w.rest))
	w.rest = w.rest[:0]
	w.say(text, w.lines == Max)
}

var _ io.Writer = (*Writer)(nil)

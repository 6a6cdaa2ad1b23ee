package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parse tells which commands the text would run. It never fails: a text that
// cannot be read gives a Reply with OK false. Steps is the work done, for
// charging, and proportional to time: at most 20,000 for the walk, and those of
// parsing.
func Parse(text string) (reply Reply, steps int) {
	return ParseUntil(text, nil)
}

// ParseUntil is Parse that gives up soon after stop says so; it is asked every
// few steps and before each block that the parser reads, with the steps so far.
// The result is useless then. Nil never stops.
func ParseUntil(text string, stop func(steps int) bool) (reply Reply, steps int) {
	w := &walker{funcs: map[string]*function{}, stop: stop}
	w.reply = Reply{OK: true, Commands: []Command{}, Unknown: []Unknown{}}
	defer func() {
		if p := recover(); p != nil {
			reply = failed("the shell parser gave up")
			steps = maxSteps + w.extra()
		}
	}()
	text = strings.NewReplacer(homeMark, "\uFFFD", hereMark, "\uFFFD").Replace(withoutHoles(text))
	f, dialect, err := w.read(text)
	if err != nil {
		return failed(err.Error()), w.steps + w.extra()
	}
	w.reply.Dialect = dialect
	w.src = text
	e := newEnv()
	w.stmts(e, f.Stmts, ctx{parent: -1, stdinFrom: -1})
	w.uncalled()
	if w.steps >= maxSteps {
		w.reply.Truncated = true
	}
	return w.reply, w.steps + w.extra()
}

func failed(why string) Reply {
	return Reply{Error: why, Commands: []Command{}, Unknown: []Unknown{}, Truncated: true}
}

// read parses a text as bash, or else as POSIX shell.
func (w *walker) read(text string) (*syntax.File, string, error) {
	if err := prescan(text); err != nil {
		return nil, "", err
	}
	w.steps += len(text) / 16
	if w.steps > maxSteps {
		return nil, "", errors.New("too much text within texts")
	}
	w.nests += nests(text)
	if w.stopped() {
		return nil, "", errStopped
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(w.reader(text), "")
	if err == nil {
		w.subscripts(f, text)
		return f, "bash", nil
	}
	if f, posix := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(w.reader(text), ""); posix == nil {
		return f, "posix", nil
	}
	if errors.Is(err, errStopped) {
		return nil, "", errStopped
	}
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return nil, "", fmt.Errorf("not valid shell at line %d, column %d", pe.Pos.Line(), pe.Pos.Col())
	}
	return nil, "", errors.New("not valid shell")
}

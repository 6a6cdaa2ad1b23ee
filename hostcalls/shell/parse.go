package shell

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parse tells what the text would run. It never fails: a text that cannot be
// read gives a Reply with OK false. Steps is the work done, for charging: at
// most 20,000 and proportional to time.
func Parse(text string) (reply Reply, steps int) {
	return ParseUntil(text, nil)
}

// ParseUntil is Parse that gives up soon after stop says so; it is asked every few
// steps, and what is returned then is of no use. Nil never stops.
func ParseUntil(text string, stop func() bool) (reply Reply, steps int) {
	w := &walker{funcs: map[string]*function{}, stop: stop}
	w.reply = Reply{OK: true, Commands: []Command{}, Unknown: []Unknown{}}
	defer func() {
		if p := recover(); p != nil {
			reply = failed("the shell parser gave up")
			steps = maxSteps
		}
	}()
	text = strings.NewReplacer(homeMark, "\uFFFD", hereMark, "\uFFFD").Replace(text)
	f, dialect, err := w.read(text)
	if err != nil {
		return failed(err.Error()), w.steps
	}
	w.reply.Dialect = dialect
	w.src = text
	e := newEnv()
	w.stmts(e, f.Stmts, ctx{parent: -1, stdinFrom: -1})
	w.uncalled()
	if w.steps >= maxSteps {
		w.reply.Truncated = true
	}
	return w.reply, w.steps
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
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err == nil {
		w.subscripts(f, text)
		return f, "bash", nil
	}
	if f, posix := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), ""); posix == nil {
		return f, "posix", nil
	}
	var pe syntax.ParseError
	if errors.As(err, &pe) {
		return nil, "", fmt.Errorf("not valid shell at line %d, column %d", pe.Pos.Line(), pe.Pos.Col())
	}
	return nil, "", errors.New("not valid shell")
}

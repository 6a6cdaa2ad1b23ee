package mcptools

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// Limits of the logged part of a server's standard error.
const (
	maxLines = 200
	maxLine  = 1 << 10 // bytes that are shown
	maxKept  = 8 << 10 // bytes of a line that are looked at, so that a secret at the end of the shown part is complete
	minValue = 8       // bytes of a value that is redacted: shorter ones stand everywhere
)

// stderrLog logs what a server writes to standard error: maxLines lines, without
// what the server was given by its environment and without what looks like a secret.
type stderrLog struct {
	log    *slog.Logger
	cover  func(string) string // nil: nothing but values is covered
	values *strings.Replacer

	rest  []byte
	lines int
}

// newStderrLog makes one for a server with this environment.
func newStderrLog(log *slog.Logger, env []string, cover func(string) string) *stderrLog {
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
	return &stderrLog{log: log, cover: cover, values: strings.NewReplacer(pairs...)}
}

// Write implements io.Writer; it never fails.
func (w *stderrLog) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && w.lines < maxLines {
		line, after, whole := bytes.Cut(b, []byte("\n"))
		w.rest = append(w.rest, line[:min(len(line), maxKept-len(w.rest))]...)
		b = after
		if !whole {
			break
		}
		w.say()
	}
	return n, nil
}

// end logs what came after the last line break: often why the server has ended.
func (w *stderrLog) end() {
	if len(w.rest) > 0 && w.lines < maxLines {
		w.say()
	}
}

func (w *stderrLog) say() {
	w.lines++
	text := w.values.Replace(string(w.rest))
	w.rest = w.rest[:0]
	if w.cover != nil {
		text = w.cover(text)
	}
	w.log.LogAttrs(context.Background(), slog.LevelInfo, "an MCP server says",
		slog.String("stderr", phases.SafeLine(text, maxLine)))
	if w.lines == maxLines {
		w.log.LogAttrs(context.Background(), slog.LevelWarn, "what the MCP server says from here on is not logged")
	}
}

var _ io.Writer = (*stderrLog)(nil)

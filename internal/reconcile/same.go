package reconcile

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// likeness says which differences between a log and what hooks are told are the runtime's own.
type likeness struct {
	// defaults: the runtime fills members in before it asks, and its log has what the model wrote.
	defaults bool
	// paths: it makes relative paths absolute before it asks.
	paths bool
	// cuts: its log hides the middle of what it takes for a secret.
	cuts bool
	// prepared returns the decoded arguments as the runtime makes them before it asks; nil: as they are.
	prepared func(tool string, args any) any
}

// same reports whether the arguments in the log are those of the verdict: as they came, or as belay
// changed them. What an event has redacted may be any text.
func (k likeness) same(logged jsontext.Value, v *Verdict) bool {
	return k.equal(logged, v.Asked, v) || v.Released != nil && k.equal(logged, v.Released, v)
}

func (k likeness) equal(logged, decided jsontext.Value, v *Verdict) bool {
	var a, b any
	if transcripts.Decode(logged, &a) != nil || json.Unmarshal(decided, &b) != nil {
		return false
	}
	return k.values(a, b, v.CWD, true) || k.prepared != nil && k.values(k.prepared(v.Tool, a), b, v.CWD, true)
}

func (k likeness) values(a, b any, cwd string, top bool) bool {
	switch b := b.(type) {
	case map[string]any:
		a, ok := a.(map[string]any)
		if !ok {
			return false
		}
		for name, value := range a {
			other, ok := b[name]
			if !ok || !k.values(value, other, cwd, false) {
				return false
			}
		}
		return len(a) == len(b) || top && k.defaults
	case []any:
		a, ok := a.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return k.values(x, y, cwd, false) })
	case string:
		if a, ok := a.(string); ok {
			return k.texts(a, b, cwd)
		}
		return redactedWhole(b) // a number or an object, in whose place the event has a mark
	}
	return a == b
}

func (k likeness) texts(logged, decided, cwd string) bool {
	if logged == decided || unredacted(decided).fits(logged) {
		return true
	}
	if k.cuts && strings.Contains(logged, "…") {
		// Both sides may hide a part: what stands before and behind has to be the same.
		parts := strings.Split(logged, "…")
		shown := unredacted(decided).parts
		return (&pattern{parts: parts, kinds: make([]string, len(parts)-1)}).fits(decided) || len(shown) > 1 &&
			(strings.HasPrefix(parts[0], shown[0]) || strings.HasPrefix(shown[0], parts[0]))
	}
	return k.paths && cwd != "" && !filepath.IsAbs(logged) && filepath.Join(cwd, logged) == decided
}

// redactedWhole reports whether the text is one mark of a redaction and nothing else.
func redactedWhole(text string) bool {
	p := unredacted(text)
	return len(p.parts) == 2 && p.parts[0] == "" && p.parts[1] == ""
}

// pattern is a text of which some parts are not known.
type pattern struct {
	parts []string // what is known
	kinds []string // of what stands between two of them
}

// unredacted returns what a text with marks of redactions may have been.
func unredacted(text string) *pattern {
	const begin, end = "[redacted:", "]"
	p := &pattern{}
	for {
		at := strings.Index(text, begin)
		to := -1
		if at >= 0 {
			to = strings.Index(text[at:], end)
		}
		if to < 0 {
			p.parts = append(p.parts, text)
			return p
		}
		p.parts, p.kinds = append(p.parts, text[:at]), append(p.kinds, text[at+len(begin):at+to])
		text = text[at+to+len(end):]
	}
}

// fits reports whether the text can be that of the pattern. In the place of a token no space can stand. A
// pattern without unknown parts fits itself alone.
func (p *pattern) fits(text string) bool {
	if len(p.kinds) == 0 {
		return text == p.parts[0]
	}
	var b strings.Builder
	b.WriteString(`\A`)
	for i, part := range p.parts {
		b.WriteString(regexp.QuoteMeta(part))
		switch {
		case i == len(p.kinds):
		case strings.Contains(p.kinds[i], "token"):
			b.WriteString(`\S+`)
		default:
			b.WriteString(`(?s:.+)`)
		}
	}
	re, err := regexp.Compile(b.String() + `\z`)
	return err == nil && re.MatchString(text)
}

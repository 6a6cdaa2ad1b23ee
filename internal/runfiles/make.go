package runfiles

import (
	"slices"
	"strings"
)

// maxMakeSteps bounds the work on one file of rules: bytes of values put in, and patterns that goals are
// compared with. Values name values, so that a short file could stand for a long one.
const maxMakeSteps = 4 << 20

// rules is what a make reads, as far as it matters which recipes run.
type rules struct {
	byTarget  map[string]*rule
	patterned []patternRule // in the order of the file
	values    map[string]string
	first     string // the goal where none is given
	steps     int    // of maxMakeSteps
}

type rule struct {
	needs []string
	lines []string
}

type patternRule struct {
	head, tail string // round the %
	*rule
}

// recipes returns what a make hands to a shell for the goals, and for what they depend on in the same
// file; without goals, for the first rule. ok is false where that is more than is told.
func recipes(text string, goals []string) (out string, ok bool) {
	r := parseRules(text)
	if len(goals) == 0 {
		goals = []string{r.first}
	}
	var b strings.Builder
	done := map[string]bool{}
	for todo := slices.Clone(goals); len(todo) > 0 && r.steps <= maxMakeSteps; todo = todo[1:] {
		if done[todo[0]] {
			continue
		}
		done[todo[0]] = true
		for _, found := range r.of(todo[0]) {
			todo = append(todo, found.needs...)
			for _, line := range found.lines {
				b.WriteString(r.expand(line))
				b.WriteByte('\n')
				if b.Len() > maxRunText {
					return "", false
				}
			}
		}
	}
	if r.steps > maxMakeSteps {
		return "", false
	}
	return b.String(), true
}

// parseRules reads the rules of a file, and the values that it gives to names.
func parseRules(text string) *rules {
	r := &rules{byTarget: map[string]*rule{}, values: map[string]string{"HOME": "$HOME"}}
	var current []*rule
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if line != strings.TrimLeft(line, " \t") {
			for _, of := range current {
				of.lines = append(of.lines, strings.TrimLeft(line, " \t@-+"))
			}
			continue
		}
		if name, how, value, ok := assignment(line); ok {
			r.assign(name, how, value)
			continue
		}
		head, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		needs, inline, _ := strings.Cut(strings.TrimLeft(rest, ":"), ";")
		current = nil
		for _, target := range strings.Fields(head) {
			of := r.target(target)
			of.needs = append(of.needs, strings.Fields(r.expand(needs))...) // now: values may change behind it
			if inline = strings.TrimSpace(inline); inline != "" {
				of.lines = append(of.lines, inline)
			}
			if len(current) == 0 || current[len(current)-1] != of {
				current = append(current, of)
			}
		}
	}
	return r
}

// assign gives a name its value, or adds to the one that it has.
func (r *rules) assign(name string, how byte, value string) {
	old, has := r.values[name]
	switch {
	case how == '?' && has:
		return
	case how == '+' && has:
		if r.steps += len(old); r.steps > maxMakeSteps {
			return
		}
		value = old + " " + value
	}
	r.values[name] = value
}

// target returns the rule of a target, and makes it where there is none.
func (r *rules) target(name string) *rule {
	if of := r.byTarget[name]; of != nil {
		return of
	}
	of := &rule{}
	r.byTarget[name] = of
	if head, tail, ok := strings.Cut(name, "%"); ok {
		r.patterned = append(r.patterned, patternRule{head, tail, of})
	}
	if r.first == "" && !strings.HasPrefix(name, ".") {
		r.first = name
	}
	return of
}

// of returns the rules by which a target may be made: its own, else all whose pattern fits it.
func (r *rules) of(target string) (out []*rule) {
	if own := r.byTarget[target]; own != nil {
		return []*rule{own}
	}
	r.steps += len(r.patterned)
	if r.steps > maxMakeSteps {
		return nil
	}
	for _, p := range r.patterned {
		if strings.HasPrefix(target, p.head) && strings.HasSuffix(target, p.tail) {
			out = append(out, p.rule)
		}
	}
	return out
}

// expand puts in the values that a text refers to, which may refer to others.
func (r *rules) expand(text string) string {
	for range 4 {
		next := r.substitute(text)
		if next == text || r.steps > maxMakeSteps {
			break
		}
		text = next
	}
	return strings.ReplaceAll(text, "$$", "$")
}

// substitute puts in, once, the value of each name in $(NAME) and ${NAME}. What has no value stays.
func (r *rules) substitute(text string) string {
	r.steps += len(text)
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for at := 0; at < len(text); {
		value, end := r.reference(text[at:])
		if end == 0 {
			b.WriteByte(text[at])
			at++
			continue
		}
		if r.steps += len(value); r.steps > maxMakeSteps {
			return text
		}
		b.WriteString(value)
		at += end
	}
	return b.String()
}

// reference returns the value of the name that a text begins with a reference to, and the reference's
// length; 0 where there is none. $$ is a dollar sign and no reference.
func (r *rules) reference(text string) (value string, length int) {
	if len(text) < 2 || text[0] != '$' {
		return "", 0
	}
	closing := byte(')')
	switch text[1] {
	case '$':
		return "$$", 2
	case '(':
	case '{':
		closing = '}'
	default:
		return "", 0
	}
	// A name is short: without a bound each $( of a text would look at the rest of it.
	end := strings.IndexByte(text[:min(len(text), maxMakeName)], closing)
	if end < 0 {
		return "", 0
	}
	value, ok := r.values[text[2:end]]
	if !ok {
		return "", 0
	}
	return value, end + 1
}

// maxMakeName is the most bytes of a reference.
const maxMakeName = 256

// assignment reads NAME = value of a file of rules; how is the sign before the =, or a blank.
func assignment(line string) (name string, how byte, value string, ok bool) {
	at := strings.IndexByte(line, '=')
	if at < 1 {
		return "", 0, "", false
	}
	name = strings.TrimSpace(strings.TrimRight(line[:at], ":?+! "))
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(name, "export "), "override "))
	if name == "" || strings.ContainsAny(name, " \t:$") {
		return "", 0, "", false
	}
	return name, line[at-1], strings.TrimSpace(line[at+1:]), true
}

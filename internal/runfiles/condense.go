package runfiles

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recipes returns what a make hands to a shell for the goals, and for what they depend on in the same
// file; without goals, for the first rule.
func recipes(text string, goals []string) string {
	type rule struct {
		needs []string
		lines []string
	}
	rules := map[string]*rule{}
	values := map[string]string{"HOME": "$HOME"}
	var current []*rule
	var begins string
	shell := func(s string) string {
		for range 4 { // values name others
			for name, value := range values {
				if len(s) < maxRunText && strings.Contains(s, "$") {
					s = strings.ReplaceAll(strings.ReplaceAll(s, "$("+name+")", value), "${"+name+"}", value)
				}
			}
		}
		return strings.ReplaceAll(s, "$$", "$")
	}
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\r\n")
		if line != strings.TrimLeft(line, " \t") {
			for _, r := range current {
				r.lines = append(r.lines, strings.TrimLeft(line, " \t@-+"))
			}
			continue
		}
		if name, value, ok := assignment(line); ok {
			values[name] = value
			continue
		}
		head, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		current = nil
		needs, inline, _ := strings.Cut(strings.TrimLeft(rest, ":"), ";")
		for _, target := range strings.Fields(head) {
			r := rules[target]
			if r == nil {
				r = &rule{}
				rules[target] = r
			}
			r.needs = append(r.needs, strings.Fields(shell(needs))...)
			if inline != "" {
				r.lines = append(r.lines, strings.TrimSpace(inline))
			}
			current = append(current, r)
			if begins == "" && !strings.HasPrefix(target, ".") {
				begins = target
			}
		}
	}
	if len(goals) == 0 {
		goals = []string{begins}
	}
	var out strings.Builder
	done := map[string]bool{}
	for todo := slices.Clone(goals); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if done[name] {
			continue
		}
		done[name] = true
		r := rules[name]
		if r == nil {
			for target, patterned := range rules {
				if head, tail, ok := strings.Cut(target, "%"); ok && strings.HasPrefix(name, head) &&
					strings.HasSuffix(name, tail) {
					r = patterned
				}
			}
		}
		if r == nil {
			continue
		}
		todo = append(todo, r.needs...)
		for _, l := range r.lines {
			out.WriteString(shell(l))
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// assignment reads NAME = value of a file of rules.
func assignment(line string) (name, value string, ok bool) {
	at := strings.IndexByte(line, '=')
	if at < 1 {
		return "", "", false
	}
	name = strings.TrimSpace(strings.TrimRight(line[:at], ":?+! "))
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(name, "export "), "override "))
	if name == "" || strings.ContainsAny(name, " \t:$") {
		return "", "", false
	}
	return name, strings.TrimSpace(line[at+1:]), true
}

// scripts returns the scripts of a package.json that have one of the names, one a line.
func scripts(text string, wanted []string) string {
	var doc struct {
		Scripts map[string]jsontext.Value `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &doc, jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	var out strings.Builder
	done := map[string]bool{}
	for todo := slices.Clone(wanted); len(todo) > 0 && len(done) < 64; todo = todo[1:] {
		name := todo[0]
		raw, ok := doc.Scripts[name]
		if done[name] || !ok {
			continue
		}
		done[name] = true
		var line string
		if json.Unmarshal(raw, &line) != nil {
			continue
		}
		out.WriteString(line)
		out.WriteByte('\n')
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 && (words[i-1] == "run" || words[i-1] == "npm" || words[i-1] == "yarn" || words[i-1] == "pnpm") {
				todo = append(todo, "pre"+w, w, "post"+w)
			}
		}
	}
	return out.String()
}

// patchHeads returns the lines of a patch that name files.
func patchHeads(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		for _, mark := range []string{"diff ", "--- ", "+++ ", "rename ", "copy ", "Index: ", "*** "} {
			if strings.HasPrefix(strings.TrimLeft(line, " \t"), mark) {
				out.WriteString(line)
				break
			}
		}
	}
	return out.String()
}

// around returns the parts of a program that name a runtime or belay, with the lines round them: the
// rest of a long program says nothing about either.
func around(text string) string {
	if len(text) <= 4<<10 {
		return text
	}
	const before, after, column = 12, 12, 400
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
	}
	keep := make([]bool, len(lines))
	for i, line := range lines {
		if !names(line) {
			continue
		}
		for k := max(0, i-before); k <= min(len(lines)-1, i+after); k++ {
			keep[k] = true
		}
	}
	var out strings.Builder
	for i, line := range lines {
		if !keep[i] {
			continue
		}
		if len(line) > 2*column && names(line) {
			line = excerpts(line, column)
		} else if len(line) > 2*column {
			line = line[:column]
		}
		out.WriteString(strings.ToValidUTF8(line, ""))
		out.WriteByte('\n')
		if out.Len() > maxRunText {
			break
		}
	}
	return out.String()
}

// Names that a program needs to reach a runtime's settings or belay.
var runtimeNames = []string{".claude", "claude-code", "claude_c", "codex", ".gemini", "gemini-cli", ".cursor/",
	"opencode",
	"openclaw", "belay", "disableallhooks"}

func names(line string) bool {
	line = strings.ToLower(line)
	return slices.ContainsFunc(runtimeNames, func(n string) bool { return strings.Contains(line, n) })
}

// excerpts returns the parts of a long line round the names.
func excerpts(line string, column int) string {
	var out strings.Builder
	lower := strings.ToLower(line)
	if len(lower) != len(line) {
		lower = line // letters whose case changes their length
	}
	for _, n := range runtimeNames {
		for at, count := 0, 0; count < 8; count++ {
			i := strings.Index(lower[at:], n)
			if i < 0 {
				break
			}
			i += at
			out.WriteString(line[max(0, i-column):min(len(line), i+column)])
			out.WriteByte('\n')
			at = i + column
			if at > len(lower) {
				break
			}
		}
	}
	return out.String()
}

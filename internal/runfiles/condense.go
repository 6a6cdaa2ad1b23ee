package runfiles

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxScripts is how many scripts of one package.json are followed.
const maxScripts = 64

// scripts returns the scripts of a package.json that have one of the names, one a line; ok is false where
// they are more than are followed.
func scripts(text string, wanted []string) (out string, ok bool) {
	var doc struct {
		Scripts map[string]jsontext.Value `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &doc, jsontext.AllowDuplicateNames(true)) != nil {
		return "", true // no package manager reads it either
	}
	var b strings.Builder
	done := map[string]bool{}
	for todo := slices.Clone(wanted); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		raw, there := doc.Scripts[name]
		if done[name] || !there {
			continue
		}
		if len(done) == maxScripts || len(todo) > maxRunText || b.Len() > maxRunText {
			return "", false
		}
		done[name] = true
		var line string
		if json.Unmarshal(raw, &line) != nil {
			continue
		}
		b.WriteString(line)
		b.WriteByte('\n')
		words := strings.Fields(line)
		for i, w := range words {
			if i > 0 && (words[i-1] == "run" || words[i-1] == "npm" || words[i-1] == "yarn" || words[i-1] == "pnpm") {
				todo = append(todo, "pre"+w, w, "post"+w)
			}
		}
	}
	return b.String(), true
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
	line = lowered(line)
	return slices.ContainsFunc(runtimeNames, func(n string) bool { return strings.Contains(line, n) })
}

// lowered writes the letters of ASCII, of which the names are, as small ones. Places in it are places in s.
func lowered(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// excerpts returns the parts of a long line round the names: all of them, or more than are told.
func excerpts(line string, column int) string {
	var out strings.Builder
	lower := lowered(line)
	for _, n := range runtimeNames {
		for at := 0; out.Len() <= maxRunText; {
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

package conformance_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// sentenceEnd is where a sentence of these documents ends: at a full stop before
// something that begins one.
var sentenceEnd = regexp.MustCompile("\\.\\*{0,2} (?:[A-Z`*(]|\\*\\*)")

// sentences takes a document in Markdown apart: prose by sentence, tables by row. Code
// blocks, headings and the heads of tables say nothing by themselves.
func sentences(src string) []string {
	var blocks []string
	code, open := false, false
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			code, open = !code, false
		case code, trimmed == "", strings.HasPrefix(trimmed, "#"):
			open = false
		case strings.HasPrefix(trimmed, "|"):
			open = false
			head := i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "|--")
			if !head && !strings.HasPrefix(trimmed, "|--") {
				blocks = append(blocks, trimmed)
			}
		case open && !strings.HasPrefix(trimmed, "- "):
			blocks[len(blocks)-1] += " " + trimmed
		default:
			blocks = append(blocks, trimmed)
			open = true
		}
	}
	var out []string
	for _, b := range blocks {
		if !strings.HasPrefix(b, "|") {
			for at := sentenceEnd.FindStringIndex(b); at != nil; at = sentenceEnd.FindStringIndex(b) {
				end := at[0] + strings.Index(b[at[0]:], " ")
				out = append(out, b[:end])
				b = b[end+1:]
			}
		}
		out = append(out, b)
	}
	return out
}

// Every sentence of the ABI is shown by a rule, or it is said why not; and every rule
// shows one. An author who changes a sentence looks at its rules.
func TestEverySentenceHasItsRule(t *testing.T) {
	src, err := os.ReadFile("sentences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Sentences []struct {
			Says  string   `json:"says"`
			Rules []string `json:"rules,omitzero"`
			Why   string   `json:"why,omitzero"` // there is no rule, or it is shown elsewhere
		} `json:"sentences"`
	}
	if err := strictyaml.Unmarshal(src, &doc); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, file := range []string{"../../hooks-sdk/abi/README.md", "../../docs/ABI.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		abi, _, _ := strings.Cut(string(text), "## The conformance kit")
		said = append(said, sentences(abi)...)
	}
	known, shown := map[string]bool{}, map[string]bool{}
	for _, r := range rules(t) {
		known[r.ID] = true
	}
	listed := map[string]bool{}
	for _, s := range doc.Sentences {
		if listed[s.Says] {
			t.Errorf("listed twice: %s", s.Says)
		}
		listed[s.Says] = true
		if !slices.Contains(said, s.Says) {
			t.Errorf("no longer in the documents: %s", s.Says)
		}
		if (len(s.Rules) == 0) == (s.Why == "") {
			t.Errorf("either rules or why there are none: %s", s.Says)
		}
		for _, id := range s.Rules {
			shown[id] = true
			if !known[id] {
				t.Errorf("there is no rule %s: %s", id, s.Says)
			}
		}
	}
	for _, s := range said {
		if !listed[s] {
			t.Errorf("not in sentences.yaml: %s", s)
		}
	}
	for id := range known {
		if !shown[id] {
			t.Errorf("rule %s shows no sentence", id)
		}
	}
}

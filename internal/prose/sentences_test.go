package prose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/prose"
)

// What a sentence is.
func TestSentencesAreCounted(t *testing.T) {
	page := "# A heading of some words\n\nOne two `three four` `` `five six` `` seven. Six\nseven [eight nine](x.md)!\n- ten\n" +
		"- eleven 1.5 twelve\n\n| a | b |\n```\ncode code\n```\n<!-- a comment -->\n> quoted\n"
	got := fmt.Sprint(prose.Sentences(page))
	if want := "[{3 5 One two Code Code seven} {3 4 Six seven eight nine} {5 1 ten} {6 3 eleven 1.5 twelve}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Prose is wrapped; tables, headings, code and a link alone are not.
func TestWideLinesAreFound(t *testing.T) {
	wide := strings.Repeat("wide ", 21)
	page := wide + "\n| " + wide + "\n# " + wide + "\n```\n" + wide + "\n```\n" + strings.Repeat("x", 101) + "\n- " + wide
	if got := prose.WideLines(page); !slices.Equal(got, []int{1, 8}) {
		t.Errorf("the wide lines are %d", got)
	}
}

// Vague words are found in prose, and left alone in code.
func TestVagueWordsAreFound(t *testing.T) {
	got := prose.Vague("fine\nNobody acts\n`somebody`\n```\nanybody\n```\nit is on record\nsay what it is made of\n")
	if len(got) != 3 || got[2] != "Nobody" || got[7] != "on record" || got[8] != "what it is" {
		t.Errorf("%v", got)
	}
}

// A block has its place, its language and its marks.
func TestBlocksHaveMarks(t *testing.T) {
	page := "text\n\n<!-- exit: 3 -->\n<!-- shows: a b -->\n```sh\nfalse\n```\n\n```\nplain\n```\n<!-- needs: a registry -->\n" +
		"```yaml\na: 1\n```\n<!-- by: guard.TestX -->\n```go\n```\n"
	want := []prose.Block{
		{Line: 5, Language: "sh", Text: "false\n", Exit: "3", Shows: "a b"},
		{Line: 9, Text: "plain\n"},
		{Line: 13, Language: "yaml", Text: "a: 1\n", Needs: "a registry"},
		{Line: 17, Language: "go", By: "guard.TestX"},
	}
	if got := prose.Blocks(page); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// Package prose decides whether a text of belay can be read: how long its sentences and lines are, and which of its
// words hide what they mean. It also finds the blocks of a page, which tests run. It never changes a text.
package prose

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of a text. CONTRIBUTING.md has the rule.
const (
	MaxWords   = 25  // of a sentence
	MaxColumns = 100 // of a line of prose
)

// Sentence is one sentence of prose, with the line at which its paragraph begins.
type Sentence struct {
	Line, Words int
	Text        string
}

var (
	code    = regexp.MustCompile("```` .*? ````|`` .*? ``|`[^`]+`")
	item    = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	comment = regexp.MustCompile(`(?s)<!--.*?-->`)
	// What a program writes into a page stands between two marks.
	generated = regexp.MustCompile(`(?s)<!-- ([a-z-]+): begin -->.*?<!-- [a-z-]+: end -->`)
	// A full stop, question mark or exclamation mark ends a sentence where a blank follows.
	stop = regexp.MustCompile(`[.!?][)"”*]*\s+`)
)

// Sentences returns the sentences of a page's paragraphs and list items. Code in backquotes is one word, a link is
// read as its text. Blocks, tables, headings and quotations are no prose.
func Sentences(page string) (out []Sentence) {
	var paragraph []string
	begin := 0
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, split(begin, strings.Join(paragraph, " "))...)
		}
		paragraph = nil
	}
	for i, line := range strings.Split(Plain(page), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "#"),
			strings.HasPrefix(trimmed, ">"):
			end()
			continue
		case item.MatchString(line):
			end()
		}
		if len(paragraph) == 0 {
			begin = i + 1
		}
		paragraph = append(paragraph, item.ReplaceAllString(line, ""))
	}
	end()
	return out
}

func split(line int, text string) (out []Sentence) {
	text = code.ReplaceAllString(linked.ReplaceAllString(text, "$1"), "Code")
	from := 0
	for _, at := range append(stop.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		if s := strings.TrimSpace(text[from:at[0]]); s != "" {
			s = strings.TrimRight(s, ".!?")
			out = append(out, Sentence{line, len(strings.Fields(s)), s})
		}
		from = at[1]
	}
	return out
}

// Plain returns a page without its blocks, its comments and what a program has written into it, line by line the same.
func Plain(page string) string {
	for _, r := range []*regexp.Regexp{fence, generated, comment} {
		page = r.ReplaceAllStringFunc(page, blank)
	}
	return page
}

// blank keeps only the line ends of a text.
func blank(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

// WideLines returns the numbers of the lines of prose that are wider than MaxColumns and can be broken.
func WideLines(page string) (out []int) {
	for i, line := range strings.Split(Plain(page), "\n") {
		if utf8.RuneCountInString(line) > MaxColumns && wraps(line) {
			out = append(out, i+1)
		}
	}
	return out
}

// wraps reports whether a line is prose that can be broken: no table, no heading, and more than one word. A name in
// code is one.
func wraps(line string) bool {
	line = code.ReplaceAllString(strings.TrimSpace(line), "code") // which is not broken
	return line != "" && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "#") &&
		strings.Contains(strings.TrimPrefix(line, "- "), " ")
}

// vague are words and phrases that hide who acts, or that say a common thing in an uncommon way. CONTRIBUTING.md has
// the rule, and the words to say instead.
var vague = regexp.MustCompile(`(?i)\b((?:no|some|any)body|whoever|purse|tapes?|on (?:record|file)|(?:go|goes|gone) round|` +
	`for an error|not ours|makes? room|given up|what(?:ever)? (?:it|they) (?:is|are|was|were))\b`)

// VagueWord returns the first vague word or phrase of a text, "" where it has none.
func VagueWord(text string) string { return vague.FindString(text) }

// Vague returns the first vague word of each line of prose that has one, by the number of the line. Code is left alone.
func Vague(page string) map[int]string {
	out := map[int]string{}
	for i, line := range strings.Split(code.ReplaceAllString(Plain(page), ""), "\n") {
		if word := VagueWord(line); word != "" {
			out[i+1] = word
		}
	}
	return out
}

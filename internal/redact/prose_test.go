package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Four groups are found wherever a look begins, and whatever the look before has found.
func TestFourGroups(t *testing.T) {
	// firstGroups is the plain way: each sentence is gone over for each look.
	firstGroups := func(s string, at int) int {
		sentence := s[at:]
		if n := strings.IndexAny(sentence, "\n.;"); n >= 0 {
			sentence = sentence[:n]
		}
		for from := range len(sentence) {
			if from > 0 && lowerByte(sentence[from-1]) || len(sentence)-from < lenGroups {
				continue
			}
			to := from + lenGroups
			words := strings.Split(sentence[from:to], " ")
			if len(words) == 4 && (to == len(sentence) || !lowerByte(sentence[to])) &&
				!slices.ContainsFunc(words, func(w string) bool {
					return len(w) != 4 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
				}) {
				return at + to
			}
		}
		return 0
	}
	g, found := generator{rand.New(rand.NewPCG(1, 6))}, 0
	for range 3000 {
		var b strings.Builder
		for range 20 + g.IntN(60) {
			b.WriteString(g.pick("abcd ", "abcd ", "abcd ", "abcd abcd ", "abcd abcd abcd ", "abc ", "abcde ", "Abcd ", "abcd",
				" ", "\n", ".", "(", "app password "))
		}
		s := " " + b.String()
		var groups fourGroups
		for range 10 {
			at := 1 + g.IntN(len(s))
			if at < len(s) && lowerByte(s[at-1]) {
				continue
			}
			got, want := groups.at(s, at), firstGroups(s, at)
			if got != want {
				t.Fatalf("%q from %d: %d, want %d", s, at, got, want)
			}
			if got > 0 {
				found++
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d groups were found", found)
	}
}

// A sentence that names very many passwords, or a line with very many commands, is not gone over for each of them: a
// second look does not see that the text is another one.
func TestLongSentencesAreGoneOverOnce(t *testing.T) {
	var groups fourGroups
	const none, some = " app password is app password is none at all", " app password abcd efgh ijkl mnop and no more"
	if groups.at(none, 14) != 0 || groups.at(some, 14) != 0 {
		t.Error("a sentence without groups is gone over again")
	}
	if groups = (fourGroups{}); groups.at(some, 1) != 33 || groups.at(none, 14) != 33 {
		t.Error("a sentence is gone over again up to its groups")
	}
	line := lineEnd(-1)
	if line.of("a b c d\ne f", 0) != 7 || line.of("a b\nc d e f", 2) != 7 || line.of("a b c d\ne f", 8) != 11 {
		t.Error("a line is gone over again")
	}
}

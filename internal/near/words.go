// Package near finds the word that a mistyped one was meant to be. It decides nothing: its answers stand in messages.
package near

import (
	"slices"
	"strings"
)

// Of returns the candidate that differs least from the word, or "" when none is near: letter case and the
// characters - _ . and / do not count, one letter of four may be wrong, and a letter may have changed places with the
// next.
func Of(word string, candidates []string) string {
	best, least := "", 0
	w := plain(word)
	for _, c := range candidates {
		p := plain(c)
		most := max(1, min(len(w), len(p))/4)
		if len(w) < 2 || len(p) < 2 {
			most = 0
		}
		if d := distance(w, p, most); d <= most && (best == "" || d < least) {
			best, least = c, d
		}
	}
	return best
}

func plain(s string) []rune {
	if len(s) > maxWord {
		s = s[:maxWord]
	}
	return []rune(strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_./", r) {
			return -1
		}
		return r
	}, strings.ToLower(s)))
}

const maxWord = 64 // bytes of a word that are compared

// distance is how many letters have to be put in, left out, replaced or exchanged with the next one; more than most is
// some number beyond it.
func distance(a, b []rune, most int) int {
	if n := len(a) - len(b); n > most || -n > most {
		return most + 1
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Question asks whether the nearest candidate was meant: "did you mean X?"; "" when none is near.
func Question(word string, candidates []string) string {
	if c := Of(word, candidates); c != "" && c != word {
		return "did you mean " + c + "?"
	}
	return ""
}

// List writes words with commas, and "and" before the last one.
func List(words []string) string {
	words = slices.Clone(words)
	if n := len(words); n > 1 {
		words = append(words[:n-2], words[n-2]+" and "+words[n-1])
	}
	return strings.Join(words, ", ")
}

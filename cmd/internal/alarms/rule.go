package alarms

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/belay-hooks/belay/phases"
)

// maxRule bounds the name of a rule that is made from a reason, in characters.
const maxRule = 72

// maxNamed bounds the rules that are read from one reason.
const maxNamed = 16

var (
	// named is how the hook of a rules file and the built-in guards end each of their reasons.
	named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\((?:rule )?([a-z0-9][a-z0-9._-]{0,63})\)(?:; |$)`) })

	// ruled is how the hook of a rules file ends each of them: it may cite what a call says, which may end like
	// those of a guard.
	ruled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\(rule ([a-z0-9][a-z0-9._-]{0,63})\)(?:; |$)`) })

	// quoted are texts that a reason cites.
	quoted = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("'[^']*'|\"[^\"]*\"|`[^`]*`|“[^”]*”|‘[^’]*’")
	})
)

// rulesOf names the rules that gave a reason: those of a rules file and of a guard by their names, a failure by its
// kind, and any other reason by its words without what differs from call to call. It returns at
// least one name and each name once.
func rulesOf(reason string, kind phases.Kind) []string {
	if kind != "" && kind != phases.KindPolicy {
		return []string{"failure: " + string(kind)}
	}
	var names []string
	known := map[string]bool{}
	ends := named()
	if all := ruled().FindAllStringIndex(reason, -1); len(all) > 0 && all[len(all)-1][1] == len(reason) {
		ends = ruled()
	}
	for _, m := range ends.FindAllStringSubmatch(reason, maxNamed) {
		if !known[m[1]] {
			known[m[1]] = true
			names = append(names, m[1])
		}
	}
	if len(names) > 0 {
		return names
	}
	return []string{shape(reason)}
}

// shape is the first clause of a reason without cited texts, paths, addresses and numbers, so that
// calls that one check of a hook stopped fall together. What follows a colon is the case at hand.
func shape(reason string) string {
	var words []string
	for _, word := range strings.Fields(quoted().ReplaceAllString(reason, "…")) {
		clause := strings.TrimRight(word, ":.;")
		ends := clause != word
		if strings.ContainsAny(clause, `/\@=~$*`) || strings.ContainsFunc(clause, unicode.IsDigit) {
			clause = "…"
		}
		if clause != "" && (clause != "…" || len(words) == 0 || words[len(words)-1] != "…") {
			words = append(words, clause)
		}
		if ends && len(words) > 0 {
			break
		}
	}
	text := strings.Join(words, " ")
	if text == "" {
		return "no reason"
	}
	if utf8.RuneCountInString(text) > maxRule {
		text = string([]rune(text)[:maxRule-1]) + "…"
	}
	return text
}

package redact

import "strings"

const maxStage = len("development") // the longest of stages

// stages are the words that say which one of several values a name stands for; read only.
var stages = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`prod production staging stage dev development live main backup old new current
		previous secondary private value val raw b64 base64 plain plaintext str env local remote eu us v1 v2 v3 test qa
		uat ci cd rw ro write`) {
		words[w] = true
	}
	return words
}()

// unstaged takes the last word off a name when it says which one of several values this is and nothing about its kind:
// API_KEY_PROD, db.password.old, TOKEN_2.
func unstaged(name string) (string, bool) {
	i := len(name) - 1
	for i >= 0 && i >= len(name)-12 && name[i] != '_' && name[i] != '-' && name[i] != '.' {
		i--
	}
	if i < 0 || i < len(name)-12 {
		n := len(name)
		if n == 0 || !digit(name[n-1]) || n > 1 && digit(name[n-2]) {
			return "", false
		}
		return name[:n-1], !hasSuffixFold(name[:n-1], "auth") // password1
	}
	head, last := name[:i], name[i+1:]
	if len(last) <= 2 && (last == "" || digit(last[0]) && digit(last[len(last)-1])) {
		return head, last != ""
	}
	if len(last) <= maxStage {
		var room [maxStage]byte
		if stages[string(lowerInto(room[:], last))] {
			return head, true
		}
	}
	return "", false
}

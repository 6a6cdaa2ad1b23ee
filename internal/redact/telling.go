package redact

import "strings"

// findTelling finds tokens of issuers that are not listed: short words joined
// by _ or -, one of which is telling (sk, pat, live, secret …), and then a long
// body that no person would type.
func findTelling(s string, runs []span, add func(kind string, from, to int)) {
	for _, r := range runs {
		if r.to-r.from >= minTelling {
			tellingIn(s, r, add)
		}
	}
}

// minTelling is a telling word, what joins it to a body, and the body.
const minTelling = 2 + 1 + 20

// tellingIn is findTelling in one run.
func tellingIn(s string, r span, add func(kind string, from, to int)) {
	for i := r.from; i < r.to; {
		if !word[s[i]] {
			i++
			continue
		}
		from, last, telling, tail := i, i, false, 0
		// which marks a key's begin or end
		for i < len(s) && (word[s[i]] || s[i] == '_' || s[i] == '-') && !strings.HasPrefix(s[i:], "-----") {
			if s[i] == '_' || s[i] == '-' {
				// The first long part ends the prefix.
				if i-last <= 12 && !(i-last >= 8 && randomish(s[last:i])) {
					if tellingWord(s[last:i]) && last-from <= 24 {
						if telling = true; tail == 0 {
							tail = i + 1
						}
					}
					last = i + 1
				}
			}
			i++
		}
		if !telling || last <= from {
			continue
		}
		body := s[min(last, i):i]
		generated := last-from <= 40 && len(body) >= 20 && (randomish(body) || !identifier(body)) && !dull(body)
		if !generated { // the body may have _ and - itself
			body = s[tail:i]
			generated = len(body) >= 24 && mixed(body) && !identifier(body) && !dull(body)
		}
		if prefix := s[from:last]; generated && !strings.HasPrefix(prefix, "pk_") && !strings.Contains(prefix, "_pk_") &&
			!strings.Contains(prefix, "publi") {
			add("token", from, i)
		}
	}
}

func tellingWord(w string) bool {
	switch strings.ToLower(w) {
	case "sk", "rk", "pat", "tok", "tkn", "token", "key", "apikey", "api", "secret", "live", "prod", "auth", "access",
		"admin", "svc", "cred", "pw", "oauth", "refresh", "private", "sec":
		return true
	}
	return false
}

package redact

import (
	"encoding/base64"
	"strings"
)

// minShape is the least length of the shapes that stand in one run.
const minShape = 36

// findShapes finds tokens that begin with nothing fixed: their fixed part
// stands inside of them.
func findShapes(s string, c *census, add func(kind string, from, to int)) {
	for _, p := range c.pairs {
		if i := int(p); i > 0 && i+4 <= len(s) {
			telegram(s, i, add)
			pgpass(s, i, add)
		}
	}
	for _, r := range c.runs {
		if r.to-r.from < minShape {
			continue
		}
		for i, end := max(r.from, 1), min(r.to, len(s)-3); i < end; i++ {
			switch s[i] {
			case '~':
				entra(s, i, add)
			case '-':
				mailchimp(s, i, add)
			case '.':
				discord(s, i, add)
			case '_':
				prefixed(s, i, add)
			}
		}
	}
}

// entra finds a client secret of Entra ID: abc8Q~ and 31 to 34 characters.
func entra(s string, i int, add func(kind string, from, to int)) {
	if i < 5 || s[i-1] != 'Q' || !inClass(s[i-2], "d") {
		return
	}
	from, to := i-2, i+1
	for from > i-5 && inClass(s[from-1], "w_~.-") {
		from--
	}
	for to < len(s) && to-i < 40 && inClass(s[to], "w_~.-") {
		to++
	}
	if from == i-5 && to-i > 31 && to-i <= 36 {
		add("azure-client-secret", from, to)
	}
}

// mailchimp finds a key of Mailchimp: 32 hexadecimal digits, then -us21.
func mailchimp(s string, i int, add func(kind string, from, to int)) {
	if i < 32 || s[i+1] != 'u' || s[i+2] != 's' || !inClass(s[i+3], "d") || i > 32 && word[s[i-33]] {
		return
	}
	if hexRun(s[i-32 : i]) {
		to := i + 4
		for to < len(s) && to < i+6 && inClass(s[to], "d") {
			to++
		}
		add("mailchimp-key", i-32, to)
	}
}

func hexRun(s string) bool {
	for i := 0; i < len(s); i++ {
		if !hexByte[s[i]] {
			return false
		}
	}
	return true
}

// telegram finds the token of a bot: 8 to 10 digits, a colon, AA and 33 more.
func telegram(s string, colon int, add func(kind string, from, to int)) {
	if s[colon+1] != 'A' || !inClass(s[colon-1], "d") {
		return
	}
	from, to := colon, colon+1
	for from > 0 && colon-from < 11 && inClass(s[from-1], "d") {
		from--
	}
	for to < len(s) && to-colon < 38 && inClass(s[to], "w-_") {
		to++
	}
	if n := colon - from; n >= 8 && n <= 10 && to-colon-1 >= 33 && to-colon-1 <= 36 {
		add("telegram-token", from, to)
	}
}

// discord finds the token of a bot: the bot's number in base64, a time and a
// keyed digest, joined by dots. dot is the first of the two.
func discord(s string, dot int, add func(kind string, from, to int)) {
	if dot < 22 || dot+8 >= len(s) || s[dot+7] != '.' {
		return
	}
	from, to := dot, dot+8
	for from > 0 && dot-from < 30 && inClass(s[from-1], "w-_") {
		from--
	}
	for to < len(s) && to-dot < 60 && inClass(s[to], "w-_") {
		to++
	}
	if dot-from < 22 || dot-from > 28 || to-dot < 8+25 || to-dot > 8+45 {
		return
	}
	id, err := base64.RawURLEncoding.DecodeString(s[from:dot])
	if err == nil && strings.Trim(string(id), "0123456789") == "" {
		add("discord-token", from, to)
	}
}

// prefixed finds the tokens of issuers that are not listed: a name in lower case, an underscore at s[i], and 32 or more
// generated characters. Names of public things are left alone.
func prefixed(s string, i int, add func(kind string, from, to int)) {
	to := i + 1
	for to < len(s) && word[s[to]] {
		to++
	}
	if to-i-1 < 32 || to-i-1 > 128 || to < len(s) && strings.IndexByte("_-+/=", s[to]) >= 0 {
		return
	}
	from := i
	for from > 0 && i-from <= 24 && (s[from-1] == '_' || class(s[from-1]) == 0 || class(s[from-1]) == 2) {
		from--
	}
	name := s[from:i]
	if len(name) < 3 || len(name) > 24 || class(name[0]) != 0 ||
		from > 0 && (word[s[from-1]] || strings.IndexByte("-+/.", s[from-1]) >= 0) {
		return
	}
	if from > 0 && s[from-1] == '\\' {
		return // the name may begin with the letter of an escape
	}
	for _, forms := range byHead.forms {
		for k := range forms {
			if strings.HasSuffix(s[from:i+1], forms[k].prefix) {
				return // a listed form has its own rule for what may stand before it
			}
		}
	}
	for _, part := range strings.Split(name, "_") {
		switch part {
		case "", "sk", "pk", "pub", "public", "publishable", "phc", "id", "hash", "sha", "sha1", "sha256", "digest", "commit",
			"rev", "cache", "chunk", "bundle", "etag", "test", "cid", "ipfs", "address", "addr":
			return
		}
	}
	if body := s[i+1 : to]; scrambled(body) && !dull(body) {
		add("token", from, to)
	}
}

// pgpass finds a line of libpq's password file, host:port:database:user:password.
// colon is the first.
func pgpass(s string, colon int, add func(kind string, from, to int)) {
	at := colon + 1
	for at < len(s) && at-colon < 7 && (inClass(s[at], "d") || s[at] == '*') {
		at++
	}
	if at == colon+1 || at >= len(s) || s[at] != ':' || !(word[s[colon-1]] || s[colon-1] == '*') {
		return
	}
	begin := max(0, colon-128)
	begin += strings.LastIndexAny(s[begin:colon], "\n\"'") + 1
	if strings.ContainsAny(s[begin:colon], " \t:/") {
		return
	}
	end := min(len(s), at+512)
	if n := strings.IndexAny(s[at:end], "\r\n\"'"); n >= 0 {
		end = at + n
	}
	fields := strings.SplitN(s[at+1:end], ":", 3)
	if len(fields) != 3 || fields[0] == "" || fields[1] == "" ||
		strings.ContainsAny(fields[0]+fields[1]+fields[2], " \t/") || strings.Trim(fields[0], "0123456789") == "" {
		return
	}
	if credible(fields[2], strong, true) {
		from := at + 1 + len(fields[0]) + 1 + len(fields[1]) + 1
		add("password", from, from+len(fields[2]))
	}
}

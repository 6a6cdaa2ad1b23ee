package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
)

// findPEM finds private keys: the body between the markers, to the end of the
// text or of what looks like a body when the end is cut off.
func findPEM(s string, c *census, add func(kind string, from, to int)) {
	for k, name := range keyNames {
		if c.literals&keyNameBits[k] != 0 {
			findPEMOf(s, name, add)
		}
	}
}

// Read only.
var (
	keyNames     = [...]string{"PRIVATE KEY", "Static key V1", "SECRET KEY"} // behind BEGIN
	keyNameBits  = [...]literals{literalOf(keyNames[0]), literalOf(keyNames[1]), literalOf(keyNames[2])}
	literalsPEM  = keyNameBits[0] | keyNameBits[1] | keyNameBits[2]
	literalPuTTY = literalOf("Private-Lines:")
)

// findPEMOf is findPEM for the keys of one name.
func findPEMOf(s, name string, add func(kind string, from, to int)) {
	for at := 0; ; {
		i := strings.Index(s[at:], name)
		if i < 0 {
			return
		}
		i += at
		at = i + len(name)
		begin := strings.LastIndex(s[max(0, i-40):i], "BEGIN ")
		if begin < 0 {
			continue
		}
		from := at
		if strings.HasPrefix(s[from:], " BLOCK") {
			from += len(" BLOCK")
		}
		for from < len(s) && s[from] == '-' {
			from++
		}
		// Nothing beyond the next beginning belongs to this key, so that a text of
		// beginnings is read once and not once for each of them.
		rest := s[from:]
		if next := strings.Index(rest, "BEGIN "); next >= 0 {
			rest = rest[:next]
		}
		to := from + pemBody(rest) // cut off
		if end := strings.Index(rest, "-----END"); end >= 0 {
			to = from + end
		}
		letters := 0
		for k := from; k < to; k++ {
			if inClass(s[k], "w+/") {
				letters++
			}
		}
		if letters >= 16 {
			add("private-key", from, to)
		}
		at = max(to, at)
	}
}

// findPuTTY finds the private parts of PuTTY key files.
func findPuTTY(s string, add func(kind string, from, to int)) {
	const head = "Private-Lines:"
	for at := 0; ; {
		i := strings.Index(s[at:], head)
		if i < 0 {
			return
		}
		from := at + i + len(head)
		// What stands in the line itself is how many follow, or the key.
		if nl := strings.IndexByte(s[from:], '\n'); nl >= 0 && nl < 16 {
			from += nl + 1
		}
		to := len(s)
		if end := strings.Index(s[from:], "Private-MAC"); end >= 0 {
			to = from + end
		}
		if to-from >= 16 {
			add("private-key", from, to)
		}
		at = to
	}
}

// pemBody returns where a body that has no end marker stops looking like one.
func pemBody(s string) (to int) {
	for to < len(s) {
		end := strings.IndexByte(s[to:], '\n')
		if end < 0 {
			end = len(s) - to
		} else {
			end++
		}
		line := strings.TrimSpace(s[to : to+end])
		if strings.Count(line, " ") > 1 && !strings.Contains(line, ":") {
			return to
		}
		to += end
	}
	return to
}

// findJWT finds JSON Web Tokens: three parts of base64url, the first of which
// is an object with an algorithm.
func findJWT(s string, runs []span, add func(kind string, from, to int)) {
	for _, r := range runs {
		if r.to-r.from >= minJWT {
			jwtIn(s, r, add)
		}
	}
}

const minJWT = 10 + 1 + 9 // the first part, a dot, and the rest

// jwtIn is findJWT in one run.
func jwtIn(s string, r span, add func(kind string, from, to int)) {
	for at := r.from; ; {
		i := strings.Index(s[at:r.to], "eyJ")
		if i < 0 {
			return
		}
		from := at + i
		at = from + 3
		if from > 0 && inClass(s[from-1], "w_") && !afterEscape(s, from) {
			continue
		}
		to := from
		for to < len(s) && inClass(s[to], "w-_.=") {
			to++
		}
		at = to
		head, rest, _ := strings.Cut(s[from:to], ".")
		if len(head) < 10 || len(rest) < 9 {
			continue
		}
		if raw, err := base64.RawURLEncoding.DecodeString(head); err == nil && strings.Contains(string(raw), `"alg"`) {
			add("jwt", from, to)
		}
	}
}

// urlEnd are the bytes at which a URL ends in a text; read only.
var urlEnd = bytesOf(" \t\r\n\"'<>`\\")

func bytesOf(list string) (t [256]bool) {
	for i := 0; i < len(list); i++ {
		t[list[i]] = true
	}
	return t
}

var (
	registryPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A[0-9]{1,5}/[a-z0-9._/-]+(?::[A-Za-z0-9._-]+)?\z`) })
	fileDigest   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\Asha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})\z`) })
)

// findURLs covers passwords in URLs, and signatures and tokens in paths.
func findURLs(s string, add func(kind string, from, to int)) {
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			break
		}
		start := at + i + 3
		at = start
		// The next :// begins another URL: a text of beginnings is read once.
		end := start
		for end < len(s) && !urlEnd[s[end]] && !strings.HasPrefix(s[end:], "://") {
			end++
		}
		host := end
		if slash := strings.IndexAny(s[start:end], "/?#"); slash >= 0 && strings.IndexByte(s[start:start+slash], '@') >= 0 {
			host = start + slash
		}
		sign := strings.LastIndexByte(s[start:host], '@')
		if sign < 0 {
			continue
		}
		user, pass, ok := strings.Cut(s[start:start+sign], ":")
		if strings.ContainsAny(user, "/@()[]") {
			continue
		}
		if !ok {
			if len(user) >= 20 && credible(user, weak, true) && // token@host
				// public
				!strings.HasSuffix(s[start+sign:host], ".sentry.io") && !strings.Contains(s[start+sign:host], ".sentry.io/") {
				add("url-password", start, start+sign)
			}
			continue
		}
		if registryPath().MatchString(pass) && fileDigest().MatchString(s[start+sign+1:end]) {
			continue // HOST:PORT/NAME@sha256:…, as registries name what they hold
		}
		if len(pass) < 3 || !credible(pass, strong, true) || strings.EqualFold(user, pass) {
			continue
		}
		add("url-password", start+len(user)+1, start+sign)
	}
}

package redact

import "strings"

// maxArguments is how many arguments of a call are looked at.
const maxArguments = 8

// arguments looks for secrets among the string literals that a call of the function begins with; s[open] is its
// bracket. Only the function's name marks them as secrets, so that a generator must have made them; strict asks for
// digits in the way of one.
func (d *detector) arguments(s, kind string, str strength, name string, open int, strict bool,
	add func(string, int, int)) {
	n := 0
	listed(s, firstLiteral(s, open), func(from, to int, _ bool) {
		if v := s[from:to]; n < maxArguments && (randomish(v) || !strict && len(v) >= 12 && onlyNames(v) && !identifier(v)) {
			d.value(s, kind, min(str, weak), name, from, to, true, add)
		}
		n++
	})
}

// client finds what a constructor takes whose name says that it opens something: Client("KEY"), Client("ID", "KEY"),
// connect("dsn", "user", "PASSWORD"), Wallet("0x…").
func client(s, name string, open int, add func(string, int, int)) {
	var room [maxFunction]byte
	last := string(lastWord(&room, name))
	switch last {
	case "client", "wallet", "keypair", "signer", "connect", "connection", "pdo", "bind":
	default:
		return
	}
	first, n := firstLiteral(s, open), 0
	if first > open+1 {
		n = 1
	}
	listed(s, first, func(from, to int, _ bool) {
		v := s[from:to]
		if n++; n > maxArguments || len(v) > 512 || !onlyNames(v) {
			return
		}
		switch last {
		case "client":
			if len(v) >= 24 && credible(v, weakest, true) && (mixed(v) || n > 1 && hexRun(v)) {
				add("key", from, to)
			}
		case "connect", "connection", "pdo", "bind":
			if n > 1 && len(v) >= 10 && len(v) <= 64 && mixed(v) && (randomish(v) || !identifier(v)) {
				add("password", from, to)
			}
		default:
			if hex := strings.TrimPrefix(v, "0x"); len(hex) == 64 && hexRun(hex) && !dull(hex) {
				add("private-key", from, to)
			}
		}
	})
}

// maxFunction is the longest last word of a function's name that says something of its arguments.
const maxFunction = len("authenticate")

// lastWord writes the last word of a name in lower case; nothing of one that is too long.
func lastWord(room *[maxFunction]byte, name string) []byte {
	from, end := wordBefore(name, len(name))
	if end-from > len(room) {
		return nil
	}
	return lowerInto(room[:], name[from:end])
}

// firstLiteral returns where the first string literal of a call begins whose bracket is s[open]: its first argument, or
// its second behind a variable. It is 0 when there is none.
func firstLiteral(s string, open int) int {
	i := open + 1
	for i < len(s) && i-open < 40 && (word[s[i]] || s[i] == '_' || s[i] == '.' || s[i] == '$') {
		i++
	}
	if i > open+1 {
		if i+1 >= len(s) || s[i] != ',' {
			return 0
		}
		if i++; s[i] == ' ' {
			i++
		}
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		return i
	}
	return 0
}

// element returns the name of the element of XML whose tag ends at s[end], without its namespace; "" when
// there is none.
func element(s string, end int) string {
	head := s[max(0, end-120):end]
	i := strings.LastIndexByte(head, '<')
	if i < 0 || strings.IndexByte(head[i:], '>') >= 0 {
		return ""
	}
	tag := head[i+1:]
	n := 0
	for n < len(tag) && (nameByte[tag[n]] || tag[n] == ':') {
		n++
	}
	return tag[strings.LastIndexByte(tag[:n], ':')+1 : n]
}

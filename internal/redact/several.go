package redact

import "strings"

// maxSeveral is how many values of one name are looked at.
const maxSeveral = 64

// several tells of each value that one name has behind s[at:]: the elements of a list in brackets, ["X", "Y"], or the
// lines of a block of YAML. It reports whether there is a list or a block. from is where the name begins, sep what
// stands behind it.
func several(s string, from, sep int, tell func(from, to int, quoted bool)) bool {
	at := sep + 1
	for at < len(s) && (s[at] == ' ' || s[at] == '=') {
		at++
	}
	if at == len(s) {
		return false
	}
	switch {
	case s[at] == '[':
		return listed(s, at+1, tell)
	case s[sep] == ':' && (s[at] == '|' || s[at] == '>'):
		return block(s, from, at+1, tell)
	}
	return false
}

// listed tells of the quoted elements of a list whose bracket stands before s[at:].
func listed(s string, at int, tell func(from, to int, quoted bool)) (some bool) {
	for range maxSeveral {
		for at < len(s) && strings.IndexByte(" \t\r\n,", s[at]) >= 0 {
			at++
		}
		if at == len(s) || s[at] != '"' && s[at] != '\'' {
			return some
		}
		to := quotedEnd(s, at)
		tell(at+1, to, true)
		some = true
		at = min(to+1, len(s))
	}
	return some
}

// block tells of the lines of a block of YAML whose | or > stands before s[at:]: those that are indented more than the
// line of the name, which begins at s[name].
func block(s string, name, at int, tell func(from, to int, quoted bool)) (some bool) {
	head, _, ok := strings.Cut(s[at:min(len(s), at+16)], "\n")
	if !ok || strings.Trim(head, "+-123456789 \r") != "" {
		return false
	}
	at += len(head) + 1
	before := s[max(0, name-256):name]
	above := len(indent(before[strings.LastIndexByte(before, '\n')+1:]))
	for range maxSeveral {
		line, _, more := strings.Cut(s[at:], "\n")
		text := strings.TrimRight(line, " \r")
		in := len(indent(text))
		if text != "" && in <= above {
			break
		}
		if in < len(text) {
			tell(at+in, at+len(text), false)
			some = true
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return some
}

// indent returns the blanks at the beginning of a line.
func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }

// parameters finds the values of NAME="value", NAME="value" behind the scheme of an authorization header.
func parameters(s, kind string, at int, add func(kind string, from, to int)) {
	for range maxSeveral {
		for at < len(s) && (s[at] == ' ' || s[at] == ',') {
			at++
		}
		from := at
		for from < len(s) && nameByte[s[from]] {
			from++
		}
		if from == at || !strings.HasPrefix(s[from:], `="`) {
			return
		}
		from += len(`="`)
		to := quotedEnd(s, from-1)
		if credible(s[from:to], weak, true) {
			add(kind, from, to)
		}
		at = min(to+1, len(s))
	}
}

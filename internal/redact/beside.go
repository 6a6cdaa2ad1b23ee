package redact

import "strings"

// findBeside finds what nothing but its place gives away: the secret of a key pair beside the key's public half.
func findBeside(s string, add func(kind string, from, to int)) {
	for _, prefix := range [...]string{"AKIA", "ASIA"} {
		for at, until := 0, 0; ; {
			i := strings.Index(s[at:], prefix)
			if i < 0 {
				break
			}
			from := at + i
			at = from + len(prefix)
			to := from
			for to < len(s) && to-from <= 20 && inClass(s[to], "u") {
				to++
			}
			if to-from != 20 || from > 0 && word[s[from-1]] {
				continue
			}
			begin := max(until, from-160)
			until = min(len(s), to+160)
			awsSecrets(s, begin, until, add)
		}
	}
}

// awsSecrets finds runs of 40 characters of base64 in s[begin:end] that a generator made.
func awsSecrets(s string, begin, end int, add func(kind string, from, to int)) {
	for i := begin; i < end; {
		from := i
		for i < len(s) && i-from <= 40 && (word[s[i]] || s[i] == '+' || s[i] == '/') {
			i++
		}
		if v := s[from:i]; len(v) == 40 && mixed(v) && randomish(v) && !dull(v) && strings.Count(v, "/") < 8 &&
			(from == 0 || !word[s[from-1]]) {
			add("aws-secret", from, i)
		}
		i++
	}
}

package eventlog

import (
	"bytes"
	"regexp"
	"strings"
)

// CutTorn returns a file of checkpoints without the torn end that a crash or a
// full disk left, and whether there was one: an end without a newline that does
// not verify and begins like a checkpoint. That helps no attacker: one who can
// cut the file could cut off all of it. Other faults stay in the file, to be
// found.
func CutTorn(file []byte, verifier string) (whole []byte, torn bool) {
	if len(file) == 0 || file[len(file)-1] == '\n' {
		return file, false
	}
	at := lastBegins(file)
	tail := file[at:]
	if _, err := Open(append(bytes.Clone(tail), '\n'), verifier); err == nil || !beginning(string(tail)) {
		return file, false
	}
	return file[:at], true
}

// lastBegins returns where the last checkpoint begins: behind the last empty line,
// but for the one that stands before its signature.
func lastBegins(file []byte) int {
	for end := len(file); ; {
		i := bytes.LastIndex(file[:end], []byte("\n\n"))
		if i < 0 {
			return 0
		}
		if rest := file[i+2:]; !bytes.HasPrefix([]byte(signatureMark), rest) &&
			!bytes.HasPrefix(rest, []byte(signatureMark)) {
			return i + 2
		}
		end = i + 1
	}
}

const signatureMark = "— " // golang.org/x/mod/sumdb/note

// beginning reports whether s, without a newline at its end, is how a checkpoint begins.
func beginning(s string) bool {
	lines := strings.Split(s, "\n")
	last := len(lines) - 1
	// Of each line: the pattern of a complete one, and that of its beginning.
	for i, line := range lines {
		var whole, part *regexp.Regexp
		constant := ""
		switch i {
		case 0:
			constant = Origin
		case 1:
			whole, part = regexp.MustCompile(`\A[0-9]{1,19}\z`), regexp.MustCompile(`\A[0-9]{0,19}\z`)
		case 2:
			whole, part = regexp.MustCompile(`\A[A-Za-z0-9+/]{43}=\z`), regexp.MustCompile(`\A[A-Za-z0-9+/]{0,43}=?\z`)
		case 3:
			whole, part = regexp.MustCompile(`\Atime [0-9TZ:.+-]{20,40}\z`),
				regexp.MustCompile(`\A(t|ti|tim|time|time [0-9TZ:.+-]{0,40})\z`)
		case 4: // empty
		case 5:
			const name = signatureMark + "belay-"
			if last == 5 &&
				(strings.HasPrefix(name, line) ||
					regexp.MustCompile(`\A`+name+`[0-9a-f]{0,8}( [A-Za-z0-9+/]{0,100}={0,2})?\z`).MatchString(line)) {
				return true
			}
			return false
		default:
			return false
		}
		switch {
		case whole == nil && i == last:
			return strings.HasPrefix(constant, line)
		case whole == nil && line != constant, i < last && whole != nil && !whole.MatchString(line):
			return false
		case i == last:
			return part.MatchString(line)
		}
	}
	return false
}

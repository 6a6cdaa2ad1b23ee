package redact

import (
	"slices"
	"strings"
)

// findProse finds what people write to each other: "the password is X", "API
// key X". The value has to look generated, because sentences about secrets are
// common. It is told where names may end.
func findProse(s string, names []int32, add func(kind string, from, to int)) {
	var groups fourGroups
	for _, p := range names {
		i := int(p)
		if i < 2 {
			continue
		}
		if c := s[i]; c != ' ' && (c != ':' || i+1 == len(s) || s[i+1] != ' ') || !word[s[i-1]] {
			continue
		}
		switch s[i-1] | 32 {
		case 'd', 'y', 'n', 't', 'e', 'w': // password, key, token, secret, passphrase, pw
		default:
			continue
		}
		switch s[i-2] | 32 { // the byte before, so that few words are looked at further
		case 'r', 'w', 'e', 's', 'p', 'd': // and of code
		default:
			continue
		}
		from := i
		for from > 0 && i-from < 16 && word[s[from-1]] {
			from--
		}
		switch s[from] | 32 {
		case 'p', 's', 't', 'a', 'c', 'k': // the same
		default:
			continue
		}
		kind := proseName(s[from:i], s[max(0, from-24):from])
		if kind == "" {
			continue
		}
		at, linked := i+1, s[i] == ':' && (kind == "recovery-code" || kind == "api-key") // other names have findNamed
		for _, link := range []string{"is now ", "is ", "was ", "to ", "for it is ", "= ", "-> ", "changed to ", "set to ",
			"(", "remains "} {
			if hasPrefixFold(s[at:], link) {
				at, linked = at+len(link), true
				break
			}
		}
		n := 0
		for n < 3 && at+n < len(s) && inClass(s[at+n], "d") {
			n++
		}
		if n > 0 && strings.HasPrefix(s[at+n:], ": ") { // "unseal key 1: X"
			at, linked = at+n, true
		}
		if strings.HasPrefix(s[at:], "for ") { // "password for the staging box: X"
			if n := strings.IndexAny(s[at:min(len(s), at+64)], ":\n,.;=\"'`(<{"); n > 0 && strings.HasPrefix(s[at+n:], ": ") {
				at, linked = at+n, true
			}
		}
		for at < len(s) && (s[at] == ' ' || s[at] == ':') {
			at++
		}
		if kind == "password" && hasSuffixFold(s[:from], "app ") {
			if to := groups.at(s, at); to > 0 {
				add(kind, at, to)
				continue
			}
		}
		vFrom, vTo, quoted := valueAt(s, at)
		v, _, _ := strings.Cut(s[vFrom:vTo], " ")
		v = strings.TrimRight(v, ".,!?)")
		str := weak
		if linked && kind == "password" && strings.ContainsAny(v, "0123456789") {
			str = strong
		}
		if len(v) < 8 || !credible(v, str, quoted) || strings.Contains(v, "://") || v[0] == '/' || sealed(s, vFrom, v) {
			continue
		}
		if !linked && (len(v) < 12 || len(v) < 16 && kind != "password" || !randomish(v) && identifier(v)) || linked &&
			!strings.ContainsAny(v, "0123456789") && identifier(v) {
			continue
		}
		add(kind, vFrom, vFrom+len(v))
	}
}

// fourGroups are four groups of four small letters, as a provider of mail makes passwords for programs. It is what the
// last look found: a sentence that names many passwords is gone over once, not for each of them.
type fourGroups struct {
	from, end int // what was looked at; end is 0 when there are four groups
	to        int // where the first of them end; 0: there are none
}

const lenGroups = len("abcd efgh ijkl mnop")

// at returns the end of four groups at or behind s[at:] in the same sentence; 0: there are none. Precondition: no
// letter stands before s[at].
func (g *fourGroups) at(s string, at int) int {
	if at >= g.from && (g.to > 0 && at <= g.to-lenGroups || g.to == 0 && at < g.end) {
		return g.to
	}
	*g = fourGroups{from: at}
	for run, groups := 0, 0; ; at++ {
		ends := at == len(s) || strings.IndexByte("\n.;", s[at]) >= 0
		switch {
		case !ends && lowerByte(s[at]):
			run++
			continue
		case run == 4 && groups == 3:
			g.to = at
			return at
		case ends:
			g.end = at
			return 0
		case run == 4 && s[at] == ' ':
			groups++
		default:
			groups = 0
		}
		run = 0
	}
}

func hasSuffixFold(s, end string) bool {
	return len(s) >= len(end) && strings.EqualFold(s[len(s)-len(end):], end)
}

// proseName tells what a word, with what stands before it, names.
func proseName(w, before string) string {
	var room [16]byte
	if len(w) > len(room) {
		return ""
	}
	switch string(lowerInto(room[:], w)) {
	case "password", "passwd", "passphrase", "passwort", "pwd", "pw":
		return "password"
	case "secret":
		return "secret"
	case "token":
		return "token"
	case "apikey":
		return "api-key"
	case "code":
		if b := strings.ToLower(strings.TrimRight(before, " ")); strings.HasSuffix(b, "recovery") ||
			strings.HasSuffix(b, "backup") {
			return "recovery-code"
		}
	case "key":
		b := strings.ToLower(strings.TrimRight(before, " -_"))
		for _, w := range []string{"api", "secret", "access", "private", "account", "signing", "encryption", "auth",
			"license", "master", "deploy", "unseal", "recovery", "root", "use", "bot"} {
			if strings.HasSuffix(b, w) {
				return "api-key"
			}
		}
	}
	return ""
}

// findPiped finds text that is echoed into a program that asks for a password.
func findPiped(s string, add func(kind string, from, to int)) {
	hereStrings(s, add)
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '|')
		if i < 0 {
			return
		}
		at += i + 1
		// a pipe goes on in the next line
		line, _, _ := strings.Cut(strings.TrimLeft(s[at:min(len(s), at+256)], " \t\r\n"), "\n")
		line, _, _ = strings.Cut(line, "|")
		if !asksPassword(line) {
			continue
		}
		begin := max(0, at-1024)
		begin += strings.LastIndexByte(s[begin:at], '\n') + 1
		head := s[begin : at-1]
		for _, program := range []string{"echo ", "printf "} {
			k := strings.LastIndex(head, program)
			if k < 0 {
				continue
			}
			from := begin + k + len(program)
			for strings.HasPrefix(s[from:], "-n ") || strings.HasPrefix(s[from:], "-e ") ||
				strings.HasPrefix(s[from:], "'%s' ") || strings.HasPrefix(s[from:], "%s ") {
				from += strings.IndexByte(s[from:], ' ') + 1
			}
			vFrom, vTo, _ := valueAt(s, from)
			if v := s[vFrom:vTo]; vTo < at && credible(v, strong, true) {
				add("password", vFrom, vTo)
			}
		}
	}
}

// hereStrings finds what a shell hands to a program that asks for a password: cryptsetup open DEVICE NAME <<< PASSWORD.
func hereStrings(s string, add func(kind string, from, to int)) {
	for at := 0; ; {
		i := strings.Index(s[at:], "<<<")
		if i < 0 {
			return
		}
		at += i + len("<<<")
		begin := max(0, at-256)
		begin += strings.LastIndexAny(s[begin:at-3], "\n|;&") + 1
		if !asksPassword(s[begin : at-3]) {
			continue
		}
		from, to, quoted := valueAt(s, at)
		if credible(s[from:to], strong, quoted) {
			add("password", from, to)
		}
	}
}

func asksPassword(command string) bool {
	if !slices.ContainsFunc(asking[:], func(part string) bool { return strings.Contains(command, part) }) {
		return false
	}
	f := strings.Fields(command)
	if len(f) == 0 {
		return false
	}
	for _, w := range f[1:] {
		if w == "-S" && f[0] == "sudo" || strings.HasSuffix(w, "-stdin") && strings.HasPrefix(w, "--pass") ||
			w == "--with-token" || w == "chpasswd" || w == "--passphrase-fd" {
			return true
		}
	}
	if f[0] == "sudo" && len(f) > 1 {
		f = f[1:]
	}
	switch f[0] {
	case "chpasswd", "passwd", "cryptsetup", "kinit", "smbpasswd":
		return true
	}
	return false
}

// asking are parts of the words by which a program is seen to ask for a password, one of each; read only.
var asking = [...]string{"pass", "sudo", "--with-token", "cryptsetup", "kinit"}

// hasPrefixFold is strings.HasPrefix without case.
func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

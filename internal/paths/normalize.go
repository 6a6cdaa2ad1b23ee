// Package paths brings the many spellings of a file path into forms that rules
// can be written against. It decides nothing about what may be touched.
//
// It is pure: no file system is looked at (symbolic links are followed by the
// caller), no environment, no clock. Every function is safe for concurrent use.
package paths

import (
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Normal is a path in the forms that a rule needs.
type Normal struct {
	Path string // ~, $HOME and file: URLs resolved, absolute where possible, cleaned
	// Path before it was cleaned: what a file system walks along, where .. behind a link counts from where the link leads
	Walk     string
	Key      string   // Path for comparing: see Normalize
	Keys     []string // every distinct key: of Path, and of each other reading of a doubtful spelling
	Absolute bool     // Path is absolute
	Notes    []string // unusual parts: see the constants
}

// Notes.
const (
	Percent   = "percent"    // percent-encoded bytes
	Invisible = "invisible"  // zero-width, soft hyphen, line separators, other controls
	Unicode   = "unicode"    // characters that NFKC changes
	NUL       = "nul"        // a NUL: C programs stop there
	Backslash = "backslash"  // \ as a separator
	Drive     = "drive"      // a Windows drive or \\?\ prefix
	Stream    = "stream"     // ::$DATA and other streams
	Proc      = "proc"       // an alias through /proc or /dev/fd
	FileURL   = "file_url"   // file:
	Blank     = "blank"      // blanks round the path or an element
	Dot       = "dot"        // a dot or blank at the end of an element, which Windows drops
	TildeUser = "tilde_user" // ~user
	Variable  = "variable"   // $HOME, ${HOME} or %USERPROFILE%, or a variable that is not known
)

// Normalize reads p relative to cwd (absolute, or empty when not known). home
// is what ~ means; when it is empty, a leading ~ stays.
//
// Path is what the spelling names where no link is on the way, Walk what a POSIX file
// system is given. Key is for comparing
// with names in rules: percent-decoding (twice), NFKC, invisible characters
// dropped, text after NUL dropped, blanks round it, \ as /, drive letters,
// \\?\, streams and dots at the end dropped, aliases through /proc resolved,
// cleaned, lower case. Keys holds that, and the key of the literal spelling when
// decoding changed it, since both readings may be what happens.
func Normalize(p, cwd, home string) Normal {
	var n Normal
	note := func(s string) {
		if !slices.Contains(n.Notes, s) {
			n.Notes = append(n.Notes, s)
		}
	}
	plain := expandHome(fileURL(p, note), home, note)
	n.Walk, n.Absolute = absolute(plain, cwd)
	n.Path = path.Clean(n.Walk)

	n.Key = key(p, cwd, home, true, note)
	n.Keys = []string{n.Key}
	also := func(k string) {
		if !slices.Contains(n.Keys, k) {
			n.Keys = append(n.Keys, k)
		}
	}
	also(strings.ToLower(n.Path)) // exactly as written
	if strings.Contains(p, "%") {
		also(key(p, cwd, home, false, func(string) {})) // without percent-decoding
	}
	if strings.IndexByte(p, 0) >= 0 {
		// as a program that drops NUL reads it; Key is how a C program does
		also(key(withoutNUL(p), cwd, home, true, func(string) {}))
	}
	return n
}

func key(p, cwd, home string, decode bool, note func(string)) string {
	for range 2 {
		if !decode {
			break
		}
		d := percentDecode(p)
		if d == p {
			break
		}
		note(Percent)
		p = d
	}
	if i := strings.IndexByte(p, 0); i >= 0 {
		note(NUL)
		p = p[:i]
	}
	p = visible(p, note)
	if f := norm.NFKC.String(p); f != p {
		if norm.NFC.String(p) != f {
			note(Unicode)
		}
		p = visible(f, func(string) {})
	}
	if t := strings.TrimSpace(p); t != p {
		note(Blank)
		p = t
	}
	p = strings.Trim(p, `"'`)
	p = fileURL(p, note)
	p = windows(p, note)
	p = expandHome(p, home, note)
	if !strings.HasPrefix(p, "/") && !strings.HasPrefix(p, "~") && cwd != "" {
		p = cwd + "/" + p
	}
	if strings.HasPrefix(p, "/") {
		p = resolve(p, cwd, note)
	} else {
		p = path.Clean(p)
	}
	return strings.ToLower(p)
}

func withoutNUL(p string) string { return strings.ReplaceAll(p, "\x00", "") }

// visible drops invisible characters.
func visible(p string, note func(string)) string {
	return strings.Map(func(r rune) rune {
		if r != 0 &&
			(unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u034f' || r == '\u115f' || r == '\u1160' ||
				r == '\u3164' || r == '\uffa0' || r >= '\ufe00' && r <= '\ufe0f' || r == '\u180e') {
			note(Invisible)
			return -1
		}
		return r
	}, strings.ToValidUTF8(p, "\uFFFD"))
}

// percentDecode decodes every valid %XX once.
func percentDecode(p string) string {
	if !strings.Contains(p, "%") {
		return p
	}
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c := [1]byte{p[i]}
		if p[i] == '%' && i+2 < len(p) {
			if _, err := hex.Decode(c[:], []byte(p[i+1:i+3])); err == nil {
				i += 2
			}
		}
		b.WriteByte(c[0])
	}
	return b.String()
}

// fileURL returns the path of a file: URL, its percent-encoding decoded.
func fileURL(p string, note func(string)) string {
	if len(p) < 5 || !strings.EqualFold(p[:5], "file:") {
		return p
	}
	note(FileURL)
	p = p[5:]
	if i := strings.IndexAny(p, "?#"); i >= 0 {
		p = p[:i]
	}
	if rest, ok := strings.CutPrefix(p, "//"); ok {
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			return "/" + rest
		}
		p = rest[i:] // the host says nothing about the path
	}
	if len(p) > 2 && p[0] == '/' && p[2] == ':' && isLetter(p[1]) {
		p = p[1:] // /C:/dir
	}
	return percentDecode(p)
}

func isLetter(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }

// windows reads the spellings of Windows as paths of here.
func windows(p string, note func(string)) string {
	if strings.Contains(p, `\`) {
		note(Backslash)
		p = strings.ReplaceAll(p, `\`, "/")
	}
	for _, prefix := range []string{"//?/unc/", "//?/", "//./", "/??/"} {
		if len(p) >= len(prefix) && strings.EqualFold(p[:len(prefix)], prefix) {
			note(Drive)
			p = p[len(prefix)-1:]
			if prefix == "//?/" || prefix == "//./" || prefix == "/??/" {
				p = p[1:]
			}
			break
		}
	}
	if len(p) >= 2 && p[1] == ':' && isLetter(p[0]) {
		note(Drive)
		if p = p[2:]; !strings.HasPrefix(p, "/") {
			p = "/" + p
		}
	}
	elems := strings.Split(p, "/")
	for i, e := range elems {
		if at := strings.IndexByte(e, ':'); at > 0 &&
			(strings.HasSuffix(strings.ToLower(e), ":$data") || i == len(elems)-1 && strings.HasPrefix(e[at:], "::")) {
			note(Stream)
			e = e[:at]
		}
		if t := strings.TrimRight(e, ". "); t != e && t != "" {
			note(Dot)
			e = t
		}
		if t := strings.TrimSpace(e); t != e && t != "" {
			note(Blank)
			e = t
		}
		elems[i] = e
	}
	return strings.Join(elems, "/")
}

// expandHome resolves ~ and the variables that mean it.
func expandHome(p, home string, note func(string)) string {
	for _, v := range []string{"$HOME", "${HOME}", "%USERPROFILE%", "%HOME%", "$env:USERPROFILE", "$env:HOME"} {
		if len(p) >= len(v) && strings.EqualFold(p[:len(v)], v) && (len(p) == len(v) || p[len(v)] == '/') {
			note(Variable)
			p = "~" + p[len(v):]
			break
		}
	}
	if strings.Contains(p, "$") {
		note(Variable)
	}
	if !strings.HasPrefix(p, "~") {
		return p
	}
	user, rest, _ := strings.Cut(p[1:], "/")
	switch {
	case user == "" || user == "+":
		if home == "" {
			return p
		}
		return home + "/" + rest
	case user == "root":
		note(TildeUser)
		return "/root/" + rest
	case !strings.ContainsAny(user, ".$ ") && user != "-":
		note(TildeUser)
		base := "/home"
		if home != "" && home != "/root" {
			base = path.Dir(home)
		}
		return base + "/" + user + "/" + rest
	}
	return p
}

func absolute(p, cwd string) (string, bool) {
	switch {
	case strings.HasPrefix(p, "/"):
		return p, true
	case !strings.HasPrefix(p, "~") && cwd != "":
		return cwd + "/" + p, true
	}
	return p, false
}

// resolve cleans an absolute path the way a kernel walks it, so that .. after an
// alias counts from where the alias leads: /proc/N/root/X is X, /proc/N/cwd/X is
// X in a working directory that is taken to be ours, /dev/fd is /proc/self/fd,
// and /private/etc is what macOS calls /etc.
func resolve(p, cwd string, note func(string)) string {
	var at []string
	alias := func(to ...string) {
		note(Proc)
		at = append([]string{}, to...)
	}
	for _, e := range strings.Split(p, "/") {
		switch e {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 0)]
			continue
		}
		at = append(at, e)
		low := strings.ToLower(e)
		n := len(at)
		is := func(i int, s string) bool { return strings.EqualFold(at[i], s) }
		switch {
		case is(0, "proc") && (n == 3 || n == 5 && is(2, "task")) && low == "root":
			alias()
		case is(0, "proc") && (n == 3 || n == 5 && is(2, "task")) && low == "cwd":
			alias(strings.Split(strings.Trim(path.Clean(cwd), "/"), "/")...) // "." when it is not known
		case is(0, "dev") && n == 2 && low == "fd":
			alias("proc", "self", "fd")
		case is(0, "private") && n == 2 && (low == "etc" || low == "var" || low == "tmp"):
			at = []string{e}
		}
	}
	if len(at) > 0 && at[0] == "." {
		return path.Clean(strings.Join(at, "/"))
	}
	return "/" + strings.Join(at, "/")
}

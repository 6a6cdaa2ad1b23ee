package phases

import (
	"encoding/hex"
	"path"
	"strings"
	"sync"
	"unicode"
)

// unclear reports a path of which it cannot be told which file a program makes of it: blanks at its begin are dropped
// by some, characters that are not seen by others, and a backslash leads down a directory on some systems. Blanks in a
// name are a part of it.
func unclear(p string) bool {
	first := true
	for _, r := range p {
		if r == '\\' || unseen(r) || first && unicode.IsSpace(r) {
			return true
		}
		first = false
	}
	return alias(path.Clean(p))
}

// unseen reports characters without a shape.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector) ||
		r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u3164' || r == '\uffa0' || r == '\u17b4' || r == '\u17b5'
}

// alias reports places of /proc and /dev whose name does not tell where they lead.
func alias(p string) bool {
	elems := strings.Split(strings.ToLower(p), "/")
	if len(elems) < 3 || elems[0] != "" {
		return false
	}
	switch elems[1] {
	case "proc":
		for _, e := range elems[2:] {
			switch e {
			case "root", "cwd", "exe", "fd", "map_files":
				return true
			}
		}
	case "dev":
		return elems[2] == "fd" || elems[2] == "stdin" || elems[2] == "stdout" || elems[2] == "stderr"
	}
	return false
}

// reading returns the path that a program opens which decodes percent-encoding, folds the characters that stand for
// others, and drops characters that are not seen, quotes and blanks round a path and round its dots. It is p
// itself for nearly every path. False means that spellings stand inside of each other too often to be told.
func reading(p string) (string, bool) {
	for range maxSpellings {
		other := onceRead(p)
		if other == p {
			return p, true
		}
		p = other
	}
	return p, false
}

// maxSpellings bounds how often spellings may stand inside of each other: each level reads the whole text once.
const maxSpellings = 8

func onceRead(p string) string {
	p = percentDecoded(p)
	if strings.ContainsFunc(p, func(r rune) bool { return r > unicode.MaxASCII || unseen(r) }) {
		p = strings.Map(func(r rune) rune {
			if r != 0 && unseen(r) { // a NUL may end the path: there is no reading of it
				return -1
			}
			return r
		}, structural().Replace(p))
	}
	p = strings.TrimFunc(p, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '\'' })
	if !strings.Contains(p, ".") {
		return p
	}
	elems := strings.Split(p, "/")
	for i, e := range elems {
		if t := strings.TrimSpace(e); t == "." || t == ".." {
			elems[i] = t
		}
	}
	return strings.Join(elems, "/")
}

// structural writes the characters that stand for one which has a meaning in paths as that one, as NFKC does.
var structural = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("\uff0f", "/", "\uff3c", `\`, "\ufe68", `\`, "\uff0e", ".", "\u2024", ".",
		"\ufe52", ".",
		"\u2025", "..", "\ufe30", "..", "\uff5e", "~", "\uff05", "%", "\ufe6a", "%", "\uff04", "$", "\ufe69", "$",
		"\uff1a", ":", "\ufe55", ":", "\ufe13", ":", "\u2100", "a/c", "\u2101", "a/s", "\u2105", "c/o", "\u2106", "c/u",
		"\u00a0", " ", "\u3000", " ")
})

// percentDecoded decodes every %XX once.
func percentDecoded(p string) string {
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

// variable reports %NAME% at the begin, which Windows reads as a variable.
func variable(p string) bool {
	name, _, ok := strings.Cut(strings.TrimPrefix(p, "%"), "%")
	return ok && p[0] == '%' && name != "" && !strings.ContainsAny(name, "/ ")
}

package redact

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestTexts: each finding in a line of testdata/texts.txt stands between ⟦ and
// ⟧ behind its kind, and the line has no other. Where a secret reads otherwise
// without what splits or escapes it, → stands before that.
func TestTexts(t *testing.T) {
	lines := readTexts(t, "testdata/texts.txt")
	if len(lines) < 1000 {
		t.Errorf("only %d texts", len(lines))
	}
	for _, line := range lines {
		text, want := marked(t, line)
		if got := Find(text); !sameFindings(text, got, want) {
			t.Errorf("%s\n got %s", line, mark(text, got))
		}
	}
}

// readTexts returns the lines of a file that are no comments, which begin with "# ".
func readTexts(t *testing.T, path string) (out []string) {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(src)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	return out
}

// marked takes the marks out of a line.
func marked(t *testing.T, line string) (text string, found []Finding) {
	t.Helper()
	for {
		before, rest, some := strings.Cut(line, "⟦")
		text += expand(before)
		if !some {
			return text, found
		}
		inner, behind, ok := strings.Cut(rest, "⟧")
		kind, what, named := strings.Cut(inner, " ")
		if !ok || !named {
			t.Fatalf("%s: a mark is not closed, or has no kind", line)
		}
		what, secret, _ := strings.Cut(what, " → ")
		what = expand(what)
		found = append(found, Finding{kind, len(text), len(text) + len(what), expand(secret)})
		text += what
		line = behind
	}
}

func sameFindings(text string, got, want []Finding) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.in(text) != w.in(text) || g.Kind != w.Kind || g.Start != w.Start || g.End != w.End {
			return false
		}
	}
	return true
}

// mark writes a text with its findings as a line of texts.txt.
func mark(text string, found []Finding) string {
	var b strings.Builder
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start] + "⟦" + f.Kind + " " + text[f.Start:f.End])
		if f.in(text) != text[f.Start:f.End] {
			b.WriteString(" → " + f.in(text))
		}
		b.WriteString("⟧")
		at = f.End
	}
	s := strings.NewReplacer("\n", "⏎", "\t", "⇥", "\r", "␍").Replace(b.String() + text[at:])
	if len(s) > 600 {
		s = s[:400] + " … " + s[len(s)-100:]
	}
	return s
}

// alphabets of made-up values, by the letter in «LETTER NUMBER».
var alphabets = map[byte]string{'w': alnum, 'U': uppers + digits, 'l': lowers, 'u': uppers, 'd': digits, 'h': hexes,
	's': url64, 'b': std64, 'L': lowers + digits}

// expand makes a text of a line: ⏎ ⇥ ␍ are line end, tab and carriage return, «w 20» is a made-up value of twenty
// letters and digits, always the same, and «base64 …» and its like encode what stands in them.
func expand(line string) string {
	line = strings.NewReplacer("⏎", "\n", "⇥", "\t", "␍", "\r", "␡", "\x7f").Replace(line)
	var b strings.Builder
	for {
		i := strings.Index(line, "«")
		if i < 0 {
			return b.String() + line
		}
		b.WriteString(line[:i])
		depth, end := 0, i
		for {
			switch {
			case strings.HasPrefix(line[end:], "«"):
				depth++
			case strings.HasPrefix(line[end:], "»"):
				depth--
			}
			if depth == 0 {
				break
			}
			end++
		}
		verb, arg, _ := strings.Cut(line[i+len("«"):end], " ")
		b.WriteString(made(verb, arg))
		line = line[end+len("»"):]
	}
}

func made(verb, arg string) string {
	each := func(format string) string {
		var b strings.Builder
		for _, c := range []byte(expand(arg)) {
			fmt.Fprintf(&b, format, c)
		}
		return b.String()
	}
	switch verb {
	case "base64":
		return base64.StdEncoding.EncodeToString([]byte(expand(arg)))
	case "base64raw":
		return base64.RawStdEncoding.EncodeToString([]byte(expand(arg)))
	case "base64url":
		return base64.RawURLEncoding.EncodeToString([]byte(expand(arg)))
	case "hex":
		return hex.EncodeToString([]byte(expand(arg)))
	case "HEX":
		return each("%02X")
	case "percent":
		return each("%%%02x")
	case "u":
		return each(`\u%04x`)
	case "x":
		return each(`\x%02x`)
	case "json":
		q := strconv.Quote(expand(arg))
		return q[1 : len(q)-1]
	case "each": // a format for each byte
		format, what, _ := strings.Cut(arg, " ")
		arg = what
		return each(format)
	case "wrap": // in lines of so many characters
		n, what, _ := strings.Cut(arg, " ")
		width, err := strconv.Atoi(n)
		if err != nil {
			panic(err)
		}
		return strings.TrimSuffix(wrap(expand(what), width), "\n")
	case "crlf":
		return strings.ReplaceAll(expand(arg), "\n", "\r\n")
	case "trail":
		return strings.ReplaceAll(expand(arg), "\n", "  \n\t ")
	case "dump":
		return strings.TrimSpace(each("%02x "))
	case "colons":
		return strings.TrimSuffix(each("%02x:"), ":")
	case "wide":
		var b strings.Builder
		for _, c := range expand(arg) {
			b.WriteRune(c + 0xfee0)
		}
		return b.String()
	case "zero":
		return strings.Join(strings.Split(expand(arg), ""), "\u200b")
	case "fold":
		return strings.TrimSuffix(wrap(expand(arg), 64), "\n")
	case "times":
		n, what, _ := strings.Cut(arg, " ")
		times, err := strconv.Atoi(n)
		if err != nil {
			panic(err)
		}
		return strings.Repeat(expand(what), times)
	}
	n, err := strconv.Atoi(arg)
	set, ok := alphabets[verb[0]]
	if err != nil || !ok {
		panic("testdata: «" + verb + " " + arg + "»")
	}
	seed := uint64(verb[0])
	if len(verb) > 1 {
		seed += uint64(verb[1]) << 8
	}
	g := generator{rand.New(rand.NewPCG(seed, 42))}
	s := ""
	for len(s) < n {
		s += g.of(set, 1)
	}
	return s
}

func wrap(s string, width int) string {
	var b strings.Builder
	for ; len(s) > width; s = s[width:] {
		b.WriteString(s[:width] + "\n")
	}
	return b.String() + s + "\n"
}

package redact

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestIssuers: testdata/issuers.txt describes the tokens of each issuer, a line for each kind and prefix: how
// many characters follow, which ones, "in a word" where letters and digits may stand before the prefix, and "no
// words" where those characters have to look generated. Each line is compared with the detector, which is tried
// with every length up to 129 and with each printable ASCII character near the end.
func TestIssuers(t *testing.T) {
	lines := readTexts(t, "testdata/issuers.txt")
	told := map[string]bool{}
	for _, line := range lines {
		told[line] = true
	}
	for _, f := range issuers() {
		line := issuerLine(f.kind, f.prefix)
		if !told[line] {
			t.Errorf("testdata/issuers.txt does not have\n%s", line)
		}
		delete(told, line)
	}
	for line := range told {
		t.Errorf("testdata/issuers.txt says, and the detector does not:\n%s", line)
	}
}

// issuerLine finds out which texts behind a prefix are found.
func issuerLine(kind, prefix string) string {
	finds := func(text string, from, to int) bool {
		ok := false
		findTokens(text, []span{{0, len(text)}}, func(k string, f, t int) { ok = ok || k == kind && f == from && t == to })
		return ok
	}
	body := func(set string, n int) string {
		g := generator{rand.New(rand.NewPCG(9, 9))}
		return g.of(set, n)
	}
	set, least, most := "", 0, 0
	for _, try := range []string{alnum, hexes, digits} { // of which one is in its alphabet
		from, to := 0, 0
		for n := range 130 {
			if !finds(" "+prefix+body(try, n)+" ", 1, 1+len(prefix)+n) {
				continue
			}
			if to = n; from == 0 {
				from = n
			}
		}
		if from > 0 && (least == 0 || from < least) {
			set, least, most = try, from, to
		}
	}
	length := fmt.Sprintf("%d to %d", least, most)
	switch {
	case most == 129:
		length = fmt.Sprintf("%d and more", least)
	case least == most:
		length = fmt.Sprint(least)
	}
	head := prefix + body(set, least)
	chars := ""
	for c := byte(33); c < 127; c++ {
		with := " " + head[:len(head)-2] + string(c) + head[len(head)-2:len(head)-1]
		if finds(with, 1, len(with)) {
			chars += string(c)
		}
	}
	chars = strings.NewReplacer(digits, "0-9", uppers, "A-Z", lowers, "a-z", "ABCDEF", "A-F", "abcdef",
		"a-f").Replace(chars)
	line := fmt.Sprintf("%s %s %s of %s", kind, prefix, length, chars)
	if finds(" a9"+head, 1, 3+len(head)) {
		line += ", in a word"
	}
	if words := strings.Repeat("resourceManagerClient", 7); set == alnum &&
		!finds(" "+prefix+words[:least], 1, 1+len(prefix)+least) {
		line += ", no words"
	}
	return line
}

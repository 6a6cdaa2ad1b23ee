package redact

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestKnownText: what of a text is redacted, and under which kind, when a secret of some length stands in it that was
// redacted as a password somewhere else. Everything around it stays. Digests of placeholders are left out.
func TestKnownText(t *testing.T) {
	const v, long = "xK9#qz", "p@$$-w0rd!!-#%x&y-(long)-and-longer.than-that"
	for _, c := range []struct{ secret, text, want string }{
		{v, "a xK9#qz b", "a [redacted:password] b"},
		{v, "XK9#QZ", "[redacted:password]"},
		{v, "xK9#qzxK9#qz", "[redacted:password][redacted:password]"},
		{v, "xK9#q xK9#q", "xK9#q xK9#q"},
		{v, "xK9#q", "xK9#q"},
		{v, "a x'K9#q'z b", "a [redacted:password] b"},
		{v, "a xK9\\#qz b", "a [redacted:password] b"},
		{v, "a xK9#\\\nqz b", "a [redacted:password] b"},
		{v, "a 784b3923717a b", "a [redacted:password] b"},
		{v, "a 784B3923717A b", "a [redacted:password] b"},
		{v, "a 000784b3923717a00 b", "a 00[redacted:password]0 b"},
		{v, "a xK9%23qz b", "a [redacted:password] b"},
		// base64: the characters of the secret alone, and one at each end that has some of its bits
		{v, "a eEs5I3F6 b", "a [redacted:password] b"},
		{v, "a OnhLOSNxejo= b", "a O[redacted:password]o= b"},
		{v, "a dTp4SzkjcXo= b", "a dT[redacted:password] b"},
		{v, "a dXM6eEs5I3F6 b", "a dXM[redacted:password] b"},
		{v, "a dXM6eEs5I3F6OmFiYw== b", "a [redacted:encoded] b"},
		{long, "x " + long + " y", "x [redacted:password] y"},
		{long, "x " + long[:16] + " y", "x [redacted:fragment] y"},
		{long, "x " + long[:15] + " y", "x " + long[:15] + " y"},
		{long, "x " + long[20:36] + " y", "x [redacted:fragment] y"},
		{long, "x " + long[len(long)-16:] + " y", "x [redacted:fragment] y"},
		{long, "x " + long[:20] + "?" + long[21:] + " y", "x [redacted:fragment]?[redacted:fragment] y"},
		{long, "x " + long + long + " y", "x [redacted:password][redacted:password] y"},
		{"correct horse battery", "q=correct+horse+battery&", "q=[redacted:password]&"},
		{"Tr0ub4dor3", "x=547230756234646f7233.", "x=[redacted:password]."},
		{"Tr0ub4dor&3-xyz", "a=VHIwdWI0ZG9yJjMteHl6,", "a=[redacted:encoded],"},
		{"?>?>?>xyz", "a AAAAPz4_Pj8-eHl6 b", "a AAA[redacted:password] b"},
		{"?>?>?>xyz", "a AAAAPz4/Pj8+eHl6 b", "a AAA[redacted:password] b"},
		{"abcabc", "abcabc", "[redacted:password]"},
		{"ababab", "ababab", "ababab"},
		{"12345", "12345", "12345"},
	} {
		r := newTestRedactor(t, Config{KeyNames: []string{"vault"}})
		rec := NewRecord()
		if _, masked, err := rec.JSON(r, jsontext.Value(`{"vault":`+quote(c.secret)+`}`)); err != nil || len(masked) != 1 {
			t.Fatal(masked, err)
		}
		got, _ := rec.Text(r, c.text)
		if got = strings.ReplaceAll(hashless(got), ":named]", ":password]"); got != c.want {
			t.Errorf("%s in %q: %s, want %s", c.secret, c.text, got, c.want)
		}
	}
}

// TestKnownNumbers: a number that was redacted by its name is redacted elsewhere, at any length, and no other.
func TestKnownNumbers(t *testing.T) {
	r := newTestRedactor(t, Config{})
	// 123456 is a common word
	for n, want := range map[string]bool{"123456": false, "4839217": true, "48392": false, "1234567890123456": true,
		"12345678901234567890123": true} {
		rec := NewRecord()
		doc := jsontext.Value(`{"password":` + n + `,"port":` + n + `,"other":1` + n + `}`)
		_, _, _ = rec.JSON(r, doc)
		_, masked, err := rec.JSON(r, doc)
		if err != nil || (len(masked) == 2) != want || len(masked) == 0 {
			t.Errorf("%s: %q %v", n, masked, err)
		}
	}
}

// TestInside: what a redacted text says when it is the encoding of a text.
func TestInside(t *testing.T) {
	for s, want := range map[string]string{
		"eEs5I3F6": "xK9#qz", "784b3923717a": "xK9#qz", "eEs5I3E": "", "784b392371": "", "eEs5I3F6NwA=": "",
		"eEs5I3F6Cg0JNw==": "xK9#qz\n\r\t7", "eEs5I3F6fw==": "", "eEs5I3F6/w==": "",
		"eEs5\nI3F6": "xK9#qz", "Pz4/Pj8+": "?>?>?>", "Pz4_Pj8-": "?>?>?>", "not base64!": "",
	} {
		if got := inside(s); got != want {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
}

// TestPatternBounds: limits of a pattern hold at their bound and not one past it.
func TestPatternBounds(t *testing.T) {
	good := Pattern{Name: "x", Regex: "abcd[0-9]", Keywords: []string{"abcd"}}
	with := func(change func(*Pattern)) Pattern { p := good; change(&p); return p }
	for name, c := range map[string]struct {
		p  Pattern
		ok bool
	}{
		"name of 24": {with(func(p *Pattern) { p.Name = strings.Repeat("n", MaxPatternName) }), true},
		"name of 25": {with(func(p *Pattern) { p.Name = strings.Repeat("n", MaxPatternName+1) }), false},
		"no name":    {with(func(p *Pattern) { p.Name = "" }), false},
		"4096 bytes": {with(func(p *Pattern) { p.Regex = "ab" + strings.Repeat("c", MaxPatternBytes-2) }), true},
		"4097 bytes": {with(func(p *Pattern) { p.Regex = "ab" + strings.Repeat("c", MaxPatternBytes-1) }), false},
		"64 keywords": {with(func(p *Pattern) { p.Keywords = strings.Split(strings.Repeat("ab ", 64)[:64*3-1], " ") }),
			true},
		"65 keywords": {with(func(p *Pattern) { p.Keywords = strings.Split(strings.Repeat("ab ", 65)[:65*3-1], " ") }),
			false},
		"keyword of 2":   {with(func(p *Pattern) { p.Keywords = []string{"ab"} }), true},
		"keyword of 1":   {with(func(p *Pattern) { p.Keywords = []string{"a"} }), false},
		"keyword of 64":  {with(func(p *Pattern) { p.Keywords = []string{strings.Repeat("a", 64)} }), true},
		"keyword of 65":  {with(func(p *Pattern) { p.Keywords = []string{strings.Repeat("a", 65)} }), false},
		"last group":     {with(func(p *Pattern) { p.Regex, p.Group = "(ab)(cd)", 2 }), true},
		"no such group":  {with(func(p *Pattern) { p.Regex, p.Group = "(ab)(cd)", 3 }), false},
		"group below 0":  {with(func(p *Pattern) { p.Regex, p.Group = "(ab)(cd)", -1 }), false},
		"4 letters":      {with(func(p *Pattern) { p.Regex = "wxyz" }), true},
		"3 letters":      {with(func(p *Pattern) { p.Regex = "xyz" }), false},
		"class":          {with(func(p *Pattern) { p.Regex = "xyz[0-9]" }), true},
		"optional class": {with(func(p *Pattern) { p.Regex = "xyz[0-9]?" }), false},
		"repeated":       {with(func(p *Pattern) { p.Regex = "(?:x[0-9]){2}" }), true},
		"repeated once":  {with(func(p *Pattern) { p.Regex = "(?:x[0-9]){1,3}q" }), false},
		"plus":           {with(func(p *Pattern) { p.Regex = "(xyzw)+" }), true},
		"star":           {with(func(p *Pattern) { p.Regex = "xyz(w)*" }), false},
		"alternatives":   {with(func(p *Pattern) { p.Regex = "wxyz|[0-9]{4}[a-f]" }), true},
		"short one":      {with(func(p *Pattern) { p.Regex = "wxyz|xyz" }), false},
		"any":            {with(func(p *Pattern) { p.Regex = "x.y." }), true},
		"any byte":       {with(func(p *Pattern) { p.Regex = "(?s)x.y." }), true},
		"half of a text": {with(func(p *Pattern) { p.Regex = "0{5}" }), true},
		"more than half": {with(func(p *Pattern) { p.Regex = "0{6}" }), false},
		"4096 allowed":   {with(func(p *Pattern) { p.Allowed = make([]Allowed, MaxAllowed) }), true},
		"4097 allowed":   {with(func(p *Pattern) { p.Allowed = make([]Allowed, MaxAllowed+1) }), false},
	} {
		if err := c.p.Check(); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
		list := []Pattern{good, c.p}
		if n, err := CheckPatterns(list); (err == nil) != c.ok || !c.ok && n != 1 {
			t.Errorf("%s: %d %v", name, n, err)
		}
	}
}

// TestAllowances: which matches of tag=(SECRET) an allowance takes out.
func TestAllowances(t *testing.T) {
	for name, c := range map[string]struct {
		a       Allowed
		text    string
		allowed bool
	}{
		"no condition":      {Allowed{}, "tag=secr3t", false},
		"all of none":       {Allowed{All: true}, "tag=secr3t", false},
		"stopword":          {Allowed{Stopwords: []string{"CR3"}}, "tag=seCr3t", true},
		"empty stopword":    {Allowed{Stopwords: []string{""}}, "tag=secr3t", false},
		"stopword outside":  {Allowed{Stopwords: []string{"tag"}}, "tag=secr3t", false},
		"secret":            {Allowed{Regexes: []string{`^secr3t$`}}, "tag=secr3t", true},
		"secret, named":     {Allowed{Regexes: []string{`^secr3t$`}, Target: "secret"}, "tag=secr3t", true},
		"match":             {Allowed{Regexes: []string{`^tag=secr3t$`}, Target: "match"}, "a tag=secr3t b", true},
		"line":              {Allowed{Regexes: []string{`^a tag=secr3t b$`}, Target: "line"}, "x\na tag=secr3t b\ny", true},
		"line, alone":       {Allowed{Regexes: []string{`^tag=secr3t$`}, Target: "line"}, "tag=secr3t", true},
		"line, at its ends": {Allowed{Regexes: []string{`^tag=secr3t$`}, Target: "line"}, "x\ntag=secr3t\ny", true},
		"the next line":     {Allowed{Regexes: []string{`public`}, Target: "line"}, "tag=secr3t\n# public", false},
		"the line before":   {Allowed{Regexes: []string{`public`}, Target: "line"}, "# public\ntag=secr3t", false},
		"one of two":        {Allowed{Regexes: []string{`no`}, Stopwords: []string{"secr"}}, "tag=secr3t", true},
		"both of two": {Allowed{Regexes: []string{`secr`}, Stopwords: []string{"r3t"}, All: true}, "tag=secr3t",
			true},
		"all, first missing": {Allowed{Regexes: []string{`no`}, Stopwords: []string{"r3t"}, All: true}, "tag=secr3t", false},
		"all, second missing": {Allowed{Regexes: []string{`secr`}, Stopwords: []string{"no"}, All: true}, "tag=secr3t",
			false},
		"all, only words":   {Allowed{Stopwords: []string{"r3t"}, All: true}, "tag=secr3t", true},
		"all, only regexes": {Allowed{Regexes: []string{`secr`}, All: true}, "tag=secr3t", true},
	} {
		r := newTestRedactor(t,
			Config{Patterns: []Pattern{{Name: "tag", Regex: `tag=(\w{6})`, Group: 1, Keywords: []string{"tag="},
				Allowed: []Allowed{c.a}}}})
		got, _ := r.Text(c.text)
		if want := strings.Replace(c.text, "secr3t", "[redacted:tag]", 1); (got == c.text) != c.allowed || !c.allowed &&
			hashless(got) != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestPatternSecrets: which part of a match is the secret, and where it is looked for.
func TestPatternSecrets(t *testing.T) {
	for name, c := range map[string]struct {
		p          Pattern
		text, want string
	}{
		"all":             {Pattern{Regex: `a(b)c[0-9]`}, "xabc7x", "x[redacted:p]x"},
		"second group":    {Pattern{Regex: `(ab)([0-9]{3})`, Group: 2}, "x ab123", "x ab[redacted:p]"},
		"group not there": {Pattern{Regex: `wxyz|ab([0-9]{3})`, Group: 1}, "xx wxyz", "xx wxyz"},
		"empty group":     {Pattern{Regex: `wxyz([0-9]*)`, Group: 1}, "wxyz wxyz1", "wxyz wxyz[redacted:p]"},
		"first group":     {Pattern{Regex: `w([0-9]?)x([0-9]?)yz`, FirstGroup: true}, "x wx5yz", "x wx[redacted:p]yz"},
		"no group":        {Pattern{Regex: `w([0-9]?)x([0-9]?)yz`, FirstGroup: true}, "xx wxyz", "xx [redacted:p]"},
		"first, not all":  {Pattern{Regex: `w([0-9]?)x([0-9]?)yz`}, "x wx5yz", "x [redacted:p]"},
		"entropy":         {Pattern{Regex: `w=([a-d]{4})`, Group: 1, Entropy: 1}, "w=abab w=abac", "w=abab w=[redacted:p]"},
		"keyword near": {Pattern{Regex: `[0-9]{6} +key`, Keywords: []string{"key"}},
			"123456" + strings.Repeat(" ", keyBefore-6) + "key", "[redacted:p]"},
		"keyword far": {Pattern{Regex: `[0-9]{6} +key`, Keywords: []string{"key"}},
			"123456" + strings.Repeat(" ", keyBefore-5) + "key", ""},
		"match near": {Pattern{Regex: `key +[0-9]{6}`, Keywords: []string{"key"}},
			"key" + strings.Repeat(" ", keyAfter-6) + "123456", "[redacted:p]"},
		"match far": {Pattern{Regex: `key +[0-9]{6}`, Keywords: []string{"key"}},
			"key" + strings.Repeat(" ", keyAfter-5) + "123456", ""},
		"keywords twice": {Pattern{Regex: `key[0-9]{4}`, Keywords: []string{"key"}}, "key1234 " + strings.Repeat("x", 9000) +
			" key1234", "[redacted:p] " + strings.Repeat("x", 9000) + " [redacted:p]"},
		"keyword at end": {Pattern{Regex: `[0-9]{4}ab`, Keywords: []string{"ab"}}, "xxx1234ab", "xxx[redacted:p]"},
		"keywords of two": {Pattern{Regex: `[0-9]{4}(?:ab|cd)`, Keywords: []string{"ab", "cd"}}, "1234cd xx 1234AB",
			"[redacted:p] xx 1234AB"},
	} {
		c.p.Name = "p"
		r := newTestRedactor(t, Config{Patterns: []Pattern{c.p}})
		got, _ := r.Text(c.text)
		if c.want == "" {
			c.want = c.text
		}
		if got = hashless(got); got != c.want {
			t.Errorf("%s: %.60s, want %.60s", name, got, c.want)
		}
	}
}

// The patterns look through a text sixteen times all together, and 256 KiB; then the rest is redacted unread.
func TestPatternWork(t *testing.T) {
	var list []Pattern
	for i := range maxUnprompted {
		list = append(list, Pattern{Name: fmt.Sprint("p", i), Regex: "wxyz[0-9]"})
	}
	list = append(list, Pattern{Name: "last", Regex: "key[0-9]", Keywords: []string{"key"}})
	r := newTestRedactor(t, Config{Patterns: list})
	// the seventeenth pattern reads all of it
	for size, want := range map[int]string{256 << 10: "last", 256<<10 + 1: "unread"} {
		text := strings.Repeat("key1 key.", size/9+1)[:size]
		if _, found := r.Text(text); len(found) == 0 || found[0].Kind != want {
			t.Errorf("%d bytes: %d findings, not %s", size, len(found), want)
		}
	}
}

// TestCharacters: what a run of characters looks like, at the bound of each rule and one past it.
func TestCharacters(t *testing.T) {
	for _, c := range []struct {
		text                      string
		mixed, random, dull, name bool
	}{
		{"aZ0", true, false, true, false},
		{"zA9", true, false, true, false},
		{"a9z", false, false, true, false},
		{"A9Z", false, false, true, false},
		{"aAz", false, false, true, false},
		{"a1b2c", false, true, false, false},
		{"a1b2", false, true, false, false},
		{"ab12", false, false, false, true},
		{"a12b", false, false, false, false},
		{"1a2b", false, true, false, false},
		{"1-2-3", false, false, false, true},
		{"1234", false, false, false, true},
		{"zz0z9", false, true, true, false},
		{"abc", false, false, true, true},
		{"abcd", false, false, false, true},
		{"abcdeabcdeabcde", false, false, false, true},
		{"abcdeabcdeabcdea", false, false, true, true},
		{"abcdefabcdefabcdef", false, false, false, true},
		{"abcdefghij", false, false, true, true},
		{"abcdefghi", false, false, false, true},
		{"", false, false, true, true},
		{"resourceManager", false, false, false, true},
		{"resourceXQ", false, false, false, true},
		{"resourceXQZ", false, false, false, false},
		{"HTTPServer", false, false, false, false},
		{"qwrt", false, false, false, false},
		{"isOkay", false, false, false, true},
		{"okayIs", false, false, false, false},
	} {
		if got := mixed(c.text); got != c.mixed {
			t.Errorf("%s: mixed %v", c.text, got)
		}
		if got := randomish(c.text); got != c.random {
			t.Errorf("%s: randomish %v", c.text, got)
		}
		if got := dull(c.text); got != c.dull {
			t.Errorf("%s: dull %v", c.text, got)
		}
		if got := identifier(c.text); got != c.name {
			t.Errorf("%s: identifier %v", c.text, got)
		}
	}
	for _, c := range "azAZ09gGfF/:@[`{_-.+" {
		b := byte(c)
		digit, letter := b >= '0' && b <= '9', b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		hex := digit || strings.ContainsRune("abcdefABCDEF", c)
		if inClass(b, "w") != (digit || letter) || inClass(b, "h") != hex || inClass(b, "d") != digit ||
			inClass(b, "u") != (digit || b >= 'A' && b <= 'Z') || !inClass(b, string(c)) {
			t.Errorf("the class of %c", c)
		}
		if upperByte(b) != (letter && b < 'a') || lowerByte(b) != (letter && b > 'Z') ||
			lowerByteOf(b) != strings.ToLower(string(c))[0] {
			t.Errorf("the case of %c", c)
		}
	}
	for text, want := range map[string]string{"apiKey": "api key", "HTTPAuthToken": "http auth token",
		"a-b_c.d e/f:g": "a b c d e f g", "--a": "a", "key1Value": "key1 value", "X": "x", "aB": "a b", "AB": "ab",
		"ABc": "a bc", "zA": "z a", "0A": "0 a", "9A": "9 a", "AZz": "a zz", "ZAa": "z aa", "AAz": "a az"} {
		var words []string
		for end := len(text); end > 0; {
			from, to := wordBefore(text, end)
			words = slices.Insert(words, 0, strings.ToLower(text[from:to]))
			end = from
		}
		if got := strings.Join(words, " "); strings.TrimLeft(got, " ") != want {
			t.Errorf("%s: %s", text, got)
		}
		slices.Reverse(words)
		if last, n := lastWords(text); n > 3 || !slices.Equal(last[:n], words[:min(n, len(words))]) {
			t.Errorf("%s: %d last words, %q", text, n, last)
		}
	}
}

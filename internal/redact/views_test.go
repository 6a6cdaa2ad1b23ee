package redact

import (
	"slices"
	"strings"
	"testing"
)

// shown writes a view as its original: text that reads otherwise stands as
// ⟨ORIGINAL→TEXT⟩, removed text as ⟨ORIGINAL⟩. A byte that is said to come from
// a place that overlaps the one before it shows as !.
func shown(s string, v *view) string {
	var b strings.Builder
	at := 0
	for i := 0; i < len(v.text); {
		from, to := v.place(i, i+1)
		k := i + 1
		for ; k < len(v.text); k++ {
			if next, _ := v.place(k, k+1); next != from {
				break
			}
		}
		switch {
		case from < at || to > len(s) || from >= to:
			return b.String() + "!"
		case from > at:
			b.WriteString("⟨" + s[at:from] + "⟩")
		}
		if s[from:to] == v.text[i:k] {
			b.WriteString(v.text[i:k])
		} else {
			b.WriteString("⟨" + s[from:to] + "→" + v.text[i:k] + "⟩")
		}
		at, i = to, k
	}
	if at < len(s) {
		b.WriteString("⟨" + s[at:] + "⟩")
	}
	return strings.NewReplacer("\n", "⏎", "\t", "⇥", "\r", "␍", "\u200b", "·", "\u0660", "٠").Replace(b.String())
}

// TestViews: how each escape reads, which text is taken out, and where in the
// original each of them stands: a finding in a view redacts exactly that.
func TestViews(t *testing.T) {
	for _, c := range []struct{ why, text, want string }{
		{"plain text behind an escape", `\x41bc`, `⟨\x41→A⟩bc`},
		// \uXXXX
		{"four digits", `a\u0041b`, `a⟨\u0041→A⟩b`},
		{"at the end", `a\u0041`, `a⟨\u0041→A⟩`},
		{"three digits at the end", `a\u004`, `a⟨\⟩u004`},
		{"no digits", `a\u00x1b`, `a\u00x1b`},
		{"a letter of several bytes", `\u00e9\u20ac`, `⟨\u00e9→é⟩⟨\u20ac→€⟩`},
		{"an invisible one", `a\u200bb`, `a⟨\u200b⟩b`},
		{"escaped once more", `a\\u0041b`, `a⟨\\u0041→A⟩b`},
		{"escaped twice more, at the end", `a\\\\u0041`, `a⟨\\\\u0041→A⟩`},
		{"an invisible one, escaped once more", `a\\u200bb`, `a⟨\\u200b⟩b`},
		{"no digits, escaped once more", `a\\u00x1b`, `a⟨\\⟩u00x1b`},
		{"three digits, escaped once more", `a\\u004`, `a⟨\\⟩u004`},
		// \xXX
		{"two digits", `a\x41b`, `a⟨\x41→A⟩b`},
		{"two digits at the end", `a\x41`, `a⟨\x41→A⟩`},
		{"one digit at the end", `a\x4`, `a⟨\⟩x4`},
		{"no digits", `a\xzzb`, `a\xzzb`},
		{"the last of ASCII", `\x7f`, "⟨\\x7f→\x7f⟩"},
		{"beyond ASCII", `a\x80b`, `a\x80b`},
		// other escapes
		{"line ends and tabs", `a\nb\rc\td`, `a⟨\n→⏎⟩b⟨\r→⏎⟩c⟨\t→⏎⟩d`},
		{"quotes and slashes", `a\"b\'c\/d`, `a⟨\"→"⟩b⟨\'→'⟩c⟨\/→/⟩d`},
		{"several times", `a\\\"b`, `a⟨\\\"→"⟩b`},
		{"any other letter", `a\qb`, `a⟨\⟩qb`},
		{"a continued line", "a\\\nb", "a⟨\\⏎⟩b"},
		{"a continued line, indented", "a\\\n \t b", "a⟨\\⏎ ⇥ ⟩b"},
		{"a continued line of Windows", "a\\\r\n b", "a⟨\\␍⏎ ⟩b"},
		{"a continued line at the end", "ab\\\n", "ab⟨\\⏎⟩"},
		{"nothing behind it", `ab\`, `ab\`},
		{"nothing behind two", `ab\\`, `ab⟨\\⟩`},
		// %XX
		{"a letter", "a%41b", "a⟨%41→A⟩b"},
		{"a letter at the end", "a%7E", "a⟨%7E→~⟩"},
		{"a blank, the first that is shown", "a%20b", "a⟨%20→ ⟩b"},
		{"white space", "a%0ab%0Dc%09d", "a⟨%0a→⏎⟩b⟨%0D→␍⟩c⟨%09→⇥⟩d"},
		{"other bytes stay", "a%1fb%7fc%80d%00e%0be", "a%1fb%7fc%80d%00e%0be"},
		{"no digits", "a%zzb%", "a%zzb%"},
		{"one digit at the end", "a%4", "a%4"},
		{"twice", "%41%42", "⟨%41→A⟩⟨%42→B⟩"},
		// soft line breaks of quoted-printable text
		{"a soft break", "ab=\ncd", "ab⟨=⏎⟩cd"},
		{"of Windows", "ab=\r\ncd", "ab⟨=␍⏎⟩cd"},
		{"not at the begin", "=\ncd", "=⏎cd"},
		{"not at the end", "ab=\n", "ab=⏎"},
		{"not between blanks", "ab =\ncd=\n e", "ab =⏎cd=⏎ e"},
		{"no line end behind it", "ab=\rcd=e", "ab=␍cd=e"},
		// characters
		{"full-width letters", "ａｂ～！", "⟨ａ→a⟩⟨ｂ→b⟩⟨～→~⟩⟨！→!⟩"},
		{"beside the full-width letters", "\uff00\uff5f", "\uff00\uff5f"},
		{"invisible ones", "a\u200bb\u2028c\u034fd\u180ee\ufe0ff\u115fg\u3164h\ufe00i",
			"a⟨·⟩b⟨\u2028⟩c⟨\u034f⟩d⟨\u180e⟩e⟨\ufe0f⟩f⟨\u115f⟩g⟨\u3164⟩h⟨\ufe00⟩i"},
		{"visible ones beside them", "a\ufdffb\ufe10c", "a\ufdffb\ufe10c"},
		{"bytes that are no characters", "a\xffb%41", "a\xffb⟨%41→A⟩"},
		// joined literals
		{"added", `"ab" + "cd"`, `"ab⟨" + "⟩cd"`},
		{"without blanks", `'ab'.'cd'`, `'ab⟨'.'⟩cd'`},
		{"every operator", `"ab"&"cd"~"ef"||"gh"++"ij".."kl"`, `"ab⟨"&"⟩cd⟨"~"⟩ef⟨"||"⟩gh⟨"++"⟩ij⟨".."⟩kl"`},
		{"over a line", "\"ab\" +\n\t'cd'", "\"ab⟨\" +⏎⇥'⟩cd'"},
		{"beside each other", `"ab" "cd"`, `"ab⟨" "⟩cd"`},
		{"beside each other, with other quotes", `"ab" 'cd'`, `"ab" 'cd'`},
		{"one in the other", `'ab''cd'`, `'ab⟨''⟩cd'`},
		{"an empty one", `'' 'cd'`, `'' 'cd'`},
		{"nothing in the second", `"ab" + ""`, `"ab" + ""`},
		{"nothing behind it", `"ab" + "`, `"ab" + "`},
		{"another operator", `"ab" - "cd"`, `"ab" - "cd"`},
		{"backquotes", "`ab` + `cd`", "`ab⟨` + `⟩cd`"},
	} {
		v, got := unwrapped(c.text, nil), c.text
		if v.text == c.text {
			t.Errorf("%s: %q has a view though it reads as it stands", c.why, c.text)
		}
		if v.text != "" {
			got = shown(c.text, &v)
		} else {
			got = strings.NewReplacer("\n", "⏎", "\t", "⇥", "\r", "␍").Replace(got)
		}
		if got != c.want {
			t.Errorf("%s: %q\n got %s\nwant %s", c.why, c.text, got, c.want)
		}
		for i := range len(v.text) { // a range is from where its first byte came from to where its last one did
			for k := i + 1; k <= len(v.text); k++ {
				a, _ := v.place(i, i+1)
				_, b := v.place(k-1, k)
				if from, to := v.place(i, k); from != a || to != b {
					t.Errorf("%s: bytes %d to %d come from %d to %d, not %d to %d", c.why, i, k, from, to, a, b)
				}
			}
		}
	}
}

// TestTextsWithoutAView: a text in which nothing is escaped or split is not copied, whatever marks are in it; most
// are of this kind.
func TestTextsWithoutAView(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "plain words": false, `a="b" c='d'`: false, "it's": false, "a=b\nc=d": false, "=\na": false,
		"50%": false, "50% of é": false, `'a', "b"`: false, "a & b &#; &": false, "100%-é": false,
		"'a' 'b'": true, `"a"+"b"`: true, "ab=\ncd": true, `a\b`: true, "5%30": true, "a\u200b": true,
	} {
		if v := unwrapped(text, nil); (v.text != "") != want {
			t.Errorf("%q: %q", text, v.text)
		}
		if n := testing.AllocsPerRun(10, func() { unwrapped(text, nil) }); n > 0 != want {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

// TestBesides: findings are cut at the placeholders that they reach over, and
// the rest of one is redacted if it has four letters and digits.
func TestBesides(t *testing.T) {
	const m = "[redacted:x:0123abcd]"
	for _, c := range []struct {
		why, text string // a finding stands between ⟦ and ⟧
		want      []string
	}{
		{"no placeholder", "a ⟦bc⟧ d", []string{"bc"}},
		{"in front of a placeholder, however short", "⟦ab⟧" + m, []string{"ab"}},
		{"behind a placeholder, however short", m + "⟦ab⟧", []string{"ab"}},
		{"between two", m + "⟦ab⟧" + m, []string{"ab"}},
		{"a placeholder", "⟦" + m + "⟧", nil},
		{"in a placeholder", "[red⟦acted:⟧x:0123abcd]", nil},
		{"over one", "⟦abcd" + m + "efgh⟧", []string{"abcd", "efgh"}},
		{"over one, too little in front", "⟦abc" + m + "efgh⟧", []string{"efgh"}},
		{"over one, too little behind", "⟦abcd" + m + "e-f-g⟧", []string{"abcd"}},
		{"over two", "⟦abcd" + m + "efgh" + m + "ijkl⟧", []string{"abcd", "efgh", "ijkl"}},
		{"up to the begin of the second", "⟦abcd" + m + "efgh⟧" + m + "ijkl", []string{"abcd", "efgh"}},
		{"into the second", "abc" + m + "⟦efgh[redacted⟧:x:0123abcd]ijkl", []string{"efgh"}},
		{"punctuation", "⟦=\"" + m + "\"...;⟧", nil},
	} {
		before, rest, _ := strings.Cut(c.text, "⟦")
		inner, behind, _ := strings.Cut(rest, "⟧")
		s := before + inner + behind
		var got []string
		for _, f := range besides(s, []Finding{{Kind: "k", Start: len(before), End: len(before) + len(inner)}}) {
			got = append(got, s[f.Start:f.End])
			if f.Kind != "k" {
				t.Errorf("%s: of kind %q", c.why, f.Kind)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %s\n got %q\nwant %q", c.why, c.text, got, c.want)
		}
	}
	for _, f := range []Finding{{Start: 2, End: 2}, {Start: 3, End: 2}, {Start: 0, End: 5}} {
		if got := besides("text", []Finding{f}); got != nil {
			t.Errorf("%+v is no part of the text: %+v", f, got)
		}
	}
	if got := besides("text", []Finding{{Start: 0, End: 4}}); len(got) != 1 {
		t.Errorf("the whole text: %+v", got)
	}
}

// TestExpressionsAreCompiledOnce: the rules of a file share what they allow, thousands of times.
func TestExpressionsAreCompiledOnce(t *testing.T) {
	done := expressions{}
	a, err := done.compile("ab+c")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := done.compile("ab+c"); err != nil || a != b {
		t.Errorf("compiled again: %v", err)
	}
	if c, err := done.compile("ab+d"); err != nil || c == a || c.String() != "ab+d" {
		t.Errorf("another one: %v, %v", c, err)
	}
	for range 2 {
		if re, err := done.compile("("); err == nil || re != nil {
			t.Errorf("what is not good was kept: %v", re)
		}
	}
}

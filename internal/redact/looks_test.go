package redact

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

// TestHowTextsLook: the questions that are asked about the letters of a text, each at its bounds.
func TestHowTextsLook(t *testing.T) {
	at := func(i int) func(string) bool { return func(s string) bool { return afterEscape(s, i) } }
	for _, c := range []struct {
		question string
		ask      func(s string) bool
		yes, no  []string
	}{
		{"dull: few different characters", dull,
			[]string{"", "abc", "abcabcabcabcabc", "aAbBcC", "abcdeabcdeabcdea"},
			[]string{"abcd", "abcdabcdabcdabc", "abcdefabcdefabcdef"}},
		{"dull: an alphabet or a marked example", dull,
			[]string{"q7-EXAMPLE-z", "q7xxxxxxz", "your_q7z", "Your-q7z", "q7placeholder", "7abcdefghij", "1234567890abcdef"},
			[]string{"exampl-q7z", "xxxxxq7z", "yourq7z", "abcdefghi7", "1234567890abcde"}},
		{"digits among letters", randomish, []string{"a1b2", "1a2b", "Z0z9", "a1b-2"},
			[]string{"a1bb", "a12b", "ab12", "1-2-3", "a1-2", "a1b", "", "`1{2", "@1[2"}},
		{"both cases and digits", mixed, []string{"aA0", "zZ9"},
			[]string{"aA", "a0", "A0", "`A0", "{A0", "a@0", "a[0", "aA/", "aA:", ""}},
		{"the letter of an escape in front", at(2), []string{`\nx`, `\tx`, `\rx`, `\bx`, `\fx`},
			[]string{`nnx`, `\xx`, `n\n`, `x\n`}},
		{"no room for an escape", at(1), nil, []string{`\n`, `nn\`}},
		{"names and what joins them", onlyNames, []string{"", "a_b-c.d9Z"}, []string{"a b", "a/b", "é"}},
		{"three different bytes", func(s string) bool { return different(s) == minDifferent },
			[]string{"abc", "aabbc", "abcd"}, []string{"", "aaaa", "abab"}},
		{"a sentence", sentence, []string{"this is it", "please enter", "a b c d e f g h"},
			[]string{"", "this", "correct horse", "a b c d e f g"}},
		{"letters that read like a name", identifier,
			[]string{"", "openTheWindow", "HTTPServerOptionsMap", "max_tokens2", "ab"},
			[]string{"qxwvr", "QxWvRt", "X", "HTTPServerOptions"}},
		{"a UUID", uuid36, []string{"b5626f13-9aa7-4fe4-8923-83a7ab5af5b3"},
			[]string{"b5626f13-9aa7-4fe4-8923-83a7ab5af5b", "b5626f13-9aa7-4fe4-8923-83a7ab5af5bg",
				"b5626f139-aa7-4fe4-8923-83a7ab5af5b3", "b5626f13-9aa7-4fe4-8923083a7ab5af5b3"}},
	} {
		for _, s := range c.yes {
			if !c.ask(s) {
				t.Errorf("%s: not %q", c.question, s)
			}
		}
		for _, s := range c.no {
			if c.ask(s) {
				t.Errorf("%s: %q", c.question, s)
			}
		}
	}
}

// TestInlineMedia: a body is that of a picture, a font, a sound or a film when its type stands at most 64
// bytes in front.
func TestInlineMedia(t *testing.T) {
	for head, want := range map[string]bool{
		"data:image/png;base64,": true, "url(data:font/woff2;base64,": true, "data:audio/wav;base64,": true,
		"data:video/mp4;base64,":  true,
		"data:text/plain;base64,": false, "data:": false, "image/png;base64,": false,
		"data:image/png data:text/plain;base64,": false,
		"data:image/" + strings.Repeat("x", 53):  true, "data:image/" + strings.Repeat("x", 54): false,
	} {
		if got := mediaURL(head+"AAAA", len(head)); got != want {
			t.Errorf("%s: %v", head, got)
		}
	}
}

// TestEncodingsAreTheSecretsAlone: the pass looks for every base64 character
// that a secret decides, wherever it stands, and for none that its neighbours
// decide.
func TestEncodingsAreTheSecretsAlone(t *testing.T) {
	for _, secret := range []string{"hunter2", "hunter22", "hunter222", "Tr0ub4dor&3", "\xff\xfe\xfd\xfc\xfb\xfa",
		"??>>??>>"} {
		got := encodings(secret)
		for shift := range 3 {
			var variants []string
			for _, c := range []string{"\x00", "\xff"} {
				for _, d := range []string{"\x00", "\xff"} {
					variants = append(variants,
						base64.StdEncoding.EncodeToString([]byte(strings.Repeat(c, shift)+secret+strings.Repeat(d, 3))))
				}
			}
			own := ""
			for i := range variants[0] {
				same := true
				for _, v := range variants {
					same = same && v[i] == variants[0][i]
				}
				if same {
					own += variants[0][i : i+1]
				} else if own != "" {
					break
				}
			}
			if !slices.Contains(got, own) || !slices.Contains(got, strings.NewReplacer("+", "-", "/", "_").Replace(own)) {
				t.Errorf("%q behind %d bytes: %q is not among %q", secret, shift, own, got)
			}
		}
		want := 4 // hexadecimal, and the three places
		for _, e := range got[1:] {
			if strings.ContainsAny(e, "-_") {
				want++ // the other alphabet
			}
		}
		if len(got) != want {
			t.Errorf("%q: %d encodings, want %d: %q", secret, len(got), want, got)
		}
	}
	if got := encodings("two words"); !slices.Contains(got, "two+words") {
		t.Errorf("%q", got)
	}
}

// TestKnownInAnotherForm: a known secret that stands in another case, or encoded, is told as it was learned,
// one that stands as it is is not told twice.
func TestKnownInAnotherForm(t *testing.T) {
	var k known
	k.learn("password", "Hunter-2x")
	for text, want := range map[string][3]string{ // kind, redacted text, the secret
		"a Hunter-2x b":                {"password", "Hunter-2x", ""},
		"a HUNTER-2X b":                {"password", "HUNTER-2X", "Hunter-2x"},
		"a 48756e7465722d3278 b":       {"password", "48756e7465722d3278", "Hunter-2x"},
		"a 48756E7465722D3278 b":       {"password", "48756E7465722D3278", "Hunter-2x"},
		"a Hunter-2 b":                 {},
		"a Hunter- 2x b":               {},
		"Hunter-2x":                    {"password", "Hunter-2x", ""},
		"a SHVudGVyLTJ4 b":             {"password", "SHVudGVyLTJ4", "Hunter-2x"},
		"a SHVudGVyLTJ4== b":           {"password", "SHVudGVyLTJ4==", "Hunter-2x"},
		"the last six bytes: ter-2x a": {},
	} {
		var got [3]string
		first, last := len(text), 0
		k.find(text, func(kind string, from, to int, secret string) { // a long form is found in pieces
			first, last = min(first, from), max(last, to)
			got = [3]string{kind, text[first:last], secret}
		})
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestKnownBehindAnEscape: also where a known secret stands in another case and is escaped, it is told as it
// was learned.
func TestKnownBehindAnEscape(t *testing.T) {
	rec := NewRecord()
	rec.known.learn("password", "Hunter-2x")
	d := detector{record: rec, knownOnly: true}
	text := `a HUNTER\x2d2X b`
	found := d.again(text)
	if len(found) != 1 || found[0].in(text) != "Hunter-2x" || text[found[0].Start:found[0].End] != `HUNTER\x2d2X` {
		t.Errorf("%+v", found)
	}
}

// TestFormsAtTheirBounds: URLs, bodies and clients' flags. Findings are marked as in texts.txt.
func TestFormsAtTheirBounds(t *testing.T) {
	for why, line := range map[string]string{
		"the password of a URL ends at its host": "https://me:⟦url-password Tr0ub4dor1⟧@x.test/a@b",
		"an @ in the password":                   "https://me:⟦url-password Tr0ub4d@r1⟧@x.test/a",
		"a slash before the @":                   "https://x.test/me:Tr0ub4dor1@x",
		"a query with an @":                      "https://me:⟦url-password Tr0ub4dor1⟧@x.test?a@b",
		"a password of three":                    "https://me:ab1@x.test",
		"a password of four":                     "https://me:⟦url-password ab1c⟧@x.test",
		"a password that is the user":            "https://troubadour1:Troubadour1@x.test",
		"a token for a user, of twenty":          "https://⟦url-password «w 20»⟧@x.test",
		"a token for a user, of nineteen":        "https://«w 19»@x.test",
		"an image with its digest":               "x://me:5000/app@sha256:«h 64»",
		"a body with one character too many":     "⟦encoded «base64raw password=«w 21»»A⟧",
		"a body of sixteen":                      "«base64raw pw=Tr0ub4do»",
		"three = behind a body":                  "⟦encoded «base64raw password=«w 20»»==⟧=",
		"0x in front of digits":                  "0x⟦encoded «hex password=«w 20»»⟧",
		"lftp":                                   "lftp -u me,⟦password Tr0ub4dor1⟧ x.test",
		"lftp without a password":                "lftp -u me x.test",
		"lftp with a comma elsewhere":            "lftp -u me a,Tr0ub4dor1",
		"sqlplus":                                "sqlplus me/⟦password Tr0ub4dor1⟧@db",
		"smbclient":                              "smbclient -U me%⟦password Tr0ub4dor1⟧ x",
		"net use":                                "net use x: /user:me ⟦password Tr0ub4dor1⟧",
		"htpasswd":                               "htpasswd -b f me ⟦password Tr0ub4dor1⟧",
		"htpasswd to standard output":            "htpasswd -nb me ⟦password Tr0ub4dor1⟧",
		"htpasswd with its cost":                 "htpasswd -bC 12 f me ⟦password Tr0ub4dor1⟧",
		"two lines":                              "lftp -u me,⟦password Tr0ub4dor1⟧ x⏎mysql -p⟦password Tr1ub4dor1⟧ y",
		"two lines, and line ends":               "⏎lftp -u me,⟦password Tr0ub4dor1⟧⏎⏎mysql -p⟦password Tr1ub4dor1⟧⏎",
		"curl":                                   "curl -u me:⟦password Tr0ub4dor1⟧ x",
		"curl in another line":                   "curl x⏎y -u me:Tr0ub4dor1",
		"the name of something, in at most 63 bytes": "password for " + strings.Repeat("x", 59) +
			": ⟦password Tr0ub4dor1⟧",
		"the name of something, in more":                  "password for " + strings.Repeat("x", 60) + ": Tr0ub4dor1",
		"a name with one letter in front of the line":     "a_token ⟦token q1w2e3r4t5z6u7i8⟧",
		"a name with one letter, and a value of fifteen":  "a_token q1w2e3r4t5z6u7i",
		"a JSON Web Token with the shortest head":         "⟦jwt eyJhbGciOg.«s 9»⟧",
		"a JSON Web Token with a shorter head":            "eyJhbGci.«s 9»",
		"a JSON Web Token":                                "⟦jwt «base64url {\"alg\":\"none\"}».«s 9»⟧",
		"a JSON Web Token whose second part has eight":    "«base64url {\"alg\":\"none\"}».«s 8»",
		"a JSON Web Token whose first part names nothing": "«base64url {\"xyz\":\"none\"}».«s 20»",
		"a JSON Web Token without a dot":                  "«base64url {\"alg\":\"none\"}»",
	} {
		text, want := marked(t, line)
		if got := Find(text); !sameFindings(text, got, want) {
			t.Errorf("%s: %s\n got %s", why, line, mark(text, got))
		}
	}
}

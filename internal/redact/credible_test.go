package redact

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestCredibleAtItsBounds: what a value must have to be a secret, by what its name says: the shortest that is
// one, and what has one thing less.
func TestCredibleAtItsBounds(t *testing.T) {
	for _, c := range []struct {
		why      string
		s        strength
		yes, not []string
	}{
		{"no name", none, nil, []string{"Tr0ub4dor&3", "q1w2e3r4t5z6u7i8o9"}},
		{"a password: six bytes", strong, []string{"hunter", "a b c d"}, []string{"hunte", "abc"}},
		{"a password: digits and something else", strong, []string{"hunt1", "123-", "0a0a"},
			[]string{"1234", "12345", "a1b"}},
		{"a token: ten letters and digits", weak, []string{"qxwvrtbps0", "qxwvrtbps9", "0qxwvrtbpz", "483921764a"},
			[]string{"qxwvrtbp0", "qxwvrtbps/", "qxwvrtbps:", "qxwvrtbpsx"}},
		{"a token: sixteen letters of both cases", weak,
			[]string{"QXWVRTBPSDFGHJKa", "QXWVRTBPSDFGHJKz", "qxwvrtbpsdfghjkA", "qxwvrtbpsdfghjkZ"},
			[]string{"QXWVRTBPSDFGHJK`", "QXWVRTBPSDFGHJK{", "qxwvrtbpsdfghjk@", "qxwvrtbpsdfghjk[", "QXWVRTBPSDFGHJKL",
				"qxwvrtbpsdfghjkl"}},
		{"a token: twelve of both cases that read like no name", weak, []string{"QxwvRtbpSdfg", "Qxwv-RtbpSd!"},
			[]string{"QxwvRtbpSdf", "Qxwv-RtbpSd", "openTheWindow"}},
		{"a token: forty of both cases, whatever they read like", weak, []string{"getHandlerNameFromTheCurrentContextValue"},
			[]string{"getHandlerNameFromTheCurrentContextValu", strings.Repeat("handler_name_", 4)}},
		{"a token: sixteen digits", weak, []string{"4839217648392176", "9081726354900817"},
			[]string{"483921764839217", "483921764839217/", "483921764839217:"}},
		{"a token: no blanks, links or lists", weak, nil,
			[]string{"q1w2e3 r4t5z6", "https://q1w2e3r4", "q1w2e3[r4t5]", "<q1w2e3r4t5", "q1w2e3|r4t5"}},
		{"a token: not the name of something", weak, nil, []string{"encryptionKey1024", "session_2"}},
		{"a key: eighteen that look generated", weakest, []string{"q1w2e3r4t5z6u7i8o9"},
			[]string{"q1w2e3r4t5z6u7i8o", "qwertzuiopasdfghj12", "q1w2e3r4t5z6u7i8o9,", "q1w2e3r4t5:6u7i8o9",
				"b5626f13-9aa7-4fe4-8923-83a7ab5af5b3"}},
	} {
		for _, v := range c.yes {
			if !credible(v, c.s, true) {
				t.Errorf("%s: %q is none", c.why, v)
			}
		}
		for _, v := range c.not {
			if credible(v, c.s, true) {
				t.Errorf("%s: %q is one", c.why, v)
			}
		}
	}
}

// TestNamesInFrontOfValues: what makes a word a name, and what behind it its value. Findings are marked as in
// texts.txt.
func TestNamesInFrontOfValues(t *testing.T) {
	for why, line := range map[string]string{
		"a flag at the begin":                   "--password ⟦password Tr0ub4dor1⟧",
		"a flag":                                "x --password ⟦password Tr0ub4dor1⟧",
		"a flag with one dash":                  "x -password ⟦password Tr0ub4dor1⟧",
		"one dash at the begin is a list":       "-password Tr0ub4dor1",
		"one dash behind something else":        "x/-password Tr0ub4dor1",
		"a word alone":                          "password Tr0ub4dor1",
		"a flag of one letter":                  "x -p Tr0ub4dor1",
		"what a secret is set to":               "gh secret set X -b ⟦secret Tr0ub4dor1⟧",
		"what a secret is set to, in full":      "gh secret set X --body ⟦secret Tr0ub4dor1⟧",
		"what something else is set to":         "gh issue set X -b Tr0ub4dor1",
		"another flag of what sets a secret":    "gh secret set X -r Tr0ub4dor1",
		"a bar at the begin":                    "|«w 20»",
		"a bar behind a blank":                  " |«w 20»",
		"a bar behind a quote":                  "`|«w 20»",
		"a cell of a table":                     "| API_TOKEN | ⟦token «w 20»⟧ |",
		"a cell in backquotes":                  "| `API_TOKEN`| ⟦token «w 20»⟧ |",
		"a pipe":                                "API_TOKEN| «w 20»",
		"a comma behind a quote":                `("Authorization", "Bearer ⟦credential «w 20»⟧")`,
		"a comma behind a word":                 `(Authorization, "Bearer «L 12»")`,
		"a comma at the begin":                  `, "«w 20»"`,
		"a call":                                `login("⟦credential «w 20»⟧")`,
		"a call of nothing":                     `("«w 20»")`,
		"a call with a name":                    `login(«w 20»)`,
		"a parenthesis at the end":              "login(",
		"the parameter of a URL":                "https://x.test/?code=⟦url-key «w 20»⟧",
		"another parameter of a URL":            "https://x.test/?a=b&sig=⟦signature «w 20»⟧",
		"the same name elsewhere":               "code=«w 20»",
		"a part of a longer name":               "arn:aws::secret:Tr0ub4dor1",
		"an authorization of fifteen letters":   "Authorization: Bearer troubadortrouba",
		"an authorization of sixteen letters":   "Authorization: Bearer ⟦credential troubadortroubad⟧",
		"a comparison":                          "password != ⟦password Tr0ub4dor1⟧",
		"an arrow":                              "password => ⟦password Tr0ub4dor1⟧",
		"a greater than is no assignment":       "password > Tr0ub4dor1",
		"the value of an element":               "<password>⟦password Tr0ub4dor1⟧</password>",
		"a variable's default":                  `variable "db_password" { default = "⟦password Tr0ub4dor1⟧" }`,
		"a default behind the variable":         `variable "db_password" {} default = "Tr0ub4dor1"`,
		"a pair of name and value":              "name: DB_PASSWORD⏎value: ⟦password Tr0ub4dor1⟧",
		"a pair with more in between":           "name: DB_PASSWORD⏎⏎⏎value: Tr0ub4dor1",
		"a pair of attributes":                  `<add key="ApiKey" value="⟦api-key «w 20»⟧"/>`,
		"a command that prints it":              "password: `pass show x1`",
		"a scheme that is not listed":           "Authorization: Hawk ⟦credential «w 20»⟧",
		"a YAML tag in front":                   "password: !!str ⟦password Tr0ub4dor1⟧",
		"an escaped quote in front":             `password: \"⟦password Tr0ub4dor1⟧\"`,
		"the end of a sentence":                 "password: ⟦password Tr0ub4dor1⟧.",
		"a semicolon":                           "password=⟦password Tr0ub4dor1⟧;x=y",
		"a parenthesis that was not opened":     "(password=⟦password Tr0ub4dor1⟧)",
		"machines and their passwords":          "machine x login y password ⟦password troubadour1⟧",
		"machines on lines of their own":        "machine x⏎login y⏎password ⟦password troubadour1⟧",
		"SQL":                                   "CREATE USER x IDENTIFIED BY '⟦password troubadour⟧'",
		"names that the blank of a file serves": "requirepass ⟦password troubadour1⟧",
	} {
		text, want := marked(t, line)
		if got := Find(text); !sameFindings(text, got, want) {
			t.Errorf("%s: %s\n got %s", why, line, mark(text, got))
		}
	}
}

// TestSchemesInDocuments: the value of an authorization in a document is redacted behind its scheme, from
// sixteen letters on.
func TestSchemesInDocuments(t *testing.T) {
	r := newTestRedactor(t, Config{})
	for value, want := range map[string]string{
		"Bearer troubadortroubad": "Bearer [redacted:credential]",
		"Bearer troubadortrouba":  "Bearer troubadortrouba",
		"Bearer qxwvrtbps0":       "Bearer [redacted:credential]",
		"Bearer qxwvrtbp0":        "Bearer qxwvrtbp0",
		"Bearer":                  "Bearer",
	} {
		out, _, err := r.JSON(jsontext.Value(`{"authorization":` + quote(value) + `}`))
		if got := hashless(string(out)); err != nil || got != `{"authorization":`+quote(want)+`}` {
			t.Errorf("%s: %s, %v", value, got, err)
		}
	}
}

package gitleaks_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/gitleaks"
	"github.com/belay-hooks/belay/internal/redact"
)

const rules = `title = "ours"
[allowlist]
paths = ['''go\.sum''']
stopwords = ["not-this-one"]
[[rules]]
id = "acme-badge-of-honour-and-more"
description = "badges"
regex = '''\bacme_([A-Z0-9]{8})\b'''
entropy = 2
keywords = ["ACME_"]
tags = ["acme"]
[[rules.allowlists]]
condition = "AND"
paths = ["x"]
regexes = ['''QQ''']
[[rules.allowlists]]
regexTarget = "line"
regexes = ['''# public''']
[[rules]]
id = "names-only"
path = '''\.p12$'''
[[rules]]
id = "second.Group"
regex = '''(left|right)-key:(\w{8})'''
secretGroup = 2
keywords = ["-key:"]
`

// A rule file covers what gitleaks would report in a text.
func TestRulesOfGitleaks(t *testing.T) {
	list, err := gitleaks.Parse([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Config{Key: make([]byte, 32), Patterns: list})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"badge acme_Q8QR5TUV":            "badge acme_[redacted:acme-badge-of-honour-and:",
		"badge acme_QQQR5TUV":            "badge acme_[redacted:", // the allowance is about files, too
		"badge acme_Q8QR5TUV # public":   "badge acme_Q8QR5TUV # public",
		"badge acme_AAAAAAAA":            "badge acme_AAAAAAAA",
		"left-key:abcd1234":              "left-key:[redacted:second-group:",
		"something else and nothing new": "something else and nothing new",
	} {
		if got, _ := r.Text(text); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRulesThatCannotBeUsed(t *testing.T) {
	rule := "[[rules]]\nid = \"a\"\nregex = '''abcd[0-9]'''\nkeywords = [\"abcd\"]\n"
	for want, src := range map[string]string{
		"line 5, column 1: there is no member": rule + "colour = \"red\"\n",
		"line 2, column":                       "[[rules]]\nid = 7\n",
		"line 1, column":                       "[[rules]\n",
		`rule "a": the expression is not RE2`:  strings.Replace(rule, "abcd[", "(?=x)abcd[", 1),
		`rule "a": the expression matches`:     strings.Replace(rule, "abcd[0-9]", ".*", 1),
		`rule "a": there are two`:              rule + rule,
		`rule "a": there is no group 3`:        rule + "secretGroup = 3\n",
		`rule "a": secretGroup or entropy`:     rule + "entropy = 9.5\n",
		`rule "a": rules made of several`:      rule + "[[rules.required]]\nid = \"b\"\n",
		`rule "a": an allowlist has the cond`:  rule + "[[rules.allowlists]]\ncondition = \"XOR\"\n",
		`rule "a": an allowance is about`:      rule + "[[rules.allowlists]]\nregexTarget = \"file\"\nregexes = ['x']\n",
		`rule "a": an allowed expression`:      rule + "[[rules.allowlists]]\nregexes = ['(?<!x)y']\n",
		"rule 1 has no id":                     "[[rules]]\nregex = '''abcd'''\n",
		"an allowlist is for the rule":         rule + "[[allowlists]]\ntargetRules = [\"b\"]\n",
		"it extends other rules":               rule + "[extend]\nuseDefault = true\n",
		"there is no rule":                     "title = \"x\"\n",
		"the file has more than":               strings.Repeat("#", gitleaks.MaxBytes+1),
	} {
		_, err := gitleaks.Parse([]byte(src))
		if !errors.Is(err, gitleaks.ErrRules) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(rules))
	f.Add([]byte("[[rules]]\nid='x'\nregex='(a{1000}){1000}'"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := gitleaks.Parse(raw)
		if err != nil {
			return
		}
		if _, err := redact.New(redact.Config{Key: make([]byte, 32), Patterns: list}); err != nil &&
			!errors.Is(err, redact.ErrConfig) {
			t.Fatal(err)
		}
	})
}

// BenchmarkRules is what a rule file costs: GITLEAKS_RULES names one, such as gitleaks' own.
func BenchmarkRules(b *testing.B) {
	raw := []byte(rules)
	if name := os.Getenv("GITLEAKS_RULES"); name != "" {
		var err error
		if raw, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
	}
	list, err := gitleaks.Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	with, err := redact.New(redact.Config{Key: make([]byte, 32), Patterns: list})
	if err != nil {
		b.Fatal(err)
	}
	without, _ := redact.New(redact.Config{Key: make([]byte, 32)})
	prose := strings.Repeat(
		"The quick brown fox jumps over the lazy dog and then walks home through the wide green fields.\n", 2000)
	full := strings.Repeat("export API_KEY=Zx81kQ9vLm2 # slack github token: secret=aws_9Q2 password\n", 2000)
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			list, _ := gitleaks.Parse(raw)
			if _, err := redact.New(redact.Config{Key: make([]byte, 32), Patterns: list}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, text := range map[string]string{"prose": prose, "keywords": full} {
		for kind, r := range map[string]*redact.Redactor{"with": with, "without": without} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					r.Text(text)
				}
			})
		}
	}
}

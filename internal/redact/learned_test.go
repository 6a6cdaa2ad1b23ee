package redact

import (
	"strings"
	"testing"
)

// TestFork: a fork knows the secrets of its record, and their pieces; secrets
// that it learns later are its own.
func TestFork(t *testing.T) {
	r := newTestRedactor(t, Config{})
	rec := NewRecord()
	rec.Text(r, "password=Tr0ub4dor")
	rec.Text(r, "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----")
	fork := rec.Fork()
	fork.Text(r, "password=An0therOne")
	for text, want := range map[string]string{
		"it is Tr0ub4dor": "it is [redacted:password]", "a ADANBgkqhkiG9w0BAQ b": "a [redacted:fragment] b",
		"it is An0therOne": "it is [redacted:password]",
	} {
		if got, _ := fork.Text(r, text); hashless(got) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got, _ := rec.Text(r, "it is An0therOne"); strings.Contains(got, "redacted") {
		t.Error("a record learns from its fork: " + got)
	}
}

// TestTextsAreLookedThroughOnce: what a text shows of itself is kept.
func TestTextsAreLookedThroughOnce(t *testing.T) {
	r := newTestRedactor(t, Config{})
	rec := NewRecord()
	const text = "password=Tr0ub4dor and more"
	rec.Text(r, text)
	if len(rec.looked) != 1 || len(rec.looked[text]) != 1 {
		t.Fatalf("%v", rec.looked)
	}
	rec.looked[text] = []Finding{{Kind: "kept", Start: len(text) - 5, End: len(text)}}
	if got, _ := rec.Text(r, text); !strings.HasSuffix(hashless(got), "[redacted:kept]") {
		t.Error(got)
	}
}

// TestWhatIsLearned: a secret is learned unless it is too long, too common, known already, or made of those that are.
func TestWhatIsLearned(t *testing.T) {
	long := strings.Repeat("a1-", maxKnown)
	for name, c := range map[string]struct {
		before        []string
		size, forms   int // of known secrets
		secret        string
		learned, form bool // also in base64
	}{
		"a secret":       {secret: "Tr0ub4dor", learned: true, form: true},
		"the same":       {before: []string{"Tr0ub4dor"}, secret: "Tr0ub4dor"},
		"twice the same": {before: []string{"Tr0ub4dor"}, secret: "Tr0ub4dorTr0ub4dor"},
		"two":            {before: []string{"Tr0ub4dor", "horses1"}, secret: "Tr0ub4dorhorses1"},
		"two and more before": {before: []string{"Tr0ub4dor", "horses1"}, secret: "xTr0ub4dorhorses1", learned: true,
			form: true},
		"two and more behind": {before: []string{"Tr0ub4dor", "horses1"}, secret: "Tr0ub4dorhorses1x", learned: true,
			form: true},
		"two and more inside": {before: []string{"Tr0ub4dor", "horses1"}, secret: "Tr0ub4dor-horses1", learned: true,
			form: true},
		"as long as may be":  {secret: long[:maxKnown], learned: true},
		"too long":           {secret: long[:maxKnown+1]},
		"up to the budget":   {size: knownBudget - 9, secret: "Tr0ub4dor", learned: true, form: true},
		"above the budget":   {size: knownBudget - 8, secret: "Tr0ub4dor"},
		"no room for forms":  {forms: formsBudget, secret: "Tr0ub4dor", learned: true},
		"room for the first": {forms: formsBudget - 18, secret: "Tr0ub4dor", learned: true},
	} {
		var k known
		for _, s := range c.before {
			k.learn("password", s)
		}
		k.size, k.forms = k.size+c.size, k.forms+c.forms
		n := len(k.secrets)
		k.learn("token", c.secret)
		if (len(k.secrets) > n) != c.learned {
			t.Errorf("%s: learned %v", name, !c.learned)
		}
		found := false
		if len(c.secret) < 100 {
			k.find(expand("«base64 xx"+c.secret+"xx»"), func(string, int, int, string) { found = true })
		}
		if c.before == nil && found != c.form {
			t.Errorf("%s: found in base64 %v", name, found)
		}
	}
	k := known{forms: formsBudget - 18}
	k.learn("token", "Tr0ub4dor")
	var ends []int
	k.find(expand("x «hex Tr0ub4dor» x"), func(_ string, from, to int, _ string) { ends = append(ends, from, to) })
	if len(ends) == 0 || ends[0] != 2 || ends[len(ends)-1] != 20 {
		t.Errorf("the form that just fits is found in %v", ends)
	}
}

// TestTheFirstKindStays: of two secrets that begin alike, the first is what their beginning is called.
func TestTheFirstKindStays(t *testing.T) {
	var k known
	k.learn("password", "Tr0ub4dor-and-the-horse")
	k.learn("token", "Tr0ub4dor-and-the-heron")
	var kinds []string
	k.find("Tr0ub4dor-and-the-horse Tr0ub4dor-and-th", func(kind string, _, _ int, _ string) {
		kinds = append(kinds, kind)
	})
	if strings.Join(kinds, " ") != "password fragment" {
		t.Error(kinds)
	}
}

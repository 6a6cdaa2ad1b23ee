package redact

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const corpusSeed, corpusSize = 20260117, 4000

// A generated corpus, every form with every kind: at least 95 of 100 secrets
// gone, at most 1 of 100 harmless texts touched. The numbers are logged.
func TestGeneratedCorpus(t *testing.T) {
	r, g := testRedactor(t), generator{rand.New(rand.NewPCG(corpusSeed, 1))}
	type count struct{ hit, all int }
	tally := map[string]*count{}
	note := func(name string, hit bool) {
		if tally[name] == nil {
			tally[name] = &count{}
		}
		tally[name].all++
		if hit {
			tally[name].hit++
		}
	}
	hit, wrong, shown := 0, 0, map[string]int{}
	for range corpusSize {
		form, kind, text, gone := "", "", "", []string(nil)
		switch g.IntN(3) {
		case 0:
			var s string
			form, kind, text, s = g.held()
			gone = []string{s}
		case 1:
			var s string
			kind, s = g.bare()
			form, text, gone = "bare", g.pick("use ", "key=", "\"", "> ", "run --x ", "(")+s+
				g.pick("", " now", "\"", ")", ",\n"), []string{s}
		default:
			var s string
			kind, s = g.bare()
			form, text, gone = g.layered(s)
		}
		out, _ := r.Text(text)
		ok := !slices.ContainsFunc(gone, func(s string) bool { return strings.Contains(out, s) })
		name := form + "/" + kind
		if note(form, ok); ok {
			hit++
		} else if shown[name]++; shown[name] == 1 {
			t.Logf("missed %s: %.200q", name, out)
		}
		if again, _ := r.Text(out); again != out {
			t.Errorf("%s: redacting twice changes\n%q\n%q", name, out, again)
		}
	}
	for range corpusSize {
		kind, text := g.harmless()
		if out, f := r.Text(text); out != text {
			if wrong++; shown[kind+text[:4]] == 0 {
				t.Logf("false positive %s: %+v %.200q", kind, f, text)
			}
			shown[kind+text[:4]]++
		}
	}
	for name, c := range tally {
		if c.hit < c.all {
			t.Logf("%-14s %d/%d", name, c.hit, c.all)
		}
	}
	t.Logf("secrets %d/%d, false positives %d/%d", hit, corpusSize, wrong, corpusSize)
	if hit*100 < corpusSize*95 || wrong*100 > corpusSize {
		t.Errorf("below the floor of 95 %%, or above the ceiling of 1 %%")
	}
}

// No text makes the work grow faster than its length. A quadratic one would not
// end within the time of a test.
func TestBoundedWork(t *testing.T) {
	r := testRedactor(t)
	for _, piece := range []string{"|", "t1.", "sk-", "api key ", "\" \"", "'a'+'b'", "a=\n", "\\u0041", "00 ",
		"password ", "://", "eyJ", "PRIVATE KEY", "x_key_", "name value=", "kind: Secret\ndata:\n",
		`"kind":"Secret","data":{`, "[redacted:", "dt0", "echo a | sudo -S ",
		"password=", "token=a", "pw=()", "secret=;", "password: ", "-----BEGIN RSA PRIVATE KEY-----",
		"machine x login y password ",
		"://a:b@", "://u:p", "x=`", "67:68:70:", "1:A", "a:1:b:c:d\n", "| api_key | b ", "\"token\",\"", "api_key b ",
		"value=", "secret set x --body y ", "htpasswd -b a ", "curl -u", "-us1", "1Q~", "a.bcdefg.", "QUJD\n",
		"password for a: ", "EAAA/", "a_b-",
		"password=[redacted:x]", "cookie=a;", "cookie: a=b; ", "ghp_a", "Authorization: x ", "api key: ", "password=\\\"a",
		"a:1:b:\"", "htpasswd -n a ", "| \n", "-----a",
		`tokens: ["a",`, `token:["`, "password: |\n ", "password:|", "password: |\n", `auth: x a="b", `, "x-ghp_",
		strings.Repeat("QUJD", 11) + "\n"} {
		text := strings.Repeat(piece, (256<<10)/len(piece))
		if out, _ := r.Text(text); len(out) == 0 {
			t.Error(fmt.Sprintf("%q", piece))
		}
	}
	// What takes placeholders out of a text writes each byte once. Bytes are counted, not time.
	text := strings.Repeat("[redacted:x]a", 8000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rest := unmarked(text)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; len(rest) != 8000 || n > 64*uint64(len(text)) {
		t.Errorf("%d bytes allocated for a text of %d, %d left", n, len(text), len(rest))
	}
}

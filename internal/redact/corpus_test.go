package redact

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

type sample struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Form    string   `json:"form"`
	Secrets []string `json:"secrets"`
	Kind    string   `json:"kind"`
}

func samples(t testing.TB) []sample { return samplesOf(t, "testdata/secrets.jsonl") }

func samplesOf(t testing.TB, file string) []sample {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []sample
	for s := bufio.NewScanner(f); s.Scan(); {
		var c sample
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func testRedactor(t testing.TB) *Redactor {
	t.Helper()
	r, err := New(Config{Key: []byte("0123456789abcdef0123456789abcdef")})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The corpus is labelled; these floors are what the detector reaches today, and
// a change that loses any of it is a regression.
func TestCorpus(t *testing.T) {
	const wantRecall, wantFalse = 1.0, 0
	r := testRedactor(t)
	secrets, hit, harmless, wrong := 0, 0, 0, 0
	for _, c := range samples(t) {
		out, _ := r.Text(c.Text)
		if len(c.Secrets) == 0 {
			harmless++
			if out != c.Text {
				wrong++
				t.Logf("false positive %s (%s): %.120q", c.ID, c.Kind, out)
			}
			continue
		}
		secrets++
		left := false
		for _, s := range c.Secrets {
			left = left || strings.Contains(out, s)
		}
		if left {
			t.Logf("missed %s (%s, %s): %.160q", c.ID, c.Kind, c.Form, out)
		} else {
			hit++
		}
		if again, _ := r.Text(out); again != out {
			t.Errorf("%s: redacting twice changes the text:\n%.200q\n%.200q", c.ID, out, again)
		}
	}
	recall := float64(hit) / float64(secrets)
	t.Logf("recall %d/%d = %.3f, false positives %d/%d", hit, secrets, recall, wrong, harmless)
	if recall < wantRecall || wrong > wantFalse {
		t.Errorf("recall %.3f (floor %.3f), false positives %d (ceiling %d)", recall, wantRecall, wrong, wantFalse)
	}
}

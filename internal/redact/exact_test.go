package redact

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestExact(t *testing.T) {
	const secret, short = "correct horse, battery", "zq!7Kp"
	key := []byte("0123456789abcdef")
	r, err := New(Config{Key: key, Exact: []string{secret, short}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		secret, "x" + secret + "y" + secret, `{"a":"` + secret + `"}`,
		"in base64 " + base64.StdEncoding.EncodeToString([]byte(secret)),
		hex.EncodeToString([]byte(secret)), strings.ReplaceAll(secret, " ", "%20"), "correct\u200b horse, battery", short,
		"a" + short,
	} {
		out, found := r.Text(s)
		if len(found) == 0 || strings.Contains(out, secret) || strings.Contains(out, short) ||
			!strings.Contains(out, "[redacted:") {
			t.Errorf("%q survives as %q", s, out)
		}
	}
	if out, masked, err := r.JSON(jsontext.Value(`{"n":["` + secret + `"]}`)); err != nil || len(masked) != 1 ||
		strings.Contains(string(out), "horse") {
		t.Errorf("%s %q %v", out, masked, err)
	}
	if out, _ := r.Text("corn is what horses eat, batteries not"); strings.Contains(out, "[") {
		t.Error(out)
	}
	if out, _ := r.Text("correct horse battery"); out != "correct horse battery" {
		t.Error(out)
	}
	for _, c := range []Config{{Key: key, Exact: []string{"short"}}, {Key: key, Exact: make([]string, MaxExact+1)},
		{Key: key, Profile: "lax"}, {Key: key, Profile: Strict, Allow: []string{"x"}}} {
		if _, err := New(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%v", err)
		}
	}
}

func TestStrict(t *testing.T) {
	r, err := New(Config{Key: []byte("0123456789abcdef"), Profile: Strict,
		Allow: []string{"/tool", "/list/*/name", "/open"}})
	if err != nil {
		t.Fatal(err)
	}
	in := `{"tool":"exec","list":[{"name":"a","text":"private"}],"open":{"deep":"read me ` + awsKey +
		`"},"n":1,"b":true,"z":null,"e":"",` +
		`"id":"b5626f13-9aa7-4fe4-8923-83a7ab5af5b3","t":"2026-01-02T03:04:05Z","name":"Bob"}`
	out, masked, err := r.JSON(jsontext.Value(in))
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"private", "Bob", awsKey} {
		if strings.Contains(string(out), gone) {
			t.Errorf("%s survives: %s", gone, out)
		}
	}
	for _, kept := range []string{`"tool":"exec"`, `"name":"a"`, `read me [redacted:aws-access-key:`, `"n":1`,
		"b5626f13-9aa7", "2026-01-02T03", `"e":""`} {
		if !strings.Contains(string(out), kept) {
			t.Errorf("%s is gone: %s", kept, out)
		}
	}
	if len(masked) != 3 {
		t.Errorf("masked %q", masked)
	}
	if again, more, err := r.JSON(out); err != nil || string(again) != string(out) || len(more) != 0 {
		t.Errorf("twice: %s %q %v", again, more, err)
	}
	if s, found := r.Text("Bob"); len(found) != 1 || strings.Contains(s, "Bob") {
		t.Error(s)
	}
}

func BenchmarkClean(b *testing.B) {
	r := testRedactor(b)
	text := strings.Repeat(
		"The quick brown fox jumps over the lazy dog and then walks home through the wide green fields.\n", 700)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := r.Text(text); found != nil {
			b.Fatal(found)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(float64(len(text))/1024), "µs/KB")
}

func BenchmarkDense(b *testing.B) {
	r := testRedactor(b)
	var texts []string
	size := 0
	for _, c := range samples(b) {
		texts = append(texts, c.Text)
		size += len(c.Text)
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		for _, t := range texts {
			r.Text(t)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(float64(size)/1024), "µs/KB")
}

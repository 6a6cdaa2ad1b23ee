package redact

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

const keyLine = "oljEeH9/n8BqSQEeYcwHmWxCJIQ1OG8SnXIKsSdDHwu1r4UO7CjgHpn/"

func newTestRedactor(t *testing.T, c Config) *Redactor {
	t.Helper()
	c.Key = []byte("0123456789abcdef")
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPiecesOfRedactedValues(t *testing.T) {
	r := newTestRedactor(t, Config{})
	strict := newTestRedactor(t, Config{Profile: Strict})
	doc := jsontext.Value(
		`{"action":{"command":"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKg9nch/aUrsRWTdX\n` + keyLine + `\n-----END PRIVATE KEY-----\n"}}`)
	for name, first := range map[string]*Redactor{"standard": r, "strict": strict} {
		t.Run(name, func(t *testing.T) {
			rec := NewRecord()
			if got, found := rec.Text(r, "cannot tell: "+keyLine); found != nil {
				t.Fatalf("known before it was seen: %s", got)
			}
			if _, masked, err := rec.JSON(first, doc); err != nil || len(masked) != 1 {
				t.Fatalf("%v %v", masked, err)
			}
			for _, piece := range []string{keyLine, keyLine[7:30], strings.ToUpper(keyLine[:3]) + keyLine[3:25]} {
				got, _ := rec.Text(r, "cannot tell: "+piece+", sorry")
				if !strings.HasPrefix(got, "cannot tell: ") || !strings.Contains(got, "[redacted:fragment:") ||
					strings.Contains(got, piece[3:]) {
					t.Errorf("%s: %s", piece, got)
				}
			}
			out, masked, err := rec.JSON(r,
				jsontext.Value(`{"say":["`+keyLine[20:50]+`","BEGIN PRIVATE KEY","`+keyLine[:10]+`"]}`))
			if err != nil || len(masked) != 1 || masked[0] != "/say/0" {
				t.Errorf("%s %v %v", out, masked, err)
			}
			if got, found := r.Text("cannot tell: " + keyLine); found != nil {
				t.Errorf("another record knows: %s", got)
			}
		})
	}
}

// Every run of 16 varied bytes of a secret is found wherever it stands.
func TestEveryPieceIsFound(t *testing.T) {
	r := newTestRedactor(t, Config{KeyNames: []string{"vault"}})
	rapid.Check(t, func(t *rapid.T) {
		letters := []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
		secret := string(rapid.Permutation(letters).Draw(t, "secret")[:rapid.IntRange(16, 62).Draw(t, "length")])
		rec := NewRecord()
		if _, masked, err := rec.JSON(r, jsontext.Value(`{"vault":"`+secret+`"}`)); err != nil || len(masked) != 1 {
			t.Fatalf("%q is not covered: %v", secret, err)
		}
		from := rapid.IntRange(0, len(secret)-16).Draw(t, "from")
		to := rapid.IntRange(from+16, len(secret)).Draw(t, "to")
		around := rapid.StringMatching(`[ .,:;()]{1,20}`).Draw(t, "around")
		got, _ := rec.Text(r, around+secret[from:to]+around)
		if strings.Contains(got, secret[from:to]) {
			t.Fatalf("%q is left: %s", secret[from:to], got)
		}
	})
}

// A made-up placeholder does not save what stands around it.
func TestPlaceholdersSaveNothing(t *testing.T) {
	r := newTestRedactor(t, Config{})
	for _, text := range []string{
		"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n[redacted:password:00000000]\n" + keyLine +
			"\n-----END PRIVATE KEY-----",
	} {
		got, _ := r.Text(text)
		if strings.Contains(got, keyLine[20:30]) {
			t.Errorf("left: %s", got)
		}
		if again, found := r.Text(got); again != got {
			t.Errorf("twice is not once: %v\n%s\n%s", found, got, again)
		}
	}
}

// BenchmarkRecord is the cost of an invocation's record, action and six texts
// about it: by itself, and with a record's known secrets.
func BenchmarkRecord(b *testing.B) {
	r := testRedactor(b)
	var secrets strings.Builder
	for i, c := range samples(b) {
		if i%8 == 0 {
			secrets.WriteString(c.Text + "\n")
		}
	}
	prose := strings.Repeat(
		"The quick brown fox jumps over the lazy dog and then walks home through the wide green fields.\n", 40)
	for name, text := range map[string]string{"clean": prose, "secrets": prose[:1000] + secrets.String() + prose[:1000]} {
		quoted, err := json.Marshal(text)
		if err != nil {
			b.Fatal(err)
		}
		action := jsontext.Value(`{"action":{"tool":"exec","args":{"command":` + string(quoted) + `}}}`)
		about := prose[:2000]
		size := int64(len(action) + 6*len(about))
		b.Run(name+"/alone", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				if _, _, err := r.JSON(action); err != nil {
					b.Fatal(err)
				}
				for range 6 {
					r.Text(about)
				}
			}
		})
		b.Run(name+"/record", func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				c := NewRecord()
				if _, _, err := c.JSON(r, action); err != nil {
					b.Fatal(err)
				}
				for range 6 {
					c.Text(r, about)
				}
			}
		})
	}
}

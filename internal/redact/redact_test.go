package redact

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/phases"
)

const (
	awsKey = "AKIAAHS2TNQ3ASBS63W2"
	ghKey  = "ghp_SstOWbajb1Mw7g3sDXBnq3fbzhZRF6E3IoxC"
)

func TestNew(t *testing.T) {
	key := []byte("0123456789abcdef")
	for name, c := range map[string]Config{
		"no key": {}, "short key": {Key: key[:15]}, "mask of the whole": {Key: key, Masks: []string{""}},
		"bad mask": {Key: key, Masks: []string{"a/b"}}, "empty name": {Key: key, KeyNames: []string{"--"}},
	} {
		if _, err := New(c); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	r := testRedactor(t)
	out, found := r.Text("a " + awsKey + " b " + ghKey + " c " + awsKey)
	if len(found) != 3 || found[0].Kind != "aws-access-key" || found[1].Kind != "github-token" {
		t.Fatalf("%+v", found)
	}
	words := strings.Fields(out)
	if words[1] != words[5] || words[1] == words[3] || placeholderAt(words[1]) != len(words[1]) {
		t.Errorf("equal secrets, unequal placeholders: %s", out)
	}
	other, _ := New(Config{Key: []byte("another key of the right length")})
	if again, _ := other.Text("a " + awsKey); strings.Fields(again)[1] == words[1] {
		t.Error("the placeholder does not depend on the key")
	}
	// A text cannot hide a secret by dressing it as a placeholder.
	hexKey := hex.EncodeToString([]byte(ghKey))
	for _, s := range []string{"[redacted:" + ghKey + "]", "[redacted:x:" + awsKey + "]", "[redacted: " + ghKey,
		"[redacted:x:" + hexKey + "]", "[redacted:" + hexKey + "]"} {
		if out, _ := r.Text(s); strings.Contains(out, ghKey) || strings.Contains(out, awsKey) ||
			strings.Contains(out, hexKey) {
			t.Errorf("%q survives as %q", s, out)
		}
	}
}

func TestJSON(t *testing.T) {
	r, err := New(Config{Key: []byte("0123456789abcdef"), Masks: []string{"/m/*/x", "/whole"},
		KeyNames: []string{"Room-Code"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, in, keeps string
		masked          []string
	}{
		{"nothing", ` {"a": [1.50, true, null, "x\u0041"]} `, `{"a":[1.50,true,null,"x\u0041"]}`, nil},
		{"token in a string", `{"a":{"b":["x ` + awsKey + `"]}}`, `"x [redacted:aws-access-key:`, []string{"/a/b/0"}},
		{"escaped", `{"a":"\u0041KIAAHS2TNQ3ASBS63W2"}`, `[redacted:aws-access-key:`, []string{"/a"}},
		{"name", `{"password":"hunter22","n":{"apiKey":"q8Zr2LmX0pTvW4"}}`, `[redacted:password:`,
			[]string{"/password", "/n/apiKey"}},
		{"number", `{"password":12345678}`, `"[redacted:password:`, []string{"/password"}},
		{"reference", `{"password":"${DB_PASSWORD}","token":null,"secret":""}`, `"${DB_PASSWORD}"`, nil},
		{"count", `{"max_tokens":2048,"token_count":5,"stop_token":"</s>"}`,
			`{"max_tokens":2048,"token_count":5,"stop_token":"</s>"}`, nil},
		{"scheme stays", `{"authorization":"Bearer abcDEF0123456789xyz"}`, `"Bearer [redacted:credential:`,
			[]string{"/authorization"}},
		{"operator's name", `{"roomcode":"whatever"}`, `[redacted:named:`, []string{"/roomcode"}},
		{"mask", `{"m":[{"x":1,"y":2},{"x":[3]}],"whole":{"deep":"x"}}`, `"y":2`, []string{"/m/0/x", "/m/1/x", "/whole"}},
		{"member name", `{"` + ghKey + `":1}`, `{"[redacted:github-token:`, nil},
		{"kubernetes", `{"kind":"Secret","data":{"a":"aGVsbG8gd29ybGQ="}}`, `[redacted:kubernetes-secret:`,
			[]string{"/data/a"}},
		{"pair", `[{"name":"API_TOKEN","value":"Hj8kLm2nPq4rSt6v"},{"name":"port","value":"Hj8kLm2nPq4rSt6v"}]`,
			`"name":"port","value":"Hj8k`, []string{"/0/value"}},
		{"slash in a name", `{"a/b~c":"` + awsKey + `"}`, `"a/b~c":`, []string{"/a~1b~0c"}},
		{"array of secrets", `{"passwords":["x","hunter22"],"tokens":["q8Zr2LmX0pTvW4aa",7]}`, `"x"`,
			[]string{"/passwords/1", "/tokens/0"}},
		{"text alone", `"` + awsKey + `"`, `"[redacted:aws-access-key:`, []string{""}},
	} {
		out, masked, err := r.JSON(jsontext.Value(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if tt.name == "member name" {
			if len(masked) != 1 || strings.Contains(masked[0], ghKey) {
				t.Errorf("%s: %q", tt.name, masked)
			}
		} else if !slices.Equal(masked, tt.masked) {
			t.Errorf("%s: masked %q, want %q", tt.name, masked, tt.masked)
		}
		if !strings.Contains(string(out), tt.keeps) || !out.IsValid() || strings.Contains(string(out), awsKey) ||
			strings.Contains(string(out), ghKey) {
			t.Errorf("%s: %s", tt.name, out)
		}
		again, more, err := r.JSON(out)
		if err != nil || string(again) != string(out) || len(more) != 0 {
			t.Errorf("%s: twice gives %s %q %v", tt.name, again, more, err)
		}
		for _, p := range masked { // the pointers lead to the redacted values
			if tt.name != "member name" {
				if _, ok := phases.Get(out, p); !ok {
					t.Errorf("%s: nothing at %q", tt.name, p)
				}
			}
		}
	}
}

func TestJSONRefused(t *testing.T) {
	r := testRedactor(t)
	for _, in := range []string{"", "{", `{"a":1,"a":2}`, `{"a":1} x`, "\"\xff\"",
		strings.Repeat("[", 300) + strings.Repeat("]", 300), `{"a":` + ghKey + `}`} {
		out, _, err := r.JSON(jsontext.Value(in))
		if !errors.Is(err, ErrInput) || out != nil || strings.Contains(err.Error(), ghKey) {
			t.Errorf("%.40q: %v %s", in, err, out)
		}
	}
	big, found := r.Text(strings.Repeat("x", MaxText+1))
	if len(found) != 1 || len(big) > 100 {
		t.Error("a text that is too long is not covered")
	}
}

// Cases of our own, beside the corpus: what must go, and what must stay.
func TestForms(t *testing.T) {
	r := testRedactor(t)
	for _, tt := range []struct{ text, secret string }{
		{"mysql://root:S3cretPw99@db/x", "S3cretPw99"},
		{"ftp://127.0.0.1:40347/pass@sha256:1", "40347/pass"},
		{"ftp://root:S3cretPw99@sha256:4b0803661c2cf092aee0363483465451212a1975c6867aaee92c3e32645af24a", "S3cretPw99"},
		{"mysql -u root -pS3cretRoot77 app", "S3cretRoot77"},
		{"sshpass -p 'Tr0ub4dor33' ssh host", "Tr0ub4dor33"},
		{"redis-cli -a R3disPass99 ping", "R3disPass99"},
		{"<add key=\"ApiSecret\" value=\"Hj8kLm2nPq4rSt\"/>", "Hj8kLm2nPq4rSt"},
		{"  - name: DB_PASSWORD\n    value: Hj8kLm2nPq4r\n", "Hj8kLm2nPq4r"},
		{`{"name":"API_TOKEN","value":"Hj8kLm2nPq4rSt6v"}`, "Hj8kLm2nPq4rSt6v"},
		{"PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 1\nAAABAQCq8Zr2LmX0pTvW4Yb\nPrivate-MAC: 1a2b",
			"AAABAQCq8Zr2LmX0pTvW4Yb"},
		{"Server=tcp:db;User Id=sa;Password=Qw3rty99Zx;Encrypt=yes", "Qw3rty99Zx"},
		{"<password>Hj8kLm2nPq</password>", "Hj8kLm2nPq"},
		{"x-api-key: a8f5f167f44f4964e6c998dee827110c", "a8f5f167f44f4964e6c998dee827110c"},
		{"url=https%3A%2F%2Fuser%3AP4ssw0rd99%40host%2Fx", "P4ssw0rd99"},
		{"Authorization: Basic dXNlcjpodW50ZXIyMg==", "dXNlcjpodW50ZXIyMg"},
		{"set-cookie: sid=Zk29fjQ81mXnB7rTq0Lp; Path=/", "Zk29fjQ81mXnB7rTq0Lp"},
		{"DB_PASSWORD=correct-horse-9", "correct-horse-9"},
		{"db.password: tr0ub4dor&3x", "tr0ub4dor"},
		{`password = "p4ssW0rd!long"`, "p4ssW0rd!long"},
		{`const apiKey = 'q8Zr2LmX0pTvW4Yb';`, "q8Zr2LmX0pTvW4Yb"},
		{"tool --password S3cr3tValue99 --x", "S3cr3tValue99"},
		{"curl -u bob:S3cr3tValue99 https://x", "S3cr3tValue99"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq0Kk3vT9xw\nq0Z8", "MIIEpAIBAAKCAQEA7bq0Kk3vT9xw"},
		{"x\\nAKIAAHS2TNQ3ASBS63W2\\ny", awsKey},
		{"AKIA%41HS2TNQ3ASBS63W2", "HS2TNQ3ASBS63W2"},
		{"aws_secret_access_key = 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", "wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzKEYKEYKE"},
		{"https://x.blob.core.windows.net/c?sv=1&sig=Zk29fjQ81mXnB7rTq0Lp%2Babc%3D&x=1", "Zk29fjQ81mXnB7rTq0Lp"},
	} {
		if out, _ := r.Text(tt.text); strings.Contains(out, tt.secret) {
			t.Errorf("survives: %q", out)
		}
	}
	for _, text := range []string{
		"tests pass: 1042", "pass: 12 fail: 3", "Authorization: AWS4-HMAC-SHA256 Credential", "mysql -p app",
		"mkdir -p path99", "name: widget\nvalue: abc123def456\n",
		"etag: \"5d41402abc4b2a76b9719d911017c592\"", "DB_PASSWORD_FILE=/run/secrets/db",
		"private_key_path: /etc/ssl/key.pem", "secrets: inherit", "X-Request-Id: 8f3a1b9c2d4e5f60718293a4b5c6d7e8",
		"the password must have 8 characters", "token := lexer.Next()", "func parseToken(token string) error",
		"password: string;", "api_key: str = None",
		"see https://example.com/a:b@c?x=1", "git@github.com:acme/x.git", "time 12:30:45 key=value",
		"secret = os.Getenv(\"S\")", "if password == other {",
		"sk-learn and sk-ant", "user:pass", "\"key\": \"name\"", "primary_key=id", "Bearer token required",
		"sha256:cb315f9ca5c24141c9d4e543c2585a2d79b0982e6eb32902f5cc39239491b80e",
		"11111111-2222-4333-8444-555555555555", "password: ********", "token=<your token>", "keyboard=qwertyuiop123",
		"author = Jane",
		"import { token } from './token'", "passwordHash", "max_tokens=100000000000000", "next_token=abc123def456ghi789",
		"oci://127.0.0.1:40347/scripts/script-push_pull@sha256:4b0803661c2cf092aee0363483465451212a1975c6867aaee92c3e32645af24a",
	} {
		if out, f := r.Text(text); out != text {
			t.Errorf("false positive %v: %q", f, out)
		}
	}
}

// Whatever a text is, it is redacted the same way twice, findings are in order
// and inside of it, and nothing outside of them changes.
func TestTextProperties(t *testing.T) {
	r := testRedactor(t)
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		awsKey, ghKey, "password=", "token: ", "\"", "'", " ", "\n", "\\", "[redacted:", "]", "://u:p4ssw0rd99@h",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi", "QUtJQUFIUzJUTlEzQVNCUzYzVzI=", "\u200b", "%41", "\" + \"",
		"-----BEGIN PRIVATE KEY-----\n", "kind: Secret\ndata:\n a: ",
	}))
	rapid.Check(t, func(t *rapid.T) { check(t, r, strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")) })
}

type fataler interface{ Fatalf(string, ...any) }

func check(t fataler, r *Redactor, s string) {
	out, found := r.Text(s)
	at := 0
	var rest strings.Builder
	for _, f := range found {
		if f.Start < at || f.End <= f.Start || f.End > len(s) {
			t.Fatalf("findings %+v in %q", found, s)
		}
		rest.WriteString(s[at:f.Start])
		rest.WriteString(r.placeholder(f.Kind, f.in(s)))
		at = f.End
	}
	rest.WriteString(s[at:])
	if rest.String() != out {
		t.Fatalf("%q: %q", s, out)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"password":"hunter22","a":["` + awsKey + `",{"kind":"Secret","data":{"x":"eHh4eA=="}}]}`))
	f.Add([]byte(`"[redacted:x:00000000]"`))
	f.Add([]byte(`{"a":"\ud83d\ude00","b":1e400,"authorization":"Bearer q8Zr2LmX0pTvW4aa"}`))
	f.Add([]byte(`"\"password\": \"q8Zr2LmX0\""`))
	r, err := New(Config{Key: []byte("0123456789abcdef"), Masks: []string{"/a/*", "/b"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		out, masked, err := r.JSON(raw)
		if err != nil {
			if out != nil || masked != nil {
				t.Fatal("an error and a result")
			}
			return
		}
		if !out.IsValid() {
			t.Fatalf("%q", out)
		}
		check(t, r, string(raw))
		again, more, err := r.JSON(out)
		if err != nil || !again.IsValid() {
			t.Fatalf("twice: %v", err)
		}
		if string(again) != string(out) || len(more) != 0 {
			t.Fatalf("not idempotent:\n%s\n%s\n%s", raw, out, again)
		}
	})
}

func BenchmarkText(b *testing.B) {
	r := testRedactor(b)
	var all strings.Builder
	for _, c := range samples(b) {
		all.WriteString(c.Text + "\n")
	}
	b.SetBytes(int64(all.Len()))
	for b.Loop() {
		r.Text(all.String())
	}
}

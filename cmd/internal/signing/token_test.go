package signing

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

func jwt(header, claims string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(header)) + "." + b64([]byte(claims)) + "." + b64([]byte("signature"))
}

const es256 = `{"alg":"ES256"}`

func TestParseIdentityToken(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	claims := func(change string) string {
		return `{"iss":"https://issuer.example","sub":"repo:acme/hooks","aud":"sigstore","exp":1800000060` + change + `}`
	}
	for _, c := range []struct{ name, src, subject string }{
		{"subject", jwt(es256, claims("")), "repo:acme/hooks"},
		{"white space around it", " \n" + jwt(es256, claims("")) + "\r\n", "repo:acme/hooks"},
		{"verified mail", jwt(es256, claims(`,"email":"a@acme.example","email_verified":true`)), "a@acme.example"},
		{"verified mail as text", jwt(es256, claims(`,"email":"a@acme.example","email_verified":"true"`)), "a@acme.example"},
		{"list of audiences", jwt(es256, strings.Replace(claims(""), `"sigstore"`, `["x","sigstore"]`, 1)),
			"repo:acme/hooks"},
		{"claims of the provider's own", jwt(es256, claims(`,"job_workflow_ref":{"a":[1]}`)), "repo:acme/hooks"},
		{"valid from the end of the skew on", jwt(es256, claims(`,"nbf":1800000060`)), "repo:acme/hooks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := ParseIdentityToken([]byte(c.src), now)
			if err != nil || tok.Subject() != c.subject || tok.Issuer() != "https://issuer.example" {
				t.Errorf("%v, %v", tok, err)
			}
		})
	}
	for _, c := range []struct{ name, src, says string }{
		{"empty", "", "empty"},
		{"white space", " \n", "empty"},
		{"not a JWT", "hunter2", "three parts"},
		{"two parts", "a.b", "three parts"},
		{"four parts", "a.b.c.d", "three parts"},
		{"no signature",
			strings.TrimSuffix(jwt(es256, claims("")), base64.RawURLEncoding.EncodeToString([]byte("signature"))),
			"three parts"},
		{"padded base64", strings.Replace(jwt(es256, claims("")), ".", "=.", 1), "base64url"},
		{"standard base64", "ab+/" + jwt(es256, claims(""))[4:], "base64url"},
		{"a line end inside", strings.Replace(jwt(es256, claims("")), ".", "\n.", 1), "base64url"},
		{"header is no JSON", jwt("x", claims("")), "header"},
		{"algorithm twice", jwt(`{"alg":"none","alg":"ES256"}`, claims("")), "header"},
		{"not signed", jwt(`{"alg":"None"}`, claims("")), "not signed"},
		{"claims are no JSON", jwt(es256, "{"), "claims"},
		{"claims twice", jwt(es256, claims(`,"sub":"other"`)), "claims"},
		{"bad UTF-8", jwt(es256, claims(`,"x":"`+"\xff"+`"`)), "claims"},
		{"subject of another type", jwt(es256, strings.Replace(claims(""), `"repo:acme/hooks"`, "7", 1)), "claims"},
		{"wrong audience", jwt(es256, strings.Replace(claims(""), `"sigstore"`, `"kubernetes"`, 1)), "audience sigstore"},
		{"audience is a number", jwt(es256, strings.Replace(claims(""), `"sigstore"`, `1`, 1)), "audience"},
		{"audience is null", jwt(es256, strings.Replace(claims(""), `"sigstore"`, `null`, 1)), "audience"},
		{"no audience", jwt(es256, strings.Replace(claims(""), `"aud":"sigstore",`, ``, 1)), "audience"},
		{"expired", jwt(es256, strings.Replace(claims(""), "1800000060", "1800000000", 1)), "expired"},
		{"expired in 1970", jwt(es256, strings.Replace(claims(""), "1800000060", "1", 1)), "expired"},
		{"no end", jwt(es256, strings.Replace(claims(""), `,"exp":1800000060`, "", 1)), "times"},
		{"end out of range", jwt(es256, strings.Replace(claims(""), "1800000060", "1e300", 1)), "times"},
		{"not valid yet", jwt(es256, claims(`,"nbf":1800000061`)), "not valid yet"},
		{"an issuer without a host", jwt(es256, strings.Replace(claims(""), "https://issuer.example", "https:///issuer", 1)),
			"issuer"},
		{"no issuer", jwt(es256, strings.Replace(claims(""), `"iss":"https://issuer.example",`, ``, 1)), "issuer"},
		{"issuer over plain http", jwt(es256, strings.Replace(claims(""), "https:", "http:", 1)), "issuer"},
		{"no subject", jwt(es256, strings.Replace(claims(""), `"sub":"repo:acme/hooks",`, ``, 1)), "subject"},
		{"subject of control characters", jwt(es256, strings.Replace(claims(""), "repo:", `\u001b[2J`, 1)), "subject"},
		{"mail that nobody verified", jwt(es256, claims(`,"email":"a@acme.example"`)), "not verified"},
		{"mail that is said not to be verified", jwt(es256, claims(`,"email":"a@acme.example","email_verified":false`)),
			"not verified"},
		{"too large", strings.Repeat("a", MaxToken+1), "larger"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tok, err := ParseIdentityToken([]byte(c.src), now)
			if !errors.Is(err, ErrToken) || tok != nil || !strings.Contains(err.Error(), c.says) ||
				!strings.Contains(err.Error(), "[token_invalid]") {
				t.Fatalf("%v, %v; want %q", tok, err, c.says)
			}
			if len(c.src) > 8 && strings.Contains(err.Error(), strings.TrimSpace(c.src)) {
				t.Error("the error shows the token")
			}
		})
	}
}

// However a token is printed, it is not shown.
func TestTokenIsNotShown(t *testing.T) {
	raw := jwt(es256, `{"iss":"https://issuer.example","sub":"me","aud":"sigstore","exp":1800000060}`)
	tok, err := ParseIdentityToken([]byte(raw), time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", slog.Any("token", tok))
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", slog.Any("token", tok))
	j, err := json.Marshal(map[string]any{"t": tok})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{fmt.Sprint(tok), fmt.Sprintf("%+v", tok), fmt.Sprintf("%#v", tok),
		fmt.Sprintf("%s %q", tok, tok), log.String(), string(j)} {
		for _, part := range strings.Split(raw, ".") {
			if strings.Contains(s, part) {
				t.Errorf("shown: %s", s)
			}
		}
		if !strings.Contains(s, "identity token of me") {
			t.Errorf("not named: %s", s)
		}
	}
}

func FuzzParseIdentityToken(f *testing.F) {
	f.Add(jwt(es256, `{"iss":"https://issuer.example","sub":"me","aud":"sigstore","exp":1800000060}`))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, src string) {
		tok, err := ParseIdentityToken([]byte(src), time.Unix(1_800_000_000, 0))
		if (err == nil) == (tok == nil) {
			t.Fatalf("%v and %v", tok, err)
		}
		if err != nil && !errors.Is(err, ErrToken) {
			t.Fatal(err)
		}
	})
}

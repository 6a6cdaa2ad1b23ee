package sigstoretest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Token makes an identity token of Issuer for Subject. Claims replace those of that
// name; nil takes one out.
func (w *World) Token(claims map[string]any) string {
	w.t.Helper()
	all := map[string]any{"iss": Issuer, "sub": "1234", "email": Subject, "email_verified": true, "aud": "sigstore",
		"iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	body, err := json.Marshal(all)
	w.must(err)
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64([]byte(`{"alg":"ES256","typ":"JWT"}`)) + "." + b64(body)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, w.tokenKey, sum[:])
	w.must(err)
	sig := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return signed + "." + b64(sig)
}

// subjectOf verifies a token and returns whom it names.
func (w *World) subjectOf(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("not a token")
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		return "", errors.New("not a signature")
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(&w.tokenKey.PublicKey, sum[:], bigInt(sig[:32]), bigInt(sig[32:])) {
		return "", errors.New("the token's signature does not hold")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", err
	}
	var c struct {
		Sub   string `json:"sub"`
		Email string `json:"email"`
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return "", err
	}
	if c.Email != "" {
		return c.Email, nil
	}
	return c.Sub, nil
}

package signing

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// MaxToken is the largest identity token that is read, in bytes.
const MaxToken = 16 << 10

// tokenAudience is the audience that an identity token has to name. A token for another
// audience must not be sent to a certificate authority: it could use it there.
const tokenAudience = "sigstore"

// tokenSkew is how far the clock of a token's issuer may be ahead of ours.
const tokenSkew = time.Minute

// IdentityToken is an identity provider's word on who signs (OpenID Connect, a JWT,
// RFC 7519). It is a credential: it is sent to the certificate authority and shown
// nowhere else, however it is printed.
type IdentityToken struct {
	raw     string
	issuer  string
	subject string // what the proof of possession is made over, as Fulcio wants it
	email   bool   // the subject is an address that the provider has verified
	expires time.Time
}

// Issuer is the provider's URL, as the token has it.
func (t *IdentityToken) Issuer() string { return t.issuer }

// Subject is the verified mail address, if the token has one, else its subject.
func (t *IdentityToken) Subject() string { return t.subject }

// secret is the part of the token without which it is worth nothing.
func (t *IdentityToken) secret() string { return t.raw[strings.LastIndexByte(t.raw, '.')+1:] }

// String names the token without showing it.
func (t *IdentityToken) String() string {
	return "identity token of " + phases.SafeLine(t.subject, 100)
}

// GoString is String: %#v shows no more.
func (t *IdentityToken) GoString() string { return t.String() }

// LogValue is String, for slog.
func (t *IdentityToken) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalJSON writes String.
func (t *IdentityToken) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// ParseIdentityToken reads a token strictly: three parts of unpadded base64url, JSON
// without duplicate names, signed by some algorithm, for the audience sigstore, valid
// at now. Whether the signature holds is for the certificate authority to say. The
// error is ErrToken.
func ParseIdentityToken(src []byte, now time.Time) (*IdentityToken, error) {
	refuse := func(format string, args ...any) (*IdentityToken, error) {
		return nil, signFail(ErrToken, fmt.Sprintf(format, args...))
	}
	if len(src) > MaxToken {
		return refuse("it is larger than %d bytes", MaxToken)
	}
	raw := string(bytes.TrimSpace(src))
	parts := strings.Split(raw, ".")
	if raw == "" {
		return refuse("it is empty")
	}
	if len(parts) != 3 || slices.Contains(parts, "") {
		return refuse("it is not a signed JWT: three parts with dots between them are wanted")
	}
	var decoded [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.Strict().DecodeString(p)
		if err != nil || strings.ContainsAny(p, "\r\n") { // the decoder skips line ends
			return refuse("its part %d is not base64url", i+1)
		}
		decoded[i] = b
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	if err := json.Unmarshal(decoded[0], &header); err != nil || header.Algorithm == "" {
		return refuse("its header is not that of a JWT")
	}
	if strings.EqualFold(header.Algorithm, "none") {
		return refuse("it is not signed")
	}
	var claims struct {
		Issuer    string         `json:"iss"`
		Subject   string         `json:"sub"`
		Audience  jsontext.Value `json:"aud"`
		Expires   float64        `json:"exp"`
		NotBefore float64        `json:"nbf"`
		Email     string         `json:"email"`
		Verified  jsontext.Value `json:"email_verified"`
	}
	// Providers add claims of their own, so that unknown ones are no error.
	if err := json.Unmarshal(decoded[1], &claims); err != nil {
		return refuse("its claims are not JSON as a JWT has it")
	}
	if u, err := url.Parse(claims.Issuer); err != nil || u.Host == "" || u.Scheme != "https" &&
		!(u.Scheme == "http" && loopbackHost(u.Hostname())) {
		return refuse("its issuer (iss) is not a URL of https")
	}
	audience, ok := audiences(claims.Audience)
	if !ok {
		return refuse("its audience (aud) is neither a text nor a list of texts")
	}
	if !slices.Contains(audience, tokenAudience) {
		return refuse("it is not for the audience %s: ask the provider for one that is", tokenAudience)
	}
	const latest = 1 << 38 // seconds: 10,000 years, so that the conversions below cannot overflow
	if claims.Expires <= 0 || claims.Expires > latest || claims.NotBefore < 0 || claims.NotBefore > latest {
		return refuse("its times (exp, nbf) are missing or out of range")
	}
	t := &IdentityToken{raw: raw, issuer: claims.Issuer, subject: claims.Subject,
		expires: time.Unix(int64(claims.Expires), 0)}
	switch {
	case !now.Before(t.expires):
		return refuse("it has expired, at %s: get a new one", t.expires.UTC().Format(time.RFC3339))
	case now.Add(tokenSkew).Before(time.Unix(int64(claims.NotBefore), 0)):
		return refuse("it is not valid yet")
	}
	if claims.Email != "" {
		if v := string(claims.Verified); v != "true" && v != `"true"` {
			return refuse("its provider has not verified the mail address (email_verified)")
		}
		t.subject, t.email = claims.Email, true
	}
	if t.subject == "" || t.subject != phases.SafeLine(t.subject, 512) {
		return refuse("its subject (sub, email) is missing, too long, or not plain text")
	}
	return t, nil
}

// audiences reads a claim that is one text or a list of them.
func audiences(v jsontext.Value) ([]string, bool) {
	var one string
	if json.Unmarshal(v, &one) == nil && v.Kind() == '"' {
		return []string{one}, true
	}
	var list []string
	if v.Kind() != '[' || json.Unmarshal(v, &list) != nil {
		return nil, false
	}
	return list, true
}

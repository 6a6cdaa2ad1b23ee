package phases

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// CredentialHeaders lists the headers of pre_send that carry credentials by
// name. The slice is the caller's. IsCredentialHeader decides; it knows more.
func CredentialHeaders() []string {
	return []string{
		"anthropic-api-key", "api-key", "apikey", "authentication", "authorization", "cookie", "ocp-apim-subscription-key",
		"openai-api-key", "private-token", "proxy-authorization", "set-cookie", "x-access-token", "x-amz-security-token",
		"x-api-key", "x-auth-token", "x-goog-api-key", "x-goog-iam-authorization-token", "x-session-id",
	}
}

// credentialParts mark a header as a credential wherever they occur in its name.
// Hiding one header too many costs a hook a look at it; one too few costs a key.
func credentialParts() []string {
	return []string{
		"apikey", "api-key", "access-key", "secret", "token", "password", "passwd", "credential", "authorization",
		"cookie", "signature", "bearer", "session-key", "subscription-key", "private-key", "jwt", "assertion",
	}
}

// IsCredentialHeader reports whether a header of that name is kept from hooks:
// it is one of CredentialHeaders, has one of the tell-tale parts (api-key, token,
// secret, cookie…), or ends in "-auth" or "-key". Case and _ for - make no difference.
func IsCredentialHeader(name string) bool {
	n := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	for _, h := range CredentialHeaders() {
		if n == h {
			return true
		}
	}
	for _, part := range credentialParts() {
		if strings.Contains(n, part) {
			return true
		}
	}
	return n == "auth" || n == "key" || strings.HasSuffix(n, "-auth") || strings.HasSuffix(n, "-key")
}

// credential is one hidden header as its source bytes.
type credential struct {
	name  string
	value jsontext.Value
}

// hideCredentials returns the action without the credential headers of
// pre_send, and what was taken out, in order.
func hideCredentials(p Phase, action jsontext.Value) (jsontext.Value, []credential, error) {
	if p != PreSend {
		return action, nil, nil
	}
	headers, ok := Get(action, "/headers")
	if !ok || kindOf(headers) != '{' {
		return action, nil, nil
	}
	var hidden []credential
	walk(headers, 0, func(m member) bool {
		name, _ := unquote(headers[m.name.start:m.name.end])
		if IsCredentialHeader(name) {
			hidden = append(hidden, credential{name, jsontext.Value(headers[m.value.start:m.value.end]).Clone()})
		}
		return true
	})
	var err error
	for _, c := range hidden {
		if action, err = Remove(action, Join("/headers", c.name)); err != nil {
			return nil, nil, err
		}
	}
	return action, hidden, nil
}

// restoreCredentials puts hidden headers back, after the others.
func restoreCredentials(action jsontext.Value, hidden []credential) (jsontext.Value, error) {
	if len(hidden) == 0 {
		return action, nil
	}
	var err error
	if headers, ok := Get(action, "/headers"); !ok || kindOf(headers) != '{' {
		if action, err = Set(action, "/headers", jsontext.Value("{}")); err != nil {
			return nil, err
		}
	}
	for _, c := range hidden {
		if action, err = Set(action, Join("/headers", c.name), c.value); err != nil {
			return nil, err
		}
	}
	return action, nil
}

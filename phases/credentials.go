package phases

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// credentialHeaders and credentialParts are never written.
var (
	credentialHeaders = []string{
		"anthropic-api-key", "api-key", "apikey", "authentication", "authorization", "cookie", "ocp-apim-subscription-key",
		"openai-api-key", "private-token", "proxy-authorization", "set-cookie", "x-access-token", "x-amz-security-token",
		"x-api-key", "x-auth-token", "x-goog-api-key", "x-goog-iam-authorization-token", "x-session-id",
	}
	// Hiding one header too many costs a hook a look at it; one too few costs a key.
	credentialParts = []string{
		"apikey", "api-key", "access-key", "secret", "token", "password", "passwd", "credential", "authorization",
		"cookie", "signature", "bearer", "session-key", "subscription-key", "private-key", "jwt", "assertion",
	}
)

// isCredentialHeader reports whether a header of that name is kept from hooks:
// it is one of credentialHeaders, has one of the tell-tale parts (api-key, token,
// secret, cookie…), or ends in "-auth" or "-key". Case and _ for - make no difference.
func isCredentialHeader(name string) bool {
	n := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	return slices.Contains(credentialHeaders, n) ||
		slices.ContainsFunc(credentialParts, func(part string) bool { return strings.Contains(n, part) }) ||
		n == "auth" || n == "key" || strings.HasSuffix(n, "-auth") || strings.HasSuffix(n, "-key")
}

// hideCredentials returns the action without the credential headers of
// pre_send, and the members that were taken out as an object, or nil.
func hideCredentials(p Phase, action jsontext.Value) (shown, hidden jsontext.Value, err error) {
	if p != PreSend {
		return action, nil, nil
	}
	headers, ok := Get(action, "/headers")
	if !ok || kindOf(headers) != '{' {
		return action, nil, nil
	}
	var keep, hide documentWriter
	walk(headers, 0, func(m member) bool {
		quoted, value := headers[m.name.start:m.name.end], headers[m.value.start:m.value.end]
		if name, _ := unquote(quoted); isCredentialHeader(name) {
			hide.member(quoted, value)
		} else {
			keep.member(quoted, value)
		}
		return true
	})
	if len(hide.b) == 0 {
		return action, nil, nil
	}
	shown, err = Set(action, "/headers", keep.bytes())
	return shown, hide.bytes(), err
}

// restoreCredentials puts hidden headers back, after the others.
func restoreCredentials(action, hidden jsontext.Value) (jsontext.Value, error) {
	if hidden == nil {
		return action, nil
	}
	var all documentWriter
	put := func(headers jsontext.Value) {
		walk(headers, 0, func(m member) bool {
			all.member(headers[m.name.start:m.name.end], headers[m.value.start:m.value.end])
			return true
		})
	}
	if headers, ok := Get(action, "/headers"); ok {
		put(headers)
	}
	put(hidden)
	return Set(action, "/headers", all.bytes())
}

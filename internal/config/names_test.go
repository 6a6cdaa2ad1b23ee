package config

import (
	"regexp"
	"strings"
	"testing"
)

// Names and digests are those of the expressions.
func TestNamesAndDigests(t *testing.T) {
	name, digest := regexp.MustCompile(`\A[a-z0-9][a-z0-9._-]{0,63}\z`), regexp.MustCompile(`\Asha256:[0-9a-f]{64}\z`)
	hex := strings.Repeat("0123456789abcdef", 4)
	cases := []string{"", "a", "0", "a.b_c-d", "a\n", "a ", "ab/c", "é", "aé", "a\x00", strings.Repeat("a", 64),
		strings.Repeat("a", 65), "sha256:" + hex, "sha256:" + hex[1:], "sha256:" + hex + "0",
		"sha256:" + strings.ToUpper(hex),
		"sha256:" + hex[1:] + "g", "sha256:" + hex[1:] + "\n", "sha512:" + hex, hex, "sha256:"}
	for b := range 256 {
		cases = append(cases, string([]byte{byte(b)}), "a"+string([]byte{byte(b)}), "sha256:"+hex[1:]+string([]byte{byte(b)}))
	}
	for _, s := range cases {
		if isBindingName(s) != name.MatchString(s) || isDigest(s) != digest.MatchString(s) {
			t.Errorf("%q: a name %v, a digest %v", s, isBindingName(s), isDigest(s))
		}
	}
}

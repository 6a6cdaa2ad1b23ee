package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

func TestRedact(t *testing.T) {
	const head = "version: belay/v1\nredact:\n"
	f, err := config.Parse([]byte(head + "  profile: strict\n  allow: [/tool, /args/*/name]\n  secrets: [\"env:DB_PASSWORD\", \"file:/run/secrets/x\"]\n"))
	if err != nil || f.Redact.Profile != "strict" || len(f.Redact.Allow) != 2 || len(f.Redact.Secrets) != 2 {
		t.Fatalf("%+v, %v", f, err)
	}
	for text, where := range map[string]string{
		"  profile: lax\n":                     "/redact/profile",
		"  profile: Strict\n":                  "/redact/profile",
		"  allow: [/tool]\n":                   "/redact/allow",
		"  profile: strict\n  allow: [tool]\n": "/redact/allow/0",
		"  profile: strict\n  allow: [\"\"]\n": "/redact/allow/0",
		"  secrets: [hunter22hunter22]\n":      "/redact/secrets/0",
		"  secrets: [\"env:A B\"]\n":           "/redact/secrets/0",
		"  secrets: [\"env:\"]\n":              "/redact/secrets/0",
		"  secret: [\"env:A\"]\n":              "/redact",
	} {
		_, err := config.Parse([]byte(head + text))
		if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), where) || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

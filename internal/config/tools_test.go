package config_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

func TestHTTPOfABinding(t *testing.T) {
	src := func(http string) string {
		return "version: belay/v1\nhooks:\n  - name: a\n    module: builtin:a\n    capabilities: [http_request]\n    http:\n" + http
	}
	f, err := config.Parse([]byte(src("      hosts: [\"api.example.com:443\"]\n      methods: [POST]\n      max_bytes: 1000\n")))
	if err != nil || f.Hooks[0].HTTP.Hosts[0] != "api.example.com:443" || f.Hooks[0].HTTP.MaxBytes != 1000 {
		t.Fatalf("%+v, %v", f, err)
	}
	for bad, want := range map[string]string{
		"      hosts: []\n":                                                     "/hooks/0/http/hosts: lists between",
		"      hosts: [\"api.example.com\"]\n":                                  "belay.yaml:7: /hooks/0/http/hosts/0: has no port",
		"      hosts: [\"api.example.com:443\"]\n      verbs: [GET]\n":          "unknown",
		"      hosts: [\"api.example.com:443\"]\n      methods: [get]\n":        "belay.yaml:8: /hooks/0/http/methods/0",
		"      hosts: [\"api.example.com:443\"]\n      timeout_ms: 100000\n":    "/hooks/0/http/timeout_ms",
		"      hosts: [\"api.example.com:443\"]\n      addresses: [10.0.0.1]\n": "/hooks/0/http/addresses/0",
	} {
		if _, err := config.Parse([]byte(src(bad))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
}

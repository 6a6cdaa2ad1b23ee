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
	f, err := config.Parse(
		[]byte(src("      hosts: [\"api.example.com:443\"]\n      methods: [POST]\n      max_bytes: 1000\n")))
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

func TestMCPServers(t *testing.T) {
	src := func(server string) string {
		return "version: belay/v1\nhooks: []\ntools: {results: raw}\nmcp:\n  servers:\n    files:\n" + server
	}
	ok := []string{
		"      command: [/usr/bin/node, server.js]\n      env: [PATH]\n      cwd: /srv\n      tools: [read_file]\n      timeout_ms: 1000\n      max_result_bytes: 1000\n      reach: {fs_read: [/srv/**]}\n",
		"      url: https://crm.example/mcp\n      headers: {Authorization: env:CRM_AUTH}\n      tools: [\"*\"]\n",
		"      url: http://127.0.0.1:8080/mcp\n      tools: []\n",
		"      url: http://127.0.0.1:8080/mcp\n      tools: [\"*\"]\n      pins: {find: \"sha256:" + strings.Repeat("0a", 32) + "\"}\n",
		"      url: http://[::1]:8080/mcp\n      tools: []\n",
	}
	for _, s := range ok {
		if f, err := config.Parse([]byte(src(s))); err != nil || len(f.MCP.Servers) != 1 || f.Tools.Results != "raw" {
			t.Errorf("%s: %v", s, err)
		}
	}
	for bad, want := range map[string]string{
		"      tools: []\n": "/mcp/servers/files: has a command or a url",
		"      command: [/x]\n      url: https://a.example\n      tools: []\n":                                       "has a command or a url",
		"      command: [node]\n      tools: []\n":                                                                   "/mcp/servers/files/command/0: must be an absolute path",
		"      command: [/x]\n":                                                                                      "tools is missing",
		"      command: [/x]\n      tools: [\"a b\"]\n":                                                              "/mcp/servers/files/tools/0",
		"      command: [/x]\n      tools: []\n      pins: {find: \"sha256:0a\"}\n":                                  "/mcp/servers/files/pins/find: is not sha256:",
		"      command: [/x]\n      tools: []\n      pins: {\"a b\": \"sha256:" + strings.Repeat("0a", 32) + "\"}\n": "is not a tool's name",
		"      command: [/x]\n      tools: []\n      env: [\"TOKEN=secret\"]\n":                                      "is a variable's name",
		"      command: [/x]\n      tools: []\n      cwd: relative\n":                                                "/cwd",
		"      command: [/x]\n      tools: []\n      shell: true\n":                                                  "unknown",
		"      command: [/x]\n      tools: []\n      timeout_ms: 25001\n":                                            "/timeout_ms",
		"      command: [/x]\n      tools: []\n      max_result_bytes: -1\n":                                         "/max_result_bytes",
		"      command: [/x]\n      tools: []\n      reach: {fs_read: [\"/*/x\"]}\n":                                 "/reach",
		"      command: [/x]\n      tools: []\n      headers: {a: env:B}\n":                                          "belong to a url",
		"      url: http://crm.example/mcp\n      tools: []\n":                                                       "http is for this machine only",
		"      url: http://127.0.0.1.evil.example/mcp\n      tools: []\n":                                            "http is for this machine only",
		"      url: ftp://crm.example/mcp\n      tools: []\n":                                                        "must be https",
		"      url: https://u:p@crm.example/mcp\n      tools: []\n":                                                  "has a user or a password",
		"      url: https://crm.example/mcp\n      tools: []\n      headers: {Authorization: abc}\n":                 "must be env:NAME",
		"      url: https://crm.example/mcp\n      tools: []\n      headers: {\"a b\": env:X}\n":                     "must be env:NAME",
		"      url: https://crm.example/mcp\n      tools: []\n      env: [PATH]\n":                                   "belong to a command",
		"      command: [/x]\n      tools: []\n    Bad__Name:\n      command: [/x]\n      tools: []\n":               "a server's name",
	} {
		if _, err := config.Parse([]byte(src(bad))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
	if _, err := config.Parse([]byte("version: belay/v1\ntools: {results: all}\n")); err == nil {
		t.Error("another way to see results")
	}
}

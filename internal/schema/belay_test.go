package schema_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

const largeConfiguration = `version: belay/v1
unknown_tools: ask
known_tools: ["mcp:github:*"]
open_shells: block
default: {pre_tool: allow, spawn: block, state_transition: allow, post_tool: allow}
latch_changed_calls: true
hooks:
- name: command-guard
  module: builtin:command-guard
  priority: 100
  phases: [pre_tool]
  tier: trusted
  match: {tools: "^exec$", agents: coder, runtimes: [codex]}
  capabilities: [block, request_approval, shell_parse]
  config: {rules: {push: ask}}
  budget: {fuel: 1000000, deadline_ms: 50, memory_mib: 16}
  mode: observe
  via: queue
  redacts: true
- name: file
  module: hooks/file.wasm
  digest: sha256:08331020c18afccb52589dc1462b92d417f8b97ad1d1bc3ce7cff466f6de6cc4
  capabilities: ["rewrite:/args", http_request]
  http: {hosts: ["api.example:443"], methods: [GET], addresses: [10.1.0.0/16], response_headers: [x-a], max_bytes: 1000,
         timeout_ms: 500}
  config_file: options.yaml
  config_file_optional: true
  disabled: true
- name: stored
  module: sha256:08331020c18afccb52589dc1462b92d417f8b97ad1d1bc3ce7cff466f6de6cc4
  capabilities: []
- name: ours
  module: rules:rules.yaml#changes
require:
- {phases: [pre_tool], tools: "^exec$", hooks: [command-guard]}
scopes: {fs_read: ["*"], fs_write: [/srv], net: ["example.org:443"], tools: [read, exec]}
redact:
  masks: [/args/token, {path: /args/key, how: remove}]
  keys: [token]
  secrets: ["env:TOKEN", "file:/run/secret"]
  patterns: [{name: acme_key, regex: "ak_[0-9a-z]{20}", keywords: [ak_], group: 0}]
  profile: strict
  allow: [/args/command]
limits: {chain_ms: 1000}
events:
  sinks:
  - store: {durable: true}
  - jsonl: {path: /var/log/belay/events.jsonl, durable: false, rotate_mib: 10, keep: 3}
  - checkpoint: {path: /var/log/belay/checkpoints, durable: false}
  checkpoint: {file: /var/log/belay/other, every: 10, seconds: 5, required: true}
  retention: {days: 90}
  compaction: {min_age: 72h}
  high_water: /var/lib/marks
mcp:
  servers:
    github: {command: [/usr/bin/server, --stdio], env: [TOKEN], cwd: /srv, tools: [search], timeout_ms: 100,
             max_result_bytes: 1000}
    far: {url: "https://mcp.example/x", headers: {authorization: "env:TOKEN"}, tools: ["*"], pins: {find: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}, reach: {net: ["mcp.example:443"]}}
tools: {results: raw}
require_lease:
- {phases: [pre_tool], tools: [write], capability: "tool:write"}
lease_rules:
- {capability: "tool:write", scope: {paths: [/srv], tools: [write]}, max_ttl: 5m, max_uses: 2, agents: coder, decision: ask}
leases: {max_ttl: 30m}
approvals: {timeout: 10m, quota: 5, unsigned: true}
reviewers:
- {name: anna, key: "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="}
single_user: {auto_accept: true}
store:
  postgres:
    dsn_file: /etc/belay/postgres.dsn
    kernel: build-7
    schema: belay
    tls: verify-ca
    root_cert: /etc/belay/root.pem
    readers: 4
    connect_timeout: 5s
    statement_timeout: 15s
    lock_timeout: 5s
    hold: 15s
    events: local
    keep: 512MiB
recordings:
  dir: /var/recordings
  recipients: [age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p]
  phases: [pre_tool]
  tools: exec
  rotate: 15m
  rotate_mib: 64
  keep: 30d
  max_mib: 1024
  on_error: block
`

// What the decoder of belay.yaml finds and a schema cannot say: what one member means for another far
// away, and what is inside of texts.
func beyondBelay(err error) bool {
	for _, s := range []string{"no hook is bound as", "is bound twice", "contradicts", "not an RE2 pattern",
		"matches no known tool",
		"is a duration", "is a time such as", "is a size such as", "must be the absolute path of a file", "capability:",
		"scope: ", "scope /", "must be at least twice", "must be a network",
		"is not a header", "is not a URL", "listed twice"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

func TestBelaySchemaAgreesWithTheDecoder(t *testing.T) {
	decode := func(src []byte) error { _, err := config.Parse(src); return err }
	samples := []string{largeConfiguration, "version: belay/v1\nhooks:\n", config.Empty}
	agree(t, "belay", samples, 200, decode, beyondBelay, 10)
}

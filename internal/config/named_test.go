package config_test

import (
	"slices"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
)

// Every member of belay.yaml that names a file is here.
func TestNamedFiles(t *testing.T) {
	f, err := config.Parse([]byte(`version: belay/v1
hooks:
  - {name: a, module: builtin:stage-gate, capabilities: [], config_file: gates.yaml}
  - {name: b, module: builtin:stage-gate, capabilities: [], config_file: /srv/../srv/gates.yaml, disabled: true}
  - {name: c, module: "rules:team/rules.yaml", capabilities: []}
  - {name: d, module: "rules:/srv/rules.yaml#changes", capabilities: []}
  - name: e
    module: hooks/e.wasm
    digest: sha256:0000000000000000000000000000000000000000000000000000000000000000
    capabilities: []
  - {name: f, module: "sha256:0000000000000000000000000000000000000000000000000000000000000000", capabilities: []}
redact:
  secrets: ["env:TOKEN", "file:/run/secrets/db"]
  gitleaks: gitleaks.toml
events:
  high_water: /srv/marks
  checkpoint: {file: /srv/checkpoints}
  sinks:
    - jsonl: {path: /srv/events.jsonl}
    - checkpoint: {path: /srv/more}
recordings: {dir: /srv/records, unsafe_plaintext: true}
mcp:
  servers:
    x: {command: [/usr/bin/node, --quiet, /srv/server.js, /home/dev/project], tools: ["*"]}
    y: {command: [/usr/bin/npx, -y, server, /home/dev/project/data.db], tools: ["*"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"/run/secrets/db", "/srv/checkpoints", "/srv/events.jsonl", "/srv/gates.yaml", "/srv/marks", "/srv/more",
		"/srv/records", "/srv/rules.yaml", "/srv/server.js", "/state/gates.yaml", "/state/gitleaks.toml",
		"/state/hooks/e.wasm", "/state/team/rules.yaml", "/usr/bin/node", "/usr/bin/npx",
	}
	if got := f.NamedFiles("/state"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

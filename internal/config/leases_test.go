package config_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/config"
)

func TestLeaseSettings(t *testing.T) {
	f, err := config.Parse([]byte(`version: belay/v1
require_lease:
  - {tools: [exec], capability: "tool:exec"}
  - {phases: [spawn], capability: spawn}
lease_rules:
  - {capability: "tool:write", scope: {paths: [/srv/**]}, max_ttl: 5m, max_uses: 2, agents: ^coder$, decision: grant}
leases: {max_ttl: 30m}
`))
	if err != nil {
		t.Fatal(err)
	}
	if r := f.LeaseRules[0]; r.TTL() != 5*time.Minute || r.Scope.Paths[0] != "/srv/**" ||
		f.Leases.TTL() != 30*time.Minute || f.RequireLease[0].Tools[0] != "exec" {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct{ src, place string }{
		{"require_lease: [{tools: [exec]}]", "/require_lease/0/capability"},
		{"require_lease: [{tools: [ex*], capability: a:b}]", "/require_lease/0/tools"},
		{"require_lease: [{tools: [], capability: a:b}]", "/require_lease/0"},
		{"require_lease: [{tools: null, capability: a:b}]", "/require_lease/0/tools"},
		{"require_lease: [{phases: [], capability: a:b}]", "/require_lease/0"},
		{"require_lease: [{phases: [audit], capability: a:b}]", "/require_lease/0/phases/0"},
		{"require_lease: [{tool: exec, capability: a:b}]", "tool"},
		{"lease_rules: [{capability: a:b}]", "/lease_rules/0/decision"},
		{"lease_rules: [{capability: '*', decision: grant}]", "/lease_rules/0/capability"},
		{"lease_rules: [{capability: a:b, decision: grant, scope: {paths: [/a/../b]}}]", "/lease_rules/0/scope"},
		{"lease_rules: [{capability: a:b, decision: grant, max_ttl: 0s}]", "/lease_rules/0/max_ttl"},
		{"lease_rules: [{capability: a:b, decision: grant, max_ttl: 60}]", "/lease_rules/0/max_ttl"},
		{"lease_rules: [{capability: a:b, decision: grant, max_uses: -1}]", "/lease_rules/0/max_uses"},
		{"lease_rules: [{capability: a:b, decision: grant, agents: '('}]", "/lease_rules/0/agents"},
		{"leases: {max_ttl: 721h}", "/leases/max_ttl"},
	} {
		_, err := config.Parse([]byte("version: belay/v1\n" + c.src + "\n"))
		if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), c.place) ||
			!strings.Contains(err.Error(), ":2:") {
			t.Errorf("%s: %v, want %s", c.src, err, c.place)
		}
	}
}

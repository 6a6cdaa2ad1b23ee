package config_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
)

func TestRestSettings(t *testing.T) {
	f, err := config.Parse([]byte(`version: belay/v1
unknown_tools: ask
known_tools: [crm_search, "mcp:github:*"]
default: {pre_tool: block, post_tool: allow, spawn: ask}
open_shells: allow
`))
	if err != nil {
		t.Fatal(err)
	}
	if f.UnknownTools != phases.Ask || len(f.KnownTools) != 2 || f.Default[phases.PreTool] != phases.Block ||
		f.Default[phases.Spawn] != phases.Ask || f.OpenShells != phases.Allow {
		t.Errorf("%+v", f)
	}
	for _, c := range []struct{ src, place string }{
		{"unknown_tools: deny", "/unknown_tools"},
		{"unknown_tools: [ask]", "/unknown_tools"},
		{"known_tools: ['a*b']", "/known_tools"},
		{"known_tools: mcp", "/known_tools"},
		{"open_shells: deny", "/open_shells"},
		{"open_shells: 7", "/open_shells"},
		{"default: {pre_tools: ask}", "/default/pre_tools"},
		{"default: {audit: block}", "/default/audit"},
		{"default: {post_tool: ask}", "/default/post_tool"},
		{"default: {pre_tool: ''}", "/default/pre_tool"},
		{"default: {pre_tool: deny}", "/default/pre_tool"},
		{"default: block", "/default"},
		{"default: {pre_tool: ask, pre_tool: allow}", "pre_tool"},
		{"hooks: [{name: a, module: 'builtin:a', capabilities: [], via: native}]", "/hooks/0/via"},
	} {
		_, err := config.Parse([]byte("version: belay/v1\n" + c.src + "\n"))
		if !errors.Is(err, config.ErrConfig) || !strings.Contains(err.Error(), c.place) ||
			!strings.Contains(err.Error(), ":2:") {
			t.Errorf("%s: %v, want %s", c.src, err, c.place)
		}
	}
}

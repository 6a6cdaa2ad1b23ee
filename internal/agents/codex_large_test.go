//go:build agents

package agents_test

import (
	"fmt"
	"strings"
)

// codexLarge are payloads of sizes that no hook is given whole.
func codexLarge() []kase {
	patch := func(size int) func(*codexClient) []Script {
		text := "*** Begin Patch\n*** Add File: ran.txt\n" + strings.Repeat("+"+strings.Repeat("a", 99)+"\n", size/101) +
			"*** End Patch\n"
		return func(*codexClient) []Script {
			return []Script{{Turns: []Turn{{Calls: []Call{{Tool: "apply_patch", Input: text}}},
				{Calls: []Call{shell("echo after > after.txt")}}}}}
		}
	}
	refused := func(c *codexClient) string {
		switch {
		case c.wrote("ran.txt"):
			return open
		case !c.wrote("after.txt"):
			return "the session is latched"
		case !c.model.Has("belay: "):
			return "the model was not told"
		}
		return held
	}
	output := func(size int, tail string) func(*codexClient) []Script {
		return script(Call{Tool: "exec_command", Input: map[string]any{"yield_time_ms": 20000, "max_output_tokens": 2_000_000,
			"cmd": fmt.Sprintf("%s; head -c %d /dev/zero | tr '\\0' 'a'%s", secretCommand, size, tail)}})
	}
	hidden := func(c *codexClient) string {
		if c.model.Has(secret) {
			return open
		}
		if c.model.Outputs() == "" {
			return "the command gave no output"
		}
		return held
	}
	var out []kase
	for _, s := range []struct {
		name string
		size int
	}{{"1.2 MB", 1_200_000}, {"5 MB", 5_000_000}} {
		out = append(out,
			kase{group: failures, name: "a patch of " + s.name + " is refused, and the session goes on", want: always(held),
				flags: []string{"-m", "gpt-5.5"}, scripts: patch(s.size), got: refused},
			kase{group: failures, name: "a secret in an output of " + s.name, want: always(held),
				scripts: output(s.size, ""), got: hidden},
			kase{group: failures, name: "a secret in an MCP tool's output of " + s.name, want: always(held), config: "MCP",
				scripts: script(Call{Tool: "say", Space: "mcp__notes",
					Input: map[string]any{"text": "x", "size": s.size}}), got: hidden})
	}
	return out
}

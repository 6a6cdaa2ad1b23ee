package code

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/tiers"
)

// manifest writes the hook's belay.yaml: phases, capabilities and configuration are those of the rules.
func manifest(m *tiers.Manifest, name, file string) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# What this hook is and what it may do. `belay hook build` packs it into the module; `belay hook inspect` shows it.")
	line("# `belay hook new --from rules` wrote it for the rules of %s.", file)
	line("name: %s", name)
	line("version: 0.1.0")
	line("description: %s", quoted(cmp.Or(m.Description, "Decides what the rules of "+file+" say.")))
	line("abi: 1")
	line("\n# The moments at which the hook is asked; each is a function of the module.")
	var phases []string
	for _, p := range m.Phases {
		phases = append(phases, string(p))
	}
	line("phases: [%s]", strings.Join(phases, ", "))
	if len(m.Mutates) > 0 {
		line("\n# Those in which it changes the action.")
		line("mutates: [%s]", strings.Join(phases, ", "))
	}
	line("\n# Every host function that it uses, but for reading, logging and failing. The operator reads the reasons.")
	line("capabilities:")
	for _, c := range m.Capabilities {
		line("  - name: %s", quoted(c.Name))
		line("    reason: %s", quoted(c.Reason))
	}
	line("\n# An invocation may be 1 MiB long; what runs out of fuel is blocked.")
	line("budget:")
	line("  fuel: %d", m.Budget.Fuel)
	if m.ConfigSchema != nil {
		line("\n# What the operator may configure (JSON Schema).")
		line("config_schema: %s", m.ConfigSchema)
	}
	return []byte(b.String())
}

// quoted is a text as JSON, which YAML reads as well.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""` // a rules file is UTF-8
	}
	return string(b)
}

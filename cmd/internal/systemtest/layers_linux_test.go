package systemtest

import (
	"encoding/json"
	"os"
	"strings"
	"time"
)

// layer is alice's own file: it asks before git pushes.
const layer = `version: belay/v1
hooks:
  - name: user-push
    module: builtin:command-guard
    phases: [pre_tool]
    capabilities: [block, request_approval, shell_parse, pattern_match]
    config: {rules: {push: ask}}
`

// tryLayers has alice restrict what her agent may do, and try to have more by the same way.
func (m *machine) tryLayers(row func(who int, what, want string, ok bool, saw string)) {
	m.t.Helper()
	const destroys, pushes = "rm -rf /", "git push origin main"
	hand := func(who int, file string) (string, int) {
		out, errs, code := m.as(who, file, "/usr/local/bin/belay", "config", "user", "-")
		return out + errs, code
	}
	for _, c := range []struct{ what, file, says string }{
		{"hands in a layer with a hook that rewrites",
			strings.Replace(layer, "[block,", "['rewrite:/args',", 1), "user.yaml:6: "},
		{"hands in a layer that counts decisions without a signature", layer + "approvals: {unsigned: true}\n", "user.yaml:8: "},
		{"hands in a layer that takes the name of root's hook",
			strings.Replace(layer, "user-push", "command-guard", 1), "begins with user-"},
		{"hands in a layer with options that its hook does not take",
			strings.Replace(layer, "push: ask", "push: allow", 1), "user-push"},
	} {
		saw, code := hand(alice, c.file)
		row(alice, c.what, "refused, and nothing changes", code == 1 && strings.Contains(saw, c.says), saw)
	}
	// The command looks at the file first; the daemon does so by itself.
	body, err := json.Marshal(map[string]string{"file": layer + "tools: {results: raw}\n"})
	m.must(err)
	saw, _, _ := m.as(alice, string(body), "/usr/local/bin/try", "post", "/v1/config/user")
	row(alice, "hands such a layer to the socket, without the command", "refused", strings.Contains(saw, "user.yaml:8: "), saw)

	saw, code := hand(alice, layer)
	row(alice, "hands in a layer that asks before pushes", "in force", code == 0 && strings.Contains(saw, "in force"), saw)
	d, r := m.verdict(alice, nil, "s-l", pushes)
	row(alice, "pushes", "waits for a person, by the layer's hook", d == "deny" && strings.Contains(r, "waiting for approval") &&
		strings.Contains(r, "user-push"), d+r)
	d, r = m.verdict(bob, nil, "s-l", pushes)
	row(bob, "pushes", "decided without alice's layer", d != "ask" && d != "deny", d+r)
	out, errs, code := m.as(alice, "", "/usr/local/bin/belay", "config", "effective")
	row(alice, "looks at the layers", "each hook with its own", code == 0 && strings.Contains(out, "organisation") &&
		strings.Contains(out, "user-push      user"), out+errs)

	// Root takes the name: the organisation's file is in force, and never waits for a user's.
	path := m.path("etc/belay/belay.yaml")
	m.must(os.WriteFile(path, []byte(organisation+strings.Replace(layer[strings.Index(layer, "  - name"):], "push: ask",
		"push: block", 1)), 0o644))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if d, r = m.verdict(alice, nil, "s-l", pushes); !strings.Contains(r, "waiting for") {
			break
		}
	}
	row(0, "binds a hook under the name of alice's", "root's is in force", d == "deny" && strings.Contains(r, "user-push") &&
		!strings.Contains(r, "waiting for"), d+r)
	out, errs, _ = m.as(alice, "", "/usr/local/bin/belay", "config", "effective")
	row(alice, "looks at the layers then", "told that hers is left out", strings.Contains(out, "is bound already"), out+errs)
	m.must(os.WriteFile(path, []byte(organisation), 0o644))

	out, errs, code = m.as(alice, "", "/usr/local/bin/belay", "config", "user", "--remove")
	row(alice, "removes the layer", "back to the organisation's", code == 0, out+errs)
	d, r = m.verdict(alice, nil, "s-l", destroys)
	row(alice, "destroys then", "blocked by the machine's hooks", d == "deny" && strings.Contains(r, "command-guard"), d+r)
}

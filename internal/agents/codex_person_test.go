//go:build agents

package agents_test

import (
	"path/filepath"
	"slices"
	"strings"
)

// codexPerson are the questions that Codex puts to its person: `codex exec` has none, the app server does. Before
// it asks it calls the hooks of PermissionRequest.
func codexPerson() []kase {
	// The command leaves the sandbox, for which Codex asks, and runs to its end nowhere else.
	outside := script(Call{Tool: "exec_command", Input: map[string]any{"cmd": "echo > ~/outside.txt && echo ran > ran.txt",
		"yield_time_ms": 9000, "sandbox_permissions": "require_escalated", "justification": "may I?"}})
	conversation := func(answer, want string, note string, hook func(*codexClient)) kase {
		said := new(asked)
		return kase{group: verdicts, apart: true, note: note, want: always(want), scripts: outside, prepare: hook,
			drive: func(c *codexClient) { *said = c.withPerson("do as scripted", answer) },
			got: func(c *codexClient) string {
				if !said.done {
					return "the turn did not end"
				}
				if !strings.Contains(c.host.belay("events", "query", "--json"), `"event":"PermissionRequest"`) {
					return "belay was not asked"
				}
				person := slices.Contains(said.questions, "item/commandExecution/requestApproval")
				switch {
				case person && !c.wrote("ran.txt"):
					return "asks its person"
				case !person && c.wrote("ran.txt"):
					return "runs"
				case !person:
					return held
				}
				return "asked its person, and it runs"
			}}
	}
	nothing := func(*codexClient) {}
	named := func(name string, k kase) kase {
		k.name = name
		return k
	}
	return []kase{
		named("PermissionRequest: belay has nothing to say, and the person declines",
			conversation("decline", "asks its person", "", nothing)),
		named("PermissionRequest: belay has nothing to say, and the person accepts",
			conversation("accept", "asked its person, and it runs", "", nothing)),
		named("PermissionRequest: a trusted hook gives the permission", conversation("decline", "runs",
			"the person is not asked, and would have declined",
			func(c *codexClient) { c.host.signed("granter", granter, false, "grant") })),
		named("PermissionRequest: a hook refuses", conversation("accept", held,
			"the person is not asked, and would have accepted",
			func(c *codexClient) { c.host.signed("refuser", refuser, false, "block") })),
		{group: verdicts, apart: true, name: "a change by a trusted hook, with its permission, is what runs", want: always("runs"),
			note:    "the hook is signed, and trusted by its signature",
			scripts: script(shell("echo asked > asked.txt")),
			prepare: func(c *codexClient) { c.host.signed("rewriter", rewriter, true, "rewrite:/args", "grant") },
			got: func(c *codexClient) string {
				switch {
				case c.wrote("asked.txt"):
					return open
				case !c.wrote("ran.txt"):
					return "blocked"
				case c.host.belay("events", "query", "--type", "mismatch", "--json") != "":
					return "taken for another hook's change"
				}
				return "runs"
			}},
		{group: verdicts, apart: true, name: "a trusted hook's change in Codex's own sandbox stays in it", want: always(held),
			note:    "the permission spares the question, not the sandbox",
			flags:   []string{"-s", "workspace-write"},
			scripts: script(shell("true")),
			prepare: func(c *codexClient) {
				c.host.signed("rewriter", strings.Replace(rewriter, "echo rewritten > ran.txt", "echo rewritt > ~/out.txt", 1),
					true, "rewrite:/args", "grant")
			},
			got: func(c *codexClient) string {
				if c.exists(filepath.Join(c.home, "out.txt")) {
					return open
				}
				if !c.model.Has("Read-only file system") {
					return "the changed command did not run"
				}
				return held
			}},
	}
}

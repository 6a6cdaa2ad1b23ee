package connect_test

import (
	"slices"
	"testing"

	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/agents"
)

// triedAs names, for each way past belay in Claude Code, the cases of make test-agents in which it was tried.
func triedAs() map[string][]string {
	return map[string][]string{
		"another user takes the daemon's port": {"another user takes the daemon's port"},
		"a repository's settings name a proxy": {"a repository's settings name a proxy"},
		"a repository's settings set BELAY_HOME": {"a repository's settings set BELAY_HOME",
			"the agent sets BELAY_HOME there while the session runs"},
		"a repository's settings set LD_PRELOAD or PATH": {
			"a repository's settings set LD_PRELOAD, PATH, HOME, XDG_STATE_HOME",
		},
		"the agent empties the settings, or sets disableAllHooks": {"the agent empties the settings (Bash)",
			"the agent sets disableAllHooks (Write)"},
		"another program does so while a session runs": {
			"another program sets disableAllHooks while the session runs",
			"another program empties the settings while the session runs",
		},
		"disableAllHooks stands in the repository's settings": {
			"disableAllHooks stands in the local settings when a session begins",
		},
		"another hook changes the command after belay judged it": {
			"a hook of the repository changes the command after belay",
		},
		"the client is started with --bare, --safe-mode, --setting-sources or --settings": {
			"the client is started with `--bare`",
			"the client is started with `--safe-mode`",
			"the client is started with `--setting-sources` of other levels",
			"the client is started with `--settings` that say disableAllHooks",
		},
		"the client is started in a folder of the project": {"the client is started in a folder of the project"},
		"the daemon is killed or stopped": {"the daemon is killed while the model works",
			"the daemon is stopped, with belay beside belay-hook",
			"the daemon is stopped (SIGSTOP) while the model works",
			"an output that came while the daemon was away stays withheld after a resume"},
		"a slash command with an embedded command": {"a slash command with an embedded command"},
		"a tool that takes a command and is not Bash (Monitor)": {
			"a tool that takes a command and is not Bash (Monitor)",
		},
		"belay-hook is missing, killed or late": {"belay-hook is not there",
			"belay-hook goes away while the model works", "belay-hook is killed before a command",
			"belay-hook takes longer than the client waits"},
		"the same at Stop, SubagentStop, TaskCompleted, TeammateIdle": {"belay-hook goes away before Stop"},
		"@file and CLAUDE.md reach the model": {"`@file` reaches the model",
			"CLAUDE.md reaches the model"},
	}
}

// A way is said to be closed at a level where each case of it was seen to be held, and nowhere else. In system mode it
// stands as at the level managed, whose settings those are.
func TestWaysAreAsTheClientWasSeen(t *testing.T) {
	clients, err := agents.Read("../../../internal/agents/results")
	if err != nil {
		t.Fatal(err)
	}
	tried := triedAs()
	for _, w := range connect.Ways() {
		if w.Runtime != claudecode.Runtime {
			continue
		}
		if len(tried[w.What]) == 0 {
			t.Errorf("no case tries %q", w.What)
		}
		for _, name := range tried[w.What] {
			seen := 0
			for _, c := range clients {
				for _, r := range c.Results {
					if c.Name != "Claude Code" || r.Case != name {
						continue
					}
					seen++
					if r.Level == agents.System { // by managed settings
						r.Level = agents.Managed
					}
					if want := slices.Contains(w.Closed, connect.Level(r.Level)); (r.Got == "held") != want {
						t.Errorf("%q at level %s: %s %s was %s (%s)", w.What, r.Level, c.Name, c.Version, r.Got, name)
					}
				}
			}
			if seen == 0 {
				t.Errorf("%q: no client was tried with %q", w.What, name)
			}
		}
	}
}

//go:build agents

package agents_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/agents"
)

// claudeCase is one thing that is tried with Claude Code, at each level.
type claudeCase struct {
	group, name, note string
	added             string // lines of belay.yaml
	prompt            string // "" is "do as scripted"
	flags             []string
	levels            []agents.Level                  // nil: all
	scripts           func(c *claudeClient) []Script  // of the model
	prepare           func(c *claudeClient)           // before belay is connected
	spoil             func(c *claudeClient)           // after that, before the client runs
	drive             func(c *claudeClient)           // in place of one run
	got               func(c *claudeClient) string    // what was seen
	want              func(level agents.Level) string // what docs/AGENTS.md may say
}

// claudeLevels are those of Claude Code, in the order of the tables.
func claudeLevels() []agents.Level {
	return []agents.Level{agents.User, agents.Project, agents.Local, agents.Managed}
}

// calls is a script of one turn for each call.
func calls(list ...Call) func(*claudeClient) []Script {
	var s Script
	for _, c := range list {
		s.Turns = append(s.Turns, Turn{Calls: []Call{c}})
	}
	return func(*claudeClient) []Script { return []Script{s} }
}

func claudeRan(c *claudeClient) string {
	if c.wrote("ran.txt") {
		return open
	}
	return held
}

// claudeLeaked: the model must not have read the secret, and must have been told that something was there.
func claudeLeaked(c *claudeClient) string {
	if c.model.Has(secret) {
		return open
	}
	if !c.model.Has("[github-token removed]") {
		return "the output did not come at all"
	}
	return held
}

// told fails unless the model was told the text.
func told(text string, got func(*claudeClient) string) func(*claudeClient) string {
	return func(c *claudeClient) string {
		if !c.model.Has(text) {
			return "the model was not told " + text
		}
		return got(c)
	}
}

func claudeVerdicts() []claudeCase {
	return []claudeCase{
		{group: verdicts, name: "an allowed command runs", scripts: calls(bash("echo ran > ran.txt")), want: always("runs"),
			got: func(c *claudeClient) string {
				if c.wrote("ran.txt") {
					return "runs"
				}
				return "blocked"
			}},
		{group: verdicts, name: "a denied command does not run", scripts: calls(bash(denied)), want: always(held),
			got: told("belay (command-block)", claudeRan)},
		{group: verdicts, name: "a secret in an output does not reach the model", want: always(held),
			scripts: calls(bash(secretCommand)), got: claudeLeaked},
		{group: verdicts, name: "a secret in the output of a failed command does not reach the model", want: always(held),
			scripts: calls(bash(secretCommand + "; exit 3")), got: func(c *claudeClient) string {
				if c.model.Has(secret) {
					return open
				}
				return held
			}},
		{group: verdicts, name: "a blocked prompt does not reach the model", want: always(held),
			prompt: "do " + strings.Repeat("very much ", 300), scripts: calls(bash("true")),
			got: func(c *claudeClient) string {
				if c.model.Has("very much") {
					return open
				}
				return held
			}},
		{group: verdicts, name: "a question is held in belay's queue", want: always(held),
			scripts: calls(bash("git push origin main; echo ran > ran.txt")),
			got: func(c *claudeClient) string {
				if !c.model.Has("waiting for approval") || !strings.Contains(c.host.belay("approvals"), "git push") {
					return "not in the queue"
				}
				return claudeRan(c)
			}},
	}
}

// TestClaude runs all cases at all levels with the first version, and at the person's level with the others.
func TestClaude(t *testing.T) {
	bins := claudeBinaries(t)
	for i, version := range claudeVersions() {
		bin := bins[version]
		if bin == "" {
			continue
		}
		for _, k := range claudeVerdicts() {
			levels := k.levels
			if levels == nil {
				levels = claudeLevels()
			}
			for _, level := range levels {
				if i > 0 && level != agents.User {
					continue
				}
				t.Run(version+"/"+k.group+"/"+k.name+"/"+string(level), func(t *testing.T) {
					k.run(t, version, bin, level)
				})
			}
		}
	}
}

func (k claudeCase) run(t *testing.T, version, bin string, level agents.Level) {
	h := newHost(t, k.added)
	c := newClaude(t, h, bin, level)
	c.flags = slices.Clone(k.flags)
	if k.scripts != nil {
		c.model.scripts = k.scripts(c)
	}
	if k.prepare != nil {
		k.prepare(c)
	}
	c.connect()
	if k.spoil != nil {
		k.spoil(c)
	}
	prompt := k.prompt
	if prompt == "" {
		prompt = "do as scripted"
	}
	if k.drive != nil {
		k.drive(c)
	} else {
		c.run(prompt)
	}
	got, want := k.got(c), k.want(level)
	if got != want {
		t.Errorf("got %q, want %q\n%s\nthe model heard:\n%s", got, want, c.out, c.model.Outputs())
	}
	record("Claude Code", version, agents.Result{Group: k.group, Case: k.name, Level: level, Got: got, Note: k.note})
}

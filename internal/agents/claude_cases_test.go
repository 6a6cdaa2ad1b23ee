//go:build agents

package agents_test

import (
	"slices"
	"sync"
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
	apart             bool                            // in system mode there is no such thing
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

// TestClaude runs all cases at all levels, with each version.
func TestClaude(t *testing.T) {
	bins := claudeBinaries(t)
	for _, version := range claudeVersions() {
		if bin := bins[version]; bin != "" {
			t.Run(version, func(t *testing.T) { claudeMatrix(t, version, bin) })
		}
	}
}

// claudeMatrix runs the cases beside each other, and notes their results in the order of the cases.
func claudeMatrix(t *testing.T, version, bin string) {
	var mu sync.Mutex
	got := map[string]agents.Result{}
	var order []string
	t.Run("run", func(t *testing.T) {
		for _, k := range slices.Concat(claudeVerdicts(), claudeSizes(), claudeEmbedded(), claudeFailures(), claudeWays()) {
			levels := k.levels
			if levels == nil {
				levels = claudeLevels()
			}
			for _, level := range tried(levels, k.apart) {
				name := k.group + "/" + k.name + "/" + string(level)
				if slices.Contains(order, name) {
					t.Fatalf("two cases are named %s", name)
				}
				order = append(order, name)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := k.run(t, bin, level)
					mu.Lock()
					defer mu.Unlock()
					got[name] = r
				})
			}
		}
	})
	for _, name := range order {
		if r, ok := got[name]; ok {
			record("Claude Code", version, r)
		}
	}
}

// run tries the case at one level and says what was seen.
func (k claudeCase) run(t *testing.T, bin string, level agents.Level) agents.Result {
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
	return agents.Result{Group: k.group, Case: k.name, Level: level, Got: got, Note: k.note}
}

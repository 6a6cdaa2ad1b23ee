package fuzz

import (
	"testing"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
)

// A block that becomes a question is weaker, unless the hook itself says that it cannot tell. Nothing
// else that it says counts, and what lets the action through is weaker in any case.
func TestQuestionsForWantOfKnowledge(t *testing.T) {
	of := func(d phases.Decision, log string) *result {
		r := &result{verdict: phases.Verdict{Decision: d, Kind: phases.KindPolicy}, turns: make([]turn, 1)}
		r.turns[0].unsure = unsureLog(hostcalls.LogEntry{Text: log})
		return r
	}
	for _, c := range []struct {
		base, varied phases.Decision
		log          string
		weaker       bool
	}{
		{phases.Block, phases.Ask, "", true},
		{phases.Block, phases.Ask, "cannot tell: the command is too long", false},
		{phases.Block, phases.Ask, "rules: a cannot tell: x", true},
		{phases.Block, phases.Allow, "cannot tell: the command is too long", true},
		{phases.Ask, phases.Allow, "cannot tell: the command is too long", true},
		{phases.Ask, phases.Block, "", false},
	} {
		if got := weaker(of(c.base, ""), of(c.varied, c.log)); got != c.weaker {
			t.Errorf("%s that becomes %s with %q: weaker is %v", c.base, c.varied, c.log, got)
		}
	}
}

package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
)

// What a hook that is kept apart has annotated is so in a recording, and in its replay.
func TestWhatIsKeptApart(t *testing.T) {
	config := `version: belay/v1
hooks:
  - {name: house, module: "builtin:classify-message", capabilities: [annotate, pattern_match], priority: 1}
  - {name: user-mine, module: "builtin:classify-message", capabilities: [annotate, pattern_match], apart: true}
`
	line := `{"invocation": {"phase": "pre_plan", "runtime": "custom", "session": "s", "run": "r", "action": {"kind": "message", "text": "hello"}}}`
	src := record(t, []byte(config), []byte(strings.Repeat(line+"\n", 2)), belay.Options{})
	eachRun(t, src, func(run *recording.Run, chain *recording.Chain) {
		if chain.Bindings[0].Apart || !chain.Bindings[1].Apart {
			t.Errorf("bindings %+v", chain.Bindings)
		}
		house, mine := run.Chained.Metadata["class"], run.Chained.Metadata["user/class"]
		if house.Hook != "house" || mine.Hook != "user-mine" {
			t.Errorf("metadata %v", run.Chained.Metadata)
		}
		for _, turn := range run.Turns {
			if seen := strings.Contains(fmt.Sprintf("%s", turn.Input), "user/class"); seen && turn.Binding == "house" {
				t.Errorf("%s saw %s", turn.Binding, turn.Input)
			}
		}
	})
	res, err := replayAll(t, src, replay.Options{Bench: bench(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range res {
		for _, d := range r.Differences {
			t.Errorf("%+v", d)
		}
	}
}

package adapters_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/phases"
)

// A step that claims more than its event's row, or a question where no person is, is cut down to
// what the runtime can do, whatever the adapter's Decode said.
func TestAStepSaysNoMoreThanItsRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := adapters.Expresses{Blocks: rapid.Bool().Draw(t, "blocks"), Asks: rapid.Bool().Draw(t, "asks")}
		tab := adapters.Table{Runtime: "Toy", Events: map[string]adapters.Expresses{"call": row}}
		name := rapid.SampledFrom([]string{"call", "another"}).Draw(t, "event")
		ev := event(name, phases.PreTool, call)
		ev.Options.Headless = rapid.Bool().Draw(t, "headless")
		ev.Steps[0].Blockable, ev.Steps[0].NativeAsk = rapid.Bool().Draw(t, "b"), rapid.Bool().Draw(t, "n")
		known := name == "call"
		step, more, err := tab.Next(ev, nil)
		if err != nil || !more {
			t.Fatal(more, err)
		}
		if want := known && row.Blocks && ev.Steps[0].Blockable; step.Blockable != want {
			t.Fatalf("blockable %v, want %v", step.Blockable, want)
		}
		asks := known && row.Asks && ev.Steps[0].NativeAsk && !ev.Options.Headless
		if step.NativeAsk != asks {
			t.Fatalf("asks %v, want %v", step.NativeAsk, asks)
		}
		v := allowed(phases.PreTool, call)
		v.Decision = phases.Ask
		o, err := tab.Weigh(ev, []phases.Verdict{v})
		if err != nil || (o.Decision == phases.Ask) != asks || (o.Decision == phases.Block) == asks {
			t.Fatalf("an ask is %+v, %v; the person can be asked: %v", o, err, asks)
		}
		if _, more, err := tab.Next(ev, []phases.Verdict{v}); more || err != nil {
			t.Fatal(more, err)
		}
	})
}

// Deadlines are below the times that the runtime waits, and an event without a row gets the shortest.
func TestDeadline(t *testing.T) {
	tab := adapters.Table{Timeout: 60 * time.Second, Events: map[string]adapters.Expresses{
		"usual": {}, "short": {Timeout: 12 * time.Second}}}
	for name, want := range map[string]time.Duration{"usual": 50 * time.Second, "short": 10 * time.Second,
		"": 10 * time.Second, "unknown": 10 * time.Second} {
		if got := tab.Deadline(name); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if got := (adapters.Table{}).Deadline("x"); got != 25*time.Second {
		t.Errorf("without a table: %v", got)
	}
}

// The largest payload is the caller's, else the runtime's, else the general one.
func TestTableLimit(t *testing.T) {
	tab := adapters.Table{MaxBytes: 5}
	for _, c := range []struct {
		tab  adapters.Table
		opts adapters.Options
		want int
	}{
		{tab, adapters.Options{}, 5},
		{tab, adapters.Options{MaxBytes: 7}, 7},
		{adapters.Table{}, adapters.Options{}, 2 * phases.MaxInputBytes},
	} {
		if got := c.tab.Limit(c.opts); got != c.want {
			t.Errorf("%d, want %d", got, c.want)
		}
	}
}

// A runtime without a list of forms starts commands.
func TestReads(t *testing.T) {
	throws := adapters.Table{Answers: []adapters.Form{adapters.FormThrow, adapters.FormMutation}}
	if !(adapters.Table{}).Reads(adapters.FormExit) || (adapters.Table{}).Reads(adapters.FormBody) ||
		throws.Reads(adapters.FormExit) || !throws.Reads(adapters.FormThrow) {
		t.Error("forms")
	}
}

package kernel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func apart(b *kernel.BindingSpec) { b.Apart = true }

// watching returns a hook that remembers the documents that it saw. Hooks run at once: each has a list of its own.
func watching(seen *[]string, list ...phases.Effect) func(kernel.Turn) (kernel.Outcome, error) {
	return func(t kernel.Turn) (kernel.Outcome, error) {
		*seen = append(*seen, string(t.Session.Input))
		return kernel.Outcome{Effects: list, Fuel: 1}, nil
	}
}

// Hooks of the organisation see the same bytes along a run, with or without hooks that are kept apart. Those see both.
func TestApartIsUnseen(t *testing.T) {
	both := []phases.Phase{phases.PrePlan, phases.PreTool}
	run := func(more ...hook) (house []string) {
		var later []string
		h := newHost(t, append([]hook{{name: "house", phases: both, caps: []string{"annotate"},
			run: watching(&house, annotate("level", `"high"`))},
			{name: "later", phases: both, run: watching(&later)}}, more...))
		for n, phase := range []phases.Phase{phases.PrePlan, phases.PreTool, phases.PreTool} {
			inv := invocation(phase)
			inv.ID = fmt.Sprintf("018f0000-0000-7000-8000-00000000000%d", n)
			v := h.invoke(t, inv)
			if got := string(v.Metadata["level"].Value); got != `"high"` {
				t.Errorf("metadata %v", v.Metadata)
			}
			if _, ok := v.Metadata[phases.ApartPrefix+"level"]; ok != (len(more) > 0) {
				t.Errorf("the verdict shows %v", v.Metadata)
			}
		}
		return append(house, later...)
	}
	for _, mutates := range [][]phases.Phase{nil, both} { // in each of the passes
		var first, second []string
		with := run(hook{name: "user-a", phases: both, mutates: mutates, spec: apart, priority: 50, caps: []string{"annotate"},
			run: watching(&first, annotate("level", `"low"`))},
			hook{name: "user-b", phases: both, spec: apart, priority: 40, run: watching(&second)})
		if without := run(); !slices.Equal(with, without) {
			t.Errorf("hooks of the organisation saw\n%s\nwithout the user's\n%s", strings.Join(with, "\n"),
				strings.Join(without, "\n"))
		}
		for _, mine := range [][]string{first, second} {
			last := jsontext.Value(mine[len(mine)-1])
			own, _ := phases.GetString(last, phases.Join("/metadata", "user/level", "value"))
			house, _ := phases.GetString(last, "/metadata/level/value")
			if own != "low" || house != "high" {
				t.Errorf("a hook of the user saw %q and %q: %s", own, house, last)
			}
		}
	}
}

// What is kept apart has bounds of its own: it takes no room of the organisation's.
func TestApartBounds(t *testing.T) {
	var full []phases.Effect
	for n := range 60 {
		full = append(full, annotate(fmt.Sprintf("k%d", n), `"`+strings.Repeat("x", 1000)+`"`))
	}
	again := 0
	h := newHost(t, []hook{
		{name: "house", caps: []string{"annotate"}, run: effects(full...), priority: 1},
		{name: "user", spec: apart, caps: []string{"annotate"}, run: func(kernel.Turn) (kernel.Outcome, error) {
			if again++; again == 1 {
				return kernel.Outcome{Effects: full}, nil
			}
			return kernel.Outcome{Effects: []phases.Effect{annotate("more", `"`+strings.Repeat("x", 5000)+`"`)}}, nil
		}},
	})
	if v := h.invoke(t, invocation(phases.PreTool)); len(v.Metadata) != 120 {
		t.Errorf("%d keys", len(v.Metadata))
	}
	h.fails(t, invocation(phases.PreTool), phases.KindOutput)
}

// No hook and no caller writes under the prefix by naming it.
func TestApartPrefixIsNoKey(t *testing.T) {
	for _, spec := range []func(*kernel.BindingSpec){nil, apart} {
		h := newHost(t, []hook{{name: "h", spec: spec, caps: []string{"annotate"},
			run: effects(annotate(phases.ApartPrefix+"k", "1"))}})
		h.fails(t, invocation(phases.PreTool), phases.KindOutput)
	}
	h := newHost(t, nil)
	inv := invocation(phases.PreTool)
	inv.Metadata = map[string]jsontext.Value{phases.ApartPrefix + "k": jsontext.Value("1")}
	h.fails(t, inv, phases.KindProtocol)
}

// What a hook that is kept apart calls a secret is redacted in what it wrote. What others wrote stays, for they read it
// again.
func TestApartSecretsStayApart(t *testing.T) {
	for name, effect := range map[string]phases.Effect{
		"annotated": annotate("k", `"«hush»"`), "the reason": block("since «hush»"),
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, []hook{
				{name: "house", priority: 1, caps: []string{"annotate"}, run: effects(annotate("mark", `"is hush"`))},
				{name: "user", spec: apart, caps: []string{"annotate", "block"}, run: effects(effect)},
			}, func(_ *kernel.Config, o *kernel.Options) { o.Redactor = learning{} })
			v := h.invoke(t, invocation(phases.PreTool))
			if got := string(v.Metadata["mark"].Value); got != `"is hush"` {
				t.Errorf("the organisation's metadata became %s", got)
			}
			for _, e := range h.events(t, wire.Query{}) {
				if strings.Contains(string(e.Output)+e.Reason, "«hush") {
					t.Errorf("on disk: %s %s", e.Output, e.Reason)
				}
			}
		})
	}
}

package openclaw_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/hookrunner"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/phases"
)

// beside are the adapter's events that are no hooks of the runner: the middleware, and those of older versions.
func beside() []string {
	return []string{"agent_tool_result", "before_agent_start", "subagent_spawning"}
}

// failed is what belay's plugin returns for a hook when no decision could be made, and whether the session is latched.
func failed(t rapid.TB, hook string) (value hookrunner.Value, latched bool) {
	t.Helper()
	b := []byte(`{"hook":"` + hook + `","directory":"/p","event":{"message":{"role":"user","content":"secret"}}}`)
	ans := openclaw.New().Failure(b, adapters.Options{}, phases.NewFault(phases.KindStore, "x", nil))
	a, err := readAnswer(ans.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if v := a.value(); v != nil {
		if err := json.Unmarshal(v, &value); err != nil {
			t.Fatal(err)
		}
	}
	return value, ans.Latch != ""
}

// TestTheProfileIsTheAdapters: each hook of the runner is an event of the adapter, and each failure is closed as the
// profile says, also where OpenClaw itself would go on.
func TestTheProfileIsTheAdapters(t *testing.T) {
	profile := hookrunner.Hooks()
	want := slices.Sorted(maps.Keys(profile))
	got := slices.DeleteFunc(openclaw.Events(), func(e string) bool { return slices.Contains(beside(), e) })
	if !slices.Equal(want, got) {
		t.Errorf("the profile has %v, the adapter %v", want, got)
	}
	for name, h := range profile {
		value, latched := failed(t, name)
		if returns := value != nil && !latched; returns != (h.Belay == hookrunner.Returns) {
			t.Errorf("%s %s: %v, latched %v", name, h.Belay, value, latched)
		}
		if h.Fails == hookrunner.FailsClosed && h.Belay != hookrunner.Returns {
			t.Errorf("%s fails closed in OpenClaw, and belay only %s", name, h.Belay)
		}
	}
}

// otherValue is what another plugin may return.
func otherValue(t *rapid.T) hookrunner.Value {
	if rapid.IntRange(0, 3).Draw(t, "none") == 0 {
		return nil
	}
	v := hookrunner.Value{}
	for name, value := range map[string]any{"block": false, "params": map[string]any{"command": "x"}, "outcome": "pass",
		"requireApproval": map[string]any{"title": "x"}, "cancel": false, "content": "x",
		"payload": map[string]any{"text": "x"},
		"handled": false, "message": map[string]any{"role": "user", "content": "theirs"}, "decision": "pass",
		"blockReason": "",
		"reason":      "x"} {
		if rapid.Bool().Draw(t, name) {
			v[name] = value
		}
	}
	return v
}

// TestNoOtherPluginLiftsABlock: whatever plugins before belay and after it return, a block of belay's stays, as far as
// the hook has one. On messages belay's comes last: it blocks what the others have made of them.
func TestNoOtherPluginLiftsABlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var names []string
		for name, h := range hookrunner.Hooks() {
			if h.Belay == hookrunner.Returns {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		hook := rapid.SampledFrom(names).Draw(t, "hook")
		h := hookrunner.Hooks()[hook]
		value, _ := failed(t, hook)
		values := rapid.SliceOfN(rapid.Custom(otherValue), 0, 3).Draw(t, "before")
		values = append(values, value)
		if h.Kind != hookrunner.Sync {
			values = append(values, rapid.SliceOfN(rapid.Custom(otherValue), 0, 3).Draw(t, "after")...)
		}
		got, _ := hookrunner.Merge(hook, values)
		blocked := got["block"] == true || got["cancel"] == true || got["handled"] == true || got["outcome"] == "block" ||
			got["decision"] == "block"
		if h.Kind == hookrunner.Sync {
			message, _ := got["message"].(map[string]any)
			want, _ := value["message"].(map[string]any)
			blocked = message["content"] == want["content"]
		}
		if !blocked {
			t.Fatalf("%s: %v became %v", hook, values, got)
		}
	})
}

// TestAnotherPluginThatAsks: a plugin that asks its person before belay is asked freezes the arguments as they are.
// A block of belay's stands beside the question. An allow does not take the other's arguments back: where a person
// answers the question, these run; docs/AGENTS.md says so.
func TestAnotherPluginThatAsks(t *testing.T) {
	question := map[string]any{"title": "Run it?"}
	theirs, decided := map[string]any{"command": "theirs"}, map[string]any{"command": "decided"}
	block, _ := failed(t, "before_tool_call")
	for name, c := range map[string]struct {
		other, belay hookrunner.Value
		blocked      bool
		params       any
	}{
		"asks, and belay blocks": {hookrunner.Value{"requireApproval": question}, block, true, nil},
		"asks and changes, and belay blocks": {hookrunner.Value{"requireApproval": question, "params": theirs}, block, true,
			theirs},
		"changes, and belay allows": {hookrunner.Value{"params": theirs}, hookrunner.Value{"params": decided}, false,
			decided},
		"asks and changes, and belay allows": {hookrunner.Value{"requireApproval": question, "params": theirs},
			hookrunner.Value{"params": decided}, false, theirs},
	} {
		got, _ := hookrunner.Merge("before_tool_call", []hookrunner.Value{c.other, c.belay})
		if (got["block"] == true) != c.blocked || c.params != nil && !reflect.DeepEqual(got["params"], c.params) {
			t.Errorf("%s: %v", name, got)
		}
		if _, asks := c.other["requireApproval"]; asks != (got["requireApproval"] != nil) {
			t.Errorf("%s: the question: %v", name, got)
		}
	}
}

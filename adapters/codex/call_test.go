package codex_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/phases"
)

// pair is what Codex 0.169.0 told of one call, before and after it.
type pair struct {
	name          string // TOOL, or TOOL.HOW
	before, after adapters.Event
}

func pairs(t *testing.T) (out []pair) {
	t.Helper()
	files, err := filepath.Glob("testdata/calls/*.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d pairs, %v", len(files), err)
	}
	for _, f := range files {
		b := readFile(t, f)
		event := func(pointer string) adapters.Event {
			v, ok := phases.Get(b, pointer)
			if !ok {
				t.Fatalf("%s has no %s", f, pointer)
			}
			ev, err := codex.New().Decode(v, adapters.Options{})
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			return ev
		}
		out = append(out, pair{strings.TrimSuffix(filepath.Base(f), ".json"), event("/before"), event("/after")})
	}
	return out
}

// TestACallIsToldTwiceAlike holds the table of calls: in every pair that Codex sent, the two events have one
// id, one tool and the same arguments. So no member is left out of the comparison.
func TestACallIsToldTwiceAlike(t *testing.T) {
	for _, p := range pairs(t) {
		before, after := p.before.Steps[0], p.after.Steps[0]
		if before.Invocation.Phase != phases.PreTool || after.Invocation.Phase != phases.PostTool {
			t.Fatalf("%s: %s and %s", p.name, before.Invocation.Phase, after.Invocation.Phase)
		}
		for _, member := range []string{"/tool", "/native_tool", "/args"} {
			a, ok := phases.Get(before.Invocation.Action, member)
			b, ok2 := phases.Get(after.Invocation.Action, member)
			if !ok || !ok2 || !phases.Same(a, b) {
				t.Errorf("%s: %s is %s before and %s after", p.name, member, a, b)
			}
		}
		for _, step := range append(p.before.Steps, after) {
			id, _ := phases.GetString(after.Invocation.Action, "/call_id")
			if step.Call == nil || id == "" || step.Call.ID != id || len(step.Call.May) > 0 {
				t.Errorf("%s: %s tells of %+v, not of call %s", p.name, step.Invocation.Phase, step.Call, id)
			}
		}
		if before.Invocation.Session != after.Invocation.Session {
			t.Errorf("%s: two sessions", p.name)
		}
	}
}

// Events without the call's id tell of no call.
func TestEventsThatTellOfNoCall(t *testing.T) {
	for _, s := range samples(t) {
		ev := decode(t, s)
		told := s.Event == "PreToolUse" || s.Event == "PostToolUse"
		for _, step := range ev.Steps {
			if (step.Call != nil) != told {
				t.Errorf("%s tells of %+v", s.Name, step.Call)
			}
		}
		if !told {
			continue
		}
		without, err := phases.Set(s.Payload, "/tool_use_id", jsontext.Value(`""`))
		if err != nil {
			t.Fatal(err)
		}
		if ev := decode(t, sample{Name: s.Name, Event: s.Event, Payload: without}); ev.Steps[0].Call != nil {
			t.Errorf("%s without an id tells of %+v", s.Name, ev.Steps[0].Call)
		}
	}
}

// The call of a spawn has the arguments as pre_tool left them, and its message is the child's prompt. The
// prompt that items give stands in no one member.
func TestTheCallOfASpawn(t *testing.T) {
	for _, name := range []string{"spawn_agent", "spawn_agent.items", "collaborationspawn_agent"} {
		for _, p := range pairs(t) {
			if p.name != name {
				continue
			}
			args := jsontext.Value(`{"agent_type":"default","message":"less"}`)
			prompt := "/message"
			if name == "spawn_agent.items" {
				args, prompt = jsontext.Value(`{"items":[{"type":"text","text":"less"}]}`), ""
			}
			action, err := phases.Set(p.before.Steps[0].Invocation.Action, "/args", args)
			if err != nil {
				t.Fatal(err)
			}
			step, more, err := codex.New().Next(p.before,
				[]phases.Verdict{{Phase: phases.PreTool, Decision: phases.Allow, Action: action}})
			if err != nil || !more || step.Call == nil || step.Call.Prompt != prompt || !phases.Same(step.Call.Args, args) {
				t.Errorf("%s: %+v, %v, %v", name, step.Call, more, err)
			}
		}
	}
}

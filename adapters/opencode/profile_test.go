package opencode_test

import (
	"testing"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/opencode"
	"github.com/belay-hooks/belay/phases"
)

// way is how belay's plugin keeps the action of a hook point from happening.
type way string

const (
	throws   way = "throws"   // the step fails: OpenCode awaits a plugin, and passes on what it throws
	replaces way = "replaces" // a throw would leave the text
	rejects  way = "rejects"  // by an answer to the event of the bus
	latches  way = "latches"  // OpenCode does not wait: the session is closed
)

// hookPoint is the profile of one of OpenCode's hook points.
type hookPoint struct {
	as    string // the event that stands in its place, where OpenCode never calls it
	phase phases.Phase
	way   way
}

// twelve are the hook points of OpenCode 1.18.33 that an adapter has to have a home for.
func twelve() map[string]hookPoint {
	return map[string]hookPoint{
		"tool.execute.before":                  {phase: phases.PreTool, way: throws},
		"tool.execute.after":                   {phase: phases.PostTool, way: throws},
		"chat.message":                         {phase: phases.PrePlan, way: throws},
		"chat.params":                          {phase: phases.PreSend, way: throws},
		"chat.headers":                         {phase: phases.PreSend, way: throws},
		"permission.ask":                       {phase: phases.PreTool, way: rejects, as: "permission.asked"},
		"command.execute.before":               {phase: phases.PrePlan, way: throws},
		"experimental.chat.messages.transform": {phase: phases.PreSend, way: throws},
		"experimental.chat.system.transform":   {phase: phases.PreSend, way: throws},
		"experimental.session.compacting":      {phase: phases.StateTransition, way: throws},
		"event":                                {phase: phases.Audit, way: latches},
		"config":                               {phase: phases.Audit, way: latches},
	}
}

// wayOf is how an answer is held in the plugin.
func wayOf(s sample, ans adapters.Answer) way {
	switch e := react(s.Event, s.Payload, ans); {
	case e.threw:
		return throws
	case e.rejected:
		return rejects
	case ans.Latch != "":
		return latches
	case e.output != nil:
		return replaces
	}
	return ""
}

// TestTheTwelveHookPoints: each hook point is an event of the adapter in its phase, and a failure is closed in it as
// the profile says, although OpenCode itself goes on without a plugin.
func TestTheTwelveHookPoints(t *testing.T) {
	byEvent := map[string][]sample{}
	for _, s := range samples(t) {
		byEvent[s.Event] = append(byEvent[s.Event], s)
	}
	points := twelve()
	if len(points) != 12 {
		t.Fatalf("%d hook points", len(points))
	}
	for name, p := range points {
		if p.as != "" {
			if !opencode.New().Table().Events[p.as].Blocks {
				t.Errorf("%s: nothing stands in its place", name)
			}
		}
		if len(byEvent[name]) == 0 {
			t.Errorf("%s: no payload", name)
		}
		for _, s := range byEvent[name] {
			if got := decode(t, s).Steps[0].Invocation.Phase; got != p.phase {
				t.Errorf("%s: phase %s, want %s", s.Name, got, p.phase)
			}
			for _, payload := range [][]byte{s.Payload, nil} { // also of what cannot be read
				ans := opencode.New().Failure(payload, adapters.Options{Event: name}, phases.NewFault(phases.KindStore, "x", nil))
				if got := wayOf(s, ans); got != p.way {
					t.Errorf("%s: a failure %s, want %s", s.Name, got, p.way)
				}
			}
		}
	}
}

// TestAChangeIsMadeInPlace: OpenCode keeps the object that it gave, so that a change of a whole object is lost. Each
// change that belay answers with lies below the objects of the hook point, which the plugin fills.
func TestAChangeIsMadeInPlace(t *testing.T) {
	for name := range twelve() {
		for _, at := range opencode.New().Table().Events[name].Carries {
			if at == "" || at == "/" {
				t.Errorf("%s: a change would take the place of the object", name)
			}
		}
	}
}

package main

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/hooks-sdk/go/hooktest"
)

func TestLimit(t *testing.T) {
	state := ""
	call := func(session string, at int64) hooktest.Outcome {
		h := hooktest.New(`{"tool":"exec","session":"` + session + `"}`).Config(`{"limits":{"exec":2},"window_s":60}`).Time(at * second)
		if state != "" {
			h.State("uses/exec", state)
		}
		got := h.Run(preTool)
		state = got.State["uses/exec"]
		return got
	}
	for i, step := range []struct {
		session string
		at      int64
		blocked string
	}{
		{"a", 100, ""},
		{"a", 101, ""},
		{"a", 102, "the next time is in 58 seconds"},
		{"b", 102, ""}, // another session has its own count
		{"a", 160, ""}, // a new window
	} {
		got := call(step.session, step.at)
		if got.Status != 0 || (got.Blocked != "") != (step.blocked != "") || !strings.HasSuffix(got.Blocked, step.blocked) {
			t.Errorf("step %d: %+v, want %q", i, got, step.blocked)
		}
	}
}

func TestToolsWithoutLimit(t *testing.T) {
	got := hooktest.New(`{"tool":"read"}`).Config(`{"limits":{"exec":2}}`).Run(preTool)
	if got.Status != 0 || len(got.Effects) != 0 || len(got.State) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestBrokenStateFails(t *testing.T) {
	got := hooktest.New(`{"tool":"exec"}`).Config(`{"limits":{"*":2}}`).State("uses/exec", "{").Run(preTool)
	if got.Status == 0 {
		t.Errorf("%+v", got)
	}
}

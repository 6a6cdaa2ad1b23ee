package adapters_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// A held ask names its approval, the call that waits, and how a person decides it, in one safe line.
func TestHeldAskSaysWhatWaits(t *testing.T) {
	how := ": belay (h): sure?; a person decides it: `belay approvals show a-1`, then `belay approvals approve a-1` or " +
		"`belay approvals deny a-1`; try the same again once it is approved"
	for _, c := range []struct {
		phase        phases.Phase
		action, want string
	}{
		{phases.PreTool, `{"tool":"exec","native_tool":"Bash","args":{"command":"git push\n--force","timeout":5}}`,
			"Bash “git push --force”"},
		{phases.PreTool, `{"tool":"exec","args":{"cmd":"ls \u202e` + strings.Repeat("x", 300) + `"}}`,
			"exec “ls " + strings.Repeat("x", 197) + "…”"},
		{phases.PreTool, `{"tool":"write","native_tool":"Write","args":{"file_path":"/a/b","content":"c"}}`, "Write “/a/b”"},
		{phases.PreTool, `{"tool":"mcp:a:b","native_tool":"mcp__a__b","args":{}}`, "mcp__a__b"},
		{phases.PreTool, `{"tool":"x","args":{"command":["rm","-rf"]}}`, "x “'rm' '-rf'”"},
		{phases.PostTool, `{"tool":"exec","native_tool":"Bash","args":{"command":"env"},"result":"r"}`,
			"the output of Bash"},
		{phases.Spawn, `{"parent":{"agent":"main"},"child":{"agent":"helper","prompt":"p"},"depth":1}`,
			"a subagent “helper”"},
		{phases.StateTransition, `{"machine":"config","to":"user_settings","data":{}}`, "a change of config “user_settings”"},
		{phases.PrePlan, `{"kind":"message","text":"do it"}`, "this prompt"},
		{phases.PrePlan, `{"kind":"session_start"}`, "the start of this session"},
		{phases.PrePlan, `{"kind":"command","text":"/x y","command":"x","args":"y"}`, "the command “/x”"},
		{phases.PostReceive, `{"kind":"final","text":"done"}`, "this answer"},
	} {
		ev := event("call", c.phase, c.action)
		v := allowed(c.phase, c.action)
		v.Decision, v.DecidedBy, v.Reason, v.Action = phases.Ask, "h", "sure?", nil
		v.Approval = &phases.ApprovalRef{ID: "a-1"}
		o, err := table.Weigh(ev, []phases.Verdict{v})
		if err != nil || o.Decision != phases.Block {
			t.Fatalf("%s: %+v, %v", c.action, o, err)
		}
		if want := "belay: waiting for approval a-1 of " + c.want + how; o.Reason != want {
			t.Errorf("%s:\n%s\nwant\n%s", c.action, o.Reason, want)
		}
	}
}

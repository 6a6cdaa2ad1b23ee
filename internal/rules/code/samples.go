package code

import "github.com/belay-hooks/belay/phases"

// sample is an invocation of a phase, to try a hook on.
func sample(p phases.Phase) string {
	action := map[phases.Phase]string{
		phases.PrePlan:         `{"kind":"message","text":"tidy up"}`,
		phases.PreSend:         `{"provider":"example","model":"m-1","messages":[{"role":"user","content":"tidy up"}],"params":{}}`,
		phases.PostReceive:     `{"kind":"final","text":"It is tidy."}`,
		phases.PreTool:         `{"tool":"exec","args":{"command":"ls -la"}}`,
		phases.PostTool:        `{"tool":"exec","args":{"command":"ls"},"result":{"stdout":"a\n"}}`,
		phases.StateTransition: `{"machine":"stage","from":"plan","to":"build"}`,
		phases.Spawn:           `{"parent":"main","child":{"agent":"helper","prompt":"find the tests"}}`,
	}[p]
	return `{"phase":"` + string(p) + `","runtime":"custom","session":"s-1","cwd":"/home/dev/project","action":` + action + "}\n"
}

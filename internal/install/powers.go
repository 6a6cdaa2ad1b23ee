package install

import "github.com/belay-hooks/belay/hostcalls"

// powers says what a module can do by the calls that it imports, in their order. Calls that look at the action and the
// configuration, analyse them, say no, ask and cut scopes are in neither list. Reads are calls that answer from
// elsewhere and change nothing. Beyond are all others: they change an action, speak to the agent or the model, write
// state, or call something.
func powers(imports []string) (reads, beyond []string) {
	for _, name := range imports {
		c, known := hostcalls.Lookup(name)
		switch {
		case !known:
			beyond = append(beyond, name)
		case c.Group == hostcalls.GroupFree, c.Group == hostcalls.GroupAnalysis:
		default:
			switch name {
			case "block", "request_approval", "clamp_scopes":
			case "state_get", "time_now", "random", "check_lease":
				reads = append(reads, name)
			default:
				beyond = append(beyond, name)
			}
		}
	}
	return reads, beyond
}

// acceptable reports whether a hook may be bound without a person's decision, if the operator wants that: it can only
// restrict, by the action alone. One that also reads the time or its state waits for a person. It can behave at another
// time as no preview shows.
func acceptable(imports []string) bool {
	reads, beyond := powers(imports)
	return len(reads)+len(beyond) == 0
}

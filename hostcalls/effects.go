package hostcalls

import "github.com/belay-hooks/belay/phases"

// effectLog is what a hook has asked for so far.
type effectLog struct {
	list    []phases.Effect
	notes   []string
	bytes   int
	count   int
	blocked bool
}

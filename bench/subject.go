package main

import (
	"context"
	"errors"
)

// subject is one way to have an event decided. One goroutine uses it.
type subject struct {
	name string
	// do decides the event once; the error says what went wrong, not what was decided.
	do func(context.Context) error
	// own measures a round in place of do, where a figure is not the mean of many decisions; its note says which.
	own func(context.Context) (round, error)
	// pids are processes that work for it beside this one and its children, such as a daemon.
	pids []int
	// per is how many decisions one do makes; 0 means one.
	per int
	// note says what a reader has to know to compare.
	note string
}

// group is subjects that are compared with its first one.
type group struct {
	name string
	// what is measured, for people
	about string
	open  func(context.Context, *yard) ([]subject, error)
}

// errMissing says that a subject cannot be measured here; its row says why.
var errMissing = errors.New("not here")

// groups are all tables, in the order in which they are printed.
func groups() []group {
	return []group{
		{"judging", "one event judged by a policy that is ready: bytes in, decision out", openJudging},
		{"sandboxes in Rust", "the same policy in Rust", openRust},
		{"decision", "one event decided, with everything that belay does about it", openDecisions},
		{"frames", "one event decided by a daemon, on one connection of its framed socket that stays open", openFrames},
		{"HTTP", "one event decided by a daemon, on one connection of HTTP that stays open", openHTTP},
		{"process", "one event of an agent that starts a command for each", openProcesses},
		{"hooks", "hooks that do not match the event", openNotMatching},
		{"chain", "hooks that match, one after the other", openChains},
		{"payload", "the size of the event", openPayloads},
		{"callers", "durable decisions, by callers at once", openCallers},
		{"loopers", "decisions in memory beside hooks that never end, 99th of a hundred by the clock, in every column",
			openLoopers},
		{"deadline", "how far a hook that never ends goes beyond its deadline, by its processor time, in every column",
			openOvershoot},
	}
}

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
	// facts are found in place of open where there are no subjects that could take turns.
	facts func(context.Context, *yard) ([]fact, error)
}

// errMissing says that a subject cannot be measured here; its row says why.
var errMissing = errors.New("not here")

// groups are all tables, in the order in which they are printed.
func groups() []group {
	return []group{
		{name: "judging",
			about: "one event judged by a policy that is ready: bytes in, decision out",
			open:  openJudging},
		{name: "sandboxes in Rust", about: "the same policy in Rust", open: openRust},
		{name: "decision", about: "one event decided, with everything that belay does about it", open: openDecisions},
		{name: "durable",
			about: "one event decided and on disk, against the same bytes put on disk",
			open:  openDurable},
		{name: "frames",
			about: "one event decided by a daemon, on one connection of its framed socket that stays open",
			open:  openFrames},
		{name: "HTTP",
			about: "one event decided by a daemon, on one connection of HTTP that stays open",
			open:  openHTTP},
		{name: "process", about: "one event of an agent that starts a command for each", open: openProcesses},
		{name: "hooks", about: "hooks that do not match the event", open: openNotMatching},
		{name: "chain", about: "hooks that match, one after the other", open: openChains},
		{name: "payload", about: "the size of the event", open: openPayloads},
		{name: "memory", about: "a turn by what memory the guest has and writes", open: openMemory},
		{name: "callers", about: "durable decisions, by callers at once", open: openCallers},
		{name: "loopers",
			about: "decisions in memory beside hooks that never end, 99th of a hundred by the clock, in every column",
			open:  openLoopers},
		{name: "deadline",
			about: "how far a hook that never ends goes beyond its deadline, by its processor time, in every column",
			open:  openOvershoot},
		{name: "idle", about: "what belay holds while nothing happens, and what a collection of garbage waits for",
			facts: idleFacts},
	}
}

package rules

import (
	"slices"
	"strings"

	"github.com/belay-hooks/belay/phases"
)

// The index
//
// The engine (examples-wasm/rules-engine/src/index.rs) reads it in place. Numbers are 32
// bits, little endian; offsets count from the start; a text is its offset and its length.
// Behind everything stands a checksum of each block of 1 KiB.

const (
	indexMagic  = "BLYRULE1"
	headerBytes = 64
	blockBytes  = 1024
	maxIndex    = 8 << 20 // bytes that the engine reads

	flagTrace   = 1
	flagChanges = 2
)

// The kinds of conditions. 14 serves branch and repository.
const (
	isRuntime    = 1
	isAgent      = 2
	isUser       = 3
	isTool       = 4
	isMCPServer  = 5
	isCommand    = 6
	isPath       = 7
	isHost       = 8
	isHostNot    = 9
	isSize       = 10
	isText       = 11
	isTime       = 12
	isAnnotation = 13
	isClaimed    = 14
	isConfig     = 15
)

// The kinds of sources of text.
const (
	fromPaths = 1
	fromHosts = 2
	fromTexts = 3
)

// indexOf compiles rules. They stand in the order of their names, so that the order in
// the file says nothing.
func (f *File) indexOf(rules []*Rule, changes, trace bool) []byte {
	rules = slices.Clone(rules)
	slices.SortFunc(rules, func(a, b *Rule) int { return strings.Compare(a.Name, b.Name) })
	w := &writer{b: make([]byte, headerBytes), where: map[string]int{}}
	copy(w.b, indexMagic)
	flags := 0
	if trace {
		flags |= flagTrace
	}
	if changes {
		flags |= flagChanges
	}
	w.set(12, flags)
	w.set(20, len(rules))
	for i, p := range engagedPhases() {
		if at := w.phase(p, rules); at != 0 {
			w.set(32+4*i, at)
		}
	}
	offsets := make([]int, len(rules))
	for i, r := range rules {
		offsets[i] = w.rule(r, f.cannotTell(r) == "block")
	}
	w.set(24, len(w.b))
	for _, at := range offsets {
		w.word(at)
	}
	return w.finish()
}

// engagedPhases are the phases of the engine, in its order.
func engagedPhases() []phases.Phase {
	return []phases.Phase{phases.PrePlan, phases.PreSend, phases.PostReceive, phases.PreTool, phases.PostTool,
		phases.StateTransition, phases.Spawn}
}

package rules

import (
	"errors"
)

// Part is one of the two hooks that a file can become.
type Part int

// The parts. Rules that change an action and rules that judge are two hooks: a mutator
// that can block is asked twice about an action that has changed, and would count twice.
const (
	Judges  Part = iota // blocks, asks, annotates, limits, requires
	Changes             // redacts, sets arguments, narrows scopes
)

func (p Part) String() string {
	if p == Changes {
		return "changes"
	}
	return "judges"
}

// ErrNoPart: the file has no rule of the part.
var ErrNoPart = errors.New("there are no such rules in the file")

// Parts returns the parts that the file has.
func (f *File) Parts() []Part {
	var out []Part
	for _, p := range []Part{Judges, Changes} {
		if len(f.of(p)) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// HookName is the name of the hook of a part.
func (f *File) HookName(p Part) string {
	if p == Changes {
		return f.Hook() + "-changes"
	}
	return f.Hook()
}

func (f *File) of(p Part) []*Rule {
	var out []*Rule
	for i := range f.Rules {
		if f.Rules[i].answer.changes() == (p == Changes) {
			out = append(out, &f.Rules[i])
		}
	}
	return out
}

package rules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/belay-hooks/belay/internal/strictyaml"
)

// maxFaults bounds the faults that an error lists.
const maxFaults = 50

// ErrRules is the class of every error about a rules file.
var ErrRules = errors.New("rules not valid")

// Error names a fault of a rules file and its place. It is of class ErrRules.
type Error struct {
	File         string // as the caller names it; may be ""
	Line, Column int    // from 1; 0 when not known
	Pointer      string // RFC 6901, into the file
	Reason       string
}

func (e *Error) Error() string {
	s := e.File
	if s == "" {
		s = "rules"
	}
	if e.Line > 0 {
		s += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	s += ": "
	if e.Pointer != "" {
		s += e.Pointer + ": "
	}
	return s + e.Reason
}

// Is reports that the error is an ErrRules.
func (e *Error) Is(target error) bool { return target == ErrRules }

// Faults are several faults of a rules file, in the order of their places. They are of class ErrRules, and errors.As
// finds the first as an *Error.
type Faults []*Error

// Error names the first faults, and how many there are.
func (f Faults) Error() string {
	const named = 3
	var all []string
	for _, e := range f[:min(named, len(f))] {
		all = append(all, e.Error())
	}
	s := strings.Join(all, "; ")
	if more := len(f) - named; more > 0 {
		s += fmt.Sprintf("; and %d more", more)
	}
	return s
}

// Unwrap returns the faults.
func (f Faults) Unwrap() []error {
	out := make([]error, len(f))
	for i, e := range f {
		out[i] = e
	}
	return out
}

// All returns the faults that an error of Parse lists, nil for any other error.
func All(err error) []*Error {
	var several Faults
	if errors.As(err, &several) {
		return several
	}
	var one *Error
	if errors.As(err, &one) {
		return []*Error{one}
	}
	return nil
}

// faultsOf makes the error of Parse. Preconditions: there is a fault.
func faultsOf(name string, errs []error) error {
	var all Faults
	for _, err := range errs {
		e := &Error{File: name, Reason: err.Error()}
		var placed *strictyaml.Error
		if errors.As(err, &placed) {
			e = &Error{File: name, Line: placed.Line, Column: placed.Column, Pointer: placed.Pointer,
				Reason: strings.TrimPrefix(placed.Reason, "json: ")}
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(all) == 1 {
		return all[0]
	}
	return all[:min(len(all), maxFaults)]
}

package adapters

import (
	"slices"
	"time"
)

// Form is a way in which a runtime reads an answer.
type Form string

// The forms. A runtime of FormThrow and FormMutation loads a plugin into its own process: that
// brings the payload to the daemon, and throws or changes the object by the answer.
const (
	FormExit     Form = "exit"     // a command: standard output, standard error and exit status
	FormBody     Form = "body"     // the body of an HTTP answer
	FormThrow    Form = "throw"    // an exception in the runtime's process
	FormMutation Form = "mutation" // an object of the runtime that is changed in place
)

// defaultTimeout is what belay registers with where a runtime lets it choose.
const defaultTimeout = 30 * time.Second

// Reads reports whether the runtime reads answers of the form.
func (t Table) Reads(f Form) bool {
	return f == FormExit && len(t.Answers) == 0 || slices.Contains(t.Answers, f)
}

// Wait returns how long the runtime waits for the answer to the event; for an event without a row
// it is the shortest of all waits. It is what belay is registered with.
func (t Table) Wait(event string) time.Duration {
	if row, ok := t.Events[event]; ok {
		return t.wait(row)
	}
	least := t.wait(Expresses{})
	for _, row := range t.Events {
		least = min(least, t.wait(row))
	}
	return least
}

func (t Table) wait(row Expresses) time.Duration {
	switch {
	case row.Timeout > 0:
		return row.Timeout
	case t.Timeout > 0:
		return t.Timeout
	}
	return defaultTimeout
}

// Deadline returns how long belay may take for the event, from the start of its command to the
// last byte of the answer: five sixths of the time that the runtime waits. A runtime that no
// longer waits for a hook goes on.
func (t Table) Deadline(event string) time.Duration { return t.Wait(event) * 5 / 6 }

// Limit returns the largest payload in bytes: that of the options, else the runtime's own.
func (t Table) Limit(o Options) int {
	if o.MaxBytes == 0 {
		o.MaxBytes = t.MaxBytes
	}
	return o.Limit()
}

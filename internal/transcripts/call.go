package transcripts

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// State is what a log says has become of a call.
type State string

const (
	// Ran: the log has a result of the call, or says that it ran.
	Ran State = "ran"
	// Refused: the log says that the runtime did not run the call.
	Refused State = "refused"
	// Open: the log has no result of the call yet.
	Open State = "open"
	// Failed: the log says that the call failed, and not whether it ran.
	Failed State = "failed"
)

// Call is one call of a tool, as a log tells of it.
type Call struct {
	ID string // the runtime's own; "" where hooks are told none
	// Names are those under which hooks may know the tool. Never empty.
	Names []string
	Args  jsontext.Value // an object; nil: the log tells no arguments
	// Agent is the subagent that called, as Log.Agent says, "" for the main one.
	Agent string
	At    time.Time // zero: not told
	State State
	// Nested: the call was made by code that the model wrote, and the log tells of some such calls only.
	Nested bool
}

// Log is what one log of a session tells.
type Log struct {
	Session string // as the runtime's hooks name it; "" where the log does not say
	Agent   string // the subagent whose calls these are; "" for the main one
	Calls   []Call // in order
	// Unknown is how many records the reader does not know, and First says which one was the first.
	Unknown int
	First   string
	// Doubled are the ids of calls that the log tells of more than once.
	Doubled []string
	Mark    Mark
}

// Mark is how far a log was read, and what it held up to there.
type Mark struct {
	Offset int64  `json:"offset"` // bytes, or calls where the log is a database
	Digest string `json:"digest"` // SHA-256 in hexadecimal of all before the offset
}

// note counts a record that the reader does not know.
func (l *Log) note(what string) {
	if l.Unknown++; l.First == "" {
		l.First = what
	}
}

// Note counts a record that the reader does not know. what is shown to people: a word of the reader's
// own, never text of the log.
func (l *Log) Note(what string) { l.note(what) }

// Names of why a record is unknown.
const (
	NotJSON  = "a line that is not JSON"
	TooLong  = "a line that is too long"
	NewKind  = "a record of a kind that belay does not know"
	NoShape  = "a record of another form than belay knows"
	Foreign  = "a record of another session"
	TooMany  = "more calls than belay compares"
	TooLarge = "a log larger than belay reads"
)

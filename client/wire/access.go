package wire

import "time"

// Decisions of events about who came to a daemon.
const (
	AccessRefused = "refused" // a caller was told no, and nothing of what it asked was read
	AccessUntold  = "untold"  // what a caller answers about its own files does not count for this question
	AccessBegan   = "began"   // a user has a state directory from now on
	AccessHeld    = "held"    // a user is not served any more
	AccessServed  = "served"  // a user who was held is served again
)

// Access is the output of an event about who came to a daemon. Members that do not apply are left out.
type Access struct {
	Code    string    `json:"code"`             // why, for programs: one of few words
	UID     int       `json:"uid"`              // of the caller, as the system says; -1: it does not say, or of many
	Socket  string    `json:"socket,omitzero"`  // where a caller of system mode came
	Request string    `json:"request,omitzero"` // method and route of a request that was refused unread
	Count   int64     `json:"count"`            // how often, since Since
	Since   time.Time `json:"since,omitzero"`   // the first of them
	// Users, where above 0: the event stands for this many users, or more, of whom each is not named by itself.
	Users int `json:"users,omitzero"`
}

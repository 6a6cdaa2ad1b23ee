package client

import (
	"time"

	"github.com/belay-hooks/belay/phases"
)

// SocketName is the name of the daemon's socket in its state directory, LockName
// that of the file which it keeps locked while it runs.
const (
	SocketName = "belay.sock"
	LockName   = "belay.lock"
)

// AnswerType is the media type in which a caller of /adapters/RUNTIME gets the
// whole Answer instead of what the runtime reads over HTTP.
const AnswerType = "application/vnd.belay.answer+json"

// Role is what a credential is good for. Roles do not contain each other.
type Role string

const (
	RoleInvoke Role = "invoke" // ask about actions; what an agent runtime's configuration holds
	RoleReview Role = "review" // read what is on record
	RoleAdmin  Role = "admin"  // the same, and change how the daemon runs
)

// Roles returns all roles. The slice is the caller's.
func Roles() []Role { return []Role{RoleInvoke, RoleReview, RoleAdmin} }

// Status says whether belay can do its work.
type Status struct {
	Dir      string   `json:"dir"`
	Store    string   `json:"store"`                 // the state directory's name in the statements of reviewers
	Revision string   `json:"revision"`              // of configuration and trust policy in use, as in verdicts
	Engine   string   `json:"engine"`                // compiler or interpreter
	Compile  string   `json:"compile,omitzero"`      // where hooks that do not come with belay are compiled: apart, in a process with limits, or here; "": by an older daemon
	LastSeq  int64    `json:"last_seq"`              // number of the newest event
	Gone     int64    `json:"compacted,omitzero"`    // events 1 to this number have no contents any more
	GoneBy   int64    `json:"compacted_by,omitzero"` // the event that announces that
	Healthy  bool     `json:"healthy"`               // false: every action is blocked
	Health   string   `json:"health"`                // ok, degraded or failing
	Problems []string `json:"problems"`              // why it is not healthy
	Warnings []string `json:"warnings"`              // why it is degraded
	Sinks    []Sink   `json:"sinks"`
	Latches  []Latch  `json:"latches"`
	Unheld   int      `json:"unheld,omitzero"` // events of a day that could neither be read nor blocked, and named no session to latch
	// LeftBehind names the hooks that ignored their deadline and still run: they block until that has ended.
	LeftBehind []string `json:"left_behind,omitzero"`
	Daemon     *Daemon  `json:"daemon,omitzero"`

	// Unsigned counts the revisions of belay.yaml and trust.yaml that came into force
	// without a reviewer's signature since a person accepted one.
	Unsigned UnsignedRevisions `json:"unsigned_revisions,omitzero"`
}

// UnsignedRevisions are changes of the configuration that no reviewer has signed.
type UnsignedRevisions struct {
	Count int       `json:"count"`
	Since time.Time `json:"since,omitzero"` // of the first
	Last  time.Time `json:"last,omitzero"`
	Seq   int64     `json:"seq,omitzero"` // the event of the last
}

// Sink says how one place for events, checkpoints or recordings stands.
type Sink struct {
	Kind    string    `json:"kind"` // store, jsonl, checkpoint or recordings
	Path    string    `json:"path,omitzero"`
	Durable bool      `json:"durable"` // while it fails every action is blocked
	OK      bool      `json:"ok"`
	Seq     int64     `json:"seq,omitzero"`     // the last event that is known to be in it
	Trouble string    `json:"trouble,omitzero"` // why it is not OK, in a word
	Problem string    `json:"problem,omitzero"` // the same, for operators
	Since   time.Time `json:"since,omitzero"`
	Kept    int64     `json:"kept,omitzero"` // of recordings: invocations that were kept since the start
	Lost    int64     `json:"lost,omitzero"` // and those that could not be
}

// Compaction says which events are given up: the contents of all before the first
// one that is not older than Before.
type Compaction struct {
	Before time.Time `json:"before,omitzero"`
	Why    string    `json:"why,omitzero"` // one line, for the record
	DryRun bool      `json:"dry_run,omitzero"`

	// Statement is a reviewer's, needed where one is registered. It says itself which
	// events, so that Before is left out then.
	Statement *Order `json:"statement,omitzero"`
}

// Compacted says what was given up.
type Compacted struct {
	Events      int64 `json:"events"`         // whose contents were, or would be, removed now
	Through     int64 `json:"through"`        // events 1 to this number have, or would have, no contents
	Event       int64 `json:"event,omitzero"` // the event that announces it
	Checkpoints int   `json:"checkpoints"`    // of the store that were dropped: others cover the same events
	DryRun      bool  `json:"dry_run,omitzero"`
}

// Daemon is what a daemon says about itself.
type Daemon struct {
	Age        int64     `json:"age_ms"` // how old what it says of the state directory is
	PID        int       `json:"pid"`
	Version    string    `json:"version"`
	Since      time.Time `json:"since"`
	Listen     string    `json:"listen,omitzero"` // address of the loopback listener
	Plain      int64     `json:"plain,omitzero"`  // requests there with a valid token, but without TLS
	Running    int       `json:"running"`         // invocations being decided
	Waiting    int       `json:"waiting"`         // invocations waiting for their turn
	Decided    int64     `json:"decided"`         // invocations since the start
	Overloaded int64     `json:"overloaded"`      // refused because too many were waiting

	Connections int   `json:"connections"`        // open now
	GaveWay     int64 `json:"gave_way,omitzero"`  // idle connections that were ended for new ones
	Exhausted   int64 `json:"exhausted,omitzero"` // times that a new one found all taken, or no file descriptor

	Limit       int   `json:"connection_limit,omitzero"` // of connections on each address; 0: of a daemon that does not say
	Busiest     int   `json:"busiest,omitzero"`          // connections open now on the address that has most
	AllTaken    int64 `json:"all_taken,omitzero"`        // of Exhausted: found all connections taken
	Descriptors int64 `json:"no_descriptor,omitzero"`    // of Exhausted: no file descriptor or memory
	ExhaustedMS int64 `json:"exhausted_ms,omitzero"`     // how long ago the last of Exhausted was, at least 1; 0: never
}

// Hook says how a binding stands.
type Hook struct {
	Name         string         `json:"name"`
	Module       string         `json:"module"`
	Digest       string         `json:"digest,omitzero"`
	Version      string         `json:"version,omitzero"`
	Tier         phases.Tier    `json:"tier,omitzero"`
	Signer       string         `json:"signer,omitzero"`
	Mode         phases.Mode    `json:"mode"`
	Priority     int            `json:"priority"`
	Phases       []phases.Phase `json:"phases"`
	Mutates      []phases.Phase `json:"mutates,omitzero"`
	Capabilities []string       `json:"capabilities"` // that it really holds
	Disabled     bool           `json:"disabled,omitzero"`
	Problem      string         `json:"problem,omitzero"` // why it blocks its phases
}

// Session names a session of a runtime.
type Session struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
}

// Latch is a session in which everything that can be blocked is, or what Scope says.
type Latch struct {
	Runtime    string      `json:"runtime"`
	Session    string      `json:"session"`
	Reason     string      `json:"reason"`
	Kind       phases.Kind `json:"kind"` // of the verdict
	DecidedBy  string      `json:"decided_by"`
	Invocation string      `json:"invocation"` // the invocation that could not be blocked
	Since      time.Time   `json:"since"`

	ID    string           `json:"id,omitzero"`    // of the event that latched; "" in latches of older versions
	Cause phases.LatchKind `json:"cause"`          // the kind of the latch
	Event string           `json:"event,omitzero"` // id of the refusal or verdict; "" when it was not recorded
	Scope string           `json:"scope"`          // session, unnamed (what names no session) or runtime (all)
	Ends  phases.LatchEnd  `json:"ends,omitzero"`  // what ends it beside a person
}

// Query selects events; zero members select everything.
type Query struct {
	After      int64 // only events with a larger sequence number
	Before     int64 // only events with a smaller sequence number; 0 means no bound
	Since      time.Time
	Until      time.Time // exclusive
	ID         string
	Type       phases.EventType
	Except     phases.EventType // all but this type
	Phase      phases.Phase
	Runtime    string
	Session    string
	Agent      string
	Tool       string
	Invocation string
	Binding    string
	Decision   string
	Kind       phases.Kind
	Newest     bool // the last Limit events instead of the first; ascending all the same
	Limit      int  // 0 means 100; at most 10 000
}

// Answer is what a runtime's payload comes to, for a caller that the runtime
// started as a command: it writes Stdout and Stderr and ends with Exit.
type Answer struct {
	Stdout   string           `json:"stdout"`
	Stderr   string           `json:"stderr"`
	Exit     int              `json:"exit"` // 0 or 2
	Notes    []string         `json:"notes"`
	Verdicts []phases.Verdict `json:"verdicts"`
}

// Health is what /healthz answers, to everybody: no path, no text.
type Health struct {
	OK    bool         `json:"ok"`     // false, with status 503: every action is blocked
	State string       `json:"state"`  // ok, degraded or failing
	Age   int64        `json:"age_ms"` // how old that is; above 10 s it is failing
	Sinks []SinkHealth `json:"sinks"`
}

// SinkHealth is one place for events, checkpoints or recordings.
type SinkHealth struct {
	Kind    string `json:"kind"` // store, jsonl, checkpoint or recordings
	Durable bool   `json:"durable"`
	OK      bool   `json:"ok"`
	Trouble string `json:"trouble,omitzero"` // disk_full, io_error, no_access, foreign, rolled_back, tampered, unavailable
}

// Reloaded is what a reload came to.
type Reloaded struct {
	Revision string `json:"revision"` // of configuration and trust policy that are in use now
}

// List is the envelope of listings; a member that the request did not ask for is absent.
type List struct {
	Events  []phases.Event `json:"events,omitzero"`
	More    bool           `json:"more,omitzero"` // of the events that were asked for there are more than the answer holds
	Hooks   []Hook         `json:"hooks,omitzero"`
	Latches []Latch        `json:"latches,omitzero"`

	Approvals []Approval `json:"approvals,omitzero"`
	Leases    []Lease    `json:"leases,omitzero"`
}

// Problem is the envelope of every answer that is not a success.
type Problem struct {
	Error ProblemBody `json:"error"`
	// Event is the record of the refusal, when there is one.
	Event *phases.EventRef `json:"event,omitzero"`
}

// ProblemBody says what went wrong. Message is safe to show.
type ProblemBody struct {
	Code     string          `json:"code"` // stable; see Code* constants
	Message  string          `json:"message"`
	Hint     string          `json:"hint,omitzero"`
	Pointer  string          `json:"pointer,omitzero"`  // JSON Pointer into the request's body
	Decision phases.Decision `json:"decision,omitzero"` // block, where an action was asked about

	Trouble string `json:"trouble,omitzero"` // rolled_back or tampered: asking again is no use until `belay recover`
}

// Codes of problems. They are few and stable.
const (
	CodeInvocation = "invalid_invocation" // 400
	CodeRequest    = "invalid_request"    // 400
	CodeToken      = "unauthenticated"    // 401
	CodeRole       = "wrong_role"         // 403
	CodeForbidden  = "forbidden"          // 403: by the look of the connection
	CodeNotFound   = "not_found"          // 404
	CodeMethod     = "method_not_allowed" // 405
	CodeConfig     = "invalid_config"     // 409
	CodeConflict   = "conflict"           // 409: decided already, run out, or about something else
	CodeSignature  = "not_signed"         // 403: not by a reviewer
	CodeLog        = "log"                // 409: the event log cannot be compacted as it is
	CodeQuota      = "quota"              // 429: too many undecided questions
	CodeTooLarge   = "too_large"          // 413
	CodeMediaType  = "media_type"         // 415
	CodeInternal   = "internal"           // 500
	CodeOverloaded = "overloaded"         // 503
	CodeStore      = "store"              // 503
)

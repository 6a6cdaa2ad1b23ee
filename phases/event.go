package phases

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// EventType says what an event records.
type EventType string

const (
	EventHook    EventType = "hook"    // one turn of one hook
	EventVerdict EventType = "verdict" // the combined answer of one invocation
	EventFailure EventType = "failure" // the kernel could not even run the chain
	EventLatch   EventType = "latch"   // a session was latched or cleared
	EventGap     EventType = "gap"     // events of this process could not be stored; see Output
	EventLease   EventType = "lease"   // a lease was asked for, made, used, renewed or taken back; see Output
	EventNotice  EventType = "notice"  // an operator's act: unsafe mode, reload, policy change
	EventIntent  EventType = "intent"  // something is about to happen outside of belay because a hook asked for it
	EventOutcome EventType = "outcome" // what came of an intent: ok, error, timeout, crashed, or unknown
	// EventApproval: a question to a person was asked, decided, used up, or ran
	// out; Decision says which, Output which item.
	EventApproval EventType = "approval"

	// EventCompaction announces that the contents of the oldest events are removed;
	// Output holds the signed statement.
	EventCompaction EventType = "compaction"

	// EventRecovery: a person has decided that the database goes on as it is although it
	// went back behind its high-water mark; Output says from where to where.
	EventRecovery EventType = "recovery"

	// EventMismatch: a tool call ran otherwise than belay released it, or belay was never asked about
	// it; Decision says which, Changed what differs.
	EventMismatch EventType = "mismatch"

	// EventReconcile: a runtime's own log of a session was compared with belay's; Decision says what came
	// of it, Output holds the comparison.
	EventReconcile EventType = "reconcile"

	// EventAccess: who came to a daemon, and not what was asked: a caller that was refused before a question of it was
	// read, one whose answers about its own files do not count, or a user who is served from now on, or not any more;
	// Decision says which, Output holds a wire.Access.
	EventAccess EventType = "access"
)

// EventTypes returns all types of events, in the order in which people are shown them.
func EventTypes() []EventType {
	return []EventType{EventVerdict, EventHook, EventFailure, EventLatch, EventGap, EventNotice, EventApproval,
		EventCompaction, EventIntent, EventOutcome, EventLease, EventRecovery, EventMismatch, EventReconcile,
		EventAccess}
}

// Event is one record of the log. Everything in it is already redacted;
// originals are present only as keyed digests. Seq is given by the store.
type Event struct {
	Seq int64 `json:"seq"`
	// sha256:<hex> of the rows that restrict after its batch; the store gives it to the last event of each
	Restrictions string `json:"restrictions,omitzero"`
	// likewise of the rows that restrict all kernels of an organisation, where another store than the log's holds them
	Shared         string         `json:"shared,omitzero"`
	ID             string         `json:"id"` // UUIDv7
	Type           EventType      `json:"type"`
	Time           time.Time      `json:"time"`
	Invocation     string         `json:"invocation,omitzero"`
	Phase          Phase          `json:"phase,omitzero"`
	Runtime        string         `json:"runtime,omitzero"`
	Session        string         `json:"session,omitzero"`
	Agent          string         `json:"agent,omitzero"`
	Run            string         `json:"run,omitzero"`
	User           string         `json:"user,omitzero"`
	Tool           string         `json:"tool,omitzero"`
	Binding        string         `json:"binding,omitzero"`
	HookDigest     string         `json:"hook_digest,omitzero"`
	HookVersion    string         `json:"hook_version,omitzero"`
	Tier           Tier           `json:"tier,omitzero"`
	Signer         string         `json:"signer,omitzero"`
	Mode           Mode           `json:"mode,omitzero"`
	Pass           Pass           `json:"pass,omitzero"`
	PolicyRevision string         `json:"policy_revision,omitzero"`
	Enforced       Enforced       `json:"enforced,omitzero"`
	Decision       string         `json:"decision,omitzero"` // a Decision, or a HookDecision for hook events
	Reason         string         `json:"reason,omitzero"`
	Kind           Kind           `json:"kind,omitzero"`
	DecidedBy      string         `json:"decided_by,omitzero"`
	Input          jsontext.Value `json:"input,omitzero"`         // redacted
	Output         jsontext.Value `json:"output,omitzero"`        // redacted: effects, or the final action
	InputDigest    string         `json:"input_digest,omitzero"`  // hmac-sha256:<hex> of the original
	OutputDigest   string         `json:"output_digest,omitzero"` // likewise
	Masked         []string       `json:"masked,omitzero"`        // "/input/…" and "/output/…" pointers that were covered
	Changed        []string       `json:"changed,omitzero"`
	Detail         string         `json:"detail,omitzero"` // for operators: a failure's cause, redacted and escaped
	Logs           []string       `json:"logs,omitzero"`   // what the hook logged, redacted
	Notes          []string       `json:"notes,omitzero"`
	Fuel           int64          `json:"fuel,omitzero"`
	MemoryPeak     int64          `json:"memory_peak,omitzero"` // bytes
	Hostcalls      int            `json:"hostcalls,omitzero"`
	DurationUS     int64          `json:"duration_us,omitzero"`
	Intent         string         `json:"intent,omitzero"` // the id of the intent's event; intent and outcome events only
	Traceparent    string         `json:"traceparent,omitzero"`
	// of the invocation's random streams, hexadecimal; verdict events only
	Seed string `json:"seed,omitzero"`
}

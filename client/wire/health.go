package wire

import "time"

// Health is what /healthz answers, to everybody: no path, no text.
type Health struct {
	OK    bool         `json:"ok"` // false, with status 503: every action is blocked
	State HealthState  `json:"state"`
	Age   int64        `json:"age_ms"` // how old that is; above 10 s it is failing
	Sinks []SinkHealth `json:"sinks"`
}

// SinkHealth is one place for events, checkpoints or recordings.
type SinkHealth struct {
	Kind    string `json:"kind"` // store, postgres, jsonl, checkpoint or recordings
	Durable bool   `json:"durable"`
	OK      bool   `json:"ok"`
	Trouble string `json:"trouble,omitzero"` // disk_full, io_error, no_access, foreign, rolled_back, tampered, unavailable
}

// SinkRecordings is the kind of what keeps full inputs, beside the record.
const SinkRecordings = "recordings"

// SinkPostgres is the kind of a PostgreSQL that has leases and approvals, and gets the events of a local log.
const SinkPostgres = "postgres"

// Sink says how one place for events, checkpoints or recordings stands.
type Sink struct {
	Kind    string    `json:"kind"` // store, postgres, jsonl, checkpoint or recordings
	Path    string    `json:"path,omitzero"`
	Durable bool      `json:"durable"` // while it fails every action is blocked
	OK      bool      `json:"ok"`
	Seq     int64     `json:"seq,omitzero"`     // the last event that is known to be in it
	Trouble string    `json:"trouble,omitzero"` // why it is not OK, in a word
	Problem string    `json:"problem,omitzero"` // the same, for operators
	Since   time.Time `json:"since,omitzero"`
	Kept    int64     `json:"kept,omitzero"` // of recordings: invocations that were kept since the start
	Lost    int64     `json:"lost,omitzero"` // and those that could not be
	// what is not as it should be while it works
	Warning string `json:"warning,omitzero"`
	// of postgres: how far the local log is forwarded to it; nil: by an older daemon
	Forwarding *Forwarding `json:"forwarding,omitzero"`
}

// Forwarding is how the forwarding of a local log stands.
type Forwarding struct {
	State   ForwardingState `json:"state"`
	Waiting int64           `json:"waiting"`         // events that PostgreSQL lacks
	Bytes   int64           `json:"bytes"`           // that they take, about
	Keep    int64           `json:"keep"`            // so many may wait
	Last    time.Time       `json:"last,omitzero"`   // when this process has forwarded an event
	Oldest  time.Time       `json:"oldest,omitzero"` // of the events that wait
}

// BacklogWarns is from how many per cent of Keep on belay warns.
const BacklogWarns = 80

// Filled is how much of what may wait does, in per cent.
func (f *Forwarding) Filled() int64 {
	if f.Keep <= 0 {
		return 0
	}
	return int64(float64(f.Bytes) / float64(f.Keep) * 100)
}

// ForwardingState is what a person has to know of it, in a word.
type ForwardingState string

const (
	Forwards         ForwardingState = "forwards"
	ForwardingAway   ForwardingState = "away"   // PostgreSQL cannot be used: belay tries again by itself
	ForwardingFull   ForwardingState = "full"   // more waits than may: every action is blocked
	ForwardingForked ForwardingState = "forked" // the log in PostgreSQL is not a beginning of the local one
	ForwardingLost   ForwardingState = "lost"   // PostgreSQL lacks an event that it had
)

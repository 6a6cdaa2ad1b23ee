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
}

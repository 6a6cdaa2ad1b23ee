package wire

import "time"

// Status says whether belay can do its work.
type Status struct {
	Dir      string `json:"dir"`
	Store    string `json:"store"`    // the state directory's name in the statements of reviewers
	Revision string `json:"revision"` // of configuration and trust policy in use, as in verdicts
	Engine   string `json:"engine"`   // compiler or interpreter
	// where hooks that do not come with belay are compiled: CompileApart or CompileHere; "": by an older daemon
	Compile  string      `json:"compile,omitzero"`
	LastSeq  int64       `json:"last_seq"`              // number of the newest event
	Gone     int64       `json:"compacted,omitzero"`    // events 1 to this number have no contents any more
	GoneBy   int64       `json:"compacted_by,omitzero"` // the event that announces that
	Healthy  bool        `json:"healthy"`               // false: every action is blocked
	Health   HealthState `json:"health"`                // the same in three steps
	Problems []string    `json:"problems"`              // why it is not healthy, or why an older configuration is in force
	Warnings []string    `json:"warnings"`              // why it is degraded
	// why trust.yaml cannot be used; "": it can, or there is none
	TrustProblem string  `json:"trust_problem,omitzero"`
	Sinks        []Sink  `json:"sinks"`
	Latches      []Latch `json:"latches"`
	// events of a day that could neither be read nor blocked, and named no session to latch
	Unheld int `json:"unheld,omitzero"`
	// calls of a day that ran otherwise than belay released them, or although it refused them
	Changed int `json:"changed_calls,omitzero"`
	// calls of a day that belay was never asked about
	Unasked int `json:"unasked_calls,omitzero"`
	// events of a day that show calls whose results did not come to belay
	Undecided int `json:"undecided_calls,omitzero"`
	// Reconciled counts the sessions of a week whose logs were compared with belay's.
	Reconciled Reconciled `json:"reconciled,omitzero"`
	// LeftBehind names the hooks that ignored their deadline and still run: they block until that has ended.
	LeftBehind []string `json:"left_behind,omitzero"`
	// Rules are the rules files that hooks are built from, as they are in force.
	Rules  []RulesFile `json:"rules,omitzero"`
	Daemon *Daemon     `json:"daemon,omitzero"`

	// Unsigned counts the revisions of belay.yaml and trust.yaml that came into force
	// without a reviewer's signature since a person accepted one.
	Unsigned UnsignedRevisions `json:"unsigned_revisions,omitzero"`

	// ChangedTools are MCP servers that describe their tools otherwise than was accepted, and wait
	// for a person; see package toolpins.
	ChangedTools []ChangedTools `json:"changed_tools,omitzero"`
	// ToolProblem says why no tool of an MCP server runs: what was accepted cannot be read; "": it can
	ToolProblem string `json:"tool_problem,omitzero"`
}

// ChangedTools is what one MCP server says otherwise.
type ChangedTools struct {
	Server  string    `json:"server"`
	Since   time.Time `json:"since"`
	Changes []string  `json:"changes"` // the first of them, a few words each
}

// RulesFile is a rules file that hooks are built from.
type RulesFile struct {
	File   string `json:"file"`            // as belay.yaml names it
	Digest string `json:"digest,omitzero"` // sha256:<hex> of its content; "": it cannot be read
}

// HealthState is how well belay can do its work.
type HealthState string

const (
	HealthOK       HealthState = "ok"
	HealthDegraded HealthState = "degraded" // actions are decided; a sink that is not durable fails
	HealthFailing  HealthState = "failing"  // every action is blocked
)

// Where modules that do not come with belay are compiled, in Status.Compile.
const (
	CompileApart = "apart" // in a process with limits of time and memory
	CompileHere  = "here"  // in the process that decides, by estimate alone
)

// UnsignedRevisions are changes of the configuration that no reviewer has signed.
type UnsignedRevisions struct {
	Count int       `json:"count"`
	Since time.Time `json:"since,omitzero"` // of the first
	Last  time.Time `json:"last,omitzero"`
	Seq   int64     `json:"seq,omitzero"` // the event of the last
}

// Daemon is what a daemon says about itself.
type Daemon struct {
	Age        int64     `json:"age_ms"` // of its data about the state directory
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

	// of connections on each address; 0: of a daemon that does not say
	Limit       int   `json:"connection_limit,omitzero"`
	Busiest     int   `json:"busiest,omitzero"`       // connections open now on the address that has most
	AllTaken    int64 `json:"all_taken,omitzero"`     // of Exhausted: found all connections taken
	Descriptors int64 `json:"no_descriptor,omitzero"` // of Exhausted: no file descriptor or memory
	ExhaustedMS int64 `json:"exhausted_ms,omitzero"`  // how long ago the last of Exhausted was, at least 1; 0: never

	Machine *Machine `json:"machine,omitzero"` // of system mode; nil: without it
}

// Machine is how the process of system mode's daemon stands.
type Machine struct {
	Landlock int    `json:"landlock"`     // version in force; 0: none
	Log      string `json:"log,omitzero"` // why the log of refused callers cannot be written; "": it can
}

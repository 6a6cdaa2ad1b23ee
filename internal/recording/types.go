package recording

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Version is the only version of the format.
const Version = "belay-recording/v1"

// Limits of one recording.
const (
	MaxLineBytes = 64 << 20   // one line: an invocation with its traces
	MaxRuns      = 10_000_000 // invocations in one file
	MaxChains    = 10_000     // configurations in one file
)

// Sources of recordings.
const (
	SourceEval       = "eval"
	SourceDaemon     = "daemon"
	SourceKept       = "kept"   // by the operator's policy, or from such recordings
	SourceEvents     = "events" // from stored events: redacted, verdicts only
	SourceTranscript = "claude-transcript"
	SourceHooks      = "claude-hooks"
	SourceLines      = "jsonl"
	SourceTest       = "test" // made by a tool, such as a shrunk finding
)

// Header is the first line.
type Header struct {
	Version   string `json:"version"`
	Source    string `json:"source"`
	CostTable int    `json:"cost_table"` // fuel of different tables cannot be compared; 0: there is no fuel in it
	// Redacted: the invocations are not as they came in, because they were made from
	// events. Such runs hold decisions, and nothing that those were made from.
	Redacted bool `json:"redacted,omitzero"`
}

// Chain is a configuration with everything in it loaded. Runs name it by its digest.
type Chain struct {
	Revision       string        `json:"revision"`
	Ceiling        phases.Scopes `json:"ceiling,omitzero"`
	BudgetMS       int64         `json:"budget_ms,omitzero"`
	Home           string        `json:"home,omitzero"` // the meaning of ~
	UnsafeFailOpen bool          `json:"unsafe_fail_open,omitzero"`
	Require        []Require     `json:"require,omitzero"`
	Bindings       []Binding     `json:"bindings"` // in the order of the configuration
}

// Require is kernel.Require.
type Require struct {
	Phases []phases.Phase `json:"phases"`
	Tools  string         `json:"tools,omitzero"`
	Hooks  []string       `json:"hooks"`
}

// Binding is one hook as it was in force.
type Binding struct {
	Name      string         `json:"name"`
	Digest    string         `json:"digest,omitzero"` // sha256:<hex> of the module
	Version   string         `json:"version,omitzero"`
	Tier      phases.Tier    `json:"tier"`
	Signer    string         `json:"signer,omitzero"`
	Mode      phases.Mode    `json:"mode"`
	Priority  int            `json:"priority,omitzero"`
	Phases    []phases.Phase `json:"phases,omitzero"` // none: every phase (a hook that could not be loaded)
	Mutates   []phases.Phase `json:"mutates,omitzero"`
	Imports   []string       `json:"imports,omitzero"`
	Held      []string       `json:"held,omitzero"`    // capabilities
	Allowed   *[]string      `json:"allowed,omitzero"` // by the operator; absent: all that it declares
	Match     tiers.Match    `json:"match,omitzero"`
	Config    Raw            `json:"config,omitzero"`
	State     string         `json:"state,omitzero"` // namespace; "" means the name
	Apart     bool           `json:"apart,omitzero"` // what it annotates is kept apart
	Fuel      int64          `json:"fuel,omitzero"`
	TimeoutMS int64          `json:"timeout_ms,omitzero"`
	Budget    tiers.Budget   `json:"budget,omitzero"` // from the operator
	Notes     []string       `json:"notes,omitzero"`
	Failure   *Fault         `json:"failure,omitzero"` // why it could not be loaded
	Trust     bool           `json:"trust,omitzero"`   // the failure is about trust
}

// Fault is a failure by its kind and its safe text.
type Fault struct {
	Kind phases.Kind `json:"kind"`
	Text string      `json:"text"`
}

// Run is one invocation.
type Run struct {
	Chain      string  `json:"chain,omitzero"` // digest of the Chain; none in redacted recordings
	Invocation Raw     `json:"invocation"`     // wire form; the hooks read its time as the time
	Options    Options `json:"options,omitzero"`
	Seed       string  `json:"seed,omitzero"` // of the random streams, hexadecimal
	Carried    Carried `json:"carried,omitzero"`
	Latch      *Latch  `json:"latch,omitzero"`
	Turns      []Turn  `json:"turns,omitzero"`
	// ReportedTime is the time by the caller. Recordings of hosts that went by the caller's
	// clock have none: the invocation's time is then the caller's.
	ReportedTime time.Time `json:"reported_time,omitzero"`
	// Reach is the scopes of the tool that a hook asked for.
	Reach   *phases.Scopes `json:"reach,omitzero"`
	Chained Verdict        `json:"chained"` // the decision of the hooks
	Final   Final          `json:"final"`   // as it was released
}

// Decode returns the invocation with the times that its hooks read. The error is a
// *phases.DecodeError.
func (r *Run) Decode() (phases.Invocation, error) {
	inv, err := phases.DecodeInvocation(r.Invocation)
	if err != nil {
		return phases.Invocation{}, err
	}
	inv.ReportedTime = r.ReportedTime.UTC()
	return inv, inv.Validate()
}

// Options is kernel.InvokeOptions, in the form that the file has had from the
// beginning. scopes_lost says that the kernel held the action to its scopes, the
// opposite of HoldsScopes: recordings without it were made for callers that held them.
type Options struct {
	Unblockable  bool           `json:"unblockable,omitzero"`
	Delegated    bool           `json:"delegated,omitzero"`
	ScopesLost   bool           `json:"scopes_lost,omitzero"`
	OnBehalf     bool           `json:"on_behalf,omitzero"` // a hook asked for it
	ParentScopes *phases.Scopes `json:"parent_scopes,omitzero"`
}

// Carried is the state that a run carries from one invocation to the next.
type Carried struct {
	Version  int64            `json:"version,omitzero"`
	Metadata map[string]Entry `json:"metadata,omitzero"`
	Retries  map[string]int   `json:"retries,omitzero"`
}

// Entry is one metadata value. Value is JSON text, byte for byte.
type Entry struct {
	Value string      `json:"value"`
	Hook  string      `json:"hook"`
	Tier  phases.Tier `json:"tier"`
}

// Latch is the latch of the session.
type Latch struct {
	Reason     string      `json:"reason"`
	Kind       phases.Kind `json:"kind,omitzero"`
	DecidedBy  string      `json:"decided_by,omitzero"`
	Invocation string      `json:"invocation,omitzero"`
	Since      time.Time   `json:"since"`

	ID    string           `json:"id,omitzero"`
	Cause phases.LatchKind `json:"cause,omitzero"`
	Event string           `json:"event,omitzero"`
}

// Verdict is the part of phases.Verdict that the hooks answer for.
type Verdict struct {
	Decision  phases.Decision   `json:"decision"`
	Reason    string            `json:"reason,omitzero"`
	Kind      phases.Kind       `json:"kind,omitzero"`
	DecidedBy string            `json:"decided_by,omitzero"`
	Action    jsontext.Value    `json:"action,omitzero"`
	Changed   []string          `json:"changed,omitzero"`
	Scopes    phases.Scopes     `json:"scopes,omitzero"`
	Metadata  phases.Metadata   `json:"metadata,omitzero"`
	Contexts  []string          `json:"contexts,omitzero"`
	Reply     *phases.Reply     `json:"reply,omitzero"`
	Retry     *phases.Retry     `json:"retry,omitzero"`
	Artifacts []phases.Artifact `json:"artifacts,omitzero"`
	Grant     *phases.Grant     `json:"grant,omitzero"`
	Notes     []string          `json:"notes,omitzero"`
}

// Final is the released verdict, in short.
type Final struct {
	Decision  phases.Decision `json:"decision"`
	Kind      phases.Kind     `json:"kind,omitzero"`
	Reason    string          `json:"reason,omitzero"`
	DecidedBy string          `json:"decided_by,omitzero"`
	Enforced  phases.Enforced `json:"enforced,omitzero"`
}

// Turn is one call of one hook, in the order in which turns counted.
type Turn struct {
	Binding     string      `json:"binding"`
	Pass        phases.Pass `json:"pass"`
	InputSHA256 string      `json:"input_sha256,omitzero"`
	Input       Raw         `json:"input,omitzero"`  // of audit turns: the record as it was redacted
	Action      Raw         `json:"action,omitzero"` // of audit turns
	Seed        string      `json:"seed,omitzero"`   // of audit turns
	Ran         bool        `json:"ran"`             // false: it could not be loaded, or there was no time left
	Budget      int64       `json:"budget,omitzero"` // fuel that it was given
	Ports       []string    `json:"ports,omitzero"`
	Calls       []Call      `json:"calls,omitzero"`
	Answers     []Answer    `json:"answers,omitzero"`
	Injected    []Injected  `json:"injected,omitzero"`   // calls that were made to fail, by a test
	Incomplete  bool        `json:"incomplete,omitzero"` // more calls than a trace holds
	Outcome     Outcome     `json:"outcome,omitzero"`
	Fault       *Fault      `json:"fault,omitzero"` // why it failed by itself
	Report      Report      `json:"report"`
}

// Call is one hostcall with its answer.
type Call struct {
	Name  string      `json:"call"`
	In    []Value     `json:"in,omitzero"`
	Long  []bool      `json:"long,omitzero"` // which arguments were longer than the call takes
	I32   int32       `json:"i32,omitzero"`
	Cap   uint32      `json:"cap,omitzero"`
	Code  int64       `json:"code,omitzero"`
	Out   *Value      `json:"out,omitzero"`
	Reply *Value      `json:"reply,omitzero"`
	Fuel  int64       `json:"fuel,omitzero"`
	Fault phases.Kind `json:"fault,omitzero"` // why it ended the turn
}

// Answer is the answer of a port to a request.
type Answer struct {
	Port    string `json:"port"`
	Request *Value `json:"request,omitzero"`
	Reply   *Value `json:"reply,omitzero"`
	Version int64  `json:"version,omitzero"`
	Keys    int    `json:"keys,omitzero"`
	Bytes   int    `json:"bytes,omitzero"`
	Errno   int32  `json:"errno,omitzero"`
	Fuel    int64  `json:"fuel,omitzero"` // charged to the call
	Error   string `json:"error,omitzero"`
}

// Injected is hostcalls.Injected.
type Injected struct {
	Call  int   `json:"call"` // counted from 1
	Errno int32 `json:"errno,omitzero"`
	Long  bool  `json:"long,omitzero"` // more than the guest's buffer holds
}

// Injector makes the calls fail again; nil when there are none.
func (t *Turn) Injector() hostcalls.Injector {
	if len(t.Injected) == 0 {
		return nil
	}
	var list hostcalls.Injections
	for _, i := range t.Injected {
		list = append(list, hostcalls.Injected{Call: i.Call, Errno: hostcalls.Errno(i.Errno), Long: i.Long})
	}
	return list
}

// Outcome is the outcome of one turn, as far as it is the same every time.
type Outcome struct {
	Effects     []phases.Effect `json:"effects,omitzero"`
	StateWrites []StateWrite    `json:"state_writes,omitzero"`
	Wishes      []Wish          `json:"wishes,omitzero"`
	Logs        []Log           `json:"logs,omitzero"`
	LogsDropped int             `json:"logs_dropped,omitzero"`
	Notes       []string        `json:"notes,omitzero"`
	FailText    string          `json:"fail_text,omitzero"`
	Detail      string          `json:"detail,omitzero"` // for people; not compared
	Fuel        int64           `json:"fuel"`
	MemoryPeak  int64           `json:"memory_peak"` // bytes
	Hostcalls   int             `json:"hostcalls"`
}

// StateWrite is a write that a turn asked for.
type StateWrite struct {
	Key     string `json:"key"`
	Value   *Value `json:"value,omitzero"`
	Delete  bool   `json:"delete,omitzero"`
	Version int64  `json:"version,omitzero"`
}

// Wish is a call that an observing hook made in vain.
type Wish struct {
	Call    string `json:"call"`
	Request Value  `json:"request"`
}

// Log is one line that a hook logged.
type Log struct {
	Level int    `json:"level,omitzero"`
	Text  string `json:"text"`
}

// Report is a turn's part in the decision.
type Report struct {
	Decision phases.HookDecision `json:"decision"`
	Reason   string              `json:"reason,omitzero"`
	Kind     phases.Kind         `json:"kind,omitzero"`
	Notes    []string            `json:"notes,omitzero"`
}

// End is the last line.
type End struct {
	Chains int `json:"chains"`
	Runs   int `json:"runs"`
	// invocations that are missing: the recorder was too slow for them, or they were too large
	Dropped int    `json:"dropped,omitzero"`
	Cut     bool   `json:"cut,omitzero"` // it ended before its source did, which may have dropped more
	SHA256  string `json:"sha256"`       // of all lines before this one
}

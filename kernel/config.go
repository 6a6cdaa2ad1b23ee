package kernel

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// Defaults of budgets.
const (
	defaultFuel        int64 = 100 << 20
	defaultHookTimeout       = 250 * time.Millisecond
	defaultChainBudget       = 2 * time.Second
	maxHookTimeout           = 30 * time.Second

	// ceilingFactor is how many times its budget of work a turn may take by the clock on
	// the wall; the chain's budget holds as well.
	ceilingFactor = 10
)

// FuelOf is the fuel of a hook: what the operator gave, else what the manifest
// wants, else the default.
func FuelOf(operator, wanted tiers.Budget) int64 {
	return cmp.Or(operator.Fuel, wanted.Fuel, defaultFuel)
}

// TrustedPriority is the least priority that only trusted bindings can have.
const TrustedPriority = 100

// ErrTrust marks load failures that say something about trust, such as a file
// with another digest than the one that was pinned: they block even where
// UnsafeFailOpen lets other failures pass.
var ErrTrust = errors.New("the module is not the one that was trusted")

// Config is an operator's configuration. It must not be changed after it
// was handed to Open or Reload.
type Config struct {
	Revision string // names the exact configuration; recorded with every verdict

	// Announce, when it is not nil, is asked what the log is to say of this revision
	// before any event under it is logged.
	Announce Announcer

	Bindings []BindingSpec
	Require  []Require
	Ceiling  phases.Scopes // the most that any action may touch

	// ChainBudget bounds the time of all hooks of one invocation together; 0
	// means 2 seconds. Observing hooks have the same budget once more.
	ChainBudget time.Duration

	// RawToolResults shows hooks the results of the tools that they call as the chain
	// of post_tool left them. Otherwise secrets are redacted in them, as in the record.
	RawToolResults bool

	// NoTools says that Options.Tools runs none under this configuration: request_tool_call
	// answers "unavailable".
	NoTools bool

	// Judges says whether an enforcing hook may be asked in the phase, for a configuration
	// that holds no bindings because it was opened to look at records. Nil: Bindings are all.
	Judges func(phases.Phase) bool

	// Default says for a phase what becomes of an action that no hook was asked about which could
	// block it or ask: Allow ("" means it too), Ask or Block.
	Default map[phases.Phase]phases.Decision
	// UnknownTools says the same for a call of pre_tool whose tool is in no table of belay and not in
	// KnownTools, whatever hooks were asked about it. Tools of MCP servers are in no table.
	UnknownTools phases.Decision
	KnownTools   phases.Scope // patterns of normalised names; nil means none

	// OpenShells says what becomes of a command that reads further commands from its terminal, where
	// the runtime shows no hook what is typed there (InvokeOptions.UnseenInput): Block ("" means it
	// too), Ask or Allow.
	OpenShells phases.Decision

	// LatchChangedCalls latches the session of a call that ran otherwise than it was released. Without
	// it the call's result is withheld, and its event is all.
	LatchChangedCalls bool
	// LatchReconcile latches a session whose own log differs from belay's. Without it the difference is an
	// event, and red in the status.
	LatchReconcile bool

	RequireLease []RequireLease // what takes a lease
	LeaseRules   []LeaseRule    // answers to requests for leases, the first that fits
	MaxLeaseTTL  time.Duration  // the longest lease that a hook may make; 0 means leases.DefaultMaxTTL

	Approvals approvals.Settings   // the queue of what people decide
	Reviewers []approvals.Reviewer // whose decisions count
}

// BindingSpec is one installed hook as the operator wrote it.
type BindingSpec struct {
	Name     string
	Module   string // what the Loader understands
	Digest   string // sha256:<hex> that the file must have; "" when Module says it
	Phases   []phases.Phase
	Priority int
	Tier     phases.Tier  // that the hook must have at least; "" means any
	Match    *tiers.Match // nil means the manifest's
	Config   jsontext.Value
	// Place says where the member of Config that a JSON Pointer names was written, "" when that is not known; may be nil
	Place   func(pointer string) string
	Allowed []string // capabilities; nil means everything that the manifest declares
	Budget  tiers.Budget
	Mode    phases.Mode // "" means enforce
	HTTP    any         // what the Loader makes a Loaded.HTTP of; nil means no host is allowed
	// the record redacts what its rewrites take out; nil means that it does if the hook imports find_secrets
	Redacts *bool
	State   string // namespace of its state; "" means Name
	// what it asks waits in the queue, also where the caller puts questions to the person itself
	Queued bool
	// Config.Default decides as if the hook had not been asked
	KeepsDefault bool
	// what it annotates is kept apart: only hooks that are kept apart see it
	Apart bool
}

// Require blocks an action of the phases (in tool phases: of the tools) unless every
// named binding has run and counted.
type Require struct {
	Phases []phases.Phase
	Tools  string // RE2; "" means all
	Hooks  []string
}

// Loader verifies a binding and turns it into a hook that runs. A Kernel makes its calls one
// after the other.
type Loader interface {
	// Load is called once for each binding when a configuration is taken into
	// use. An error is a *phases.Fault with a text that is safe to show; the
	// binding then blocks its phases instead of being left out. Errors about
	// trust are ErrTrust for errors.Is.
	Load(ctx context.Context, spec BindingSpec) (*Loaded, error)
}

// Loaded is a hook that is ready to run, with its description.
type Loaded struct {
	Hook         Hook
	Digest       string // sha256:<hex> of the file
	Version      string
	Tier         phases.Tier
	Signer       string
	Phases       []phases.Phase // that it serves
	Mutates      []phases.Phase // in which it changes the action
	Imports      []string       // calls that it can make
	Capabilities []string       // granted: declared ∩ allowed ∩ ceiling of the tier
	Match        tiers.Match    // default of the manifest
	Budget       tiers.Budget   // wanted by the manifest
	Notes        []string       // for the operator; shown with every verdict
	HTTP         HTTPCaller     // answers http_request; nil: no host is allowed
	Close        func() error   // when the configuration is no longer used; may be nil

	// EndsItself: each turn ends by itself soon after its deadline, unless one of its calls waits
	// (hostcalls.Call.Waits). A hook without such calls is run without a watch.
	EndsItself bool
}

// Hook runs turns. It is safe for concurrent use.
type Hook interface {
	// Run calls the hook once. The outcome is complete also beside an error, as
	// far as the turn got. The error is a *phases.Fault; anything else counts as
	// kind trap. Run obeys ctx.
	Run(ctx context.Context, t Turn) (Outcome, error)
}

// Turn is one call of one hook.
type Turn struct {
	Session hostcalls.SessionConfig // the input, grants and limits of the hook
	Fuel    int64
	Timeout time.Duration // of work, without calls that reach beyond the host and waiting for a processor
	// by the clock on the wall, without calls that reach beyond the host; 0 derives it from Timeout
	Ceiling time.Duration
	Slice   int64 // fuel between two looks at the deadline; 0 means the sandbox's default
}

// Outcome is the result of one call.
type Outcome struct {
	Effects     []phases.Effect
	StateReads  []hostcalls.StateRead
	StateWrites []hostcalls.StateWrite
	Wishes      []hostcalls.Wish
	Logs        []hostcalls.LogEntry
	LogsDropped int
	Notes       []string
	FailText    string // what the hook gave to fail
	Detail      string // cause of a failure, for operators
	Fuel        int64
	MemoryPeak  int64 // bytes
	Hostcalls   int
	Duration    time.Duration
	Waited      time.Duration // of Duration, in calls that reach beyond the host: not counted against the chain's time
}

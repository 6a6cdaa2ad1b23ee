package kernel

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// Redactor redacts secrets in stored values. Safe for concurrent use.
type Redactor interface {
	// JSON returns a strict JSON value, or a copy of it with secrets redacted, and pointers (RFC 6901,
	// into raw) to the redacted values. With an error nothing of the original is stored.
	JSON(raw jsontext.Value) (redacted jsontext.Value, masked []string, err error)

	// Text returns the text with secrets redacted. With an error nothing of the original is stored.
	Text(s string) (string, error)
}

// Remembering is an optional interface of a Redactor: it remembers the secrets of one
// invocation, so that pieces of them are redacted in what hooks say.
type Remembering interface {
	Redactor
	// Remember returns a Memory without any secrets.
	Remember() Memory
}

// Memory is a Redactor for one invocation that knows the secrets it has redacted. It is for
// one goroutine at a time. An action from which a hook has removed a secret is stored as a
// digest only. It is an alias, so that a Redactor can implement Remembering without
// importing this package.
type Memory = interface {
	Redactor
	// Known grows when the Memory learns a secret. While it stays the same, the same
	// document is redacted in the same way.
	Known() int
}

// Digester makes the keyed digests that stand in events for originals. The uses are
// "event-input", "event-output", "approval-key", "approval-item" and "call"; with "" for the
// last one, "event-input" is asked in its place. Equal originals of one
// use have equal digests; digests of different uses are not comparable. "" records no
// digest. Safe for concurrent use.
type Digester interface {
	Digest(use string, original []byte) string
}

// Elsewhere is the logs of all kernels that share a store, for events about items of the queue: one kernel may have
// asked a question, and another one had it decided. Safe for concurrent use.
type Elsewhere interface {
	// EventElsewhere returns an event by its id, from the log of whichever kernel, if it is a leaf of that log's
	// tree; nil if there is none. The error is ErrUnavailable.
	EventElsewhere(ctx context.Context, id string) (*phases.Event, error)
}

// Clock tells the time. Safe for concurrent use.
type Clock interface {
	Now() time.Time
}

// FileSystem is what path_resolve may learn of the host's files, and how the kernel
// finds out where the paths of an action lead that a lease is to cover. Nil in Options
// means that symbolic links are not looked at. Safe for concurrent use.
type FileSystem = hostcalls.FileSystem

// Verifier says how far a module file is trusted. It is asked on every load.
// The error is a *phases.Fault; anything else counts as kind load. A file without
// any proof is not an error: it is Sandboxed.
type Verifier interface {
	Verify(ctx context.Context, digest string, module []byte) (Proof, error)
}

// Proof is the outcome of a verification.
type Proof struct {
	Tier   phases.Tier
	Signer string   // who signed, in a form for records; "" for an unsigned file
	Why    error    // why it is not trusted, with a text that is safe to show; nil when it is
	Notes  []string // for the operator; shown with every verdict
}

// Options are the parts of a kernel. Store, Loader and Redactor are needed.
type Options struct {
	Store    Store
	Loader   Loader
	Redactor Redactor

	// Digester makes keyed digests. Nil means keys that live as long as the
	// process: digests of two processes cannot be compared.
	Digester Digester

	Observer Observer // nil: no observer, at no cost
	Recorder Recorder // nil: no recorder, at no cost

	Clock  Clock        // nil means the system's
	Logger *slog.Logger // nil discards
	Tools  ToolExecutor // nil: request_tool_call answers "unavailable"
	Files  FileSystem
	Home   string // what ~ means to path_resolve; "" means unknown

	// NewID makes the ids of invocations and events: UUIDv7. Nil means random ones.
	NewID func(at time.Time) string

	// SpoolPath is where failures are noted while the store cannot write, so that a
	// later process reports the gap. "" keeps notes in memory only.
	SpoolPath string

	// ClockPath is a file that remembers how the wall clock stood in this boot, for all
	// processes of the state directory. "" means that the process remembers for itself.
	ClockPath string

	// IntentDir is where calls that are under way are noted, so that a later process
	// records those whose process died before their outcome was known. "" notes
	// nothing. Directory and files are made when needed.
	IntentDir string

	// StoreID names the state directory in the orders of reviewers (Order.Store). ""
	// means that no order counts.
	StoreID string

	// Terminal verifies what a person decides at a terminal about an ask. It counts only
	// while no reviewer is registered. Nil means that such decisions never count.
	Terminal ed25519.PublicKey

	// LeaseKey hashes the tokens of leases: 32 bytes. Nil means one that lives as long
	// as the process.
	LeaseKey []byte

	// Elsewhere finds events of the other kernels that share Store. Nil: there is no other kernel, and an item of
	// the queue counts by this kernel's log alone.
	Elsewhere Elsewhere

	// Boot is a clock that nothing sets: what has an end counts by it. Nil means Clock, if
	// that is one, and the system's where Clock is the system's too. Beside another Clock
	// there is none then, since two clocks that do not belong together say nothing.
	Boot BootClock

	// LeaveAfter is how long beyond its deadline a turn is waited for before it is left
	// behind. 0 means 3 seconds.
	LeaveAfter time.Duration

	// Untimed makes turns keep no deadline, for invocations that decide about nothing real:
	// suites, replays, fuzzing. A turn that takes longer than this is left behind, and the block
	// of kind KindHang says nothing about the hook. 0 keeps deadlines.
	Untimed time.Duration

	// Retain makes the kernel judge later the invocations that it refuses for a cause of its own.
	// Nil: it retains nothing, and such events leave their sessions latched.
	Retain *Retention

	// Sequential keeps validators from running ahead in parallel. Verdict and
	// events are the same either way.
	Sequential bool

	// UnsafeFailOpen makes a hook that fails count as one without an opinion.
	// For local debugging only: it is announced in every verdict's notes, in the
	// log, and by an event of its own. Failures of decoding, store, audit and
	// trust still block.
	UnsafeFailOpen bool
}

// InvokeOptions describe one invocation beyond the wire form.
type InvokeOptions struct {
	// Unblockable: the runtime cannot stop this event. A verdict other than allow
	// latches the session instead. Invocations of phase audit are always so.
	Unblockable bool

	// Delegated: the runtime asks the person itself, so that an ask is recorded
	// as delegated instead of direct.
	Delegated bool

	// HoldsScopes: the caller itself holds the action to Verdict.Scopes, such as by a
	// sandbox. Without it the kernel checks the final action against them, and where
	// they restrict and it cannot tell what the action touches, it blocks.
	HoldsScopes bool

	// UnseenInput: the runtime shows no hook what is written to a command once it runs, so that a shell
	// that stays open is decided when it is started: see Config.OpenShells.
	UnseenInput bool

	// ParentScopes are the scopes of a spawned agent's parent, when the caller
	// knows it: the verdict's scopes are cut to it. Without it a child has at most the
	// invocation's own scopes.
	ParentScopes *phases.Scopes

	// Credential identifies the caller as the host has seen it, such as its uid: quotas
	// and approvals are by it, since an invocation's words about itself are claims.
	Credential string

	// OnBehalf: the kernel itself made the invocation on behalf of a hook, as its
	// metadata says under CallerKey. For callers that run such an invocation again; the
	// kernel refuses that key from any other.
	OnBehalf bool

	// HookClock is the time that hooks read, and nothing else goes by: leases, approvals,
	// latches and events keep to Options.Clock. Nil means Options.Clock. It is for what
	// decides about nothing that happens: suites, replays, previews, and dry runs. No wire
	// form has it.
	HookClock *time.Time

	// Seed is the seed of the invocation's random streams; nil means a fresh one.
	// It is recorded, so that the invocation can be run again.
	Seed *[32]byte

	// Call is what the caller's runtime tells twice of one tool call, in its pre_tool and spawn and in
	// its post_tool. Nil: nothing is compared.
	Call *Call

	// Results is what the event tells of calls that were released before it; nil: nothing.
	Results *Results

	after *afterwards // nil, unless the event was refused before and its latch waits for the verdict
}

// latches reports whether a refusal of the invocation has to latch. An invocation that is judged
// afterwards has its latch already.
func (o *InvokeOptions) latches() bool { return o.Unblockable && o.after == nil }

// BootClock names the boot of the machine and says how long ago it was; "" when
// there is no such clock. Safe for concurrent use.
type BootClock interface {
	Boot() (id string, since time.Duration)
}

// noBoot is the clock of a host that has none.
type noBoot struct{}

func (noBoot) Boot() (string, time.Duration) { return "", 0 }

var errOptions = errors.New("kernel: Store, Loader and Redactor are needed")

// withDefaults checks the options and fills in the optional ones.
func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.Loader == nil || o.Redactor == nil {
		return o, errOptions
	}
	if o.LeaveAfter <= 0 {
		o.LeaveAfter = defaultLeaveAfter
	}
	if o.Clock == nil {
		o.Clock = leases.SystemClock{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = newUUID
	}
	if own, ok := o.Clock.(BootClock); ok && o.Boot == nil {
		o.Boot = own
	}
	if o.Boot == nil {
		o.Boot = noBoot{}
	}
	if o.LeaseKey == nil {
		o.LeaseKey = make([]byte, 32)
		rand.Read(o.LeaseKey) // never fails: the runtime ends the process instead
	}
	if o.Digester == nil {
		keys := audit.Keys{}
		for _, u := range audit.Uses() {
			keys[u] = make([]byte, 32)
			rand.Read(keys[u]) // never fails: the runtime ends the process instead
		}
		o.Digester = keys
	}
	return o, nil
}

// newUUID returns a UUIDv7 of the time.
func newUUID(at time.Time) string {
	id, err := uuid.NewV7AtTime(at)
	if err != nil { // the source of random numbers does not fail; if it did, no id may repeat
		panic(err)
	}
	return id.String()
}

package belay

import (
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/tiers"
)

// InvokeOptions are what a caller says about one invocation beyond its wire form.
type InvokeOptions = kernel.InvokeOptions

// Options are the ways to open a state directory. The zero value is the usual one.
type Options struct {
	// Hooks are added to those of belay.yaml for as long as this Belay is open.
	// They count as sandboxed, whatever they are.
	Hooks []AdHocHook

	// SlowCompile gives hooks of Hooks that have a manifest the compile budget of
	// installed ones (6 s instead of 1 s), which standard Go needs.
	SlowCompile bool

	// NoHooks opens the records only: no module is compiled, a configuration that
	// cannot be used is no error, and every invocation is blocked.
	NoHooks bool

	// UnsafeFailOpen: see kernel.Options. For local debugging only.
	UnsafeFailOpen bool

	// Compiler is a program, by its absolute path, and its arguments, that hands its
	// standard streams to CompilerMain: `belay compile-module`, or this program. Modules that
	// do not come with belay are compiled by it, in a process with limits of time and
	// memory, and never here; when it fails, the hook does not load. Empty: they are
	// compiled here, and an estimate is all that bounds what that costs.
	Compiler []string

	Logger *slog.Logger // nil discards
	Clock  kernel.Clock // nil means the system's
	Store  kernel.Store // nil means belay.db in the state directory; closed with the Belay only when nil
	DryRun bool         // decide by the stored data, and write, use up and carry out nothing; implies InMemory
	NoMark bool         // keep no high-water mark: then a belay.db that is restored or removed is not noticed
	// records and state live in memory only, or in a Store that says it is not durable; for tests of hooks
	InMemory bool
	Recorder kernel.Recorder     // nil: full inputs go where belay.yaml says, by default nowhere
	Observer kernel.Observer     // for telemetry; nil: none
	Tools    kernel.ToolExecutor // nil: those of the MCP servers in belay.yaml
	Verifier kernel.Verifier     // nil: trust.yaml in the state directory decides who is trusted
	Files    kernel.FileSystem   // nil: the host's own, for what hooks learn of symbolic links

	// Signatures makes the verifier of signatures by trust.yaml: sigstore.New of package
	// tiers/sigstore, which links the libraries for that. Nil: a trust.yaml that names signers
	// cannot be used, so that hooks that are not built in block their phases.
	Signatures func(*tiers.Policy) tiers.EvidenceVerifier

	// Retain keeps events in memory that were refused because of an overload, a store
	// that failed or a deadline of belay, and judges them when that has ended; see
	// kernel.Retention. It is for the one process that serves the state directory.
	Retain bool

	// TrustPoll is how often trust.yaml is looked at while the Belay is open, so
	// that a revoked hook stops being trusted: 0 means every second. With a Verifier
	// of your own it is never looked at.
	TrustPoll time.Duration
}

// AdHocHook is a hook that is not installed. A module without a manifest gets
// one derived from its exports and imports, with a note in the verdict.
type AdHocHook struct {
	Name     string         // "" means the file's name; made unique
	Path     string         // of the module file, unless Module is set
	Module   []byte         // must not be changed afterwards
	Priority int            // below 100
	Config   jsontext.Value // nil means none
	Redacts  *bool          // see kernel.BindingSpec
}

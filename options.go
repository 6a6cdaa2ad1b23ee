package belay

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/sandbox"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// InvokeOptions are what a caller says about one invocation beyond its wire form.
type InvokeOptions = kernel.InvokeOptions

// Options are the ways to open a state directory. The zero value is the usual one.
type Options struct {
	// Hooks are added to those of belay.yaml for as long as this Belay is open.
	// They always count as sandboxed.
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

	// CodeCache and CodeKey are where compiled code lies in place of the state directory, and what authenticates it there:
	// state directories that one program serves compile each module once. The directory is this user's alone, and so is
	// the key, of at least 16 bytes: with it and the directory, native code can be run in this process.
	CodeCache string
	CodeKey   []byte

	Logger *slog.Logger // nil discards
	Clock  kernel.Clock // nil means the system's
	Store  kernel.Store // nil means that of belay.yaml, or belay.db; closed with the Belay only when nil
	DryRun bool         // decide by the stored data, and write, use up and carry out nothing; implies InMemory
	NoMark bool         // keep no high-water mark: then a belay.db that is restored or removed is not noticed
	// records and state live in memory only, or in a Store that says it is not durable; for tests of hooks
	InMemory bool
	Recorder kernel.Recorder     // nil: full inputs go where belay.yaml says, by default nowhere
	Observer kernel.Observer     // for telemetry; nil: none
	Tools    kernel.ToolExecutor // nil: those of the MCP servers in belay.yaml
	// MCP servers of belay.yaml that are programs are not started: they would have the rights of this process, which
	// are more than those of the users that it decides for
	NoToolPrograms bool
	// StartTool, if set, starts such servers instead, such as in another process and with less rights. It is told the
	// entry of belay.yaml: name, command, names of variables, and directory. It returns the server's input and output;
	// Close ends the server. says takes lines of its standard error.
	StartTool func(ctx context.Context, server string, command, env []string, dir string, says io.Writer) (
		io.ReadWriteCloser, error)
	// ToolIdle is how long such a server goes on running while no hook calls its tools; 0: until Close.
	ToolIdle time.Duration
	Verifier kernel.Verifier   // nil: trust.yaml in the state directory decides who is trusted
	Files    kernel.FileSystem // nil: the host's own, for what hooks learn of symbolic links
	Version  string            // of the program, for those who look at the kernels that share a store; "": not said
	Home     string            // what ~ stands for in paths; "": the home directory of this process's user

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

// CompilerCommand is the argument by which a program says that it is to do what
// CompilerMain does and nothing else.
const CompilerCommand = sandbox.CompilerCommand

// CompilerMain is all that a compiler process does: see Options.Compiler. A program that
// compiles for itself calls it first thing in main when CompilerCommand is its only
// argument, and exits with the returned code.
func CompilerMain(in io.Reader, out, errs io.Writer) int {
	return sandbox.CompilerMain(in, out, errs)
}

// executor is what runs tools: the embedder's, or the servers of belay.yaml; nil: nothing does.
func executor(o *Options, servers *mcptools.Toolbox) kernel.ToolExecutor {
	switch {
	case o.Tools != nil:
		return o.Tools
	case servers != nil:
		return servers
	}
	return nil
}

// files is where hooks learn of symbolic links.
func files(o *Options) kernel.FileSystem {
	if o.Files != nil {
		return o.Files
	}
	return loader.HostFiles{}
}

// noted is the path of a file of dir that lasts across processes; "" where there is none: a
// Belay that is only in memory must not take notes that belong to the log.
func noted(dir string, o *Options, name string) string {
	if o.Store == nil && o.InMemory {
		return ""
	}
	return filepath.Join(dir, name)
}

// clockPath is where the clock is remembered. A dry run remembers for itself.
func clockPath(dir string, o *Options) string {
	if o.DryRun {
		return ""
	}
	return noted(dir, o, notes.ClockName)
}

// retain is how the kernel later judges events that it refused; nil where it does not.
func retain(o *Options, ready func(*phases.Invocation) error) *kernel.Retention {
	if !o.Retain || o.NoHooks || o.DryRun {
		return nil
	}
	return &kernel.Retention{Ready: ready, Credential: ownCredential()}
}

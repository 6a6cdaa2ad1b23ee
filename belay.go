package belay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/clockfile"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/internal/recorder"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/internal/spoolfile"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Classes of errors, for errors.Is.
var (
	// ErrNoConfig: the state directory has no belay.yaml and no hook was given.
	ErrNoConfig = config.ErrMissing
	// ErrConfig: belay.yaml is there and cannot be used.
	ErrConfig = config.ErrUnusable
	// ErrState: the state directory cannot be used.
	ErrState = statedir.ErrUnusable
	// ErrHookClock: InvokeOptions.HookClock was set where a decision has consequences.
	ErrHookClock = errors.New("the clock of hooks cannot be set here")
	// ErrNoHooks: it was opened without hooks, to look at records.
	ErrNoHooks = errors.New("opened without hooks")
)

// Belay is an open state directory. It is safe for concurrent use.
type Belay struct {
	dir       string
	o         Options
	log       *slog.Logger
	keys      *keyring.Ring
	loader    *loader.Loader
	kernel    *kernel.Kernel
	redact    *audit.Detector
	proposals *install.Proposals
	adhoc     []loader.Ready
	trust     *trust.Verifier
	tools     *mcptools.Toolbox // nil when it is not ours to run tools
	live      *statelog.Live    // the event log
	storage   *statelog.Storage

	revisions *revision.Log // logs which configuration is in force

	recorder *recorder.Switch
	stop     func() // ends the watch over the trust policy; nil when there is none

	mu   sync.Mutex // guards what Reload changes
	file *config.File
	rev  string
	bad  error // why belay.yaml cannot be used; only with NoHooks
}

// Open opens the state directory and makes its missing parts: the directory
// itself (mode 0700), keys and the database. Errors are ErrNoConfig, ErrConfig,
// ErrState or kernel.ErrUnavailable for errors.Is. A hook that cannot be loaded
// is not an error: it blocks its phases and shows in Bindings.
func Open(ctx context.Context, dir string, o Options) (*Belay, error) {
	if o.DryRun {
		o.InMemory, o.Recorder, o.Tools = true, nil, nil
	}
	b := &Belay{o: o, log: o.Logger}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	ok := false
	defer func() {
		if !ok {
			b.Close()
		}
	}()
	if err := b.prepare(dir); err != nil {
		return nil, err
	}
	if err := b.readConfig(); err != nil {
		return nil, err
	}
	if err := b.readAdHoc(); err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	b.recorder.Announce(ctx, b.storage.Front, b.file.Recordings, b.revision())
	if !o.NoHooks && o.Verifier == nil {
		b.startWatch()
	}
	ok = true
	return b, nil
}

// startWatch looks at the trust policy until Close.
func (b *Belay) startWatch() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	b.stop = func() { cancel(); <-done }
	go func() {
		defer close(done)
		b.trust.Watch(ctx, cmp.Or(b.o.TrustPoll, trust.Poll), b.useTrust, b.log)
	}()
}

// useTrust takes the trust policy as it is now into use.
func (b *Belay) useTrust(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.kernel.Reload(ctx, b.kernelConfig())
	if err == nil {
		b.live.Use(b.inForce())
	}
	return err
}

// prepare makes the directory and finds the keys.
func (b *Belay) prepare(dir string) error {
	var err error
	if b.dir, err = statedir.Open(dir); err != nil {
		return err
	}
	if b.keys, err = keyring.Open(b.dir); err != nil {
		return err
	}
	b.trust = b.trustDir().Open(b.o.Clock)
	return nil
}

// trustDir is the state directory as the one of a trust policy.
func (b *Belay) trustDir() trust.Dir { return trust.Dir{Path: b.dir, Signatures: b.o.Signatures} }

// readAdHoc reads the modules of the hooks that were given at Open.
func (b *Belay) readAdHoc() (err error) {
	given, taken := []loader.Given{}, []string{}
	for _, h := range b.o.Hooks {
		given = append(given, loader.Given(h))
	}
	for _, h := range b.file.Hooks {
		taken = append(taken, h.Name)
	}
	b.adhoc, err = loader.ReadGiven(given, taken)
	return err
}

// readConfig reads belay.yaml. Preconditions: b is not shared yet, or b.mu is held.
func (b *Belay) readConfig() error {
	b.file, b.rev, b.bad = config.Load(b.dir)
	if errors.Is(b.bad, ErrNoConfig) && len(b.o.Hooks) > 0 {
		b.bad = nil
	}
	if b.o.NoHooks {
		return nil
	}
	return b.bad
}

// open wires everything.
func (b *Belay) open(ctx context.Context) error {
	var err error
	if b.redact, err = redaction.New(b.dir, b.keys.Redact, b.file); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	b.log = slog.New(redact.NewHandler(b.log.Handler(), b.redact.Line))
	b.loader, err = loader.Open(loader.Options{Dir: b.dir, CacheKey: b.keys.Cache, Compiler: b.o.Compiler, Trust: b.trust,
		Verifier: b.o.Verifier,
		Hooks:    b.adhoc, SlowCompile: b.o.SlowCompile, DryRun: b.o.DryRun, Logger: b.log})
	if err != nil {
		return err
	}
	b.storage, err = statelog.OpenStorage(ctx, b.dir, b.keys.Events, &b.file.Events, statelog.StorageOptions{
		Store: b.o.Store, DryRun: b.o.DryRun, InMemory: b.o.InMemory, NoMark: b.o.NoMark, MoveMark: !b.o.NoHooks,
		Logger: b.log,
	})
	if err != nil {
		return err
	}
	if b.o.Tools == nil && !b.o.NoHooks && !b.o.DryRun {
		b.tools = mcptools.NewToolbox(b.file.MCP.Servers, mcptools.Options{Logger: b.log, Cover: b.redact.Line})
	}
	b.recorder = recorder.New(recorder.Options{Dir: b.dir, Fixed: b.o.Recorder, Off: b.o.InMemory, Records: b.o.NoHooks,
		Logger: b.log, Kernel: func() *kernel.Kernel { return b.kernel }})
	next, err := b.recorder.Next(b.file)
	if err != nil {
		if !b.o.NoHooks {
			return err
		}
		b.bad = errors.Join(b.bad, err)
	}
	b.recorder.Use(ctx, next)
	b.revisions = &revision.Log{Dir: b.dir, Events: b.storage.Store}
	home, _ := os.UserHomeDir()
	var files kernel.FileSystem = loader.HostFiles{}
	if b.o.Files != nil {
		files = b.o.Files
	}
	b.kernel, err = kernel.Open(ctx, b.kernelConfig(), kernel.Options{
		Store: b.storage.Front, Loader: b.loader, Redactor: b.redact, Digester: b.keys.Digests, LeaseKey: b.keys.Lease,
		StoreID: b.keys.Events.StoreID(), Observer: b.o.Observer, Recorder: b.recorder.Recorder(), Clock: b.o.Clock,
		Logger: b.log,
		Tools:  b.executor(), IntentDir: b.noted("intents"), Files: files, Home: home, SpoolPath: b.noted(spoolfile.Name),
		ClockPath: b.clockPath(), UnsafeFailOpen: b.o.UnsafeFailOpen,
		Retain: b.retention(),
	})
	if err != nil {
		return err
	}
	b.proposals = install.NewProposals(install.Options{Dir: b.trustDir(), Compiler: b.o.Compiler, Kernel: b.kernel,
		Redactor: b.redact})
	b.live = statelog.NewLive(statelog.Host{
		Dir: b.dir, Storage: b.storage, Key: b.keys.Events, Kernel: b.kernel, Logger: b.log,
	}, b.inForce())
	return nil
}

// inForce is what the log knows of the configuration. Preconditions: as readConfig.
func (b *Belay) inForce() statelog.Configuration {
	return statelog.Configuration{File: b.file, Revision: b.revision(), Unusable: b.bad}
}

// Log is the event log of the state directory, open as long as b. Key is the public key that
// verifies its checkpoints, and StoreID the name of the state directory in the orders of
// reviewers; both are "" without the key that signs. Believed compares the whole store with
// its high-water mark and with what the log records; its error is kernel.ErrRollback or
// kernel.ErrTampered.
func (b *Belay) Log() interface {
	Key() string
	StoreID() string
	Believed(ctx context.Context) error
} {
	return b.live
}

// kernelConfig turns belay.yaml and the hooks given at Open into what the kernel runs.
func (b *Belay) kernelConfig() *kernel.Config {
	cfg := loader.Config(b.file, b.revision())
	if b.o.NoHooks {
		cfg = &kernel.Config{Revision: cfg.Revision, Approvals: cfg.Approvals, Reviewers: cfg.Reviewers, Judges: b.mayJudge}
	}
	cfg.Announce = b.announcer()
	if !b.o.NoHooks {
		for _, a := range b.adhoc {
			cfg.Bindings = append(cfg.Bindings, a.Spec)
		}
	}
	return cfg
}

// Invoke decides one invocation; see kernel.Kernel.InvokeWith.
func (b *Belay) Invoke(ctx context.Context, inv phases.Invocation) (phases.Verdict, error) {
	return b.InvokeWith(ctx, inv, InvokeOptions{})
}

// InvokeWith decides one invocation and returns when the answer is logged.
// The verdict is always complete; an error stands only beside a block. With HookClock
// it blocks, unless Options.InMemory is set.
func (b *Belay) InvokeWith(ctx context.Context, inv phases.Invocation, o InvokeOptions) (phases.Verdict, error) {
	if b.o.NoHooks {
		return b.Refuse(ctx, kernel.Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.Unblockable,
			Fault: phases.NewFault(phases.KindLoad, "belay was opened without hooks", ErrNoHooks)})
	}
	if o.HookClock != nil && !b.o.InMemory {
		return b.Refuse(ctx, kernel.Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.Unblockable,
			Fault: phases.NewFault(phases.KindProtocol, "hooks read the host's clock where something is recorded",
				ErrHookClock)})
	}
	inv = inv.Clone() // the kernel decides what Ready looks at, whatever the caller does meanwhile
	if err := b.recorder.Ready(&inv); err != nil {
		return b.Refuse(ctx, kernel.Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.Unblockable,
			Fault: phases.NewFault(phases.KindStore, "full inputs cannot be kept, and nothing goes on without", err)})
	}
	o.Credential = cmp.Or(o.Credential, ownCredential())
	v, err := b.kernel.InvokeWith(ctx, inv, o)
	return b.unrecorded(ctx, v), err
}

// Refuse records and answers a block for what could not be decided, such as a
// payload that does not decode.
func (b *Belay) Refuse(ctx context.Context, r kernel.Refusal) (phases.Verdict, error) {
	v, err := b.kernel.Refuse(ctx, r)
	return b.unrecorded(ctx, v), err
}

// Spool leaves a note that an action was blocked although dir could not be
// opened: the next Open that can write records it and sets the latch that it
// asks for. The error is ErrState; there is nothing else that a caller could do then.
func Spool(dir string, r kernel.Refusal) error {
	if err := kernel.Spool(filepath.Join(dir, spoolfile.Name), redaction.Refusal(dir, r), time.Now()); err != nil {
		return statedir.Unusable("spool", err)
	}
	return nil
}

// noted is the path of a file that lasts across processes; "" where there is none: a
// Belay that is only in memory must not take notes that belong to the log.
func (b *Belay) noted(name string) string {
	if b.o.Store == nil && b.o.InMemory {
		return ""
	}
	return filepath.Join(b.dir, name)
}

// clockPath is where the clock is remembered. A dry run remembers for itself.
func (b *Belay) clockPath() string {
	if b.o.DryRun {
		return ""
	}
	return b.noted(clockfile.Name)
}

// Reload reads belay.yaml and trust.yaml again and takes them into use. With an error, ErrConfig
// or kernel.ErrUnavailable for errors.Is, everything stays as it was.
func (b *Belay) Reload(ctx context.Context) error {
	b.trust.Refresh()
	b.mu.Lock()
	defer b.mu.Unlock()
	file, rev, bad := b.file, b.rev, b.bad
	err := b.readConfig()
	var r *audit.Detector
	var useFiles func()
	var next *recorder.Recorder
	if err == nil {
		useFiles, err = b.storage.Prepare(&b.file.Events)
	}
	if err == nil {
		r, err = redaction.New(b.dir, b.keys.Redact, b.file)
	}
	if err == nil {
		next, err = b.recorder.Next(b.file)
	}
	if err == nil {
		err = b.kernel.Reload(ctx, b.kernelConfig())
	}
	if err != nil {
		b.file, b.rev, b.bad = file, rev, bad
		return errors.Join(err, b.recorder.Drop(next))
	}
	b.recorder.Use(ctx, next)
	b.recorder.Announce(ctx, b.storage.Front, b.file.Recordings, b.revision())
	b.redact.Use(r)
	if b.tools != nil {
		b.tools.Use(b.file.MCP.Servers)
	}
	useFiles()
	b.live.Use(b.inForce())
	return nil
}

// Close releases everything. Invocations that have begun finish first; a hook that was
// left behind is left to the end of the process.
func (b *Belay) Close() error {
	var errs []error
	if b.stop != nil {
		b.stop() // a reload that has begun ends first: it uses the parts closed below
		b.stop = nil
	}
	if b.recorder != nil {
		errs = append(errs, b.recorder.Close()) // before the kernel: closing it may append an event
	}
	if b.kernel != nil {
		errs = append(errs, b.kernel.Close())
	}
	if b.tools != nil {
		errs = append(errs, b.tools.Close())
	}
	if b.storage != nil {
		errs = append(errs, b.storage.Finish()) // after the last commit
	}
	if b.loader != nil {
		errs = append(errs, b.loader.Close(func() bool { return b.kernel != nil && len(b.kernel.LeftBehind()) > 0 }))
	}
	if b.storage != nil {
		errs = append(errs, b.storage.Close())
	}
	return errors.Join(errs...)
}

var _ kernel.Digester = audit.Keys(nil)

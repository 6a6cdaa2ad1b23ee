package belay

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/mcptools"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/retention"
	"github.com/belay-hooks/belay/internal/revision"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/kernel"
)

// Classes of errors, for errors.Is.
var (
	// ErrNoConfig: the state directory has no belay.yaml and no hook was given.
	ErrNoConfig = config.ErrMissing
	// ErrConfig: belay.yaml is there and cannot be used.
	ErrConfig = config.ErrUnusable
	// ErrState: the state directory cannot be used.
	ErrState = statedir.ErrUnusable
	// ErrRefused: the proposed hook cannot be installed.
	ErrRefused = install.ErrRefused
	// ErrUnbound: the approval of the proposed hook is logged, and the hook is not bound.
	ErrUnbound = install.ErrUnbound
)

// Belay is an open state directory. It is safe for concurrent use.
type Belay struct {
	dir       string
	o         Options
	log       *slog.Logger
	keys      *keyring.Ring
	conf      *configuration
	loader    *loader.Loader
	redact    *audit.Detector
	storage   *statelog.Storage
	tools     *mcptools.Toolbox // nil when another program runs the tools
	pins      *toolpins.Desk    // which definitions of tools are accepted
	recorder  *retention.Switch
	kernel    *kernel.Kernel
	proposals *install.Proposals
	live      *statelog.Live // the event log
	stop      func()         // ends the watch over the trust policy; nil when there is none
	mute      func()         // ends what this kernel tells other kernels of itself
	deaf      func()         // ends that it follows what they deny
}

// Open opens the state directory and makes its missing parts: the directory
// itself (mode 0700), keys and the database. Errors are ErrNoConfig, ErrConfig,
// ErrState or kernel.ErrUnavailable for errors.Is. A hook that cannot be loaded
// is not an error: it blocks its phases and shows in Bindings.
func Open(ctx context.Context, dir string, o Options) (opened *Belay, err error) {
	if o.DryRun {
		o.InMemory, o.Recorder, o.Tools = true, nil, nil
	}
	if dir, err = statedir.Open(dir); err != nil {
		return nil, err
	}
	keys, err := keyring.Open(dir)
	if err != nil {
		return nil, err
	}
	policy := trust.Dir{Path: dir, Signatures: o.Signatures}
	verifier := policy.Open(o.Clock)
	now, err := readConfig(dir, &o)
	if err != nil {
		return nil, err
	}
	adhoc, err := readAdHoc(o.Hooks, now.file)
	if err != nil {
		return nil, err
	}
	detector, err := redaction.New(dir, keys.Redact, now.file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	log := slog.New(slog.DiscardHandler)
	if o.Logger != nil {
		log = slog.New(redact.NewHandler(o.Logger.Handler(), detector.Line))
	}

	var undo undoing
	defer func() {
		if opened == nil {
			undo.all()
		}
	}()
	cache, cacheKey := statedir.Cache(dir), keys.Cache
	if o.CodeCache != "" {
		cache, cacheKey = o.CodeCache, o.CodeKey
	}
	hooks, err := loader.Open(loader.Options{Dir: dir, Cache: cache, CacheKey: cacheKey, RulesKey: keys.Cache,
		Compiler: o.Compiler, Trust: verifier,
		Verifier: o.Verifier, Hooks: adhoc, SlowCompile: o.SlowCompile, DryRun: o.DryRun, Logger: log})
	if err != nil {
		return nil, err
	}
	undo.add(func() error { return hooks.Close(func() bool { return false }) })
	if o.NoHooks {
		now.rules = hooks.RulesFiles(now.file.Enabled())
	} else if now.rules, _, err = hooks.UseRules(now.file.Enabled(), true); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	storage, err := statelog.OpenStorage(ctx, dir, keys.Events, now.file, statelog.StorageOptions{
		Store: o.Store, DryRun: o.DryRun, InMemory: o.InMemory, NoMark: o.NoMark, MoveMark: !o.NoHooks,
		Unusable: now.bad, Version: o.Version, Logger: log})
	if err != nil {
		return nil, err
	}
	undo.add(storage.Close)
	undo.add(storage.Finish)
	shared := sharedDenials(storage, dir, &o, log)
	if shared != nil && !o.NoHooks {
		if err := shared.Take(ctx); err != nil { // those that are known already count
			log.LogAttrs(ctx, slog.LevelError, "what other kernels deny could not be read", slog.Any("error", err))
		}
		verifier.Refresh()
	}
	if err := share(ctx, dir, &o, storage, keys, now.file, detector); err != nil {
		return nil, err
	}
	var running *kernel.Kernel // nil until it is open
	pins := toolpins.NewDesk(toolpins.Options{Dir: noted(dir, &o, ""), Redact: detector.Text, Now: time.Now,
		Queue: func() toolpins.Queue {
			if running == nil {
				return nil
			}
			return running
		}})
	var tools *mcptools.Toolbox
	if o.Tools == nil && !o.NoHooks && !o.DryRun {
		tools = mcptools.NewToolbox(now.file.MCP.Servers,
			mcptools.Options{Logger: log, Cover: detector.Line, Definitions: pins, NoPrograms: o.NoToolPrograms,
				Start: o.StartTool, Idle: o.ToolIdle})
		undo.add(tools.Close)
	}
	records := retention.NewSwitch(retention.SwitchOptions{Dir: dir, Fixed: o.Recorder, Off: o.InMemory,
		Records: o.NoHooks,
		Logger:  log, Kernel: func() *kernel.Kernel { return running }})
	undo.add(records.Close)
	next, err := records.Next(now.file)
	if err != nil {
		if !o.NoHooks {
			return nil, err
		}
		now.bad = errors.Join(now.bad, err)
	}
	records.Use(ctx, next)

	conf := &configuration{dir: dir, o: &o, trust: verifier, loader: hooks, adhoc: adhoc, now: now,
		revisions: &revision.Log{Dir: dir, Events: storage.Store}}
	home := o.Home
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	running, err = kernel.Open(ctx, conf.kernelConfig(), among(storage, kernel.Options{
		Store: storage.Front, Loader: hooks, Redactor: detector, Digester: audit.NewHasher(keys.Digests),
		LeaseKey: keys.Lease,
		Terminal: keys.Terminal.Public().(ed25519.PublicKey),
		StoreID:  keys.Events.StoreID(), Observer: o.Observer, Recorder: records.Recorder(), Clock: o.Clock, Logger: log,
		Tools: executor(&o, tools), Files: files(&o), Home: home, UnsafeFailOpen: o.UnsafeFailOpen,
		IntentDir: noted(dir, &o, "intents"), SpoolPath: noted(dir, &o, notes.SpoolName), ClockPath: clockPath(dir, &o),
		Retain: retain(&o, records.Ready),
	}))
	if err != nil {
		return nil, err
	}
	b := &Belay{
		dir: dir, o: o, log: log, keys: keys, conf: conf, loader: hooks, redact: detector, storage: storage, tools: tools,
		pins:     pins,
		recorder: records, kernel: running,
		proposals: install.NewProposals(install.Options{Dir: policy, Compiler: o.Compiler, Kernel: running,
			Redactor: detector}),
		live: statelog.NewLive(statelog.Host{Dir: dir, Storage: storage, Key: keys.Events, Kernel: running, Logger: log},
			conf.inForce()),
	}
	b.recorder.Announce(ctx, b.storage.Front, now.file.Recordings, conf.revision())
	if !o.NoHooks && o.Verifier == nil {
		b.stop = b.watchTrust()
	}
	b.mute = b.reports()
	b.deaf = func() {}
	if shared != nil && !o.NoHooks {
		b.deaf = b.followDenials(shared)
	}
	return b, nil
}

// watchTrust looks at the trust policy until the returned function is called.
func (b *Belay) watchTrust() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.conf.trust.Watch(ctx, cmp.Or(b.o.TrustPoll, trust.Poll), b.useTrust, b.log)
	}()
	return func() { cancel(); <-done }
}

// useTrust takes the trust policy as it is now into use.
func (b *Belay) useTrust(ctx context.Context) error {
	b.conf.mu.Lock()
	defer b.conf.mu.Unlock()
	err := b.kernel.Reload(ctx, b.conf.kernelConfig())
	if err == nil {
		b.live.Use(b.conf.inForce())
	}
	return err
}

// Reload reads belay.yaml and trust.yaml again and takes them into use. With an error, ErrConfig
// or kernel.ErrUnavailable for errors.Is, everything stays as it was.
func (b *Belay) Reload(ctx context.Context) error {
	b.conf.trust.Refresh()
	b.conf.mu.Lock()
	defer b.conf.mu.Unlock()
	before := b.conf.now
	now, err := readConfig(b.dir, &b.o)
	var r *audit.Detector
	var useFiles func()
	var next *retention.InUse
	backToRules := func() {}
	if err == nil && b.o.NoHooks {
		now.rules = b.conf.loader.RulesFiles(now.file.Enabled())
	} else if err == nil {
		if now.rules, backToRules, err = b.conf.loader.UseRules(now.file.Enabled(), false); err != nil {
			err = fmt.Errorf("%w: %w", ErrConfig, err)
		} else {
			err = b.conf.loader.CheckConfigs(now.file)
		}
	}
	if err == nil {
		useFiles, err = b.storage.Prepare(now.file, now.bad)
	}
	if err == nil {
		r, err = redaction.New(b.dir, b.keys.Redact, now.file)
	}
	if err == nil {
		next, err = b.recorder.Next(now.file)
	}
	if err == nil {
		b.conf.now = now
		err = b.kernel.Reload(ctx, b.conf.kernelConfig())
	}
	if err != nil {
		b.conf.now = before
		backToRules()
		err = errors.Join(err, b.recorder.Drop(next))
		b.conf.logUnused(ctx, b.kernel, err)
		return err
	}
	b.conf.unused = ""
	b.recorder.Use(ctx, next)
	b.recorder.Announce(ctx, b.storage.Front, now.file.Recordings, b.conf.revision())
	b.redact.Use(r)
	if b.tools != nil {
		b.tools.Use(now.file.MCP.Servers)
	}
	useFiles()
	b.live.Use(b.conf.inForce())
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
	b.mute()
	b.deaf()
	errs = append(errs, b.recorder.Close()) // before the kernel: closing it may append an event
	errs = append(errs, b.kernel.Close())
	if b.tools != nil {
		errs = append(errs, b.tools.Close())
	}
	errs = append(errs, b.storage.Finish()) // after the last commit
	errs = append(errs, b.loader.Close(func() bool { return len(b.kernel.LeftBehind()) > 0 }))
	errs = append(errs, b.storage.Close())
	return errors.Join(errs...)
}

// undoing closes what an Open that fails had opened.
type undoing []func() error

func (u *undoing) add(closing func() error) { *u = append(*u, closing) }

// all closes the last one first.
func (u undoing) all() {
	for _, closing := range slices.Backward(u) {
		_ = closing() // Open returns why it failed
	}
}

var _ kernel.Digester = audit.Keys(nil)

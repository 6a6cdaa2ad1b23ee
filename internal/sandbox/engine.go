package sandbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"log/slog"
	"sync"

	"github.com/belay-hooks/belay/hostcalls"
)

// Options configure an [Engine]. The zero value works: the compiler where the
// platform has one, no cache, the whole table of hostcalls.
type Options struct {
	// CacheDir is where compiled code is kept between processes; made with mode 0700
	// when absent. Empty: no cache. It is refused when others have any access to it.
	CacheDir string
	// CacheKey authenticates the files of CacheDir: a secret of at least 16
	// bytes. An attacker who knows the key and can write to the directory can
	// run native code in this process.
	CacheKey []byte
	// Interpreter runs modules on the engine's interpreter: 40 times slower, same
	// fuel, same results, no cache.
	Interpreter bool
	// Compiler is a program, by its absolute path, and its arguments, that does what
	// CompilerMain does. Then modules that are not [LoadOptions.Trusted] are compiled by
	// it, in a process with limits, and by this process never: when it fails, so does
	// loading. Empty: this process compiles, and the estimate is the only bound.
	Compiler []string
	// Logger gets what operators should know (a garbled cache entry, say); nil
	// discards it.
	Logger *slog.Logger
	// Table is what guests can import from module belay_v1; nil means hostcalls.Table().
	Table []hostcalls.Call

	// reset is the most that is done to use instances again; nil stands for the default.
	reset *Reset

	// engineVersion stands in for engineVersion() in test binaries, which carry no list
	// of dependencies.
	engineVersion string
}

// Engine loads modules. It is safe for concurrent use.
type Engine struct {
	host        hostModules
	interpreter bool
	cache       *codeCache // nil: none
	compiler    *compiler  // nil: this process compiles
	log         *slog.Logger
	pool        *pool
	ownTable    bool // hostcalls.Table()

	// compiling has one place: compiling is the most expensive thing that a file can
	// ask for, and two at once would add up in memory.
	compiling chan struct{}

	prepared preparedCache

	mu      sync.Mutex
	closed  bool
	modules map[*Module]struct{}
	codes   map[codeKey]*code // that other modules can share
}

// Open checks the options and the cache directory. The error says what to change.
func Open(opts Options) (*Engine, error) {
	e := &Engine{
		interpreter: opts.Interpreter,
		log:         opts.Logger,
		compiling:   make(chan struct{}, 1),
		modules:     map[*Module]struct{}{},
		codes:       map[codeKey]*code{},
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.pool = &pool{log: e.log, most: ResetCopy}
	if opts.reset != nil {
		e.pool.most = *opts.reset
	}
	table := opts.Table
	if e.ownTable = table == nil; e.ownTable {
		table = hostcalls.Table()
	}
	var err error
	if e.host, err = newHostModules(table); err != nil {
		return nil, err
	}
	if len(opts.Compiler) > 0 && !opts.Interpreter {
		if e.compiler, err = newCompiler(opts.Compiler, engineVersion()); err != nil {
			return nil, err
		}
	}
	if opts.CacheDir != "" && !opts.Interpreter {
		if e.cache, err = openCache(opts.CacheDir, opts.CacheKey, cmp.Or(opts.engineVersion, cacheVersion()),
			e.log); err != nil {
			return nil, err
		}
		e.prepared = openPreparedCache(opts.CacheDir, opts.CacheKey, e.log)
	}
	return e, nil
}

// Isolated says whether modules that are not trusted are compiled in a process of their
// own.
func (e *Engine) Isolated() bool { return e.compiler != nil }

// Close unloads all modules, waiting for their runs to end.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	open := make([]*Module, 0, len(e.modules))
	for m := range e.modules {
		open = append(open, m)
	}
	e.mu.Unlock()
	for _, m := range open {
		m.Close()
	}
	e.pool.close()
	return nil
}

// add registers a loaded module, unless the engine was closed in the meantime.
func (e *Engine) add(m *Module) (*Module, error) {
	e.mu.Lock()
	closed := e.closed
	if !closed {
		e.modules[m] = struct{}{}
	}
	e.mu.Unlock()
	if closed {
		m.Close()
		return nil, loadError(StageCompile, ErrClosed, "the engine is closed", nil)
	}
	return m, nil
}

// remove forgets a module, none of whose runs is under way. The last one of its code frees that.
func (e *Engine) remove(m *Module) {
	e.mu.Lock()
	delete(e.modules, m)
	m.users--
	last := m.users == 0
	if last && e.codes[m.key] == m.code {
		delete(e.codes, m.key)
	}
	e.mu.Unlock()
	if last {
		m.code.close()
	}
}

// share returns code that is there already and counts its new user; nil where there is none. Coverage is a module's
// own.
func (e *Engine) share(key codeKey, opts *LoadOptions) *code {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.codes[key]
	if c == nil || opts.Cover {
		return nil
	}
	c.users++
	return c
}

// offer lets later modules share the code, unless another one of its file was faster.
func (e *Engine) offer(c *code) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.codes[c.key] == nil {
		e.codes[c.key] = c
	}
}

// facts returns what is known of a file.
func (e *Engine) facts(sum [sha256.Size]byte) (Info, bool) {
	e.mu.Lock()
	for key, c := range e.codes {
		if key.sum == sum {
			info := c.info
			e.mu.Unlock()
			return info, true
		}
	}
	e.mu.Unlock()
	if !e.ownTable {
		return Info{}, false
	}
	return e.prepared.facts(codeKey{sum: sum})
}

// compileSlot waits for its turn to compile; done gives the turn back.
func (e *Engine) compileSlot(ctx context.Context) (done func(), err error) {
	select {
	case e.compiling <- struct{}{}:
		return func() { <-e.compiling }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Commands talk to the daemon while one serves the state directory, and otherwise
// open the directory themselves; what they print is the same. A daemon that is
// there and does not answer is an error: going round it could decide by another
// configuration than the one that is in force.

// records is where listings come from.
type records interface {
	Status(ctx context.Context) (wire.Status, error)
	Hooks(ctx context.Context) ([]wire.Hook, error)
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
	Latches(ctx context.Context) ([]wire.Latch, error)
	ClearLatch(ctx context.Context, s wire.Session, o *approvals.Order) error
	AcceptConfig(ctx context.Context, revision string, o *approvals.Order) error
	Compact(ctx context.Context, o client.Compaction) (wire.Compacted, error)
	// Reconcile compares a log with the events, and logs what came of it.
	Reconcile(ctx context.Context, runtime, log string) ([]wire.Reconciliation, error)
	Close() error
}

// follower is a source that says by itself when there is something new.
type follower interface {
	Follow(ctx context.Context, q wire.Query, each func(phases.Event) error) error
}

// asker is whom actions are brought to.
type asker interface {
	// Wire has an invocation in the wire form decided. With a
	// *phases.DecodeError or *client.Error there is no verdict to print.
	Wire(ctx context.Context, src []byte) (phases.Verdict, error)
	Runtime(ctx context.Context, ad adapters.Adapter, payload []byte, o adapters.Options) dispatch.Answered
	Close() error
}

// daemon returns a client of the daemon, or nil when none serves the directory. On a machine in system mode it is never
// nil.
func (a *App) daemon() (*client.Client, error) {
	if on, err := a.onMachine(); err != nil {
		return nil, err
	} else if on {
		return a.machineDaemon()
	}
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	daemon, err := client.Dial(dir)
	switch {
	case errors.Is(err, client.ErrNotRunning):
		return nil, nil
	case err != nil:
		return nil, failureBy(err,
			"A daemon serves "+safe(dir)+". Stop it, or find out what is wrong with it; belay never bypasses it.")
	}
	// Tokens that were moved out of the state directory come by the environment.
	for role, name := range map[client.Role]string{client.RoleReview: "BELAY_REVIEW_TOKEN",
		client.RoleAdmin: "BELAY_ADMIN_TOKEN"} {
		if t := a.Getenv(name); t != "" {
			daemon.SetToken(role, t)
		}
	}
	return daemon, nil
}

// aliveTime is how long a daemon may take to show that it is alive, before a command that
// a person waits for says that it hangs.
const aliveTime = 3 * time.Second

// alive returns an error for a daemon that is there and does not answer.
func alive(ctx context.Context, c *client.Client) error {
	within, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	err := c.Alive(within)
	if within.Err() != nil && ctx.Err() == nil {
		return failure(fmt.Sprintf("the daemon does not answer within %v: it hangs, or was stopped", aliveTime),
			"Actions are blocked meanwhile. `kill -CONT` lets a stopped process go on; end one that hangs, and start it again. belay never bypasses it.")
	}
	if err != nil {
		return recordsFailure(err)
	}
	return nil
}

// answering is daemon for commands that a person waits for.
func (a *App) answering(ctx context.Context) (*client.Client, error) {
	c, err := a.daemon()
	if c == nil || err != nil {
		return c, err
	}
	if err := alive(ctx, c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// toLook returns how a state directory is opened by a command that only looks. The name of a kernel that shares its
// store is not taken: another process may have it.
func toLook(dir string) belay.Options {
	return belay.Options{NoHooks: true, DryRun: statelog.Shares(dir)}
}

// toChange returns how a state directory is opened by a command that may change something.
func toChange(string) belay.Options { return belay.Options{NoHooks: true} }

// openSource opens the daemon, or the state directory without its hooks.
func openSource[T any](ctx context.Context, app *App, to func(dir string) belay.Options,
	remote func(*client.Client) T, local func(*belay.Belay) T) (T, error) {
	var none T
	c, err := app.answering(ctx)
	if err != nil {
		return none, err
	}
	if c != nil {
		return remote(c), nil
	}
	dir, err := app.stateDir()
	if err != nil {
		return none, err
	}
	host, err := app.openState(ctx, dir, to(dir))
	if err != nil {
		return none, err
	}
	return local(host), nil
}

// existing refuses a directory in which belay keeps nothing: what only reads makes no state directory.
func existing(dir string) error {
	if err := statedir.Exists(dir); err != nil {
		return &exitError{code: ExitError, text: err.Error() + " " + safe(dir), cause: err,
			hint: "`belay init` makes it; --state and $BELAY_HOME name another."}
	}
	return nil
}

// openRecords opens the record, of the daemon or of the directory without its
// hooks: it must be there to look at while a hook is broken.
func (a *App) openRecords(ctx context.Context) (records, error) { return a.recordsTo(ctx, toChange) }

// lookAtRecords is openRecords for a command that changes nothing.
func (a *App) lookAtRecords(ctx context.Context) (records, error) { return a.recordsTo(ctx, toLook) }

func (a *App) recordsTo(ctx context.Context, to func(dir string) belay.Options) (records, error) {
	return openSource(ctx, a, to, func(c *client.Client) records { return c }, func(host *belay.Belay) records {
		return localRecords{host, a.logDir}
	})
}

// events is where events are read from.
type events interface {
	Events(ctx context.Context, q wire.Query) ([]phases.Event, error)
	// Compacted says how many of the oldest events have no contents, and which event announces that.
	Compacted(ctx context.Context) (through, event int64, err error)
	Close() error
}

// openEvents opens the events to be read only, of the daemon or of the directory.
func (a *App) openEvents(ctx context.Context) (events, error) {
	c, err := a.answering(ctx)
	if err != nil {
		return nil, err
	}
	if c != nil {
		return c, nil
	}
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	if statelog.HasNone(dir) {
		host, err := a.openState(ctx, dir, belay.Options{NoHooks: true}) // which makes a database in a state directory
		if err != nil {
			return nil, err
		}
		return hostEvents{host}, nil
	}
	log, err := a.openLog(ctx, dir)
	if err != nil {
		return nil, err
	}
	return logEvents{log}, nil
}

// openLog opens the event log without writing to the directory.
func (a *App) openLog(ctx context.Context, dir string) (*statelog.ReadOnly, error) {
	log, err := statelog.OpenReadOnly(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, failure("there is no event log in "+safe(dir),
			"`belay init` makes a state directory; --state and $BELAY_HOME name another.")
	}
	if err != nil {
		return nil, databaseFailure(dir, err)
	}
	return log, nil
}

// databaseFailure names the store that cannot be opened.
func databaseFailure(dir string, err error) error {
	const hint = "`belay doctor` says what is wrong and what to do about it."
	if why, ok := whyUnavailable(err); ok {
		place := statelog.Place(dir)
		why = strings.TrimPrefix(why, place+" ")
		return &exitError{code: ExitError, text: safe(place + " cannot be used: " + why), hint: hint, cause: err}
	}
	return failureBy(err, hint)
}

type hostEvents struct{ *belay.Belay }

func (h hostEvents) Compacted(ctx context.Context) (through, event int64, err error) {
	return statelog.Of(h.Log()).Compacted(ctx)
}

func (h hostEvents) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return h.Belay.Events(ctx, q)
}

// logEvents is an event log that this process has open.
type logEvents struct{ *statelog.ReadOnly }

func (l logEvents) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return l.ReadOnly.Events(ctx, q)
}

// recordsFailure says what to do about an error of a source.
func recordsFailure(err error) error {
	var p *client.Error
	if !errors.As(err, &p) {
		if errors.Is(err, kernel.ErrTampered) || errors.Is(err, kernel.ErrRollback) {
			return failureBy(err, "Every action is blocked until `belay recover`; with --dry-run it says what is wrong.")
		}
		return failureBy(err, "")
	}
	hint := p.Hint
	if p.Code == wire.CodeToken || p.Code == wire.CodeRole {
		hint = "The token is read from keys/ROLE.token in the state directory, or from $BELAY_REVIEW_TOKEN or $BELAY_ADMIN_TOKEN."
	}
	return failureBy(err, hint)
}

// localRecords is a state directory that this process has open.
type localRecords struct {
	host   *belay.Belay
	logDir func(runtime string) string
}

func (l localRecords) Close() error { return l.host.Close() }

func (l localRecords) Status(ctx context.Context) (wire.Status, error) {
	return l.host.Status(ctx)
}

func (l localRecords) Hooks(context.Context) ([]wire.Hook, error) {
	return l.host.Bindings(), nil
}

func (l localRecords) Events(ctx context.Context, q wire.Query) ([]phases.Event, error) {
	return l.host.Events(ctx, q)
}

func (l localRecords) Latches(ctx context.Context) ([]wire.Latch, error) {
	ls, err := l.host.Latches(ctx)
	return kernel.LatchesOnWire(ls), err
}

func (l localRecords) ClearLatch(ctx context.Context, s wire.Session, o *approvals.Order) error {
	return l.host.ClearLatch(ctx, s, o)
}

func (l localRecords) AcceptConfig(ctx context.Context, revision string, o *approvals.Order) error {
	return l.host.AcceptConfig(ctx, revision, o)
}

func (l localRecords) Compact(ctx context.Context, o client.Compaction) (wire.Compacted, error) {
	r, err := statelog.Of(l.host.Log()).Compact(ctx,
		statelog.CompactOptions{Before: o.Before, Why: o.Why, DryRun: o.DryRun, Order: o.Statement})
	return r, err
}

// openAsker opens what decides: the daemon, unless the command brings hooks or
// modes of its own, which only this process can have.
func (a *App) openAsker(ctx context.Context, o evalOptions) (asker, error) {
	host, err := a.openDecider(ctx, o)
	if err == nil && o.holds {
		host = scopesHolder{host}
	}
	return host, err
}

func (a *App) openDecider(ctx context.Context, options evalOptions) (asker, error) {
	if options.connect != "" { // nothing decides in its place
		if on, err := a.machineUnless(true); err != nil {
			return nil, err
		} else if on { // and it does so in the place of the machine's daemon for those whom system.yaml lets
			c, err := a.machineDaemon()
			return daemonAsker{c, "", a.word}, err
		}
		c, err := client.Connect(options.connect)
		if err != nil {
			f := phases.NewFault(phases.KindLoad, "the daemon could not be asked", err)
			return nil, failureBy(f, safe(err.Error()))
		}
		return daemonAsker{c, "", a.word}, nil
	}
	if len(options.hooks) == 0 && !options.unsafeOpen && !options.slow && options.recorder == nil && options.at == nil {
		c, err := a.daemon()
		if err != nil {
			return nil, err
		}
		if c != nil {
			if on, err := a.onMachine(); on || err != nil {
				return daemonAsker{c, "", a.word}, err
			}
			dir, err := a.stateDir()
			return daemonAsker{c, dir, a.word}, err
		}
	}
	host, err := a.openForEval(ctx, options)
	if err != nil {
		return nil, err
	}
	if options.at != nil {
		return localAsker{host, atTime{host, *options.at}}, nil
	}
	return localAsker{host, host}, nil
}

type localAsker struct {
	host *belay.Belay
	asks dispatch.Host // host, or host at another time
}

func (l localAsker) Close() error { return l.host.Close() }

// stuck says why the command has to be started again, or nil.
func (l localAsker) stuck() error {
	select {
	case <-l.host.Stuck():
		return stuckError(l.host.LeftBehind())
	default:
		return nil
	}
}

func (l localAsker) Wire(ctx context.Context, src []byte) (phases.Verdict, error) {
	return dispatch.Wire(ctx, l.asks, src)
}

func (l localAsker) Runtime(ctx context.Context, ad adapters.Adapter, payload []byte,
	o adapters.Options) dispatch.Answered {
	return dispatch.Runtime(ctx, l.asks, ad, payload, o)
}

// scopesHolder says with every invocation that its caller holds the scopes.
type scopesHolder struct{ asker }

func (s scopesHolder) Wire(ctx context.Context, src []byte) (phases.Verdict, error) {
	if v := jsontext.Value(src); v.IsValid() && v.Kind() == '{' { // else it is refused as it came
		if with, err := phases.Set(v, "/holds_scopes", jsontext.Value("true")); err == nil {
			src = with
		}
	}
	return s.asker.Wire(ctx, src)
}

type daemonAsker struct {
	*client.Client
	dir  string            // where a note goes; "" for a daemon of another user
	word *hookcmd.LastWord // leaves the note of an event that the daemon does not answer
}

func (d daemonAsker) Wire(ctx context.Context, src []byte) (phases.Verdict, error) {
	return d.InvokeJSON(ctx, src)
}

func (d daemonAsker) Runtime(ctx context.Context, ad adapters.Adapter, payload []byte,
	o adapters.Options) dispatch.Answered {
	out := hookcmd.Ask(ctx, hookDaemon{d.Client}, d.dir, ad, payload, o, d.word)
	return dispatch.Answered{Answer: out.Answer, Verdicts: out.Verdicts, Err: out.Err}
}

// hookDaemon is a daemon as the command of a runtime asks it.
type hookDaemon struct{ client *client.Client }

// Ask has the errors of client.Client.Ask.
func (d hookDaemon) Ask(ctx context.Context, runtime string, payload []byte,
	o adapters.Options) (hookcmd.Answered, error) {
	ask := d.client.Ask
	if o.Headless {
		ask = d.client.AskHeadless
	}
	a, err := ask(ctx, runtime, o.Event, payload)
	if err != nil {
		return hookcmd.Answered{}, err
	}
	return hookcmd.Answered{Verdicts: a.Verdicts,
		Answer: adapters.Answer{Stdout: []byte(a.Stdout), Stderr: a.Stderr, Exit: a.Exit, Notes: a.Notes}}, nil
}

var (
	_ records  = (*client.Client)(nil)
	_ follower = (*client.Client)(nil)
)

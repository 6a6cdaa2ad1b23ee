package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/system"
	"github.com/belay-hooks/belay/kernel"
)

// App is where the commands read, write and look for their surroundings. The
// zero value of a member means the process's own; tests set what they need.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Getwd    func() (string, error)
	Terminal bool // Out is a terminal: colour and progress are welcome
	Geteuid  func() int

	// Patience is how long `eval --runtime` waits for its payload; 0 means 10 s.
	Patience time.Duration

	// Files is what hooks learn of symbolic links; nil means the host's own files.
	Files kernel.FileSystem

	// Compiler is what compiles modules in a process of its own; alone.OwnCompiler in the
	// program itself. Nil: modules are compiled in this process.
	Compiler []string

	// Places and LoadSystem are where system mode is set up and what its system.yaml says; zero: the machine's own,
	// which no flag and no variable moves.
	Places     system.Places
	LoadSystem func() (*system.Config, error)

	word *hookcmd.LastWord       // of this call of Main
	now  *atomic.Pointer[[]byte] // the invocation that `eval` is deciding

	ran   string   // the command that ran, as it is typed
	state string   // --state
	quiet bool     // warnings are not logged, only errors: for a demo
	last  []func() // run after the answer has been written
}

// Main runs one command line (without the program's name) and returns the exit
// status of DESIGN: 0 ok, 1 error, 2 usage, 3 blocked, 4 pending approval, 5
// differences found, 6 to be started again. It never panics.
func (a *App) Main(ctx context.Context, args []string) (code int) {
	a.defaults()
	a.word, a.now = new(hookcmd.LastWord), new(atomic.Pointer[[]byte])
	if rt, asked := runtimeOf(args); asked {
		// An agent runtime is waiting: whatever goes wrong from here on has to come
		// out as that runtime's own way of saying no.
		return a.mainRuntime(ctx, rt, args)
	}
	work := func() (code int) {
		defer a.finish()
		defer func() {
			if p := recover(); p != nil {
				fmt.Fprintf(a.Err, "belay: internal error: %v\n", p)
				fmt.Fprintf(a.Err, "  This is a bug; please report it with what you did. Nothing was allowed.\n%s", debug.Stack())
				code = ExitError
			}
		}()
		return a.report(a.execute(ctx, args))
	}
	if !slices.Contains(args, "eval") {
		return work()
	}
	code, _ = hookcmd.InTime(ctx, hookcmd.Grace, a.word, work, func() int { return a.late(args) })
	return code
}

func (a *App) execute(ctx context.Context, args []string) error {
	root := a.root()
	if completes(args) {
		if err := a.complete(root); err != nil {
			return err
		}
	}
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	a.ran = cmd.CommandPath()
	return err
}

// report prints an error once and turns it into an exit status.
func (a *App) report(err error) int {
	if err == nil {
		return ExitOK
	}
	var e *exitError
	if errors.As(err, &e) {
		// It may quote input, and others store standard error.
		if e.text != "" {
			fmt.Fprintf(a.Err, "belay: %s\n", redact.Label(e.text))
		}
		if e.hint == "" && e.text != "" {
			e.hint = a.nextStep(e)
		}
		if e.hint != "" {
			fmt.Fprintf(a.Err, "  %s\n", redact.Label(e.hint))
		}
		return e.code
	}
	fmt.Fprintf(a.Err, "belay: %s\n  %s\n", redact.Label(safe(err.Error())), a.nextStep(err))
	return ExitError
}

func (a *App) defaults() {
	if a.In == nil {
		a.In = os.Stdin
	}
	if a.Out == nil {
		a.Out = os.Stdout
	}
	if a.Err == nil {
		a.Err = os.Stderr
	}
	if a.Getenv == nil {
		a.Getenv = os.Getenv
	}
	if a.Getwd == nil {
		a.Getwd = os.Getwd
	}
	if a.Geteuid == nil {
		a.Geteuid = os.Geteuid
	}
	if f, ok := a.Out.(*os.File); ok && !a.Terminal {
		a.Terminal = isTerminal(f)
	}
}

// finish does what comes last, once.
func (a *App) finish() {
	for _, f := range a.last {
		f()
	}
	a.last = nil
}

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "belay",
		Short: "A hook host for AI agents",
		Long: `belay runs hooks for AI agents. A hook is a WebAssembly module in a sandbox. It sees what
an agent is about to do, and answers allow, allow with changes, ask or block.

  belay init                      set up a state directory with a first configuration
  belay connect                   have agent runtimes ask belay about what they do
  belay eval < invocation.json    ask once what the hooks say
  belay events tail               see what was decided and why
  belay test DIR                  run the cases of a hook
  belay demo                      watch a recorded session pass through all eight phases
  belay demo leases               watch power being lent, used up and taken back`,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error { return a.withinReach(cmd) }
	root.SetVersionTemplate("belay {{.Version}}\n")
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().StringVar(&a.state, "state", "",
		"state directory (default $BELAY_HOME, then the XDG state directory)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return flagError(cmd, err)
	})
	root.SetHelpCommand(a.helpCmd())
	root.AddCommand(a.connectCmd(), a.disconnectCmd())
	root.AddCommand(a.initCmd(), a.evalCmd(), a.serveCmd(), a.reloadCmd(), a.hookCmd(), a.trustCmd(), a.eventsCmd(),
		a.statusCmd(), a.doctorCmd(), a.configCmd(), a.latchCmd(), a.leaseCmd(), a.approvalsCmd(), a.reviewerCmd(),
		a.rulesCmd(), a.testCmd(), a.redactCmd(), a.recordCmd(), a.recoverCmd(), a.replayCmd(), a.fuzzCmd(), a.conformCmd(),
		a.migrateCmd(), a.fleetCmd(), a.demoCmd(), a.schemaCmd(), a.systemCmd(), a.completionCmd())
	root.AddCommand(a.previewCmds()...)
	return root
}

// stateDir returns the state directory, absolute; it need not exist.
func (a *App) stateDir() (string, error) {
	dir, err := hookcmd.StateDir(a.state, a.Getenv, a.Getwd)
	if errors.Is(err, hookcmd.ErrNoHome) {
		return "", failure(err.Error(), "Give one with --state DIR or $BELAY_HOME.")
	}
	if err != nil {
		return "", err
	}
	return dir, a.asDaemon(dir)
}

// Commands returns the tree of commands, for programs that describe it. Nothing of it may be run.
func Commands() *cobra.Command { return (&App{}).root() }

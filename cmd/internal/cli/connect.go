package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/near"
	"github.com/belay-hooks/belay/internal/textdiff"
)

// connectOptions are the flags of `belay connect` and `belay disconnect`.
type connectOptions struct {
	user, project, local, managed bool
	yes, print, json              bool
	hook, daemon, root            string
	connected                     bool       // false: disconnect
	skillShell                    bool       // leave commands in skills as they are
	guard                         guardOffer // how the offer to bind the settings guard ended
}

func (a *App) connectCmd() *cobra.Command {
	o := connectOptions{connected: true}
	cmd := &cobra.Command{
		Use:   "connect [claude-code|codex|cursor|gemini-cli|openclaw|opencode]",
		Short: "Have an agent runtime ask belay about each of its events",
		Long: `connect writes belay's entries into a runtime's own settings: one for each event, which
starts belay-hook by its absolute path with this state directory. It shows what would
change, asks, keeps a copy beside the file, and leaves every other byte as it is. Run
again it changes nothing, or puts back what was changed in its own entries.

The level says what holds:

  --user     one person's settings
  --project  settings that a project's people share
  --local    one person's settings in one project (Claude Code)
  --managed  the machine's settings, which neither a repository nor an agent can change

connect prints which ways past belay stay open at that level; docs/AGENTS.md has them all.

Where belay.yaml was made before there was a settings guard, connect offers to bind that
hook, too. It has an agent's changes of settings and of belay's files wait for a person.

On a machine in system mode root connects every user: sudo belay system connect.

Without a name it says which runtimes are here, and what it would do.`,
		Example: `  belay connect
  belay connect claude-code
  belay connect codex --yes
  sudo belay connect claude-code --managed --state /home/dev/.local/state/belay
  belay connect claude-code --managed --print > managed-settings.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.connectFind(o)
			}
			return a.connect(cmd.Context(), args[0], o)
		},
	}
	a.connectFlags(cmd, &o)
	f := cmd.Flags()
	f.StringVar(&o.hook, "hook", "", "path of belay-hook (default: beside belay, then on the PATH)")
	f.BoolVar(&o.skillShell, "allow-skill-shell", false,
		"with --managed: let Claude Code run commands that stand in files of slash commands and skills")
	f.StringVar(&o.daemon, "daemon", "", "ask the daemon of another user by DIR, as belay-hook --connect DIR does")
	return cmd
}

func (a *App) disconnectCmd() *cobra.Command {
	var o connectOptions
	cmd := &cobra.Command{
		Use:   "disconnect claude-code|codex|cursor|gemini-cli|openclaw|opencode",
		Short: "Take belay's entries out of a runtime's settings",
		Long: `disconnect takes out exactly what connect has written at that level, and leaves every
other byte as it is. Without belay's entries the runtime asks belay nothing: every action
goes on.`,
		Args: oneArg("the name of a runtime"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.connect(cmd.Context(), args[0], o) },
	}
	a.connectFlags(cmd, &o)
	return cmd
}

func (a *App) connectFlags(cmd *cobra.Command, o *connectOptions) {
	f := cmd.Flags()
	f.BoolVar(&o.user, "user", false, "one person's settings (the default)")
	f.BoolVar(&o.project, "project", false, "the settings of the project in the current directory")
	f.BoolVar(&o.local, "local", false, "one person's settings of that project; Claude Code only")
	f.BoolVar(&o.managed, "managed", false, "the machine's settings, written by root")
	f.BoolVar(&o.yes, "yes", false, "do not ask")
	f.BoolVar(&o.print, "print", false, "print the files as they would be, and write nothing")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVar(&o.root, "root", "", "with --managed: the root of another file system, such as an image's")
}

func (o connectOptions) level() connect.Level {
	switch {
	case o.managed:
		return connect.Managed
	case o.project:
		return connect.Project
	case o.local:
		return connect.Local
	}
	return connect.User
}

// mayConnect refuses a level that is not for this user.
func mayConnect(o connectOptions, verb, name string, root bool) error {
	levels := 0
	for _, on := range []bool{o.user, o.project, o.local, o.managed} {
		if on {
			levels++
		}
	}
	switch {
	case levels > 1:
		return usageError("one level at a time", "Give one of --user, --project, --local and --managed.")
	case o.root != "" && !o.managed:
		return usageError("--root goes with --managed", "")
	case o.skillShell && !o.managed:
		return usageError("--allow-skill-shell goes with --managed", "")
	case o.print:
		return nil
	case o.managed && !root && runtime.GOOS != "windows":
		return failure("managed settings are root's to write",
			fmt.Sprintf("Have the administrator run `sudo belay %s %s --managed`, or give them what --print prints.",
				verb, name))
	case !o.managed && root:
		return failure("root writes managed settings only: in a directory of a user's, a link could lead it elsewhere",
			"Run it as that user, or with --managed.")
	}
	return nil
}

// knownRuntimes says which runtime may have been meant, or which there are.
func knownRuntimes(name string) string {
	names := connect.Runtimes()
	for _, r := range names {
		if len(name) > 2 && strings.HasPrefix(r, strings.ToLower(name)) {
			return "Did you mean `belay connect " + r + "`?"
		}
	}
	if r := near.Of(name, names); r != "" {
		return "Did you mean `belay connect " + r + "`?"
	}
	return "It knows " + near.List(names) + ". For another agent see docs/runtimes/generic.md."
}

func (a *App) connect(ctx context.Context, name string, o connectOptions) error {
	verb := "connect"
	if !o.connected {
		verb = "disconnect"
	}
	if connect.Levels(name) == nil {
		return usageError(fmt.Sprintf("belay cannot %s %q", verb, safe(name)),
			knownRuntimes(name))
	}
	if err := mayConnect(o, verb, name, a.Geteuid() == 0); err != nil {
		return err
	}
	if o.connected && !o.print {
		if err := a.connectOnMachine(name, o); err != nil {
			return err
		}
	}
	hook, err := a.connectHook(o)
	if err != nil {
		return err
	}
	place, err := a.connectPlace(o)
	if err != nil {
		return err
	}
	w := connect.Writer{Managed: o.managed && !o.print, Root: place.Root, Now: time.Now()}
	if w.Managed && o.connected {
		if err := w.CheckProgram(hook.Program); err != nil {
			return connectFailure(err)
		}
	}
	plan, err := connect.Make(name, o.level(), place, hook, o.connected, w.Read)
	if err != nil {
		return connectFailure(err)
	}
	if o.print {
		return a.connectPrint(plan, o)
	}
	if o.connected && !o.managed && !hasClient(name, place) {
		plan.Notes = append(plan.Notes, notHere(name))
	}
	var danger []connect.Finding
	if o.connected {
		danger = connect.Danger(name, plan.Level, place, hook, w.Read)
	}
	if !plan.Changes() {
		o.guard, err = a.connectGuard(ctx, hook, o)
		return errors.Join(a.connectStays(plan, o, danger), err)
	}
	if !o.json {
		a.connectDiff(plan)
	}
	if !o.yes {
		what := "belay would write the lines with + and take out those with -."
		if err := a.confirmOr(what, "nothing was written"); err != nil {
			return err
		}
	}
	var backups []string
	for _, c := range plan.Files {
		backup, err := w.Write(c)
		if err != nil {
			return connectFailure(err)
		}
		if backup != "" {
			backups = append(backups, backup)
		}
	}
	o.guard, err = a.connectGuard(ctx, hook, o)
	return errors.Join(a.connectDone(plan, o, backups, danger), err)
}

// connectGuard has the settings guard bound in the state directory that the hooks ask, where it was
// made before there was one. Root edits no configuration of a user's.
func (a *App) connectGuard(ctx context.Context, hook connect.Hook, o connectOptions) (guardOffer, error) {
	switch {
	case !o.connected || hook.State == "" || o.root != "":
		return "", nil
	case a.Geteuid() == 0 && o.managed:
		fmt.Fprintf(a.Err, "Whether a settings guard is bound in %s, `belay doctor` of its user says.\n", safe(hook.State))
		return "", nil
	}
	return a.offerGuard(ctx, hook.State, o.yes)
}

// connectHook returns the command that a runtime is to start.
func (a *App) connectHook(o connectOptions) (connect.Hook, error) {
	h := connect.Hook{SkillShell: o.skillShell}
	if !o.connected {
		return h, nil
	}
	on, err := a.onMachine()
	if err != nil {
		return h, err
	}
	switch {
	case on && o.daemon == "" && o.root == "":
		h.Machine = true
	case o.daemon != "" && a.state != "":
		return h, usageError("--daemon and --state say two things", "Give one of them.")
	case o.daemon != "":
		h.Daemon, err = a.absolute(o.daemon)
	case o.managed && a.state == "" && !o.print:
		return h, usageError("whose state directory?", "With --managed, give --state DIR or --daemon DIR: the hooks of "+
			"every user of this machine ask there.")
	default:
		h.State, err = a.stateDir()
		h.State = filepath.Clean(h.State)
	}
	if err != nil {
		return h, failureBy(err, "")
	}
	if h.State != "" && !o.print && o.root == "" {
		if _, err := os.Stat(filepath.Join(h.State, config.FileName)); errors.Is(err, fs.ErrNotExist) {
			return h, failure("there is no "+config.FileName+" in "+safe(h.State), "`belay init` writes a first one. "+
				"A runtime that asks there now would have every action blocked.")
		}
	}
	if path := machineHook(); h.Machine && o.hook == "" && canRun(path) == nil {
		h.Program = path
		return h, nil
	}
	h.Program, err = a.hookProgram(o)
	return h, err
}

// hookProgram finds belay-hook.
func (a *App) hookProgram(o connectOptions) (string, error) {
	if o.hook != "" {
		path, err := a.absolute(o.hook)
		if err != nil || o.print || o.root != "" {
			return path, err
		}
		return path, canRun(path)
	}
	name := "belay-hook"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		if path := filepath.Join(filepath.Dir(self), name); canRun(path) == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = a.absolute(path)
	}
	if err != nil {
		return "", failure("belay-hook is neither beside belay nor on the PATH",
			"Install it, or give its path with --hook.")
	}
	return path, nil
}

// canRun refuses a program that a runtime could not start.
func canRun(path string) error {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return failureBy(err, "")
	case !fi.Mode().IsRegular() || runtime.GOOS != "windows" && fi.Mode()&0o111 == 0:
		return failure(safe(path)+" is no program that can be started", "")
	}
	return nil
}

func (a *App) absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	wd, err := a.Getwd()
	return filepath.Join(wd, path), err
}

func (a *App) connectPlace(o connectOptions) (connect.Place, error) {
	wd, err := a.Getwd()
	if err != nil {
		return connect.Place{}, failureBy(err, "")
	}
	place, err := connect.Places(a.Getenv, wd)
	if err != nil {
		return place, connectFailure(err)
	}
	if o.root != "" {
		if place.Root, err = a.absolute(o.root); err != nil {
			return place, failureBy(err, "")
		}
	}
	return place, nil
}

func (a *App) connectDiff(plan connect.Plan) {
	p := a.palette()
	for _, c := range plan.Files {
		if !c.Changes() {
			continue
		}
		fmt.Fprintf(a.Out, "--- %s\n+++ %s\n", before(c), after(c))
		for _, l := range textdiff.Near(textdiff.Lines(textLines(c.Old), textLines(c.New)), 3) {
			text := string(l.Op) + safe(l.Text)
			switch l.Op {
			case '+':
				text = p.green(text)
			case '-':
				text = p.red(text)
			}
			fmt.Fprintln(a.Out, text)
		}
		fmt.Fprintln(a.Out)
	}
}

func before(c connect.Change) string {
	if c.Old == nil {
		return "(no file)"
	}
	return safe(c.Path)
}

func after(c connect.Change) string {
	if c.New == nil {
		return "(no file)"
	}
	return safe(c.Path)
}

func textLines(src []byte) []string {
	if len(src) == 0 {
		return nil
	}
	return linesOf(src)
}

// connectFile is a file of --json.
type connectFile struct {
	Path    string  `json:"path"`
	Changed bool    `json:"changed"`
	Content *string `json:"content"` // as it would be, or is now; null: no file
}

// connectReport is what --json prints.
type connectReport struct {
	Runtime string        `json:"runtime"`
	Level   connect.Level `json:"level"`
	Changed bool          `json:"changed"`
	Written bool          `json:"written"`
	Files   []connectFile `json:"files"`
	Backups []string      `json:"backups,omitzero"`
	Notes   []string      `json:"notes,omitzero"`
	Guard   guardOffer    `json:"guard,omitzero"`  // bound, added or missing: the settings guard in belay.yaml
	Open    []string      `json:"open,omitzero"`   // ways past belay that stay open at this level
	Danger  []string      `json:"danger,omitzero"` // what can keep belay-hook from being started, or replace it
}

func (a *App) connectJSON(plan connect.Plan, o connectOptions, written bool, backups []string,
	danger []connect.Finding) error {
	return a.printJSON(connectReportOf(plan, o, written, backups, danger))
}

func connectReportOf(plan connect.Plan, o connectOptions, written bool, backups []string,
	danger []connect.Finding) connectReport {
	r := connectReport{Runtime: plan.Runtime, Level: plan.Level, Changed: plan.Changes(), Written: written,
		Backups: backups, Notes: plan.Notes, Guard: o.guard}
	for _, c := range plan.Files {
		f := connectFile{Path: c.Path, Changed: c.Changes()}
		if c.New != nil {
			s := string(c.New)
			f.Content = &s
		}
		r.Files = append(r.Files, f)
	}
	if o.connected {
		for _, w := range connect.OpenAt(plan.Runtime, plan.Level) {
			r.Open = append(r.Open, w.What)
		}
	}
	for _, f := range danger {
		r.Danger = append(r.Danger, f.Text)
	}
	return r
}

func (a *App) connectPrint(plan connect.Plan, o connectOptions) error {
	if o.json {
		return a.connectJSON(plan, o, false, nil, nil)
	}
	for _, c := range plan.Files {
		if len(plan.Files) > 1 {
			fmt.Fprintf(a.Out, "==> %s <==\n", safe(c.Path))
		} else {
			fmt.Fprintf(a.Err, "%s:\n", safe(c.Path))
		}
		if _, err := a.Out.Write(c.New); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) connectStays(plan connect.Plan, o connectOptions, danger []connect.Finding) error {
	if o.json {
		return a.connectJSON(plan, o, false, nil, danger)
	}
	said := "is connected already"
	if !o.connected {
		said = "is not connected"
	}
	fmt.Fprintf(a.Out, "%s %s (%s settings). Nothing was written.\n", plan.Runtime, said, plan.Level)
	for _, n := range plan.Notes {
		fmt.Fprintf(a.Out, "note: %s\n", safe(n))
	}
	a.connectDanger(danger)
	return nil
}

// connectDanger says in red what can end belay-hook, or take its place.
func (a *App) connectDanger(danger []connect.Finding) {
	p := a.palette()
	for _, f := range danger {
		word := p.red("FAIL")
		if f.Severity != connect.Fail {
			word = "warn"
		}
		fmt.Fprintf(a.Out, "%s %s\n     %s\n", word, safe(f.Text), f.Advice)
	}
}

func (a *App) connectDone(plan connect.Plan, o connectOptions, backups []string, danger []connect.Finding) error {
	if o.json {
		return a.connectJSON(plan, o, true, backups, danger)
	}
	for _, b := range backups {
		fmt.Fprintf(a.Out, "A copy of the former file is %s.\n", safe(b))
	}
	for _, n := range plan.Notes {
		fmt.Fprintf(a.Out, "note: %s\n", safe(n))
	}
	if !o.connected {
		fmt.Fprintf(a.Out, "%s does not ask belay any more (%s settings).\n", plan.Runtime, plan.Level)
		return nil
	}
	fmt.Fprintf(a.Out, "%s asks belay about each event (%s settings). Sessions that run have to be started again.\n",
		plan.Runtime, plan.Level)
	if o.project && plan.Runtime == "claude-code" {
		fmt.Fprintln(a.Out, "The file names this machine's paths: where it is shared, `--local` keeps them to yourself.")
	}
	a.connectDanger(danger)
	if open := connect.OpenAt(plan.Runtime, plan.Level); len(open) > 0 {
		fmt.Fprintf(a.Out, "\nStays open at this level:\n")
		for _, w := range open {
			fmt.Fprintf(a.Out, "  - %s (%s)\n", w.What, w.By)
		}
	}
	fmt.Fprintf(a.Out, "\n`belay doctor` looks whether it stays so.\n")
	return nil
}

// connectFailure says what connect refused, with what to do.
func connectFailure(err error) error {
	e := new(connect.Error)
	if errors.As(err, &e) {
		return failure(safe(e.Error()), cmp.Or(e.Advice, "Nothing was written."))
	}
	return failureBy(err, "")
}

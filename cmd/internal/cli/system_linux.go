package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/sysinstall"
	"github.com/belay-hooks/belay/internal/system"
)

// openSystem opens the tree that a command works on. Without root nothing can be written.
func (a *App) openSystem(f systemFlags, writes bool) (*sysinstall.Tree, error) {
	if writes && a.Geteuid() != 0 {
		return nil, failure("this takes root: the files of system mode are root's and belay's",
			"Run it with sudo; --dry-run and `belay system status` need no root.")
	}
	root := "/"
	if f.root != "" {
		abs, err := filepath.Abs(f.root)
		if err != nil {
			return nil, failureBy(err, "")
		}
		if root = abs; root == "/" {
			return nil, usageError("--root is for images, and / is this machine", "Leave it out.")
		}
	}
	t, err := sysinstall.OpenTree(root)
	if err != nil {
		return nil, systemFailure(err)
	}
	return t, nil
}

// systemFailure says each thing that stands in the way, with what to do.
func systemFailure(err error) error {
	var refused sysinstall.Refused
	if errors.As(err, &refused) && len(refused) > 1 {
		var lines []string
		for _, e := range refused {
			lines = append(lines, "- "+safe(e.Error()))
			if e.Advice != "" {
				lines = append(lines, "  "+safe(e.Advice))
			}
		}
		return failure("nothing was changed, since this stands in the way:\n"+strings.Join(lines, "\n"), "")
	}
	if e := (*sysinstall.Error)(nil); errors.As(err, &e) {
		return failureBy(err, safe(e.Advice))
	}
	return failureBy(err, "")
}

// systemOptions are the programs and the configuration that are installed.
func (a *App) systemOptions(f systemFlags) (sysinstall.Options, error) {
	dir := f.programs
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return sysinstall.Options{}, failureBy(err, "Give the directory of the programs with --programs.")
		}
		dir = filepath.Dir(self)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return sysinstall.Options{}, failureBy(err, "")
	}
	own, err := json.Marshal(systemPaths())
	if err != nil {
		return sysinstall.Options{}, failureBy(err, "")
	}
	return sysinstall.Options{Version: version(), Programs: sysinstall.Beside(dir), Policy: sysinstall.Policy{
		System: []byte(systemText),
		Belay:  []byte(organisationText + strings.ReplaceAll(starterText, "OWN_PATHS", string(own))),
		Trust:  []byte(config.EmptyTrust),
	}}, nil
}

// systemPaths is what the settings guard protects beside the files that it knows.
func systemPaths() []string {
	out := []string{system.ConfigDir, system.StateDir}
	for _, name := range sysinstall.Programs() {
		out = append(out, path.Join(sysinstall.ProgramDir, name))
	}
	return out
}

const organisationText = `# The organisation's layer: it holds for every user of this machine who may ask belay.
# docs/SYSTEM.md says what users may add to it.
`

const systemText = `# system.yaml: its presence is system mode. docs/SYSTEM.md says what each line means.
version: belay-system/v1

# Whom a person calls whose agent is blocked because belay is away.
# contact: "the platform team, #belay"

# Who may ask: names, uids and @groups. Without it every user from uid 1000 to 59999 may.
# users: {allow: ["@developers"]}

# Whose signature decides the questions of which users: names of reviewers in belay.yaml.
# reviewers: {"*": [security]}
`

// printSteps prints a plan: what changes, and how much is as it should be.
func (a *App) printSteps(steps []sysinstall.Step) {
	t := newTable("STEP", "PATH", "")
	same := 0
	for _, s := range steps {
		if s.Action == sysinstall.Keep && s.Path != "" {
			same++
			continue
		}
		t.row(string(s.Action), safe(s.Path), safe(s.Text))
	}
	if len(steps) > same {
		t.print(a.Out, a.palette())
	}
	if same > 0 {
		fmt.Fprintf(a.Out, "%s as it should be\n", plural(same, "part"))
	}
}

func (a *App) systemInstall(ctx context.Context, f systemFlags) error {
	t, err := a.openSystem(f, !f.dryRun)
	if err != nil {
		return err
	}
	defer t.Close()
	o, err := a.systemOptions(f)
	if err != nil {
		return err
	}
	p, err := t.Plan(o)
	if err != nil {
		return systemFailure(err)
	}
	if f.dryRun {
		if f.json {
			return a.printJSON(map[string]any{"dry_run": true, "steps": p.Steps})
		}
		a.printSteps(p.Steps)
		fmt.Fprintln(a.Err, "Nothing was changed.")
		return nil
	}
	start := t.Machine() && !f.noStart
	if start && !sysinstall.Booted() {
		return failure("systemd does not run this machine: nothing would start belay, and every agent would be blocked",
			"--no-start installs all the same; docs/SYSTEM.md says how to start belay without systemd.")
	}
	var units sysinstall.Units
	if start {
		units = sysinstall.Systemd{}
	}
	notes, err := p.Apply(ctx, units)
	if err != nil {
		return systemFailure(err)
	}
	if start {
		if err := sysinstall.Answers(ctx); err != nil {
			why := ""
			if says := units.Why(ctx); says != "" {
				why = "; it says: " + safe(says)
			}
			return failureBy(fmt.Errorf("installed, but belay does not answer, and every agent is blocked: %w%s", err, why),
				"`belay system status` says what is wrong; `belay system uninstall` takes it back.")
		}
	}
	if f.json {
		return a.printJSON(map[string]any{"version": o.Version, "root": t.Outer(""), "started": start, "steps": p.Steps,
			"notes": notes})
	}
	a.printSteps(p.Steps)
	for _, n := range notes {
		fmt.Fprintf(a.Out, "note: %s\n", safe(n))
	}
	switch {
	case start:
		fmt.Fprintf(a.Out, "\nThis machine is in system mode, and belay answers.\nNext:\n"+
			"  edit %s/belay.yaml and %s\n  sudo belay system connect\n  belay system status\n",
			system.ConfigDir, system.ConfigFile)
	case t.Machine():
		fmt.Fprintf(a.Out, "\nThis machine is in system mode. Every agent is blocked until belay is started:\n"+
			"  systemctl daemon-reload\n  systemctl start %s\n", strings.Join(sysinstall.Sockets(), " "))
	default:
		fmt.Fprintf(a.Out, "\nThe image in %s is in system mode when it starts.\n", safe(f.root))
	}
	return nil
}

func (a *App) systemStatus(ctx context.Context, f systemFlags) error {
	t, err := a.openSystem(f, false)
	if err != nil {
		return err
	}
	defer t.Close()
	rows, installed := t.Status()
	if installed && t.Machine() {
		rows = append(append(rows, a.contactRows()...), t.Live(ctx)...)
	}
	bad := 0
	for _, r := range rows {
		if r.State == sysinstall.Bad {
			bad++
		}
	}
	if f.json {
		if err := a.printJSON(map[string]any{"installed": installed, "ok": installed && bad == 0, "rows": rows}); err != nil {
			return err
		}
	} else {
		a.printRows(rows)
	}
	if bad > 0 || !installed {
		return exitWith(ExitError)
	}
	return nil
}

// contactRows says whom a person calls whose agent is blocked: belay-hook sends them here for it.
func (a *App) contactRows() []sysinstall.Row {
	config, err := a.loadSystem()
	switch {
	case err != nil:
		return nil // the row of system.yaml says why
	case config.Contact == "":
		return []sysinstall.Row{{What: "contact", State: sysinstall.Warn,
			Text:   "none: a person whose agent is blocked is not told whom to call",
			Advice: "Say contact: in " + system.ConfigFile + "."}}
	}
	return []sysinstall.Row{{What: "contact", State: sysinstall.Good, Text: config.Contact}}
}

func (a *App) printRows(rows []sysinstall.Row) {
	p := a.palette()
	mark := map[sysinstall.State]string{sysinstall.Good: p.green("ok"), sysinstall.Warn: p.yellow("warn"),
		sysinstall.Bad: p.red("FAIL")}
	t := newTable("", "PART", "")
	for _, r := range rows {
		text := safe(r.Text)
		if r.State == sysinstall.Bad {
			text = p.red(text)
		}
		t.row(mark[r.State], safe(r.What), text)
		if r.Advice != "" {
			t.row("", "", p.faint(safe(r.Advice)))
		}
	}
	t.print(a.Out, p)
}

func (a *App) systemUpgrade(ctx context.Context, f systemFlags) error {
	t, err := a.openSystem(f, !f.dryRun)
	if err != nil {
		return err
	}
	defer t.Close()
	before, installed, err := t.Installed()
	if err != nil {
		return systemFailure(err)
	}
	if !installed {
		return failure("belay is not installed in system mode", "`belay system install` installs it.")
	}
	o, err := a.systemOptions(f)
	if err != nil {
		return err
	}
	p, err := t.Plan(o)
	if err != nil {
		return systemFailure(err)
	}
	tell := func(text string) error {
		if f.json {
			return a.printJSON(map[string]any{"before": before, "version": o.Version, "changed": p.Changes() && !f.dryRun,
				"dry_run": f.dryRun, "steps": p.Steps})
		}
		a.printSteps(p.Steps)
		_, err := fmt.Fprintln(a.Out, text)
		return err
	}
	switch {
	case f.dryRun:
		return tell("Nothing was changed.")
	case !p.Changes():
		return tell("belay " + safe(before) + " is installed, and is this one: nothing to do.")
	}
	var units sysinstall.Units
	if t.Machine() && sysinstall.Booted() {
		units = sysinstall.Systemd{}
	}
	if err := p.Upgrade(ctx, units, sysinstall.Answers); err != nil {
		return systemFailure(err)
	}
	text := "belay " + safe(o.Version) + " is installed; it was " + safe(before) + "."
	if t.Machine() && units == nil {
		text += " Start the daemon again: systemd does not run this machine."
	}
	return tell(text)
}

func (a *App) systemUninstall(ctx context.Context, f systemFlags) error {
	t, err := a.openSystem(f, !f.dryRun)
	if err != nil {
		return err
	}
	defer t.Close()
	r, err := t.PlanRemoval(f.purge)
	if err != nil {
		return systemFailure(err)
	}
	if len(r.Steps) == 0 {
		return a.tell(f.json, map[string]any{"steps": []string{}}, a.Out, "Nothing is installed.\n")
	}
	tell := func() error {
		if f.json {
			return a.printJSON(map[string]any{"dry_run": f.dryRun, "purge": f.purge, "steps": r.Steps})
		}
		table := newTable("STEP", "PATH", "")
		for _, s := range r.Steps {
			table.row(string(s.Action), safe(s.Path), safe(s.Text))
		}
		table.print(a.Out, a.palette())
		return nil
	}
	if f.dryRun {
		return tell()
	}
	if !f.yes {
		what := "System mode ends: agents of this machine are no longer held by it."
		if f.purge {
			what = "System mode ends, and every user's log and keys in " + t.Outer(system.StateDir) + " are gone for good."
		}
		if err := a.confirm(what); err != nil {
			return err
		}
	}
	var units sysinstall.Units
	if t.Machine() && sysinstall.Booted() {
		units = sysinstall.Systemd{}
	}
	if err := r.Apply(ctx, units); err != nil {
		return systemFailure(err)
	}
	return tell()
}

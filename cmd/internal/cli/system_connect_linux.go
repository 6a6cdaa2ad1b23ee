package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/internal/near"
	"github.com/belay-hooks/belay/internal/sysinstall"
	"github.com/belay-hooks/belay/internal/system"
)

// machineHook is what managed settings start on a machine in system mode.
func machineHook() string { return filepath.Join(sysinstall.ProgramDir, "belay-hook") }

// systemConnected is what `belay system connect` tells of one runtime.
type systemConnected struct {
	connectReport
	Seen string `json:"seen,omitzero"` // what says that the runtime is installed
}

// unmanaged is a runtime that root cannot connect for every user.
type unmanaged struct {
	Runtime string `json:"runtime"`
	Command string `json:"command"` // what connects it for one user
}

// systemConnect connects or disconnects runtimes by their managed settings. All plans are made before anything is
// written.
func (a *App) systemConnect(names []string, f systemConnectFlags) error {
	for _, name := range names {
		if err := managedRuntime(name); err != nil {
			return err
		}
	}
	t, err := a.openSystem(systemFlags{root: f.root}, !f.dryRun)
	if err != nil {
		return err
	}
	defer t.Close()
	if f.connected {
		if err := a.systemHere(f.root); err != nil {
			return err
		}
	}
	o := connectOptions{managed: true, connected: f.connected, json: f.json, root: f.root}
	place, err := a.connectPlace(o)
	if err != nil {
		return err
	}
	w := connect.Writer{Managed: true, Root: place.Root, Now: time.Now()}
	hook := connect.Hook{Program: machineHook(), Machine: true, SkillShell: f.skillShell}
	if f.connected {
		if err := w.CheckProgram(hook.Program); err != nil {
			return connectFailure(err)
		}
	}
	seen := installedRuntimes(place.Root)
	var plans []connect.Plan
	var problems []string
	var left []unmanaged
	for _, name := range connect.Runtimes() {
		switch {
		case len(names) > 0 && !slices.Contains(names, name):
			continue
		case !slices.Contains(connect.Levels(name), connect.Managed):
			if f.connected && seen[name] != "" {
				left = append(left, unmanaged{name, "belay connect " + name})
			}
			continue
		}
		plan, err := connect.Make(name, connect.Managed, place, hook, f.connected, w.Read)
		if err != nil {
			problems = append(problems, "- "+name+": "+safe(err.Error()))
			if e := (*connect.Error)(nil); errors.As(err, &e) && e.Advice != "" {
				problems = append(problems, "  "+safe(e.Advice))
			}
			continue
		}
		here := plan.Changes() // disconnect takes out what is there, whether the client still is or not
		if f.connected {
			here = f.all || seen[name] != "" || slices.ContainsFunc(plan.Files,
				func(c connect.Change) bool { return c.Old != nil })
		}
		if len(names) > 0 || here {
			plans = append(plans, plan)
		}
	}
	if len(problems) > 0 {
		return failure("nothing was written, since this stands in the way:\n"+strings.Join(problems, "\n"), "")
	}
	return a.systemConnectAll(w, place, hook, plans, seen, left, f)
}

// systemConnectAll writes the plans, and tells what came of it.
func (a *App) systemConnectAll(w connect.Writer, place connect.Place, hook connect.Hook, plans []connect.Plan,
	seen map[string]string, left []unmanaged, f systemConnectFlags) error {
	o := connectOptions{managed: true, connected: f.connected, json: f.json}
	done := []systemConnected{}
	changed := false
	for _, plan := range plans {
		var backups []string
		if f.dryRun && !f.json {
			a.connectDiff(plan)
		}
		for _, c := range plan.Files {
			if f.dryRun {
				break
			}
			backup, err := w.Write(c)
			if err != nil {
				return errors.Join(a.systemConnectTold(done, left, f), connectFailure(err))
			}
			if backup != "" {
				backups = append(backups, backup)
			}
		}
		var danger []connect.Finding
		if f.connected {
			danger = connect.Danger(plan.Runtime, plan.Level, place, hook, w.Read)
		}
		changed = changed || plan.Changes()
		if f.connected && seen[plan.Runtime] == "" && !f.all {
			plan.Notes = append(plan.Notes, "no client of it is here; it asks belay once it is installed")
		}
		r := connectReportOf(plan, o, plan.Changes() && !f.dryRun, backups, danger)
		done = append(done, systemConnected{r, seen[plan.Runtime]})
	}
	if err := a.systemConnectTold(done, left, f); err != nil || f.json {
		return err
	}
	switch {
	case f.dryRun:
		fmt.Fprintln(a.Err, "Nothing was changed.")
	case changed && f.connected:
		fmt.Fprintf(a.Out, "\nSessions that run have to be started again. Users see by `belay doctor` what holds.\n"+
			"docs/AGENTS.md says which ways past belay stay open at the level managed.\n")
	}
	return nil
}

func (a *App) systemConnectTold(done []systemConnected, left []unmanaged, f systemConnectFlags) error {
	if f.json {
		return a.printJSON(map[string]any{"dry_run": f.dryRun, "runtimes": done, "unmanaged": append([]unmanaged{}, left...)})
	}
	if len(done) == 0 {
		hint := "No runtime that has managed settings is here. --all connects each that could be installed."
		if !f.connected {
			hint = "No managed settings have entries of belay's."
		}
		fmt.Fprintln(a.Out, hint)
	}
	p := a.palette()
	t := newTable("RUNTIME", "", "SETTINGS")
	for _, r := range done {
		said := map[bool]string{true: "asks the machine's daemon", false: "asks belay nothing"}[f.connected]
		switch {
		case r.Changed && f.dryRun:
			said = map[bool]string{true: "would ask the machine's daemon", false: "would ask belay nothing"}[f.connected]
		case !r.Changed:
			said += " already"
		}
		t.row(r.Runtime, said, safe(r.Files[0].Path))
	}
	if len(done) > 0 {
		t.print(a.Out, p)
	}
	for _, r := range done {
		for _, b := range r.Backups {
			fmt.Fprintf(a.Out, "A copy of the former file is %s.\n", safe(b))
		}
		for _, n := range r.Notes {
			fmt.Fprintf(a.Out, "note: %s: %s\n", r.Runtime, safe(n))
		}
		for _, d := range r.Danger {
			fmt.Fprintf(a.Out, "%s %s: %s\n", p.red("FAIL"), r.Runtime, safe(d))
		}
	}
	for _, l := range left {
		fmt.Fprintf(a.Out, "%s has no managed settings: each user connects it by `%s`.\n", l.Runtime, l.Command)
	}
	return nil
}

// managedRuntime refuses a name that is no runtime with managed settings.
func managedRuntime(name string) error {
	levels := connect.Levels(name)
	switch {
	case levels == nil:
		var have []string
		for _, r := range connect.Runtimes() {
			if slices.Contains(connect.Levels(r), connect.Managed) {
				have = append(have, r)
			}
		}
		return usageError(fmt.Sprintf("belay knows no runtime %q", safe(name)), "It connects "+near.List(have)+" here.")
	case !slices.Contains(levels, connect.Managed):
		return usageError(name+" has no managed settings: root cannot connect it for every user",
			"Each user connects it by `belay connect "+name+"`.")
	}
	return nil
}

// systemHere refuses a tree that is not in system mode: what settings start would ask no daemon of the machine's.
func (a *App) systemHere(root string) error {
	none := failure("belay is not installed in system mode there", "`belay system install` installs it.")
	if root != "" {
		if _, err := os.Lstat(filepath.Join(root, system.ConfigFile)); errors.Is(err, fs.ErrNotExist) {
			return none
		} else if err != nil {
			return failureBy(err, "")
		}
		return nil
	}
	_, err := a.loadSystem()
	switch {
	case errors.Is(err, system.ErrNone):
		return none
	case err != nil:
		return failureBy(err, "Mend it first: until then every action is blocked.")
	}
	return nil
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/trust"
)

type hookUpgradeOptions struct {
	registryOptions
	allow    []string
	accept   []string
	rollback bool
	dryRun   bool
	events   int
	json     bool
}

func (a *App) hookUpgradeCmd() *cobra.Command {
	options := hookUpgradeOptions{}
	cmd := &cobra.Command{
		Use:   "upgrade NAME FILE.wasm|builtin:NAME|oci://HOST/REPO@sha256:…",
		Short: "Let a bound hook run another version of its module",
		Long: `upgrade replaces the module of a binding. The binding keeps its name, place, priority,
mode, phases, tools, configuration and state; only its module changes, and what --allow adds to
its capabilities. It prints what would be different: version, signers, capabilities, phases,
options of the configuration, and the newest logged decisions that would differ.

belay.yaml is replaced as a whole and last, after the new module was checked, compiled and kept.
Each action is asked of the one version or the other: in between none goes by unasked. With an
error nothing has changed.

What a new version needs beside its capabilities is not granted silently: name it with --allow.
Nor does a version that guards less come in silently. Accept it by its name with --accept:
other-hook (its manifest has another name), fewer-phases, less-trust (a lower tier), older.

--rollback goes back to the module that the last upgrade replaced, with the capabilities of then.
A second --rollback returns to the newer one.`,
		Example: `  belay hook upgrade guard guard.wasm
  belay hook upgrade guard guard.wasm --dry-run
  belay hook upgrade guard oci://ghcr.io/acme/hooks/guard@sha256:… --allow pattern_match
  belay hook upgrade guard --rollback`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case options.rollback && len(args) == 1, !options.rollback && len(args) == 2:
				return nil
			case options.rollback:
				return usageError("hook upgrade --rollback takes the name of a binding, and no module", "")
			}
			return usageError("hook upgrade takes the name of a binding, and its new module",
				"`belay hook list` prints the names; `belay hook upgrade NAME --rollback` goes back.")
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookUpgrade(cmd.Context(), args, options) },
	}
	f := cmd.Flags()
	options.registryOptions.flags(f)
	f.StringSliceVar(&options.allow, "allow", nil, "capabilities to allow beside those that the binding has")
	f.StringSliceVar(&options.accept, "accept", nil, "ways of guarding less to accept: "+weakeningNames())
	f.BoolVar(&options.rollback, "rollback", false, "go back to the module that the last upgrade replaced")
	f.BoolVar(&options.dryRun, "dry-run", false, "only show what would be different")
	f.IntVar(&options.events, "events", previewEvents, "look at so many of the newest decisions; 0: at none")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func weakeningNames() string {
	var names []string
	for _, w := range install.Weakenings() {
		names = append(names, string(w))
	}
	return strings.Join(names, ", ")
}

// upgraded is what `belay hook upgrade --json` prints.
type upgraded struct {
	*install.Upgrade
	Preview *UpgradePreview `json:"preview,omitzero"`
	Applied bool            `json:"applied"`
	Refused string          `json:"refused,omitzero"`
	Left    []string        `json:"capabilities_left,omitzero"` // that could not be taken out of belay.yaml
}

func (a *App) hookUpgrade(ctx context.Context, args []string, options hookUpgradeOptions) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	if options.events < 0 || options.events > MaxPreviewEvents {
		return usageError(fmt.Sprintf("--events takes 0 to %d", MaxPreviewEvents), "")
	}
	policy := trustDir(dir)
	plan, err := a.planUpgrade(ctx, policy, args, options)
	if plan == nil {
		return upgradeFailure(err)
	}
	out := upgraded{Upgrade: plan}
	if before, _ := plan.Files(); err == nil && before != nil && options.events > 0 && !plan.Same {
		p, failed := a.previewUpgrade(ctx, plan, options.events)
		if failed != nil {
			fmt.Fprintf(a.Err, "belay: note: what logged decisions would come to is not known: %s\n", oneLine(failed.Error(), 200))
		} else {
			out.Preview = &p
		}
	}
	if !options.json {
		a.describeUpgrade(&out)
	}
	if err == nil && !options.dryRun {
		if out.Left, err = plan.Apply(ctx, policy); err == nil {
			out.Applied = true
			err = a.tellDaemon(ctx)
		}
	}
	if err != nil {
		out.Refused = safe(err.Error())
	}
	if options.json {
		if printed := a.printJSON(out); printed != nil {
			return printed
		}
	}
	if err != nil {
		return upgradeFailure(err)
	}
	if !options.json {
		a.sayUpgraded(&out, options)
	}
	return nil
}

// planUpgrade reads the new module and plans. With an error the plan may be there, to be shown.
func (a *App) planUpgrade(ctx context.Context, dir trust.Dir, args []string,
	options hookUpgradeOptions) (*install.Upgrade, error) {
	if options.rollback {
		if len(options.allow)+len(options.accept) > 0 {
			return nil, usageError("--rollback goes without --allow and --accept", "The capabilities are those of before.")
		}
		return install.PlanRollback(ctx, dir, args[0], a.Compiler)
	}
	r := install.UpgradeRequest{Name: args[0], Allow: options.allow, Compiler: a.Compiler}
	for _, name := range options.accept {
		if !strings.Contains(", "+weakeningNames()+",", ", "+name+",") {
			return nil, usageError(fmt.Sprintf("--accept does not know %q", safe(name)), "It knows "+weakeningNames()+".")
		}
		r.Accept = append(r.Accept, install.Weakening(name))
	}
	var err error
	switch what := args[1]; {
	case isBuiltin(what):
		r.Module = what
	case isRegistry(what):
		p, err := a.fetchToInstall(ctx, "belay hook upgrade "+safe(args[0]), what, options.registryOptions, options.json)
		if err != nil {
			return nil, err
		}
		r.File, r.Evidence = p.Module, evidenceOf(p)
	default:
		if r.File, err = readFresh(what); err != nil {
			return nil, err
		}
		if r.Evidence, err = trust.ReadEvidence(what); err != nil {
			return nil, err
		}
	}
	return install.PlanUpgrade(ctx, dir, r)
}

// upgradeFailure says what to do about an error of an upgrade. Nothing has changed by then, unless the daemon was told.
func upgradeFailure(err error) error {
	var said *exitError
	var weaker *install.WeakerError
	switch {
	case errors.As(err, &said):
		return err
	case errors.As(err, &weaker):
		return failureBy(err, "Nothing was changed. If that is meant: --accept "+strings.Join(weaker.Not, ",")+".")
	case errors.Is(err, belay.ErrNoConfig):
		return failureBy(err, "`belay init` writes a first configuration.")
	case errors.Is(err, loader.ErrUnknownHook):
		return failureBy(err, "`belay hook install` binds a new hook.")
	case errors.Is(err, install.ErrNoUpgrade):
		return failureBy(err, "Nothing was changed. `belay hook upgrade NAME FILE.wasm` takes any version.")
	case errors.Is(err, install.ErrRefused):
		return failureBy(err, "Nothing was changed: the version before stays in force.")
	}
	return failureBy(err, "Nothing was changed.")
}

func (a *App) sayUpgraded(u *upgraded, options hookUpgradeOptions) {
	name, version := safe(u.Binding), safe(u.To.Version)
	switch {
	case u.Same && options.dryRun:
		fmt.Fprintf(a.Out, "\n%s runs this module already.\n", name)
	case u.Same:
		fmt.Fprintf(a.Out, "\n%s runs this module already; %s stored beside it.\n", name,
			plural(u.Evidence, "piece")+" of evidence")
	case options.dryRun:
		fmt.Fprintf(a.Out, "\nNothing was changed (--dry-run).\n")
	default:
		fmt.Fprintf(a.Out, "\n%s runs version %s now. `belay hook upgrade %s --rollback` goes back.\n", name, version, name)
	}
	if len(u.Left) > 0 {
		fmt.Fprintf(a.Err, "belay: note: belay.yaml still lists %s for %s: take it out by hand\n",
			safe(strings.Join(u.Left, ", ")), name)
	}
}

// describeUpgrade shows both versions side by side, and what would be decided otherwise.
func (a *App) describeUpgrade(u *upgraded) {
	colors := a.palette()
	title := "upgrade"
	if u.Rollback {
		title = "rollback"
	}
	fmt.Fprintf(a.Out, "%s of %s\n\n", title, colors.bold(safe(u.Binding)))
	t := newTable("", "BEFORE", "AFTER")
	both := func(what, was, would string) {
		would = oneLine(would, 90)
		if was != would {
			would = colors.bold(would)
		}
		t.row(what, oneLine(was, 90), would)
	}
	both("hook", u.From.Name, u.To.Name)
	both("version", u.From.Version, u.To.Version)
	both("digest", shortDigest(u.From.Digest), shortDigest(u.To.Digest))
	both("tier", u.From.Tier, u.To.Tier)
	both("signed by", signersText(u.From.Signers), signersText(u.To.Signers))
	both("phases", strings.Join(u.From.Phases, " "), strings.Join(u.To.Phases, " "))
	both("tools", cmp.Or(u.From.Tools, "all"), cmp.Or(u.To.Tools, "all"))
	t.print(a.Out, colors)
	fmt.Fprintln(a.Out)
	a.describeDelta("capabilities", u.Capabilities)
	a.describeDelta("imports", u.Imports)
	a.describeDelta("phases", u.Phases)
	a.describeDelta("options", u.Options)
	for _, v := range []struct{ which, problem string }{{"before", u.From.Problem}, {"after", u.To.Problem}} {
		if v.problem != "" {
			fmt.Fprintf(a.Out, "%s  the version %s does not run: %s\n", colors.red("problem"), v.which, oneLine(v.problem, 300))
		}
	}
	if len(u.Weaker) > 0 {
		names := make([]string, len(u.Weaker))
		for i, w := range u.Weaker {
			names[i] = string(w)
		}
		fmt.Fprintf(a.Out, "%s\n", colors.red("guards less: "+strings.Join(names, ", ")))
	}
	if u.Preview != nil {
		a.describeFlips(u.Preview)
	}
}

func (a *App) describeDelta(what string, c install.Changes) {
	colors := a.palette()
	for _, s := range c.Added {
		fmt.Fprintf(a.Out, "%-12s  %s\n", what, colors.green("+ "+oneLine(s, 120)))
	}
	for _, s := range c.Removed {
		fmt.Fprintf(a.Out, "%-12s  %s\n", what, colors.red("- "+oneLine(s, 120)))
	}
	if len(c.Added)+len(c.Removed) == 0 {
		fmt.Fprintf(a.Out, "%-12s  the same\n", what)
	}
}

func (a *App) describeFlips(p *UpgradePreview) {
	colors := a.palette()
	switch {
	case p.Failed != "":
		fmt.Fprintf(a.Out, "%-12s  not known: %s\n", "decisions", oneLine(p.Failed, 200))
		return
	case p.Events == 0:
		fmt.Fprintf(a.Out, "%-12s  none is logged that this hook would be asked about\n", "decisions")
		return
	case p.Flipped == 0:
		fmt.Fprintf(a.Out, "%-12s  the same about %s\n", "decisions", plural(p.Events, "logged event"))
		return
	}
	text := fmt.Sprintf("%d of %s come out differently", p.Flipped, plural(p.Events, "logged event"))
	if p.Weaker > 0 {
		text = colors.red(text + fmt.Sprintf(", %d of them stopped less", p.Weaker))
	}
	fmt.Fprintf(a.Out, "%-12s  %s\n", "decisions", text)
	t := newTable("  EVENT", "PHASE", "TOOL", "BEFORE", "AFTER", "REASON", "ACTION").alignRight(0)
	for _, f := range p.Flips {
		t.row(count(f.Seq), string(f.Phase), oneLine(f.Tool, 20), colors.decision(notAsked(string(f.Was))),
			colors.decision(notAsked(string(f.Would))), oneLine(f.Reason, 60), oneLine(f.Action, 80))
	}
	t.print(a.Out, colors)
}

func notAsked(decision string) string {
	if decision == "" {
		return "not asked"
	}
	return oneLine(decision, 12)
}

func signersText(list []string) string {
	if len(list) == 0 {
		return "no one"
	}
	return strings.Join(list, ", ")
}

// shortDigest is a digest as far as a person compares it.
func shortDigest(d string) string {
	const shown = len("sha256:") + 16
	if len(d) <= shown {
		return d
	}
	return d[:shown] + "…"
}

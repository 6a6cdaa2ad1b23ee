package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
)

// maxModule is the largest file worth reading: the parser's limit is 8 MiB, and
// one byte more is enough to be refused by it.
const maxModule = 8<<20 + 1

func readModule(path string) ([]byte, error) {
	return files.Start(path, maxModule)
}

func inspectFile(ctx context.Context, path string) (loader.Info, error) {
	file, err := readModule(path)
	if err != nil {
		return loader.Info{}, err
	}
	info, err := loader.Inspect(ctx, file, nil)
	if err == nil && len(info.Problems) > 0 {
		err = fmt.Errorf("%s", strings.Join(info.Problems, "; "))
	}
	return info, err
}

func (a *App) hookInspectCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE.wasm|builtin:NAME|NAME",
		Short: "See what a hook says, asks for and would get, without running it",
		Long: `inspect looks at a module file, a built-in hook, or a bound hook by its name, with the
trust policy of the state directory. It lists the options of its configuration, and for a hook
that comes with belay a binding that can be pasted into belay.yaml. For each capability that the
manifest asks for it says whether the hook gets it, and why. For a file it assumes that everything
is allowed; for a bound hook it goes by the binding in belay.yaml. The exit status is 1 when belay
would refuse the hook.`,
		Example: `  belay hook inspect guard.wasm
  belay hook inspect builtin:stage-gate
  belay hook inspect guard`,
		Args: oneArg("one module file, builtin: and a name, or the name of a bound hook"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookInspect(cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) hookInspect(ctx context.Context, what string, asJSON bool) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	in, err := a.inspectAny(ctx, dir, what)
	if err != nil {
		return err
	}
	if asJSON {
		if err := a.printJSON(in); err != nil {
			return err
		}
	} else {
		a.describeHook(in.Info)
		a.describeOptions(&in)
	}
	if len(in.Problems) > 0 {
		return exitWith(ExitError)
	}
	return nil
}

func (a *App) inspectAny(ctx context.Context, dir, what string) (inspected, error) {
	if isBuiltin(what) {
		return a.inspectBuiltin(ctx, dir, strings.TrimPrefix(what, builtinScheme))
	}
	info, err := inspectFileOrBound(ctx, dir, what)
	if err != nil {
		return inspected{}, err
	}
	if module, err := readModule(what); err == nil && phases.ByteDigest(module) == info.Digest {
		a.noteStale(what, module)
	}
	return newInspected(info), nil
}

// inspectFileOrBound takes what for a name when there is no file that it names and it
// could be one: files of modules end in .wasm or have a path.
func inspectFileOrBound(ctx context.Context, dir, what string) (loader.Info, error) {
	file, err := readModule(what)
	if errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(what, ".wasm") &&
		!strings.ContainsRune(what, os.PathSeparator) {
		info, err := loader.InspectBound(ctx, trustDir(dir), what)
		if err != nil {
			return info, failureBy(err, "Give the file of a module, or the name of a bound hook; `belay hook list` lists these.")
		}
		return info, nil
	}
	if err != nil {
		return loader.Info{}, failureBy(err, "")
	}
	pieces, err := trust.ReadEvidence(what)
	if err != nil {
		return loader.Info{}, failureBy(err, "")
	}
	info, err := loader.InspectIn(ctx, trustDir(dir), file, pieces, nil)
	if err != nil {
		return info, failureBy(fmt.Errorf("%s: %w", what, err), "`belay hook build DIR` makes a module of a hook's source; a download may be cut off.")
	}
	return info, nil
}

func (a *App) describeHook(info loader.Info) {
	colors := a.palette()
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.Out, "%s%s %s\n", colors.faint(name), strings.Repeat(" ", max(0, 11-len(name))), value)
		}
	}
	if m := info.Manifest; m != nil {
		field("hook", colors.bold(safe(m.Name))+" "+safe(m.Version))
		field("says", oneLine(m.Description, 200))
		field("by", safe(strings.Join(m.Authors, ", ")))
		field("license", safe(m.License))
	}
	field("digest", info.Digest)
	field("size",
		fmt.Sprintf("%s, %s functions, starts with %s of memory", bytesText(int64(info.Size)), count(int64(info.Functions)),
			bytesText(info.MemoryMin)))
	field("compile", fmt.Sprintf("at most %.0f ms and %.0f MiB by estimate", info.EstimateMS, info.EstimateMiB))
	field("tier", string(info.Tier)+": "+oneLine(info.Why, 300))
	if t := info.Trust; t != nil {
		for _, s := range t.Signers {
			field("signed by", safe(s))
		}
		for _, r := range t.Rules {
			field("rule", safe(r.Rule)+": "+oneLine(r.Why, 200))
		}
		for _, e := range t.Evidence {
			if e.Code != "" {
				field("evidence", safe(e.Source)+" does not count, "+string(e.Code)+": "+oneLine(e.Why, 200))
			}
		}
	}
	field("phases", phaseList(info.Phases))
	if m := info.Manifest; m != nil {
		field("mutates", phaseList(m.Mutates))
		field("tools", safe(m.Match.Tools))
	}
	field("imports", safe(strings.Join(info.Imports, " ")))
	field("elsewhere", safe(strings.Join(info.Others, " ")))
	if len(info.Capabilities) > 0 {
		t := newTable("CAPABILITY", "WOULD GET", "WHY", "THE AUTHOR'S REASON")
		for _, c := range info.Capabilities {
			got := strings.Join(c.Granted, " ")
			if got == "" {
				got = colors.red("nothing")
			}
			t.row(safe(c.Name), got, oneLine(c.Why, 60), oneLine(c.Reason, 70))
		}
		fmt.Fprintln(a.Out)
		t.print(a.Out, colors)
	}
	if r := info.Rules; r != nil {
		t := newTable("RULE", "PHASES", "ANSWER")
		for _, e := range r.Rules {
			t.row(safe(e.Name), phaseList(e.Phases), safe(e.Answer))
		}
		fmt.Fprintln(a.Out)
		t.print(a.Out, colors)
	}
	for _, pr := range info.Problems {
		fmt.Fprintf(a.Out, "\n%s %s\n", colors.red("refused:"), safe(pr))
	}
}

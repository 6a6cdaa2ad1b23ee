package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
)

// maxModule is the largest file worth reading: the parser's limit is 8 MiB, and
// one byte more is enough to be refused by it.
const maxModule = 8<<20 + 1

func readModule(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxModule))
}

func inspectFile(ctx context.Context, path string) (belay.HookInfo, error) {
	file, err := readModule(path)
	if err != nil {
		return belay.HookInfo{}, err
	}
	info, err := belay.InspectHook(ctx, file, nil)
	if err == nil && len(info.Problems) > 0 {
		err = fmt.Errorf("%s", strings.Join(info.Problems, "; "))
	}
	return info, err
}

func (a *App) hookInspectCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect FILE.wasm",
		Short: "See what a hook says, asks for and would get, without running it",
		Args:  oneArg("one module file"),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.hookInspect(cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) hookInspect(ctx context.Context, path string, asJSON bool) error {
	file, err := readModule(path)
	if err != nil {
		return failureBy(err, "")
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	evidence, err := belay.ReadEvidence(path)
	if err != nil {
		return failureBy(err, "")
	}
	info, err := belay.InspectHookIn(ctx, dir, file, evidence, nil)
	if err != nil {
		return failureBy(fmt.Errorf("%s: %w", path, err), "")
	}
	if asJSON {
		if err := a.printJSON(info); err != nil {
			return err
		}
	} else {
		a.describeHook(info)
	}
	if len(info.Problems) > 0 {
		return exitWith(ExitError)
	}
	return nil
}

func (a *App) describeHook(info belay.HookInfo) {
	p := a.palette()
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.Out, "%s%s %s\n", p.faint(name), strings.Repeat(" ", max(0, 11-len(name))), value)
		}
	}
	if m := info.Manifest; m != nil {
		field("hook", p.bold(safe(m.Name))+" "+safe(m.Version))
		field("says", oneLine(m.Description, 200))
		field("by", safe(strings.Join(m.Authors, ", ")))
		field("license", safe(m.License))
	}
	field("digest", info.Digest)
	field("size", fmt.Sprintf("%s, %s functions, starts with %s of memory", bytesText(int64(info.Size)), count(int64(info.Functions)), bytesText(info.MemoryMin)))
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
				got = p.red("nothing")
			}
			t.row(safe(c.Name), got, oneLine(c.Why, 60), oneLine(c.Reason, 70))
		}
		fmt.Fprintln(a.Out)
		t.print(a.Out, p)
	}
	for _, pr := range info.Problems {
		fmt.Fprintf(a.Out, "\n%s %s\n", p.red("refused:"), safe(pr))
	}
}

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/cmd/internal/server"
	"github.com/belay-hooks/belay/internal/layers"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) configUserCmd() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "user FILE",
		Short: "Restrict more than the organisation does, in system mode",
		Long: `Hands a file in the form of belay.yaml to the daemon of system mode, as your own layer
over the organisation's configuration. - reads standard input. The file can only
restrict. It may add hooks that block, ask or narrow scopes, and more to redact. Anything
else is refused with its line, and then nothing changes.

The file takes the place of the one before; --remove goes back to the organisation's
configuration. A program that runs as you can do the same, and each change is an event.`,
		Example: "  belay config user mine.yaml\n  belay config user --remove",
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case remove && len(args) > 0:
				return usageError("--remove takes no file", "`belay config user --remove` removes the layer.")
			case !remove && len(args) != 1:
				return usageError("which file?", "Give one, or - for standard input; --remove removes the layer.")
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove your layer")
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ""
		if !remove {
			name = args[0]
		}
		return a.configUser(cmd.Context(), name, remove, *asJSON)
	}
	return cmd
}

func (a *App) configUser(ctx context.Context, name string, remove, asJSON bool) error {
	var file []byte
	if !remove {
		in, done, err := a.open(ctx, name)
		if err != nil {
			return err
		}
		defer done()
		if file, err = io.ReadAll(io.LimitReader(in, layers.MaxUser+1)); err != nil {
			return failureBy(err, "")
		}
		if _, err := layers.ParseUser(file); err != nil {
			return failureBy(err, "Nothing was changed. docs/SYSTEM.md says for each key what a user's file may have.")
		}
	}
	c, err := a.answering(ctx)
	if err != nil {
		return err
	}
	if c == nil {
		return failure("there are no layers: this machine is not in system mode", "Edit belay.yaml itself.")
	}
	defer c.Close()
	revision, err := c.SetUserConfig(ctx, file)
	if err != nil {
		return recordsFailure(err)
	}
	done := "Your layer is in force"
	if remove {
		done = "Your layer is removed"
	}
	return a.tell(asJSON, map[string]any{"revision": revision, "removed": remove}, a.Err,
		"%s: %s. That is logged. `belay config effective` shows what holds.\n", done, safe(revision))
}

func (a *App) configEffectiveCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "effective",
		Short: "Show the configuration in force, each part with its layer",
		Long: `Lists each hook and each key that is set, with the layer that it comes from. In system
mode these are the organisation's file, your own, and what a reviewer approved for you.
Otherwise there is one layer, the state directory.`,
		Args: noArgs,
	}
	asJSON := jsonFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return a.configEffective(cmd.Context(), *asJSON) }
	return cmd
}

func (a *App) configEffective(ctx context.Context, asJSON bool) error {
	out, err := a.effectiveConfig(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(out)
	}
	if out.Problem != "" {
		fmt.Fprintf(a.Out, "%s %s\n\n", a.palette().red("Not in force:"), safe(out.Problem))
	}
	t := newTable("PRIORITY", "HOOK", "LAYER", "PHASES", "MODE", "MODULE").alignRight(0)
	for _, h := range out.Hooks {
		mode := string(h.Mode)
		if mode == "" {
			mode = string(phases.Enforce)
		}
		if h.Disabled {
			mode = "disabled"
		}
		served := "all that it serves"
		if len(h.Phases) > 0 {
			served = phaseList(h.Phases)
		}
		t.row(fmt.Sprint(h.Priority), safe(h.Name), h.Layer, served, mode, safe(h.Module))
	}
	t.print(a.Out, a.palette())
	if len(out.Keys) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	t = newTable("KEY", "LAYER", "VALUE")
	for _, k := range out.Keys {
		t.row(safe(k.Key), strings.Join(k.Layers, " + "), safe(string(k.Value)))
	}
	t.print(a.Out, a.palette())
	return nil
}

func (a *App) effectiveConfig(ctx context.Context) (*wire.EffectiveConfig, error) {
	c, err := a.answering(ctx)
	if err != nil {
		return nil, err
	}
	if c != nil {
		defer c.Close()
		out, err := c.EffectiveConfig(ctx)
		if err != nil {
			return nil, recordsFailure(err)
		}
		return out, nil
	}
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	if err := existing(dir); err != nil {
		return nil, err
	}
	out, err := server.EffectiveIn(dir)
	if err != nil {
		return nil, failureBy(err, "`belay doctor` says what is wrong with it.")
	}
	return out, nil
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
)

type hookInstallOptions struct {
	registryOptions
	name     string
	phases   []string
	priority int
	tools    string
	any      bool
	allow    []string
	config   string
	file     string
	optional bool
	observe  bool
	trusted  bool
	json     bool
}

func (a *App) hookInstallCmd() *cobra.Command {
	var options hookInstallOptions
	cmd := &cobra.Command{
		Use:   "install FILE.wasm|builtin:NAME|oci://HOST/REPO@sha256:…",
		Short: "Bind a hook: keep its file by digest and write it into belay.yaml",
		Long: `install checks the module, compiles it once, and stores the file under its digest in the
state directory. It appends a binding to belay.yaml with the capabilities that you
allow. Without --allow these are all that the manifest asks for; they are printed.
A module that is older than its source is refused (` + "`belay hook build --help`" + `).
From a registry, hooks are installed by digest only; given a tag, install says which
digest it stands for and does nothing.`,
		Example: `  belay hook install guard.wasm --priority 50
  belay hook install guard.wasm --name guard --allow block,shell_parse --config guard.json
  belay hook install builtin:stage-gate --observe
  belay hook install oci://ghcr.io/acme/hooks/guard@sha256:…`,
		Args: oneArg("a module file, builtin: and a name, or oci://HOST/REPO@sha256:…"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookInstall(cmd.Context(), args[0], options) },
	}
	f := cmd.Flags()
	options.registryOptions.flags(f)
	f.StringVar(&options.name, "name", "", "name of the binding (default: the hook's own)")
	f.StringSliceVar(&options.phases, "phase", nil, "phases to bind (default: all that the hook serves)")
	f.IntVar(&options.priority, "priority", 0, "higher runs first; 100 and more are for trusted hooks")
	f.StringVar(&options.tools, "tools", "", "only for tools that this RE2 pattern matches (default: the manifest's)")
	f.BoolVar(&options.any, "any-tool", false, "the pattern may match no tool that belay knows")
	f.StringSliceVar(&options.allow, "allow", nil, "capabilities to allow (default: all that the manifest asks for)")
	f.StringVar(&options.config, "config", "", "file with the hook's configuration, JSON or YAML")
	f.StringVar(&options.file, "config-file", "",
		"YAML file with the configuration that is read each time, below the state directory")
	f.BoolVar(&options.optional, "config-file-optional", false,
		"without that file the hook has no configuration; else that is a fault")
	f.BoolVar(&options.trusted, "trusted", false,
		"refuse it unless it is trusted, and block its phases when it is not any more")
	f.BoolVar(&options.observe, "observe", false, "only watch what it would decide")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookInstall(ctx context.Context, what string, options hookInstallOptions) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	req := install.Request{Compiler: a.Compiler, Name: options.name, Priority: options.priority, Allow: options.allow,
		Tools:   options.tools,
		AnyTool: options.any, Mode: phases.Enforce, ConfigFile: options.file, ConfigFileOptional: options.optional}
	if options.trusted {
		req.Tier = phases.Trusted
	}
	if options.observe {
		req.Mode = phases.Observe
	}
	for _, p := range options.phases {
		req.Phases = append(req.Phases, phases.Phase(p))
	}
	if options.config != "" {
		if req.Config, err = readConfig(options.config); err != nil {
			return failureBy(err, "")
		}
	}
	if isBuiltin(what) {
		req.Module = what
		if file := builtin.OptionsFile(strings.TrimPrefix(what, builtinScheme)); options.config == "" && options.file == "" {
			req.ConfigFile, req.ConfigFileOptional = file, file != ""
		}
	} else if isRegistry(what) {
		p, err := a.fetchToInstall(ctx, "belay hook install", what, options.registryOptions, options.json)
		if err != nil {
			return err
		}
		req.File, req.Evidence = p.Module, evidenceOf(p)
	} else if req.File, err = readFresh(what); err != nil {
		return err
	} else if req.Evidence, err = trust.ReadEvidence(what); err != nil {
		return failureBy(err, "")
	}
	spec, info, err := install.Hook(ctx, trustDir(dir), req)
	if errors.Is(err, belay.ErrNoConfig) {
		return failureBy(err, "`belay init` writes a first configuration, in which the hook can be bound.")
	} else if errors.Is(err, config.ErrBound) {
		return failureBy(err,
			"`belay hook upgrade NAME FILE.wasm` gives a binding another version of its module; --name binds it beside the other.")
	} else if err != nil {
		return failureBy(err, refusedHint(what, err))
	}
	if err := a.tellDaemon(ctx); err != nil {
		return err
	}
	if options.json {
		return a.printJSON(map[string]any{"binding": spec, "hook": info})
	}
	fmt.Fprintf(a.Out, "%s is bound (%s, %s).\n\n", safe(spec.Name), info.Tier, cmp.Or(spec.Mode, phases.Enforce))
	a.describeHook(info)
	fmt.Fprintf(a.Out, "\nIt may: %v\n", spec.Allowed)
	return nil
}

// builtinScheme begins the name of a hook that comes with the binary.
const builtinScheme = "builtin:"

func isBuiltin(s string) bool {
	return len(s) > len(builtinScheme) && strings.HasPrefix(s, builtinScheme)
}

func readConfig(path string) (jsontext.Value, error) {
	src, err := readLimited(path, strictyaml.MaxSize)
	if err != nil {
		return nil, err
	}
	doc, err := strictyaml.Parse(src) // JSON is YAML
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc.JSON, nil
}

func (a *App) hookListCmd() *cobra.Command {
	var asJSON, builtins bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the bound hooks in the order in which they are asked",
		Long: `list prints the hooks that are bound, in the order in which they are asked. With --builtin
it prints the hooks that come with belay, what each does, and whether belay.yaml binds it.`,
		Example: `  belay hook list
  belay hook list --builtin`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if builtins {
				return a.hookListBuiltin(cmd.Context(), asJSON)
			}
			return a.hookList(cmd.Context(), asJSON)
		},
	}
	cmd.Flags().BoolVar(&builtins, "builtin", false, "list the hooks that come with belay, bound or not")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) hookList(ctx context.Context, asJSON bool) error {
	c, err := a.daemon()
	if err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
		hooks, err := c.Hooks(ctx)
		if err != nil {
			return recordsFailure(err)
		}
		return a.printBindings(hooks, asJSON)
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	if err := existing(dir); err != nil {
		return err
	}
	host, err := a.openState(ctx, dir, belay.Options{}) // with hooks: whether they load is part of the answer
	if err != nil {
		return err
	}
	defer host.Close()
	return a.printBindings(host.Bindings(), asJSON)
}

func (a *App) hookEnableCmd() *cobra.Command {
	return a.hookEditCmd("enable NAME", "Let a disabled hook run again", "is enabled",
		func(src []byte, name string) ([]byte, error) {
			return config.SetDisabled(src, name, false)
		})
}

func (a *App) hookDisableCmd() *cobra.Command {
	return a.hookEditCmd("disable NAME", "Keep a hook bound but stop asking it", "is disabled",
		func(src []byte, name string) ([]byte, error) {
			return config.SetDisabled(src, name, true)
		})
}

func (a *App) hookRemoveCmd() *cobra.Command {
	return a.hookEditCmd("remove NAME", "Take a hook out of belay.yaml", "is removed", config.RemoveBinding)
}

func (a *App) hookEditCmd(use, short, done string, edit func(src []byte, name string) ([]byte, error)) *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  oneArg("the name of a binding"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.editConfig(func(src []byte) ([]byte, error) { return edit(src, args[0]) }); err != nil {
				return err
			}
			if err := a.tellDaemon(cmd.Context()); err != nil {
				return err
			}
			verb, _, _ := strings.Cut(use, " ")
			return a.tell(*asJSON, map[string]any{"hook": args[0], "done": verb}, a.Out, "%s %s.\n", safe(args[0]), done)
		},
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

// refusedHint says what shows why a hook was refused.
func refusedHint(what string, err error) string {
	if errors.Is(err, builtin.ErrUnknown) {
		return "`belay hook list --builtin` lists them."
	}
	if errors.Is(err, config.ErrConfig) {
		return "Nothing was changed. --tools takes an RE2 pattern of belay's names, such as ^exec$; --any-tool takes one of others."
	}
	return "`belay hook inspect " + safe(what) + "` shows what the hook asks for and what stands against it. Nothing was changed."
}

// editConfig replaces belay.yaml as a whole, or leaves it as it was. edit may run
// more than once: see config.EditFile.
func (a *App) editConfig(edit func([]byte) ([]byte, error)) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	err = config.EditFile(dir, edit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failureBy(err, "`belay init` writes a first configuration.")
	case errors.Is(err, config.ErrConfig):
		return failureBy(err, "`belay hook list` shows what is bound. Nothing was changed.")
	case err != nil:
		return failureBy(err, "Nothing was changed.")
	}
	return nil
}

package cli

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/near"
	"github.com/belay-hooks/belay/internal/rules/code"
)

func (a *App) hookCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hook",
		Short: "Write, build, look at and install hooks",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.hookNewCmd(), a.hookBuildCmd(), a.hookInspectCmd(), a.hookSignCmd(), a.hookVerifyCmd(),
		a.hookInstallCmd(), a.hookUpgradeCmd(), a.hookProposeCmd(),
		a.hookPushCmd(), a.hookPullCmd(),
		a.hookListCmd(), a.hookEnableCmd(), a.hookDisableCmd(), a.hookObserveCmd(), a.hookEnforceCmd(),
		a.hookRemoveCmd())
	return cmd
}

// oneArg returns an argument check that names the missing argument.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError(fmt.Sprintf("%s takes %s", cmd.CommandPath(), what),
				"`"+cmd.CommandPath()+" --help` shows how it is used.")
		}
		return nil
	}
}

type hookNewOptions struct {
	lang string
	dir  string
	from string
	file string // of --from rules
	json bool
}

func (a *App) hookNewCmd() *cobra.Command {
	var o hookNewOptions
	cmd := &cobra.Command{
		Use:   "new NAME --lang go|rust|c|assemblyscript|wat [--from rules RULES.yaml]",
		Short: "Start a new hook: source, manifest, cases, SDK",
		Long: `new makes the directory of a new hook, which builds as it is.

With --from rules the hook begins with the rules of a file, for a policy that outgrows YAML.
Each rule becomes a function, in Go, Rust or C. Phases, capabilities and configuration are those
of the rules, and the file's cases become the hook's. It decides as the rules do. Conditions
on path, host and host_not, and redactions, cannot be written so: the command names each
with its line, and writes nothing. RULES.yaml#changes means the rules that change the
action.`,
		Example: `  belay hook new no-friday-deploys --lang rust
  cd no-friday-deploys && belay hook build
  belay hook new pushes --lang go --from rules rules.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.from == "":
				return oneArg("the name of the new hook")(cmd, args)
			case o.from != "rules":
				return usageError(fmt.Sprintf("a hook cannot be made from %q", safe(o.from)), "--from knows rules.")
			case len(args) != 2:
				return usageError("which rules?", "`belay hook new NAME --lang LANGUAGE --from rules RULES.yaml`")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.from != "" {
				o.file = args[1]
			}
			return a.hookNew(args[0], o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.lang, "lang", "", "language: "+strings.Join(hookbuild.Languages(), ", "))
	f.StringVar(&o.dir, "dir", "", "directory to make (default ./NAME)")
	f.StringVar(&o.from, "from", "", "rules: begin with the rules of a file ("+strings.Join(code.Languages(), ", ")+")")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookNew(name string, options hookNewOptions) error {
	if options.lang == "" {
		return usageError("which language?", "Give one with --lang: "+strings.Join(hookbuild.Languages(), ", ")+".")
	}
	dir := options.dir
	if dir == "" {
		dir = name
	}
	if !slices.Contains(hookbuild.Languages(), options.lang) {
		return usageError(fmt.Sprintf("there is no template for %q", safe(options.lang)),
			"There are "+near.List(hookbuild.Languages())+".")
	}
	from := &fromRules{}
	if options.from != "" {
		var err error
		if from, err = startFromRules(options.file, name, options.lang); err != nil {
			return err
		}
	}
	if err := hookbuild.NewFrom(dir, name, options.lang, from.start); err != nil {
		return failureBy(err, "Another name makes another folder, and so does --dir DIR.")
	}
	if options.json {
		made := map[string]any{"dir": dir, "name": name, "lang": options.lang, "missing": hookbuild.Missing(options.lang)}
		if options.from != "" {
			made["rules"], made["cases"], made["other"] = from.rules, append([]string{}, from.cases...), from.other
		}
		return a.printJSON(made)
	}
	fmt.Fprintf(a.Out, "%s is a new %s hook. Next:\n", safe(dir), safe(options.lang))
	slow := ""
	if options.lang == "go" {
		slow = "--slow-compile " // standard Go's runtime takes longer to compile than eval allows unasked
	}
	compiler := ""
	if options.lang == "assemblyscript" {
		compiler = "npm ci\n  " // the one language that brings its compiler with the hook
	}
	fmt.Fprintf(a.Out, "  cd %s\n  %sbelay hook build\n  belay test\n  belay eval %s--hook %s.wasm < invocation.json\n",
		safe(dir), compiler, slow, safe(path.Base(name)))
	if options.from != "" {
		a.describeFromRules(from, dir)
	}
	if missing := hookbuild.Missing(options.lang); missing != "" {
		fmt.Fprintf(a.Err, "belay: note: to build it here: %s\n", safe(missing))
	}
	return nil
}

type hookBuildOptions struct {
	out        string
	target     string
	standardGo bool
	json       bool
}

func (a *App) hookBuildCmd() *cobra.Command {
	var options hookBuildOptions
	cmd := &cobra.Command{
		Use:   "build [DIR]",
		Short: "Compile a hook and pack its manifest into the module",
		Long: `build compiles the hook in DIR (default: here) and packs belay.yaml into the module. Its source
says the language. Hooks in Go are built with TinyGo where it is installed, else with standard
Go. TinyGo builds for wasm-unknown, whose modules import nothing but belay's functions, or for
wasip1 with --target wasip1.

Where the compiler refuses the source, build shows its first errors with their lines, and leaves
all that it said in DIR/build/compiler.txt. --json lists every error with file, line and column.

Beside the module it writes a record, NAME.wasm.build.json: the digest of each source file.
Commands that take the module compare it with the source by that record. When a file's content
has changed since, ` + "`belay test`" + ` builds the module anew, and ` + "`belay hook install`, `upgrade`,\n" +
			"`propose`, `sign` and `push`" + ` refuse it. With -o the module is a copy to be retained, such as
a release: it has no record and does not age.`,
		Example: `  belay hook build
  belay hook build my-hook -o dist/my-hook.wasm
  belay hook build --target wasip1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError("hook build takes one directory", "")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return a.hookBuild(cmd.Context(), dir, options)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&options.out, "output", "o", "", "file to write (default DIR/NAME.wasm)")
	f.StringVar(&options.target, "target", "", "TinyGo's target: "+strings.Join(hookbuild.Targets(), ", ")+
		" (default "+hookbuild.Targets()[0]+")")
	f.BoolVar(&options.standardGo, "standard-go", false, "build a hook in Go with standard Go, also where TinyGo is installed")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookBuild(ctx context.Context, dir string, options hookBuildOptions) error {
	if options.target != "" && !slices.Contains(hookbuild.Targets(), options.target) {
		return usageError(fmt.Sprintf("%q is no target that hooks can be built for", safe(options.target)),
			"There are "+strings.Join(hookbuild.Targets(), ", ")+".")
	}
	if options.target != "" && options.standardGo {
		return usageError("--target is of TinyGo, and --standard-go builds without it", "Give one of the two.")
	}
	if lang, err := hookbuild.Detect(dir); options.standardGo && err == nil && lang != "go" {
		return usageError("--standard-go is for hooks in Go, and this one is in "+lang, "")
	}
	if a.Terminal && !options.json {
		fmt.Fprintf(a.Err, "building %s …\n", safe(dir))
	}
	res, err := hookbuild.Build(ctx, dir,
		hookbuild.Options{Output: options.out, Target: options.target, StandardGo: options.standardGo, Record: true,
			Builds: hookbuild.BuildsIn(a.Getenv)})
	if err != nil {
		return a.notBuilt(err, options.json)
	}
	if res.NoRecord != nil {
		fmt.Fprintf(a.Err, "belay: note: a later change of the source will not be seen: %s\n",
			oneLine(res.NoRecord.Error(), 300))
	}
	// Inspect the built module as the sandbox would: an author should not have
	// to install a hook to learn that it will be refused.
	info, err := inspectFile(ctx, res.Path)
	if err != nil {
		return failureBy(err, "The module was built as "+relative(res.Path)+", but belay would refuse it. Mend "+
			filepath.Join(dir, hookbuild.ManifestFile)+" or the source, and build it again.")
	}
	if options.json {
		out := map[string]any{"path": res.Path, "digest": res.Digest, "size": res.Size, "toolchain": res.Toolchain,
			"hook": info}
		if res.Record != "" {
			out["record"] = res.Record
		}
		return a.printJSON(out)
	}
	fmt.Fprintf(a.Out, "%s  %s  %s\n  built with %s\n", safe(relative(res.Path)), bytesText(int64(res.Size)), res.Digest,
		safe(res.Toolchain))
	return nil
}

func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if r, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return path
}

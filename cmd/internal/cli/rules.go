package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/hookbuild"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/rules"
	"github.com/belay-hooks/belay/internal/rules/explain"
	"github.com/belay-hooks/belay/internal/strictyaml"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) rulesCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Turn rules in YAML into hooks, and see which rule says what",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.rulesBuildCmd(), a.rulesExplainCmd())
	return cmd
}

type rulesBuildOptions struct {
	dir  string
	json bool
}

func (a *App) rulesBuildCmd() *cobra.Command {
	var options rulesBuildOptions
	cmd := &cobra.Command{
		Use:   "build RULES.yaml",
		Short: "Compile rules into a hook, or two",
		Long: `build compiles a rules file into a module: a hook like any other, to be tested, signed,
pushed and installed. Rules that change an action (redact, default, fix, scopes) become a
module of their own beside the one of those that judge. The same file becomes the same
bytes. docs/RULES.md says what rules can say. Beside a module in the folder of its rules stands
a record, NAME.wasm.build.json. Once the rules have changed, the commands that install, sign
and push refuse the module.`,
		Example: `  belay rules build rules.yaml
  belay rules build rules.yaml -o dist`,
		Args: oneArg("one rules file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.rulesBuild(cmd.Context(), args[0], options) },
	}
	f := cmd.Flags()
	f.StringVarP(&options.dir, "output", "o", "", "directory to write to (default: that of the rules file)")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

// builtRules is one module that rules were compiled into.
type builtRules struct {
	Path   string      `json:"path"`
	Part   string      `json:"part"`
	Rules  int         `json:"rules"`
	Digest string      `json:"digest"`
	Size   int         `json:"size"` // bytes
	Hook   loader.Info `json:"hook"`
}

func (a *App) rulesBuild(ctx context.Context, path string, options rulesBuildOptions) error {
	src, f, err := readRulesText(path)
	if err != nil {
		return rulesFailure(err)
	}
	engine, err := rulesEngine()
	if err != nil {
		return failureBy(err, "")
	}
	dir := options.dir
	if dir == "" {
		dir = filepath.Dir(path)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return failureBy(err, "")
	}
	here, err := sameFolder(dir, filepath.Dir(path))
	if err != nil {
		return failureBy(err, "")
	}
	var built []builtRules
	for _, p := range f.Parts() {
		module, err := f.Build(engine, p)
		if err != nil {
			return failureBy(err, "")
		}
		to := filepath.Join(dir, f.HookName(p)+".wasm")
		if err := files.Write(to, module, files.Options{Perm: 0o644, NoUmask: true}); err != nil {
			return failureBy(err, "")
		}
		info, err := inspectFile(ctx, to)
		if err != nil {
			return failureBy(err, "The module was built as "+to+", but belay would refuse it.")
		}
		if here {
			if err := hookbuild.RecordRules(to, info.Digest, path, src); err != nil {
				return failureBy(err, "The module was built as "+to+".")
			}
		}
		built = append(built, builtRules{Path: to, Part: p.String(), Rules: len(rules.ReadListed(module).Rules),
			Digest: info.Digest, Size: info.Size, Hook: info})
	}
	if options.json {
		return a.printJSON(built)
	}
	for _, b := range built {
		what := map[string]string{"judges": "that judge", "changes": "that change the action"}[b.Part]
		if b.Rules == 1 {
			what = map[string]string{"judges": "that judges", "changes": "that changes the action"}[b.Part]
		}
		fmt.Fprintf(a.Out, "%s  %s  %s\n  %s %s\n", safe(relative(b.Path)), bytesText(int64(b.Size)), b.Digest,
			plural(b.Rules, "rule"), what)
	}
	return nil
}

func readRules(path string) (*rules.File, error) {
	_, f, err := readRulesText(path)
	return f, err
}

func readRulesText(path string) ([]byte, *rules.File, error) {
	src, err := files.Read(path, strictyaml.MaxSize)
	if err != nil {
		return nil, nil, err
	}
	f, err := rules.Parse(path, src)
	return src, f, err
}

// sameFolder reports whether two paths are one folder.
func sameFolder(a, b string) (bool, error) {
	one, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other), err
}

func rulesFailure(err error) error {
	if faults := rules.All(err); len(faults) > 0 {
		var all []string
		for _, e := range faults {
			all = append(all, safe(e.Error()))
		}
		return failure(strings.Join(all, "\n"), "docs/RULES.md lists what rules can say.")
	}
	return failureBy(err, "")
}

func rulesEngine() ([]byte, error) {
	set, err := builtin.Load()
	if err != nil {
		return nil, err
	}
	h, err := set.Get(rules.Engine)
	return h.Module, err
}

type rulesExplainOptions struct {
	file string
	at   string
	json bool
}

func (a *App) rulesExplainCmd() *cobra.Command {
	var options rulesExplainOptions
	cmd := &cobra.Command{
		Use:   "explain RULES.yaml < invocation.json",
		Short: "See which rules say what about an action, and which nearly do",
		Long: `explain runs the rules on one invocation, in the sandbox and with no state. It shows each
rule that applies, with its conditions, and each that one condition keeps from applying. It
records nothing, and asks no other hook.`,
		Example: `  belay rules explain rules.yaml < pre_tool.json
  belay rules explain rules.yaml -f pre_tool.json --at 2026-11-21T23:00:00Z`,
		Args: oneArg("one rules file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.rulesExplain(cmd.Context(), args[0], options) },
	}
	f := cmd.Flags()
	f.StringVarP(&options.file, "file", "f", "", "read the invocation from this file instead of standard input")
	f.StringVar(&options.at, "at", "", "the time that rules read (RFC 3339; default now)")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) rulesExplain(ctx context.Context, path string, options rulesExplainOptions) error {
	at := time.Now()
	if options.at != "" {
		var err error
		if at, err = time.Parse(time.RFC3339, options.at); err != nil {
			return usageError("--at must be a time such as 2026-12-24T23:00:00Z", "")
		}
	}
	f, err := readRules(path)
	if err != nil {
		return rulesFailure(err)
	}
	src, err := a.readInput(ctx, options.file)
	if err != nil {
		return err
	}
	inv, err := phases.DecodeInvocation(src)
	if err != nil {
		return failure("the invocation is not valid: "+safe(err.Error()), "docs/runtimes/generic.md shows the form.")
	}
	inv.Time = at
	bench, err := loader.OpenBench(loader.BenchOptions{Compiler: a.Compiler})
	if err != nil {
		return failureBy(err, "")
	}
	defer bench.Close()
	home := a.Getenv("HOME")
	said, err := explain.Run(ctx, bench, f, inv, home)
	if err != nil {
		return failureBy(err, "")
	}
	if options.json {
		return a.printJSON(map[string]any{"decision": said.Verdict.Decision, "reason": said.Verdict.Reason,
			"rules": said.Rules})
	}
	a.describeRules(said)
	return nil
}

func (a *App) describeRules(said *explain.Explained) {
	colors := a.palette()
	applies, nearly := 0, 0
	for _, r := range said.Rules {
		word := r.Applies()
		if word == "no" {
			nearly++
			continue
		}
		applies++
		if word == "yes" {
			word = "applies"
		}
		fmt.Fprintf(a.Out, "%s  %s: %s\n", colors.bold(safe(r.Rule)), safe(r.Answer), word)
		a.describeConditions(r)
	}
	for _, r := range said.Rules {
		if r.Applies() != "no" {
			continue
		}
		why := "one condition does not hold"
		if r.Exempt {
			why = "unless exempts"
		}
		fmt.Fprintf(a.Out, "%s  %s: nearly, %s\n", colors.faint(safe(r.Rule)), safe(r.Answer), why)
		a.describeConditions(r)
	}
	if applies+nearly == 0 {
		fmt.Fprintln(a.Out, "no rule applies, and none nearly does")
	}
	fmt.Fprintf(a.Out, "%s %s\n", colors.bold("verdict"), safe(string(said.Verdict.Decision)))
	if said.Verdict.Reason != "" {
		fmt.Fprintf(a.Out, "  %s\n", oneLine(said.Verdict.Reason, 300))
	}
}

func (a *App) describeConditions(r rules.Traced) {
	for _, c := range r.Conditions {
		name := c.Is
		if c.Unless {
			name = "unless " + name
		}
		why := ""
		if c.Why != "" {
			why = " (" + oneLine(c.Why, 160) + ")"
		}
		fmt.Fprintf(a.Out, "  %-18s %s%s\n", safe(name), safe(c.Holds), why)
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/harness/conformance"
	"github.com/belay-hooks/belay/internal/files"
)

type conformOptions struct {
	run     string
	verbose bool
	json    bool

	filter *regexp.Regexp
}

func (a *App) conformCmd() *cobra.Command {
	var options conformOptions
	cmd := &cobra.Command{
		Use:   "conform",
		Short: "Hold a host or an SDK to the guest ABI",
		Long: `conform runs the conformance kit: one small module for each rule of the guest ABI, and
what has to come of it. It is for who writes a host or an SDK; docs/ABI.md says how.

Exit status: 0 every rule is kept, 1 one is broken or the kit could not be run, 2 usage.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	host := &cobra.Command{
		Use:   "host [-- PROGRAM ARG…]",
		Short: "Hold a host to every rule: a host program, or belay's own host",
		Long: `host runs every rule on a host. PROGRAM is one in any language: it reads requests, one
JSON document a line, and writes one line for each with what came of it. Without PROGRAM
it is belay's own host.`,
		Example: `  belay conform host -- ./my-host
  belay conform host -v --run 'reads|range' -- python3 my_host.py
  belay conform host -- belay conform serve      # belay's own, by way of the same lines`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.conformHost(cmd.Context(), args, &options) },
	}
	sdk := &cobra.Command{
		Use:   "sdk MODULE.wasm",
		Short: "Hold an SDK to what hooks written with it have to come to",
		Long: `sdk runs the behaviours on belay's own host. MODULE is a hook that was written with the
SDK and does what /args/do says: harness/conformance/sdk has it in C, Rust, Go and AssemblyScript.`,
		Args: oneArg("the module of a hook that was built with the SDK"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.conformSDK(cmd.Context(), args[0], &options) },
	}
	for _, c := range []*cobra.Command{host, sdk} {
		c.Flags().StringVar(&options.run, "run", "", "only rules whose id matches this regular expression (RE2)")
		c.Flags().BoolVarP(&options.verbose, "verbose", "v", false, "list every rule")
		c.Flags().BoolVar(&options.json, "json", false, "print JSON")
	}
	serve := &cobra.Command{
		Use:   "serve",
		Short: "Be a host program: answer requests with belay's own host",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.conformServe(cmd.Context()) },
	}
	cmd.AddCommand(host, sdk, alwaysJSON(serve))
	return cmd
}

// conformItem is one rule and its fault.
type conformItem struct {
	ID     string   `json:"id"`
	Rule   string   `json:"rule"`
	Result string   `json:"result"` // kept, broken, not_offered
	Broken []string `json:"broken,omitzero"`
}

type conformReport struct {
	Kept       int           `json:"kept"`
	Broken     int           `json:"broken"`
	NotOffered int           `json:"not_offered"`
	NotRun     int           `json:"not_run"`
	Rules      []conformItem `json:"rules"`
}

func (r *conformReport) add(o *conformOptions, id, rule string, verify func() ([]string, error)) error {
	if o.filter != nil && !o.filter.MatchString(id) {
		r.NotRun++
		return nil
	}
	item := conformItem{ID: id, Rule: rule, Result: "kept"}
	bad, err := verify()
	switch {
	case errors.Is(err, conformance.ErrNotOffered):
		item.Result = "not_offered"
		r.NotOffered++
	case err != nil:
		return failureBy(err, "")
	case len(bad) > 0:
		item.Result, item.Broken = "broken", bad
		r.Broken++
	default:
		r.Kept++
	}
	r.Rules = append(r.Rules, item)
	return nil
}

func (o *conformOptions) prepare() error {
	if o.run == "" {
		return nil
	}
	var err error
	if o.filter, err = regexp.Compile(o.run); err != nil {
		return usageError("--run: "+safe(err.Error()), "It is a regular expression as Go and RE2 have them.")
	}
	return nil
}

func (a *App) conformHost(ctx context.Context, argv []string, options *conformOptions) error {
	if err := options.prepare(); err != nil {
		return err
	}
	rules, err := conformance.Rules()
	if err != nil {
		return failureBy(err, "")
	}
	var host conformance.Host
	if len(argv) > 0 {
		p, err := conformance.Start(ctx, argv, a.Err)
		if err != nil {
			return failureBy(err, "Name a program that reads requests on standard input; docs/ABI.md has the form.")
		}
		defer func() { _ = p.Close() }()
		host = p
	} else {
		own, err := conformance.OpenBelayHost(nil)
		if err != nil {
			return failureBy(err, "")
		}
		defer func() { _ = own.Close() }()
		host = own
	}
	var r conformReport
	for i := range rules {
		if err := r.add(options, rules[i].ID, rules[i].Rule, func() ([]string, error) {
			return rules[i].Verify(ctx, host)
		}); err != nil {
			return err
		}
	}
	return a.conformed(&r, options)
}

func (a *App) conformSDK(ctx context.Context, path string, options *conformOptions) error {
	if err := options.prepare(); err != nil {
		return err
	}
	module, err := files.Read(path, maxModule)
	if err != nil {
		return failureBy(err, "")
	}
	list, err := conformance.Behaviours()
	if err != nil {
		return failureBy(err, "")
	}
	host, err := conformance.OpenBelayHost(a.Compiler)
	if err != nil {
		return failureBy(err, "")
	}
	defer func() { _ = host.Close() }()
	var r conformReport
	for i := range list {
		if err := r.add(options, list[i].ID, list[i].Rule, func() ([]string, error) {
			return list[i].Verify(ctx, host, module)
		}); err != nil {
			return err
		}
	}
	return a.conformed(&r, options)
}

func (a *App) conformServe(ctx context.Context) error {
	host, err := conformance.OpenBelayHost(nil)
	if err != nil {
		return failureBy(err, "")
	}
	defer func() { _ = host.Close() }()
	if err := conformance.Serve(ctx, host, a.In, a.Out); err != nil {
		return failureBy(err, "")
	}
	return nil
}

// conformed prints what came of it, and says by the exit status whether all is kept.
func (a *App) conformed(report *conformReport, o *conformOptions) error {
	if o.json {
		raw, err := json.Marshal(report, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return failureBy(err, "")
		}
		fmt.Fprintf(a.Out, "%s\n", raw)
	} else {
		a.printConformed(report, o)
	}
	switch {
	case report.Broken > 0:
		return exitWith(ExitError)
	case len(report.Rules) == 0:
		return failure("no rule has such an id", "Leave --run away to run all.")
	}
	return nil
}

func (a *App) printConformed(report *conformReport, o *conformOptions) {
	p := a.palette()
	for _, i := range report.Rules {
		switch {
		case i.Result == "broken":
			fmt.Fprintf(a.Out, "%s  %s\n    the rule: %s\n", p.red("BROKEN"), i.ID, i.Rule)
			for _, b := range i.Broken {
				fmt.Fprintf(a.Out, "    %s\n", oneLine(b, 1000))
			}
		case o.verbose:
			fmt.Fprintf(a.Out, "%s  %s  %s\n", p.faint(i.Result), i.ID, p.faint(i.Rule))
		}
	}
	fmt.Fprintf(a.Out, "%d rules: %d kept, %d broken", len(report.Rules), report.Kept, report.Broken)
	if report.NotOffered > 0 {
		fmt.Fprintf(a.Out, ", %d about what this host does not offer", report.NotOffered)
	}
	if report.NotRun > 0 {
		fmt.Fprintf(a.Out, ", %d not run", report.NotRun)
	}
	fmt.Fprintln(a.Out)
}

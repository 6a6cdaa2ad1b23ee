package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/trust"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

type hookVerifyOptions struct {
	bundles    []string
	signatures []string
	json       bool
}

func (a *App) hookVerifyCmd() *cobra.Command {
	var options hookVerifyOptions
	cmd := &cobra.Command{
		Use:   "verify FILE.wasm",
		Short: "Say how far a hook is trusted, who signed it, and which rule that fits",
		Long: `verify looks at the evidence beside the module (FILE.sigstore.json, FILE.<n>.sigstore.json,
FILE.sig, FILE.manifest.json) with the trust policy of the state directory. It fetches
nothing. The exit status is 0 when the hook is trusted, else 1.`,
		Args: oneArg("one module file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookVerify(cmd.Context(), args[0], options) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&options.bundles, "bundle", nil, "also look at this Sigstore bundle")
	f.StringArrayVar(&options.signatures, "signature", nil, "also look at this detached signature")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookVerify(ctx context.Context, path string, options hookVerifyOptions) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	file, err := readModule(path)
	if err != nil {
		return failureBy(err, "")
	}
	_, refused := loader.Inspect(ctx, file, nil)
	pieces, err := trust.ReadEvidence(path)
	if err != nil {
		return failureBy(err, "")
	}
	for kind, names := range map[tiers.EvidenceKind][]string{tiers.EvidenceBundle: options.bundles,
		tiers.EvidenceSignature: options.signatures} {
		for _, n := range names {
			data, err := readLimited(n, tiers.MaxEvidence)
			if err != nil {
				return failureBy(err, "")
			}
			pieces = append(pieces, tiers.Evidence{Kind: kind, Name: filepath.Base(n), Data: data})
		}
	}
	if refused != nil && len(pieces) == 0 { // else a tier would be said of any file
		return failureBy(fmt.Errorf("%s is no module that belay would load: %w", path, refused), notModule(path))
	}
	d, err := trustDir(dir).Open(nil).Decision(file, pieces)
	if err != nil {
		return failureBy(err, tiers.PolicyUnusable.Advice())
	}
	if options.json {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.printDecision(d)
	}
	if refused != nil { // its evidence may say what happened to it
		return failureBy(fmt.Errorf("%s is no module that belay would load: %w", path, refused), "")
	}
	if d.Tier != phases.Trusted {
		return exitWith(ExitError)
	}
	return nil
}

// notModule says what to do with a file that is no module.
func notModule(path string) string {
	switch filepath.Ext(path) {
	case ".wat", ".rs", ".go", ".c":
		return "It is source: `belay hook build` makes the module."
	case ".json", ".sig":
		return "Evidence is found beside the module: give the module itself."
	}
	return "Nothing of it was verified. Give the .wasm file; what vouches for it is found beside it."
}

func (a *App) printDecision(decision tiers.Decision) {
	colors := a.palette()
	field := func(name, value string) {
		fmt.Fprintf(a.Out, "%s%s %s\n", colors.faint(name), strings.Repeat(" ", max(0, 9-len(name))), value)
	}
	tier := colors.green(string(decision.Tier))
	if decision.Tier != phases.Trusted {
		tier = colors.red(string(decision.Tier))
	}
	field("tier", tier)
	if decision.Code != "" {
		field("because", string(decision.Code)+": "+safe(decision.Why))
	} else {
		field("because", safe(decision.Why))
	}
	for _, s := range decision.Signers {
		field("signed by", safe(s))
	}
	for _, r := range decision.Rules {
		state := colors.faint("no   ")
		if r.Satisfied {
			state = colors.green("yes  ")
		}
		field("rule", state+safe(r.Rule)+": "+safe(r.Why))
	}
	for _, outcome := range decision.Evidence {
		state := colors.green("holds")
		if outcome.Code != "" {
			state = colors.red(string(outcome.Code))
		}
		line := safe(outcome.Source) + ": " + state
		if outcome.Signer != "" && !slices.Contains(decision.Signers, outcome.Signer) {
			line += ", " + safe(outcome.Signer)
		}
		if outcome.Predicate != "" {
			line += ", statement " + safe(outcome.Predicate)
		}
		if outcome.Code != "" {
			line += ": " + safe(outcome.Why)
		}
		field("evidence", line)
	}
	if decision.Advice != "" {
		fmt.Fprintf(a.Out, "  %s\n", safe(decision.Advice))
	}
}

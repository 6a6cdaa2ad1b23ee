package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	var o hookVerifyOptions
	cmd := &cobra.Command{
		Use:   "verify FILE.wasm",
		Short: "Say how far a hook is trusted, who signed it, and which rule that fits",
		Long: `verify looks at the evidence beside the module (FILE.sigstore.json, FILE.<n>.sigstore.json,
FILE.sig, FILE.manifest.json) with the trust policy of the state directory. It fetches
nothing. The exit status is 0 when the hook is trusted, else 1.`,
		Args: oneArg("one module file"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.hookVerify(args[0], o) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.bundles, "bundle", nil, "also look at this Sigstore bundle")
	f.StringArrayVar(&o.signatures, "signature", nil, "also look at this detached signature")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *App) hookVerify(path string, o hookVerifyOptions) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	file, err := readModule(path)
	if err != nil {
		return failureBy(err, "")
	}
	pieces, err := trust.ReadEvidence(path)
	if err != nil {
		return failureBy(err, "")
	}
	for kind, names := range map[tiers.EvidenceKind][]string{tiers.EvidenceBundle: o.bundles,
		tiers.EvidenceSignature: o.signatures} {
		for _, n := range names {
			data, err := readLimited(n, tiers.MaxEvidence)
			if err != nil {
				return failureBy(err, "")
			}
			pieces = append(pieces, tiers.Evidence{Kind: kind, Name: filepath.Base(n), Data: data})
		}
	}
	d, err := trustDir(dir).Open(nil).Decision(file, pieces)
	if err != nil {
		return failureBy(err, tiers.PolicyUnusable.Advice())
	}
	if o.json {
		if err := a.printJSON(d); err != nil {
			return err
		}
	} else {
		a.printDecision(d)
	}
	if d.Tier != phases.Trusted {
		return exitWith(ExitError)
	}
	return nil
}

func (a *App) printDecision(d tiers.Decision) {
	p := a.palette()
	field := func(name, value string) {
		fmt.Fprintf(a.Out, "%s%s %s\n", p.faint(name), strings.Repeat(" ", max(0, 9-len(name))), value)
	}
	tier := p.green(string(d.Tier))
	if d.Tier != phases.Trusted {
		tier = p.red(string(d.Tier))
	}
	field("tier", tier)
	if d.Code != "" {
		field("because", string(d.Code)+": "+safe(d.Why))
	} else {
		field("because", safe(d.Why))
	}
	for _, s := range d.Signers {
		field("signed by", safe(s))
	}
	for _, r := range d.Rules {
		state := p.faint("no   ")
		if r.Satisfied {
			state = p.green("yes  ")
		}
		field("rule", state+safe(r.Rule)+": "+safe(r.Why))
	}
	for _, e := range d.Evidence {
		state := p.green("holds")
		if e.Code != "" {
			state = p.red(string(e.Code))
		}
		line := safe(e.Source) + ": " + state
		if e.Signer != "" && !slices.Contains(d.Signers, e.Signer) {
			line += ", " + safe(e.Signer)
		}
		if e.Predicate != "" {
			line += ", statement " + safe(e.Predicate)
		}
		if e.Code != "" {
			line += ": " + safe(e.Why)
		}
		field("evidence", line)
	}
	if d.Advice != "" {
		fmt.Fprintf(a.Out, "  %s\n", safe(d.Advice))
	}
}

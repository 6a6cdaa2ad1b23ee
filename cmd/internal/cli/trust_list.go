package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/tiers"
	"github.com/belay-hooks/belay/tiers/sigstore"
)

func (a *App) trustListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules and what is revoked",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.trustList(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) trustPolicy() (*tiers.Policy, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, err
	}
	p, err := trustDir(dir).Policy()
	if err != nil {
		return nil, failureBy(err, "Until it is mended no hook from outside the binary is loaded.")
	}
	return p, nil
}

func (a *App) trustList(asJSON bool) error {
	p, err := a.trustPolicy()
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(map[string]any{"digest": p.Digest(), "policy": p})
	}
	if len(p.Rules) == 0 {
		fmt.Fprintln(a.Out, "No rule: only the hooks that come with belay are trusted.")
	}
	c := a.palette()
	for i := range p.Rules {
		r := &p.Rules[i]
		fmt.Fprintf(a.Out, "%s\n", c.bold(safe(r.Name)))
		for j := range r.AllOf {
			fmt.Fprintf(a.Out, "  all of   %s\n", seatText(&r.AllOf[j]))
		}
		if r.AnyOf != nil {
			for j := range r.AnyOf.Signers {
				fmt.Fprintf(a.Out, "  %d of     %s\n", r.AnyOf.MinimumMatches, seatText(&r.AnyOf.Signers[j]))
			}
		}
		for j := range r.Require {
			fmt.Fprintf(a.Out, "  requires %s\n", safe(requireText(&r.Require[j])))
			for n := range r.Require[j].Signers {
				fmt.Fprintf(a.Out, "    by     %s\n", seatText(&r.Require[j].Signers[n]))
			}
		}
		if l := limitsText(&r.Limits); l != "" {
			fmt.Fprintf(a.Out, "  only     %s\n", safe(l))
		}
	}
	for _, d := range p.Deny.Digests {
		fmt.Fprintf(a.Out, "%s  file      %s\n", c.red("revoked"), d)
	}
	for _, d := range p.Deny.Keys {
		fmt.Fprintf(a.Out, "%s  key       %s\n", c.red("revoked"), d)
	}
	for i := range p.Deny.Identities {
		d := &p.Deny.Identities[i]
		fmt.Fprintf(a.Out, "%s  identity  %s %s\n", c.red("revoked"), safe(d.Subject.String()), safe(d.Issuer))
	}
	for _, d := range p.Deny.Signatures {
		fmt.Fprintf(a.Out, "%s  signature %s\n", c.red("revoked"), d)
	}
	return nil
}

func seatText(s *tiers.Slot) string {
	var parts []string
	if s.Name != "" {
		parts = append(parts, safe(s.Name))
	}
	switch {
	case s.PublicKey != nil:
		parts = append(parts, "key:"+s.KeyID())
	case s.Keyless != nil:
		parts = append(parts, "identity:"+safe(s.Keyless.Subject.String()), "of "+safe(s.Keyless.Issuer))
		for _, w := range s.Keyless.UnsafeWithout {
			parts = append(parts, "UNSAFE: without "+w)
		}
	}
	if !s.NotBefore.IsZero() {
		parts = append(parts, "from "+s.NotBefore.Format(time.RFC3339))
	}
	if !s.NotAfter.IsZero() {
		parts = append(parts, "until "+s.NotAfter.Format(time.RFC3339))
	}
	return strings.Join(parts, " ")
}

// requireText says which statement a rule requires.
func requireText(r *tiers.Attestation) string {
	parts := []string{r.PredicateType}
	for _, m := range []struct{ name, value string }{
		{"builder", r.Builder}, {"type", r.BuildType}, {"verifier", r.Verifier}, {"resource", r.ResourceURI},
		{"policy", r.PolicyURI}, {"levels", strings.Join(r.Levels, " ")},
	} {
		if m.value != "" {
			parts = append(parts, m.name+" "+m.value)
		}
	}
	for _, ptr := range slices.Sorted(maps.Keys(r.Parameters)) {
		c := r.Parameters[ptr]
		parts = append(parts, ptr+" "+c.String())
	}
	return strings.Join(parts, "; ")
}

func limitsText(l *tiers.Limits) string {
	var parts []string
	if l.Hooks != nil {
		parts = append(parts, "hooks "+strings.Join(l.Hooks, " "))
	}
	if l.Capabilities != nil {
		parts = append(parts, "capabilities ["+strings.Join(l.Capabilities, " ")+"]")
	}
	if l.Phases != nil {
		parts = append(parts, "phases "+phaseList(l.Phases))
	}
	if l.MinimumVersion != "" {
		parts = append(parts, "versions from "+l.MinimumVersion)
	}
	return strings.Join(parts, "; ")
}

func (a *App) trustCheckCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Say whether trust.yaml can be used, and what the bound hooks come to by it",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.trustCheck(cmd.Context()) },
	}
}

func (a *App) trustCheck(ctx context.Context) error {
	p, err := a.trustPolicy()
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "policy  %s, %d rules\n", p.Digest(), len(p.Rules))
	if p.Keyless() {
		root, err := p.Root()
		if err == nil {
			if err = sigstore.CheckRoot(root); err != nil {
				err = fmt.Errorf("the trusted root %s cannot be used: %w", p.TrustedRoot, err)
			}
		}
		if err != nil {
			return failureBy(err, tiers.RootMissing.Advice())
		}
		fmt.Fprintf(a.Out, "root    %s\n", safe(p.TrustedRoot))
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	host, err := a.openState(ctx, dir, belay.Options{NoHooks: true})
	if err != nil {
		return err
	}
	defer host.Close()
	bad := false
	for _, b := range host.Bindings() {
		switch {
		case b.Disabled:
		case b.Problem != "":
			bad = true
			fmt.Fprintf(a.Out, "hook    %s BLOCKS: %s\n", safe(b.Name), safe(b.Problem))
		default:
			fmt.Fprintf(a.Out, "hook    %s is %s %s\n", safe(b.Name), b.Tier, safe(b.Signer))
		}
	}
	if bad {
		return exitWith(ExitError)
	}
	return nil
}

package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

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
		return nil, failureBy(err, trustAdvice)
	}
	return p, nil
}

func (a *App) trustList(asJSON bool) error {
	policy, err := a.trustPolicy()
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(map[string]any{"digest": policy.Digest(), "policy": policy})
	}
	if len(policy.Rules) == 0 {
		fmt.Fprintln(a.Out, "No rule: only the hooks that come with belay are trusted.")
	}
	colors := a.palette()
	for i := range policy.Rules {
		rule := &policy.Rules[i]
		fmt.Fprintf(a.Out, "%s\n", colors.bold(safe(rule.Name)))
		for j := range rule.AllOf {
			fmt.Fprintf(a.Out, "  all of   %s\n", seatText(&rule.AllOf[j]))
		}
		if rule.AnyOf != nil {
			for j := range rule.AnyOf.Signers {
				fmt.Fprintf(a.Out, "  %d of     %s\n", rule.AnyOf.MinimumMatches, seatText(&rule.AnyOf.Signers[j]))
			}
		}
		for j := range rule.Require {
			fmt.Fprintf(a.Out, "  requires %s\n", safe(requireText(&rule.Require[j])))
			for n := range rule.Require[j].Signers {
				fmt.Fprintf(a.Out, "    by     %s\n", seatText(&rule.Require[j].Signers[n]))
			}
		}
		if l := limitsText(&rule.Limits); l != "" {
			fmt.Fprintf(a.Out, "  only     %s\n", safe(l))
		}
	}
	for _, d := range policy.Deny.Digests {
		fmt.Fprintf(a.Out, "%s  file      %s\n", colors.red("revoked"), d)
	}
	for _, d := range policy.Deny.Keys {
		fmt.Fprintf(a.Out, "%s  key       %s\n", colors.red("revoked"), d)
	}
	for i := range policy.Deny.Identities {
		d := &policy.Deny.Identities[i]
		fmt.Fprintf(a.Out, "%s  identity  %s %s\n", colors.red("revoked"), safe(d.Subject.String()), safe(d.Issuer))
	}
	for _, d := range policy.Deny.Signatures {
		fmt.Fprintf(a.Out, "%s  signature %s\n", colors.red("revoked"), d)
	}
	return nil
}

func seatText(slot *tiers.Slot) string {
	var parts []string
	if slot.Name != "" {
		parts = append(parts, safe(slot.Name))
	}
	switch {
	case slot.PublicKey != nil:
		parts = append(parts, "key:"+slot.KeyID())
	case slot.Keyless != nil:
		parts = append(parts, "identity:"+safe(slot.Keyless.Subject.String()), "of "+safe(slot.Keyless.Issuer))
		for _, w := range slot.Keyless.UnsafeWithout {
			parts = append(parts, "UNSAFE: without "+w)
		}
	}
	if !slot.NotBefore.IsZero() {
		parts = append(parts, "from "+slot.NotBefore.Format(time.RFC3339))
	}
	if !slot.NotAfter.IsZero() {
		parts = append(parts, "until "+slot.NotAfter.Format(time.RFC3339))
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
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether trust.yaml can be used, and what the bound hooks come to by it",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.trustCheck(cmd.Context(), *asJSON) },
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

func (a *App) trustCheck(ctx context.Context, asJSON bool) error {
	policy, err := a.trustPolicy()
	if err != nil {
		return err
	}
	out := a.Out
	if asJSON {
		out = io.Discard // all of it is printed at the end, or an error
	}
	fmt.Fprintf(out, "policy  %s, %d rules\n", policy.Digest(), len(policy.Rules))
	if policy.Keyless() {
		root, err := policy.Root()
		if err == nil {
			if err = sigstore.CheckRoot(root); err != nil {
				err = fmt.Errorf("the trusted root %s cannot be used: %w", policy.TrustedRoot, err)
			}
		}
		if err != nil {
			return failureBy(err, tiers.RootMissing.Advice())
		}
		fmt.Fprintf(out, "root    %s\n", safe(policy.TrustedRoot))
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	host, err := a.openState(ctx, dir, toLook(dir))
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
			fmt.Fprintf(out, "hook    %s BLOCKS: %s\n", safe(b.Name), safe(b.Problem))
		default:
			fmt.Fprintf(out, "hook    %s is %s %s\n", safe(b.Name), b.Tier, safe(b.Signer))
		}
	}
	if asJSON {
		err := a.printJSON(map[string]any{"policy": policy.Digest(), "rules": len(policy.Rules),
			"trusted_root": policy.TrustedRoot, "hooks": host.Bindings()})
		if err != nil {
			return err
		}
	}
	if bad {
		return exitWith(ExitError)
	}
	return nil
}

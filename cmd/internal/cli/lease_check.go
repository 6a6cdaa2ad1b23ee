package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) leaseCheckCmd() *cobra.Command {
	var check client.LeaseCheck
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Ask whether a lease covers an action",
		Long: `Reads an invocation as belay eval does and says whether its agent holds a lease of the
capability that covers it. Exits 0 when it does and 3 when it does not.`,
		Example: "  belay lease check --capability tool:write < invocation.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if check.Capability == "" {
				return usageError("--capability is needed", "")
			}
			return a.leaseCheck(cmd.Context(), &check, file, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&check.Capability, "capability", "", "the capability that the lease must have")
	f.StringVar(&check.Token, "token", "", "the token of one lease (default: whichever covers it)")
	f.BoolVar(&check.Claim, "claim", false, "take one use")
	f.StringVarP(&file, "file", "f", "", "the invocation (default: standard input)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) leaseCheck(ctx context.Context, check *client.LeaseCheck, file string, asJSON bool) error {
	src, err := a.readInput(ctx, file)
	if err != nil {
		return err
	}
	inv, err := phases.DecodeInvocation(src)
	if err == nil {
		inv, err = phases.Normalize(inv)
	}
	if err != nil {
		return failureBy(err, "`belay eval --help` shows the form.")
	}
	l, err := a.openLender(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	got, err := l.CheckLease(ctx, inv, *check)
	if err != nil {
		return leaseFailure(err)
	}
	if asJSON {
		if err := a.printJSON(got); err != nil {
			return err
		}
	}
	if !got.Active {
		return &exitError{code: ExitBlocked, text: "no lease of this agent covers it",
			hint: "`belay lease list --session " + safe(inv.Session) + "` shows what it holds."}
	}
	if !asJSON {
		fmt.Fprintf(a.Out, "Covered by lease %s, %d uses left.\n", safe(got.Lease.ID), got.Lease.UsesLeft)
	}
	return nil
}

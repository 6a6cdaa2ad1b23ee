package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// maxWait bounds how long a command waits for a person.
const maxWait = 24 * time.Hour

func (a *App) approvalsWaitCmd() *cobra.Command {
	var patience time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wait ID",
		Short: "Wait until it is decided",
		Long: `wait returns when the item is decided. It exits 0 when the item is approved, and 3 when it
is denied or has run out. It exits 4 when the time is over and the item still waits. It goes
on waiting while a daemon is restarted.`,
		Args: oneArg("the id of an approval"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.approvalsWait(cmd.Context(), args[0], patience, asJSON)
		},
	}
	cmd.Flags().DurationVar(&patience, "timeout", 5*time.Minute, "how long to wait at most, up to 24h")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) approvalsWait(ctx context.Context, id string, patience time.Duration, asJSON bool) error {
	if patience < 0 || patience > maxWait {
		return usageError("--timeout must be from 0s to 24h", "")
	}
	item, err := a.waitFor(ctx, id, patience)
	if err != nil {
		return approvalFailure(err)
	}
	if asJSON {
		if err := a.printJSON(item); err != nil {
			return err
		}
	} else {
		text := string(item.State)
		if item.Decision != nil && item.Decision.Reason != "" {
			text += ": " + item.Decision.Reason
		}
		fmt.Fprintln(a.Out, safe(text))
	}
	return exitWith(waitStatus(&item))
}

func waitStatus(it *approvals.Item) int {
	switch it.State {
	case approvals.Approved, approvals.Consumed:
		return ExitOK
	case approvals.Pending:
		return ExitPending
	}
	return ExitBlocked
}

func (a *App) approvalsWatchCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch",
		Short: "Print what comes into the queue and what becomes of it, until interrupted",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return a.approvalsWatch(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// watchEvery is how often the queue is looked at.
const watchEvery = 500 * time.Millisecond

func (a *App) approvalsWatch(ctx context.Context, asJSON bool) error {
	q, err := a.lookAtQueue(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	seen := map[string]approvals.State{}
	for first := true; ; first = false {
		var elsewhere <-chan struct{} // what other kernels do; a daemon is looked at often enough
		if l, ok := q.(localQueue); ok {
			elsewhere = l.host.Changed()
		}
		list, err := q.Approvals(ctx, client.ApprovalQuery{Limit: approvals.MaxLimit})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return approvalFailure(err)
		}
		now := make(map[string]approvals.State, len(list))
		for i := len(list) - 1; i >= 0; i-- {
			item := &list[i]
			now[item.ID] = item.State
			if seen[item.ID] == item.State || first && item.State != approvals.Pending {
				continue
			}
			if asJSON {
				b, err := encodeJSON(item, false)
				if err != nil {
					return failureBy(err, "")
				}
				fmt.Fprintf(a.Out, "%s\n", b)
				continue
			}
			fmt.Fprintf(a.Out, "%s  %s  %s  %s  %s\n", time.Now().Format(time.TimeOnly), a.stateText(item), oneLine(item.ID, 40),
				oneLine(who(item), 30), oneLine(what(item), 80))
		}
		seen = now
		select {
		case <-ctx.Done():
			return nil
		case <-elsewhere:
		case <-time.After(watchEvery):
		}
	}
}

// maxQuestions is how many questions one call waits for, one after the other.
const maxQuestions = 8

// decided waits for a person, and reports whether it is worth asking again.
func (a *App) decided(ctx context.Context, id string, patience time.Duration) bool {
	if patience <= 0 {
		return false
	}
	it, err := a.waitFor(ctx, id, patience)
	switch {
	case err != nil:
		fmt.Fprintf(a.Err, "belay: approval %s could not be waited for: %s\n", safe(id), safe(err.Error()))
		return false
	case it.State == approvals.Pending:
		fmt.Fprintf(a.Err, "belay: no reviewer has decided about approval %s yet\n", safe(id))
		return false
	case it.State == approvals.Approved || it.State == approvals.Denied:
		return true
	}
	fmt.Fprintf(a.Err, "belay: approval %s is %s, which counts as denied\n", safe(id), safe(string(it.State)))
	return false
}

// afterDecision waits for the person's decision, as long as the caller wants,
// and then asks the hooks again about the same invocation: that verdict counts
// and is recorded.
func (a *App) afterDecision(ctx context.Context, o evalOptions, src []byte,
	verdict phases.Verdict) (phases.Verdict, error) {
	for end, n := time.Now().Add(o.wait), 0; o.wait > 0 && n < maxQuestions; n++ {
		id := waitsFor([]phases.Verdict{verdict})
		if id == "" || !a.decided(ctx, id, time.Until(end)) {
			break
		}
		host, err := a.openAsker(ctx, o)
		if err != nil {
			return verdict, err
		}
		verdict, err = host.Wire(ctx, src)
		host.Close()
		if err != nil {
			return verdict, err
		}
	}
	return verdict, nil
}

// waitsFor returns the first approval that the verdicts wait for.
func waitsFor(list []phases.Verdict) string {
	for _, v := range list {
		if v.Decision == phases.Ask && v.Approval != nil {
			return v.Approval.ID
		}
	}
	return ""
}

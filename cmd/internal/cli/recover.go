package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/store/postgres"
	"github.com/belay-hooks/belay/kernel"
)

type recoverOptions struct {
	orderFlags
	why          string
	dryRun, json bool
}

func (a *App) recoverCmd() *cobra.Command {
	var options recoverOptions
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Go on from a database that was restored or edited, after a person has agreed",
		Long: `Every action is blocked while belay.db is behind its high-water mark. It was restored from
a backup, replaced or removed, or the mark is missing or damaged. So it is while rows that
restrict are not those that the log records: they were edited by SQL. If you can put the newest
belay.db or the rows back, do that: then there is nothing to recover.

Otherwise recover makes the database as it is the one that counts. Of one that went back,
what was used up stays used up. Approvals that were not used yet and all leases are taken back.

Of rows that were edited, recover repairs whole tables, since nothing says which row it was.
It makes latches again from the log, and takes approvals and leases back. Metadata and retries
of runs and state of hooks stay as they are found, and are named. A budget whose counter was
deleted begins anew. Look at --dry-run before you agree. An event says who, why,
from where to where the log went back, what was rebuilt, taken back and accepted.

Where a reviewer is registered, it takes the reviewer's signature for exactly these heads and
rows. It asks for the passphrase on the terminal, or --statement brings what
` + "`belay reviewer sign recover`" + ` wrote. Without a reviewer it is confirmed on a terminal, which is no
proof against a program of the same user. A daemon need not be stopped.

With PostgreSQL (store: in belay.yaml) the same holds for a database that was restored, and for one
whose replica took over without the last transactions. Approvals and leases are taken back for
all kernels. Each kernel that notices it is recovered by itself, in its state directory.

Edited rows of PostgreSQL are repaired once, by any kernel with events: central, from the logs of
all. The others go on by themselves. What no kernel may write is named, with the statement for the
schema's owner.

A kernel whose log is local (events: local) has all its events in belay.db. If PostgreSQL went
back, recover sends again what is gone there. If belay.db went back, recover is about that first;
run it again for PostgreSQL.`,
		Example: `  belay recover --dry-run
  belay recover --why "restored from the backup of Monday"
  belay reviewer sign recover --draft --out r.draft     # on a machine without a terminal
  belay reviewer sign draft r.draft --key anna.key --as anna --out r.json   # where the key is
  belay recover --statement r.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.recoverState(cmd.Context(), options) },
	}
	f := cmd.Flags()
	options.flags(f)
	f.StringVar(&options.why, "why", "", "why, for the record")
	f.BoolVar(&options.dryRun, "dry-run", false, "say what would be recovered")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

// openToRecover opens the directory itself, also beside a daemon: both see the same mark.
func (a *App) openToRecover(ctx context.Context) (*belay.Belay, statelog.Recovery, error) {
	dir, err := a.stateDir()
	if err != nil {
		return nil, statelog.Recovery{}, err
	}
	quiet := a.quiet
	a.quiet = true // recover is about to say the same
	host, err := a.openState(ctx, dir, belay.Options{NoHooks: true})
	a.quiet = quiet
	if postgres.NameInUse(err) {
		return nil, statelog.Recovery{}, failureBy(err, "The process that has the name is not blocked, so there is nothing "+
			"to recover here, or it has not noticed yet. It compares all rows once a minute, and gives the name back then.")
	}
	if err != nil {
		return nil, statelog.Recovery{}, err
	}
	plan, err := statelog.Of(host.Log()).PlanRecovery(ctx)
	if err == nil && plan.Wrong == "" {
		err = statelog.ErrNothingToRecover
	}
	if err != nil {
		return nil, plan, errors.Join(recoverFailure(err), host.Close())
	}
	return host, plan, nil
}

func recoverFailure(err error) error {
	if errors.Is(err, statelog.ErrNothingToRecover) {
		return failure(statelog.ErrNothingToRecover.Error(), "`belay doctor` says what else may be wrong.")
	}
	if refused, ok := errors.AsType[*queue.OrderError](err); ok {
		err = refused // the store is well: it is the statement that does not count
	}
	switch {
	case postgres.OwnerMends(err):
		return failureBy(err, "Nothing was changed. Afterwards look at `belay recover --dry-run` again.")
	case errors.Is(err, kernel.ErrTampered): // of a kernel whose log is local
		return failureBy(err, "Nothing was changed. Rows of PostgreSQL are repaired with the state directory of a kernel "+
			"with `events: central`; docs/SCALING.md says how.")
	case errors.Is(err, kernel.ErrConflict):
		return failureBy(err, "Nothing was changed. While other kernels still write, that can be: try again in a minute.")
	}
	if errors.Is(err, statelog.ErrRecoveryBegun) {
		return failureBy(err, "What needs a lease or an approval stays blocked. Run `belay recover` again; a statement of a reviewer has to be a new one.")
	}
	return failureBy(err, "Nothing was changed.")
}

func recoverText(r statelog.Recovery) string {
	place := "belay.db"
	if r.Place != "" {
		place = "the database (" + r.Place + ")"
	}
	text := "Go on from " + place + " as it is. It is blocked because " + r.Wrong + "."
	switch {
	case r.Forwarded:
		text += " belay.db has all events of this kernel, and sends again what is gone."
	case r.Lost > 0:
		text += fmt.Sprintf(" The last %s that the mark knows of would be lost.", plural(int(r.Lost), "event"))
	}
	switch {
	case r.Place != "" && r.Behind:
		text += " Every approval that was not used yet and every lease of the organisation is taken back." +
			" Other kernels that notice the same are recovered by themselves."
	case r.Place != "":
		text += " Other kernels go on by themselves."
	}
	if r.Rows == nil {
		return text
	}
	for _, part := range []struct {
		what string
		list []string
	}{{"Made again from the log", r.Rows.Rebuilt}, {"Taken back", r.Rows.Revoked},
		{"Accepted as it is", r.Rows.Accepted}} {
		if len(part.list) > 0 {
			text += "\n" + part.what + ":\n  " + strings.Join(part.list, "\n  ")
		}
	}
	return text
}

func recoverWish(r statelog.Recovery) wish {
	return wish{verb: queue.VerbRecover, store: r.Store, args: r.Args(), text: recoverText(r)}
}

func (a *App) recoverState(ctx context.Context, options recoverOptions) error {
	host, plan, err := a.openToRecover(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	if options.dryRun {
		if options.json {
			return a.printJSON(plan)
		}
		fmt.Fprintf(a.Out, "%s\nmark      %s\ndatabase  %s\nstore     %s\n", safe(recoverText(plan)), safe(plan.Mark),
			safe(plan.Database), safe(plan.Store))
		if plan.Place != "" {
			fmt.Fprintf(a.Out, "shared    %s, of the mark %s\n", noneOr(plan.Shared), noneOr(plan.MarkShared))
		}
		if plan.Rows != nil {
			fmt.Fprintf(a.Out, "recorded  %s\nfound     %s\n", safe(plan.Rows.Recorded), safe(plan.Rows.Found))
		}
		return nil
	}
	order, err := a.order(options.orderFlags, func() (wish, error) { return recoverWish(plan), nil })
	if err != nil {
		return err
	}
	if order == nil {
		if err := a.agree(safe(recoverText(plan))); err != nil {
			return err
		}
	}
	r, err := statelog.Of(host.Log()).Recover(ctx, statelog.RecoverOptions{Order: order, Want: plan, Why: options.why})
	if err != nil {
		return recoverFailure(err)
	}
	if options.json {
		return a.printJSON(r)
	}
	fmt.Fprintf(a.Out, "Recovered: belay goes on after event %d. Event %d records it.\n", r.Event-1, r.Event)
	return nil
}

func noneOr(s string) string {
	if s == "" {
		return "none"
	}
	return safe(s)
}

// agree asks a person at the terminal; there is no flag that answers.
func (a *App) agree(what string) error {
	in, ok := a.In.(*os.File)
	if !ok || !isTerminal(in) {
		return failure("recover is confirmed by a person at a terminal, and there is none",
			"With a reviewer, `belay reviewer sign recover` makes a statement that --statement takes.")
	}
	fmt.Fprintf(a.Err, "%s\nType yes to go on: ", what)
	answer, err := bufio.NewReader(io.LimitReader(in, 256)).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "yes" {
		return failure("nothing was recovered", "")
	}
	return nil
}

// signRecoverCmd signs for a recovery as it would be now.
func (a *App) signRecoverCmd() *cobra.Command {
	var options signOptions
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Sign that belay goes on from a database that was restored or edited",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			host, plan, err := a.openToRecover(cmd.Context())
			if err != nil {
				return err
			}
			defer host.Close()
			return a.reviewerSign(recoverWish(plan), options)
		},
	}
	options.flags(cmd.Flags())
	return cmd
}

// examineMark says how the database stands to its high-water mark.
func examineMark(mark *statelog.HighWater, file *config.File) *finding {
	switch {
	case mark == nil:
		return nil
	case mark.Behind:
		return &finding{Check: "high water", Status: "fail", Red: true, Text: "ROLLBACK: " + mark.Problem,
			Advice: "Every action is blocked. Put the newest " + newest(mark) + " back, or `belay recover`. " + recoverProof(file)}
	case mark.Problem != "":
		return &finding{Check: "high water", Status: "fail", Red: true,
			Text:   mark.Of() + " has no high-water mark: " + mark.Problem,
			Advice: "A database that is restored or removed is not noticed. Name a directory in belay.yaml: events: {high_water: DIR}"}
	case mark.Seq == 0:
		return &finding{Check: "high water", Status: "ok", Text: "begins with the first event, in " + mark.Path}
	}
	return &finding{Check: "high water", Status: "ok",
		Text:   fmt.Sprintf("up to event %s in %s", count(mark.Seq), mark.Path),
		Advice: recoverProof(file)}
}

// newest says what to put back.
func newest(mark *statelog.HighWater) string {
	if mark.Place == "" {
		return mark.Of()
	}
	return "database"
}

func recoverProof(f *config.File) string {
	if f != nil && len(f.Reviewers) > 0 {
		return "recover takes the signature of a reviewer. A program of this user can delete database and mark together."
	}
	return "Without a reviewer recover is confirmed at a terminal: no proof against a program of this user, which can delete database and mark together."
}

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/leases"
)

func (a *App) leaseListCmd() *cobra.Command {
	var query client.LeaseQuery
	var state string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List leases",
		Example: "  belay lease list\n  belay lease list --all --prefix s-1 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			query.State = leases.State(state)
			if query.State == "" && !all {
				query.State = leases.Active
			}
			if query.State != "" && !contains(leaseStates(), query.State) {
				return usageError("--only: "+safe(state)+" is not known", "Known: active, exhausted, expired, revoked.")
			}
			if query.Limit < 1 || query.Limit > leases.MaxLimit {
				return usageError(fmt.Sprintf("--limit must be from 1 to %d", leases.MaxLimit), "")
			}
			return a.leaseList(cmd.Context(), query, asJSON)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "also what is used up, expired or revoked")
	f.StringVar(&query.Prefix, "prefix", "", "only this id and what lies below it")
	f.StringVar(&query.Runtime, "runtime", "", "only of this runtime")
	f.StringVar(&query.Session, "session", "", "only of this session")
	f.StringVar(&query.Agent, "agent", "", "only of this agent")
	f.StringVar(&state, "only", "", "those of this state: active, exhausted, expired, revoked")
	f.IntVar(&query.Limit, "limit", leases.DefaultLimit, "how many at most, up to 1000")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func leaseStates() []leases.State {
	return []leases.State{leases.Active, leases.Exhausted, leases.Expired, leases.Revoked}
}

func (a *App) leaseList(ctx context.Context, q client.LeaseQuery, asJSON bool) error {
	l, err := a.lookAtLeases(ctx)
	if err != nil {
		return err
	}
	defer l.Close()
	list, err := l.Leases(ctx, q)
	if err != nil {
		return recordsFailure(err)
	}
	if asJSON {
		if list == nil {
			list = []leases.View{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "There is no such lease. `belay lease list --all` shows those that are over, too.")
		return nil
	}
	t := newTable("ID", "STATE", "CAPABILITY", "HOLDER", "LEFT", "ENDS", "BY").alignRight(4)
	for i := range list {
		v := &list[i]
		t.row(safe(v.ID), string(v.State), safe(v.Capability), holderText(&v.Holder), strconv.FormatInt(v.UsesLeft, 10),
			v.ExpiresAt.Local().Format(time.DateTime), issuerText(&v.Issuer))
	}
	t.print(a.Out, a.palette())
	return nil
}

func holderText(h *leases.Holder) string {
	return safe(strings.Join([]string{h.Runtime, h.Session, h.Agent}, "/"))
}

func issuerText(i *leases.Issuer) string {
	switch i.Kind {
	case leases.ByHook:
		return safe("hook " + i.Hook)
	case leases.ByPerson:
		return safe(i.Person)
	}
	return safe(i.Kind)
}

func (a *App) leaseShowCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one lease",
		Args:  leaseArg("lease show takes the id of a lease", "`belay lease list --all` prints them."),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.lookAtLeases(cmd.Context())
			if err != nil {
				return err
			}
			defer l.Close()
			list, err := l.Leases(cmd.Context(), client.LeaseQuery{Prefix: args[0], Limit: 1})
			if err != nil {
				return recordsFailure(err)
			}
			if len(list) == 0 || list[0].ID != args[0] {
				return failure("there is no lease "+safe(args[0]), "`belay lease list --all` prints them.")
			}
			if asJSON {
				return a.printJSON(list[0])
			}
			a.printLease(&list[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) printLease(view *leases.View) {
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(a.Out, "%-12s %s\n", name, value)
		}
	}
	row("id", safe(view.ID))
	row("state", string(view.State))
	row("capability", safe(view.Capability))
	row("holder", holderText(&view.Holder))
	row("credential", safe(view.Holder.Credential))
	for _, d := range []struct {
		name string
		list []string
	}{{"paths", view.Scope.Paths}, {"hosts", view.Scope.Hosts}, {"tools", view.Scope.Tools}, {"args", view.Scope.Args}} {
		text := "*"
		if d.list != nil {
			text = strings.Join(d.list, " ")
		}
		row(d.name, safe(text))
	}
	row("begins", view.NotBefore.Local().Format(time.DateTime))
	row("ends", view.ExpiresAt.Local().Format(time.DateTime))
	row("uses left", strconv.FormatInt(view.UsesLeft, 10))
	row("parent", safe(view.Parent))
	row("by", issuerText(&view.Issuer))
	row("hook digest", safe(view.Issuer.Digest))
	row("signer", safe(view.Issuer.Signer))
	row("invocation", safe(view.Issuer.Invocation))
}

package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/textdiff"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) approvalsCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:     "approvals",
		Aliases: []string{"approval"},
		Short:   "See and decide what waits for a person",
		Long: `Hooks can ask for a person, agents can propose hooks, sandboxed hooks can request leases,
and MCP servers can change their tools. All of that waits here. Nothing goes on before a
person with a reviewer's key has approved exactly that. What is not decided in time is denied.

Without arguments, on a terminal, it shows the queue to look through and decide.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.interactive() && !*asJSON {
				return a.approvalsBoard(cmd.Context())
			}
			return a.approvalsList(cmd.Context(), approvalsListOptions{json: *asJSON})
		},
	}
	asJSON = jsonFlag(cmd)
	cmd.AddCommand(a.approvalsListCmd(), a.approvalsShowCmd(), a.approvalsDecideCmd(approvals.Approve),
		a.approvalsDecideCmd(approvals.Deny), a.approvalsWaitCmd(), a.approvalsWatchCmd())
	return cmd
}

type approvalsListOptions struct {
	all   bool
	kind  string
	state string
	limit int
	json  bool
}

func (a *App) approvalsListCmd() *cobra.Command {
	var options approvalsListOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what waits for a person",
		Example: `  belay approvals list
  belay approvals list --all --kind proposal --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.approvalsList(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.BoolVar(&options.all, "all", false, "also what is decided, used or has run out")
	f.StringVar(&options.kind, "kind", "", "only these: ask, proposal, lease, tool")
	f.StringVar(&options.state, "only", "", "those of this state: pending, approved, denied, expired, superseded, consumed")
	f.IntVar(&options.limit, "limit", new(approvals.Query).EffectiveLimit(), "how many at most, up to 1000")
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (o *approvalsListOptions) query() (client.ApprovalQuery, error) {
	query := client.ApprovalQuery{Kind: approvals.Kind(o.kind), State: approvals.State(o.state), Limit: o.limit}
	if query.State == "" && !o.all {
		query.State = approvals.Pending
	}
	if o.limit < 0 || o.limit > approvals.MaxLimit {
		return query, usageError(fmt.Sprintf("--limit must be from 1 to %d", approvals.MaxLimit), "")
	}
	if query.Kind != "" && !contains(queue.Kinds(), query.Kind) {
		return query, usageError("--kind: "+safe(o.kind)+" is not known", "Known: ask, proposal, lease, tool.")
	}
	if query.State != "" && !contains(queue.States(), query.State) {
		return query, usageError("--only: "+safe(o.state)+" is not known",
			"Known: pending, approved, denied, expired, superseded, consumed.")
	}
	return query, nil
}

func approvalKinds() (names []string) {
	for _, k := range queue.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func contains[T comparable](list []T, v T) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

func (a *App) approvalsList(ctx context.Context, options approvalsListOptions) error {
	query, err := options.query()
	if err != nil {
		return err
	}
	q, err := a.lookAtQueue(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	list, err := q.Approvals(ctx, query)
	if err != nil {
		return approvalFailure(err)
	}
	if options.json {
		if list == nil {
			list = []approvals.Item{}
		}
		return a.printJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, "Nothing waits for a person.")
		return nil
	}
	a.printApprovals(list)
	return nil
}

func (a *App) printApprovals(list []approvals.Item) {
	t := newTable("ID", "KIND", "STATE", "WHO", "WHAT", "WHY")
	for i := range list {
		it := &list[i]
		t.row(oneLine(it.ID, 40), oneLine(string(it.Kind), 10), a.stateText(it), oneLine(who(it), 30), oneLine(what(it), 50),
			oneLine(it.Reason, 50))
	}
	t.print(a.Out, a.palette())
}

// stateText says how an item stands, with the time that is left.
func (a *App) stateText(item *approvals.Item) string {
	p := a.palette()
	switch item.State {
	case approvals.Pending:
		return p.yellow("pending, " + left(item))
	case approvals.Approved:
		if item.Kind == approvals.KindProposal {
			return p.yellow("approved, not bound")
		}
		if item.Kind == approvals.KindTool {
			return p.yellow("approved, not taken over")
		}
		return p.green("approved")
	case approvals.Denied:
		return p.red("denied")
	}
	return p.faint(oneLine(string(item.State), 12))
}

func left(it *approvals.Item) string {
	d := it.Left(leases.At(leases.SystemClock{}))
	switch {
	case d <= 0:
		return "no time left"
	case d < time.Minute:
		return fmt.Sprintf("%d s left", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min left", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h left", int(d.Hours()))
}

func who(it *approvals.Item) string {
	var parts []string
	for _, s := range []string{it.By.Agent, it.By.Session, it.By.Runtime} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return it.By.Credential
	}
	return strings.Join(parts, " / ")
}

// commandOf is the member of an action's arguments that says most.
func commandOf(action jsontext.Value) string {
	for _, name := range []string{"command", "file_path", "path", "url"} {
		if v, ok := phases.Get(action, "/args/"+name); ok {
			return plainValue(v)
		}
	}
	return ""
}

// what summarises an item's subject in a few words.
func what(it *approvals.Item) string {
	if it.Tool != "" {
		if cmd := commandOf(it.Action); cmd != "" {
			return it.Tool + ": " + cmd
		}
		return string(it.Phase) + " " + it.Tool
	}
	if it.Kind == approvals.KindProposal {
		return "hook " + proposedName(it)
	}
	if it.Kind == approvals.KindTool {
		return toolChangeSubject(it)
	}
	return string(it.Phase)
}

func (a *App) approvalsShowCmd() *cobra.Command {
	var asJSON bool
	var wish previewWish
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one of them in full",
		Args:  oneArg("the id of an approval, or its end"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.approvalsShow(cmd.Context(), args[0], wish, asJSON)
		},
	}
	wish.flags(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *App) approvalsShow(ctx context.Context, id string, wish previewWish, asJSON bool) error {
	if err := wish.check(); err != nil {
		return err
	}
	q, err := a.lookAtQueue(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	item, err := findApproval(ctx, q, id)
	if err != nil {
		return err
	}
	if item.Kind == approvals.KindProposal && item.State == approvals.Pending {
		r, err := a.reviewOf(ctx, item, wish)
		switch {
		case err != nil && r.Review == nil:
			return failureBy(err, "It cannot be approved.")
		case err != nil:
			fmt.Fprintf(a.Err, "belay: %s\n", safe(err.Error()))
		}
		if asJSON {
			return a.printJSON(r)
		}
		a.describeReview(&r)
		return nil
	}
	if asJSON {
		return a.printJSON(review{Approval: item})
	}
	a.describeApproval(&item)
	return nil
}

// findApproval takes an id, or an end of one that fits a single item.
func findApproval(ctx context.Context, q approver, id string) (approvals.Item, error) {
	const whole = 36
	if len(id) >= whole || len(id) < 4 {
		it, err := q.Approval(ctx, id, 0)
		if err != nil {
			return it, approvalFailureOf(id, err)
		}
		return it, nil
	}
	list, err := q.Approvals(ctx, client.ApprovalQuery{Limit: approvals.MaxLimit})
	if err != nil {
		return approvals.Item{}, approvalFailure(err)
	}
	var found []approvals.Item
	for _, it := range list {
		if strings.HasSuffix(it.ID, id) {
			found = append(found, it)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return approvals.Item{},
			failure("there is no approval with an id that ends in "+safe(id),
				"`belay approvals list --all` prints the ids of all that there are.")
	}
	return approvals.Item{},
		failure(fmt.Sprintf("%d approvals have ids that end in %s", len(found), safe(id)), "Give more of the id.")
}

// describeApproval prints everything that a person should see before deciding. All
// of it came from outside at some time, so that all of it is made safe.
func (a *App) describeApproval(item *approvals.Item) {
	colors := a.palette()
	a.field("approval", item.ID)
	a.rawField("state", a.stateText(item))
	a.field("kind", string(item.Kind))
	a.field("asked by", who(item)+"  ("+item.By.Credential+")")
	a.field("asked at", item.Created.Local().Format(time.DateTime))
	a.field("until", item.Expires.Local().Format(time.DateTime)+"  (undecided then counts as denied)")
	a.field("phase", string(item.Phase))
	a.field("tool", item.Tool)
	a.field("reason", item.Reason)
	for _, h := range item.Hooks {
		a.field("hook", oneLine(h.Hook, 64)+"  "+oneLine(h.Digest, 80)+"\n"+oneLine(h.Reason, 400))
	}
	if item.Before != nil && item.Action != nil {
		a.field("action", "as it would run (+), and as the agent wanted it (-)")
		a.printDiff(valueLines(item.Before), valueLines(item.Action), 3)
	} else if item.Action != nil {
		a.field("action", indentJSON(item.Action))
	}
	if item.Scopes != nil && !reflect.ValueOf(*item.Scopes).IsZero() {
		if b, err := encodeJSON(item.Scopes, true); err == nil {
			a.field("scopes", string(b))
		}
	}
	switch {
	case item.Kind == approvals.KindTool:
		a.describeToolChange(item)
	case item.Kind != approvals.KindProposal && item.Details != nil:
		a.field("details", indentJSON(item.Details))
	}
	for _, h := range item.Hidden {
		why := " holds a secret of this action; it can only be denied"
		if item.Kind == approvals.KindTool {
			why = " looks like a secret or is too large to be shown; it can only be denied, or pinned in belay.yaml"
		}
		a.rawField("hidden", colors.red("argument hidden: "+oneLine(h, 200)+why))
	}
	for _, n := range item.Notes {
		a.field("note", oneLine(n, 400))
	}
	if content, err := item.Content(); err == nil {
		a.field("content", content+"  (what a decision is signed for)")
	}
	if d := item.Decision; d != nil {
		text := string(d.Verdict) + " by " + oneLine(d.By, 64) + " at " + d.At.Local().Format(time.DateTime)
		if d.Key == "" {
			text += colors.red("  not signed")
		} else {
			text += "  signed with " + oneLine(d.Key, 40)
		}
		a.rawField("decision", text)
		a.field("because", d.Reason)
		a.field("holds until", d.Until.Local().Format(time.DateTime))
	}
}

// printDiff shows the lines in which two texts differ, with so many lines around them.
func (a *App) printDiff(before, after []string, around int) {
	p := a.palette()
	for _, l := range textdiff.Near(textdiff.Lines(before, after), around) {
		line := string(l.Op) + " " + strings.ReplaceAll(safe(l.Text), "\n", " ")
		switch l.Op {
		case '-':
			line = p.red(line)
		case '+':
			line = p.green(line)
		default:
			line = p.faint(line)
		}
		fmt.Fprintf(a.Out, "%s%s\n", strings.Repeat(" ", fieldWidth), strings.TrimRight(line, " "))
	}
}

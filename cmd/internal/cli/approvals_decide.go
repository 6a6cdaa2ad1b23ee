package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/install"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

type decideOptions struct {
	reason, content, as, key string
	json                     bool
	wish                     previewWish
}

func (a *App) approvalsDecideCmd(verdict approvals.Verdict) *cobra.Command {
	var options decideOptions
	verb, short, long := "approve", "Approve exactly this, once",
		`approve signs that exactly this may go on: an action with these arguments, by this agent
in this session, once. Or it signs a hook with this digest and these capabilities. Of an MCP
server it accepts the definitions of tools that are shown. It shows the action, hook or
definitions, then asks for the reviewer's passphrase on the terminal. While no reviewer has a
key, what a hook asks is approved by a yes at a terminal, and nowhere else.

If an approved hook could not be bound (belay.yaml could not be written, say), run the same
command again. It takes no other signature.`
	if verdict == approvals.Deny {
		verb, short, long = "deny", "Deny this, with a reason",
			`deny signs that this may not go on. The agent is given the reason, and for a while the
same question is answered with it.`
	}
	cmd := &cobra.Command{
		Use:   verb + " ID",
		Short: short,
		Long:  long,
		Args:  oneArg("the id of an approval, or its end"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.approvalsDecide(cmd.Context(), args[0], verdict, options)
		},
	}
	f := cmd.Flags()
	f.StringVar(&options.reason, "reason", "", "why; the agent is told")
	f.StringVar(&options.content, "content", "",
		"decide only if the item still has this `DIGEST`, as approvals show prints it")
	f.StringVar(&options.as, "as", "", "name of the reviewer (default: the one whose key is here)")
	f.StringVar(&options.key, "key", "",
		"file of the reviewer's key (default keys/NAME.reviewer.key in the state directory)")
	options.wish.flags(f)
	f.BoolVar(&options.json, "json", false, "print JSON")
	return cmd
}

func (a *App) approvalsDecide(ctx context.Context, id string, verdict approvals.Verdict, options decideOptions) error {
	if err := options.wish.check(); err != nil {
		return err
	}
	approver, err := a.openQueue(ctx)
	if err != nil {
		return err
	}
	defer approver.Close()
	item, err := findApproval(ctx, approver, id)
	if err != nil {
		return err
	}
	if verdict == approvals.Approve && (item.Kind == approvals.KindProposal || item.Kind == approvals.KindTool) &&
		item.State == approvals.Approved && item.Decision != nil {
		return a.approvalsCarryOn(ctx, approver, item, options)
	}
	if item.State != approvals.Pending {
		return failure("it is "+string(item.State)+" already",
			"Nothing was changed. `belay approvals show ID` says how it stands.")
	}
	content, err := item.Content()
	if err != nil {
		return failureBy(err, "")
	}
	if options.content != "" && options.content != content {
		return failure("what is in the queue is not what you looked at: it has the digest "+content,
			"Nothing was decided. `belay approvals show ID` shows it.")
	}
	r, err := a.reviewOf(ctx, item, options.wish)
	switch {
	case err != nil && verdict == approvals.Approve:
		return failureBy(err,
			"Nothing was decided. `--preview 0` approves without a preview; a module that cannot be looked at can only be denied.")
	case !options.json:
		a.describeReview(&r)
		fmt.Fprintln(a.Out)
	}
	d, err := a.signDecision(&item, verdict, options)
	if err != nil {
		return err
	}
	decided, err := approver.Decide(ctx, item.ID, d)
	if err != nil {
		return decideFailure(ctx, approver, item.ID, err)
	}
	return a.printDecided(&decided, options.json)
}

// approvalsCarryOn binds a hook, or takes definitions of tools over, whose approval could not be
// carried out at first. It hands in the stored decision again, so that the reviewer need not
// sign anew.
func (a *App) approvalsCarryOn(ctx context.Context, q approver, it approvals.Item, o decideOptions) error {
	if o.content != "" && o.content != it.Decision.Content {
		return failure("what was approved is not what you looked at: it has the digest "+safe(it.Decision.Content),
			"Nothing was changed. `belay approvals show ID` shows it.")
	}
	done, err := q.Decide(ctx, it.ID, *it.Decision)
	if err != nil {
		return decideFailure(ctx, q, it.ID, err)
	}
	return a.printDecided(&done, o.json)
}

func (a *App) printDecided(it *approvals.Item, asJSON bool) error {
	if asJSON {
		return a.printJSON(it)
	}
	fmt.Fprintf(a.Out, "%s by %s. The decision is logged.\n", verdictText(it), safe(it.Decision.By))
	return nil
}

// decideFailure says what to do about a decision that came to nothing, or to half.
func decideFailure(ctx context.Context, q approver, id string, err error) error {
	it, lookErr := q.Approval(ctx, id, 0)
	if lookErr == nil && it.Kind == approvals.KindTool && it.State == approvals.Approved {
		return failureBy(err, "`belay approvals approve "+id+"` once more takes it over, and asks for no passphrase.")
	}
	if lookErr != nil || it.Kind != approvals.KindProposal {
		return approvalFailure(err)
	}
	var p *client.Error
	config := errors.As(err, &p) && p.Code == wire.CodeConfig || errors.Is(err, belay.ErrConfig) ||
		errors.Is(err, install.ErrRefused)
	switch {
	case it.State == approvals.Approved && it.Decision != nil:
		return failureBy(err, "Mend that, then run `belay approvals approve "+id+"` again before "+
			it.Decision.Until.Local().Format(time.TimeOnly)+": it binds what is approved and asks for no passphrase.")
	case it.State == approvals.Pending && config:
		return failureBy(err, "Nothing was decided. Mend that, then approve it again; or deny it.")
	}
	return approvalFailure(err)
}

func verdictText(it *approvals.Item) string {
	switch {
	case it.Decision != nil && it.Decision.Verdict == approvals.Deny:
		return "Denied"
	case it.Kind == approvals.KindProposal:
		return "Approved and bound in belay.yaml as " + oneLine(proposedName(it), 64)
	case it.Kind == approvals.KindTool:
		return "Approved, and accepted as the definitions of these tools"
	case it.Kind == approvals.KindAsk:
		return "Approved for the next time that the agent tries it, once, until " +
			it.Decision.Until.Local().Format(time.TimeOnly)
	}
	return "Approved"
}

// signDecision makes the decision about the item as it was shown. Where no
// reviewer has a key and the operator has said that this is all right, nothing signs it.
func (a *App) signDecision(item *approvals.Item, verdict approvals.Verdict,
	options decideOptions) (approvals.Decision, error) {
	dir, file, err := a.deciders()
	if err != nil {
		return approvals.Decision{}, err
	}
	holds := queue.WithDefaults(file.Approvals.Settings()).Timeout
	if len(file.Reviewers) == 0 && file.Approvals.Unsigned {
		name := "unknown user"
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
		fmt.Fprintln(a.Err, a.palette().red("belay: unprotected: without a reviewer's key the agent can decide, too"))
		return approvals.Draft(item, verdict, name, options.reason, time.Now(), holds)
	}
	if err := a.believable(); err != nil {
		return approvals.Decision{}, err
	}
	if len(file.Reviewers) == 0 && item.Kind == approvals.KindAsk {
		return a.decideAtTerminal(dir, item, verdict, options.reason, holds)
	}
	name, key, err := a.reviewerKey(dir, file, options.as, options.key)
	if err != nil {
		return approvals.Decision{}, err
	}
	d, err := approvals.Draft(item, verdict, name, options.reason, time.Now(), holds)
	if err == nil {
		err = approvals.Sign(item, &d, key)
	}
	if err != nil {
		return d, failureBy(err, "Nothing was decided.")
	}
	return d, nil
}

// protection says whether decisions take a key that agents do not hold.
func protection(f *config.File) (ok bool, text, advice string) {
	switch {
	case len(f.Reviewers) > 0:
		return true, fmt.Sprintf("decisions take the key of a reviewer (%d registered)", len(f.Reviewers)), ""
	case f.Approvals.Unsigned:
		return false,
			"unprotected: decisions count without a signature, so that an agent of this user can approve for itself",
			"`belay reviewer init` makes a key; then take approvals.unsigned out of belay.yaml."
	}
	return false,
		"unprotected: no reviewer has a key; what hooks ask is decided at a terminal, and nothing else is approved",
		"A person makes a key with `belay reviewer init`."
}

package cli

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/cmd/internal/dispatch"
	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/internal/builtin"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

func (a *App) demoLeasesCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "leases",
		Short: "Watch power being lent, used up and taken back",
		Long: `demo leases shows, step by step, how an agent gets to write one file. A signed hook lends
it after a person said yes, for a minute and once. An unsigned hook lends nothing, a child agent
is cut off, and a proposed hook is reviewed, used and disabled.

Hooks, signatures, store and decisions are the real ones. Only the person is played: the
demo makes a reviewer's key of its own and approves with it. Without --state it works in
a new temporary directory and says where.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.demoLeases(cmd.Context(), *asJSON) },
	}
	asJSON = cmd.Flags().Bool("json", false, "one line of the demo a line, as JSON")
	return cmd
}

func (a *App) demoLeases(ctx context.Context, asJSON bool) (err error) {
	dir, err := a.demoDir()
	if err != nil {
		return err
	}
	a.state, a.quiet = dir, true // whatever this process opens for the demo, such as a preview, is that directory
	d := &leaseDemo{a: a, p: a.palette(), out: bufio.NewWriter(a.Out), dir: dir, json: asJSON}
	defer d.close()
	if err := d.prepare(); err != nil {
		return failureBy(err, "")
	}
	if err := d.play(ctx); err != nil {
		return failureBy(err, "The demo ended early; its state is in "+safe(dir)+".")
	}
	return nil
}

// leaseDemo is one run of the demo. It is used by one goroutine.
type leaseDemo struct {
	a      *App
	p      palette
	out    *bufio.Writer
	dir    string
	host   *belay.Belay // nil before there is one
	broker []byte       // the hook that lends
	key    ed25519.PrivateKey
	steps  int
	title  string // of the step
	json   bool
}

const (
	demoReviewer = "demo"
	demoPassword = "of the demo's own keys, which are of no use after it"
	demoRules    = "# What `belay demo leases` plays against.\nversion: " + config.Version +
		"\nhooks: []\nrequire_lease:\n  - {tools: [write], capability: \"tool:write\"}\n"
)

// own turns a built-in hook into a file of its own: a section of one word more
// changes its digest, so that the binary no longer vouches for it.
func own(name string) ([]byte, error) {
	hooks, err := builtin.Load()
	if err != nil {
		return nil, err
	}
	h, err := hooks.Get(name)
	if err != nil {
		return nil, err
	}
	return append(h.Module[:len(h.Module):len(h.Module)], "\x00\x05\x04mine"...), nil
}

func (d *leaseDemo) prepare() (err error) {
	if d.broker, err = own("lease-broker"); err != nil {
		return err
	}
	private, public, err := signing.GenerateEd25519([]byte(demoPassword))
	if err != nil {
		return err
	}
	if d.key, err = signing.OpenEd25519(private, func() ([]byte, error) {
		return []byte(demoPassword), nil
	}); err != nil {
		return err
	}
	src, err := config.AddReviewer([]byte(demoRules),
		config.Reviewer{Name: demoReviewer, Key: queue.FormatReviewerKey(public)})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, config.FileName), src, 0o600)
}

// open opens the state directory anew, with hooks that are not installed.
func (d *leaseDemo) open(ctx context.Context, hooks ...belay.AdHocHook) (err error) {
	d.close()
	o := belay.Options{Hooks: hooks, Compiler: d.a.Compiler}
	if len(hooks) > 0 {
		o.Logger = slog.New(slog.DiscardHandler) // that one is not loaded is what the step shows
	}
	d.host, err = d.a.openState(ctx, d.dir, o)
	return err
}

func (d *leaseDemo) close() {
	d.out.Flush()
	if d.host != nil {
		d.host.Close()
		d.host = nil
	}
}

// prose is where text goes that is for people only.
func (d *leaseDemo) prose() io.Writer {
	if d.json {
		return io.Discard
	}
	return d.out
}

// step begins a step; what came before is on the screen by then.
func (d *leaseDemo) step(title string) {
	d.steps++
	d.title = title
	if d.json {
		return
	}
	fmt.Fprintf(d.out, "\n%s\n", d.p.bold(fmt.Sprintf("%d. %s", d.steps, title)))
	d.out.Flush()
}

// line prints a step, its outcome and the reason, in columns.
func (d *leaseDemo) line(what, outcome, why string) {
	if d.json {
		d.lineJSON(what, outcome, why)
		return
	}
	pad := func(s string, n int) string { return strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }
	what = oneLine(what, 34)
	outcome = oneLine(outcome, 10)
	text := "   " + what + pad(what, 35) + d.p.decision(outcome) + pad(outcome, 11) + oneLine(why, 100)
	fmt.Fprintln(d.out, strings.TrimRight(text, " "))
}

// lineJSON prints the same for a program.
func (d *leaseDemo) lineJSON(what, outcome, why string) {
	b, err := encodeJSON(struct {
		Step    int    `json:"step"`
		Title   string `json:"title"`
		What    string `json:"what,omitzero"`
		Outcome string `json:"outcome,omitzero"`
		Why     string `json:"why,omitzero"`
	}{d.steps, d.title, what, outcome, why}, false)
	if err != nil {
		return // strings have a JSON form
	}
	_, _ = d.out.Write(append(b, '\n')) // Flush says if it failed
}

// errDemo says that a step of the demo had another outcome than announced.
var errDemo = errors.New("the demo came out differently")

// ask has an action decided and prints the answer. It is an error when that is not
// what the demo tells.
func (d *leaseDemo) ask(ctx context.Context, what, invocation string, want phases.Decision) (phases.Verdict, error) {
	verdict, err := dispatch.Wire(ctx, d.host, []byte(invocation))
	if err != nil {
		return verdict, err
	}
	why := []string{verdict.Reason}
	if verdict.Decision == phases.Allow && len(verdict.Notes) > 0 {
		why = verdict.Notes
	}
	d.line(what, string(verdict.Decision), why[0])
	for _, more := range why[1:] {
		d.line("", "", more)
	}
	if verdict.Decision != want {
		return verdict, fmt.Errorf("%w: %s: %s", errDemo, what, verdict.Reason)
	}
	return verdict, nil
}

// approve decides as the reviewer does, with the demo's key instead of a person's.
func (d *leaseDemo) approve(ctx context.Context, id, why string) error {
	it, err := d.host.Approval(ctx, id)
	if err != nil {
		return err
	}
	decision, err := approvals.Draft(&it, approvals.Approve, demoReviewer, why, time.Now(), queue.DefaultTimeout)
	if err != nil {
		return err
	}
	if err := approvals.Sign(&it, &decision, d.key); err != nil {
		return err
	}
	_, changed, err := d.host.Decide(ctx, id, decision)
	if err != nil {
		return err
	}
	d.line("reviewer "+demoReviewer, "approved", "signed with the key "+decision.Key+": "+why)
	if changed {
		return d.host.Reload(ctx)
	}
	return nil
}

// leases prints the leases of any state at or below a prefix; "" are all.
func (d *leaseDemo) leases(ctx context.Context, prefix string) error {
	list, err := d.host.Leases(ctx, leases.Query{Prefix: prefix})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		d.line("leases", "none", "")
	}
	for i := range list {
		l := &list[i]
		d.line("lease "+l.ID, string(l.State), fmt.Sprintf("%s of %s, %d s, %d uses left, by %s",
			l.Capability, strings.Join(l.Scope.Paths, " "), int(l.ExpiresAt.Sub(l.NotBefore).Seconds()), l.UsesLeft,
			issuerText(&l.Issuer)))
	}
	return nil
}

// bound prints how a hook stands.
func (d *leaseDemo) bound(name, why string) {
	for _, b := range d.host.Bindings() {
		switch {
		case b.Name != name:
		case b.Disabled:
			d.line("hook "+name, "disabled", why)
		case b.Problem != "":
			d.line("hook "+name, "error", b.Problem)
		default:
			d.line("hook "+name, string(b.Tier), why)
		}
	}
}

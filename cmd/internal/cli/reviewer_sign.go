package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/belay-hooks/belay/cmd/internal/signing"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/tiers"
)

// signOptions are those of every `belay reviewer sign`.
type signOptions struct {
	orderFlags
	out   string
	life  time.Duration
	draft bool
	json  bool
}

func (o *signOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.out, "out", "", "file for the statement (default: standard output)")
	f.DurationVar(&o.life, "for", queue.DefaultOrderLife, "how long it can be used, up to 24h")
	f.BoolVar(&o.draft, "draft", false, "sign nothing: write a draft, for belay reviewer sign draft where the key is")
	f.BoolVar(&o.json, "json", false, "print JSON: the statement, or with --out which file holds it")
	o.who(f)
}

func (a *App) reviewerSignCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sign",
		Short: "Sign a statement that has one command carried out, once",
		Long: `sign writes a statement by which a reviewer has one command carried out. It holds for
exactly this one, on this state directory, once, for an hour unless --for says otherwise. The
command takes it with --statement, so that no terminal is needed there. The arguments are those of
the command itself.

Where the reviewer's key is on another machine, --draft writes what is to be signed, and
` + "`belay reviewer sign draft FILE`" + ` signs it there; that needs no state directory.`,
		Example: `  belay reviewer sign latch clear claude-code s-1 --out clear.json
  belay latch clear claude-code s-1 --statement clear.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	latch := &cobra.Command{Use: "latch", Short: "Of latched sessions", Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	latch.AddCommand(a.signVerbCmd("clear RUNTIME [SESSION]", "Sign that a latched session may go on", latchArgs,
		func(ctx context.Context, src records, args []string) (wish, error) {
			return latchWish(ctx, src, latchKey(args))
		}))
	events := &cobra.Command{Use: "events", Short: "Of the event log", Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return cmd.Help() }}
	events.AddCommand(a.signCompactCmd())
	cmd.AddCommand(latch, events, a.signRecordCmd(), a.signConfigCmd(), a.signRecoverCmd(), a.signDraftCmd())
	return cmd
}

// signVerbCmd is the command that signs for one verb; what returns the order to
// sign.
func (a *App) signVerbCmd(use, short string, args cobra.PositionalArgs,
	what func(context.Context, records, []string) (wish, error)) *cobra.Command {
	var options signOptions
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args,
		RunE: func(cmd *cobra.Command, args []string) error {
			src, err := a.lookAtRecords(cmd.Context())
			if err != nil {
				return err
			}
			defer src.Close()
			w, err := what(cmd.Context(), src, args)
			if err != nil {
				return err
			}
			return a.reviewerSign(w, options)
		},
	}
	options.flags(cmd.Flags())
	return cmd
}

// signRecordCmd signs a recording of a daemon, with the flags that `belay record` gets.
func (a *App) signRecordCmd() *cobra.Command {
	var o recordOptions
	cmd := a.signVerbCmd("record --to DIR", "Sign that a daemon may record originals", noArgs,
		func(ctx context.Context, src records, _ []string) (wish, error) {
			return a.recordWish(ctx, src, o)
		})
	f := cmd.Flags()
	f.StringVar(&o.out, "to", "", "directory of the recording: --out of belay record")
	f.DurationVar(&o.duration, "duration", 10*time.Minute, "how long: --for of belay record")
	f.IntVar(&o.count, "count", 10_000, "how many invocations at most")
	o.seal.flags(f)
	return cmd
}

// signCompactCmd signs the compaction of events of that age.
func (a *App) signCompactCmd() *cobra.Command {
	var options eventsCompactOptions
	cmd := a.signVerbCmd("compact {--before TIME | --keep DAYS}", "Sign that old events may be compacted", noArgs,
		func(ctx context.Context, src records, _ []string) (wish, error) {
			c, err := options.compaction(time.Now())
			if err != nil {
				return wish{}, err
			}
			c.DryRun = true
			would, err := src.Compact(ctx, c)
			if err != nil {
				return wish{}, recordsFailure(err)
			}
			if would.Events == 0 {
				return wish{}, failure("no event is that old and has its contents", "")
			}
			return compactWish(ctx, src, would)
		})
	cmd.Flags().StringVar(&options.before, "before", "",
		"what is older than this: RFC 3339, a date, or how long ago (90d)")
	cmd.Flags().IntVar(&options.keep, "keep", 0, "what is older than so many days")
	return cmd
}

// reviewerSign writes a statement, signed or as a draft.
func (a *App) reviewerSign(wish wish, options signOptions) error {
	if options.life <= 0 || options.life > queue.MaxOrderLife {
		return usageError("--for takes up to 24h", "")
	}
	if options.draft {
		order, err := queue.NewOrder(wish.verb, wish.store, wish.args, leases.At(leases.SystemClock{}), options.life)
		if err != nil {
			return failureBy(err, "")
		}
		return a.writeOrder(&order, options.out, options.json)
	}
	dir, f, err := a.deciders()
	if err != nil {
		return err
	}
	order, err := a.signOrder(dir, f, wish, options.orderFlags, options.life)
	if err != nil {
		return err
	}
	return a.writeOrder(order, options.out, options.json)
}

func (a *App) writeOrder(order *approvals.Order, file string, asJSON bool) error {
	b, err := queue.EncodeOrder(order)
	if err != nil {
		return failureBy(err, "")
	}
	if file == "" {
		_, err := a.Out.Write(b)
		return err
	}
	if err := files.Write(file, b, files.Options{Perm: 0o600}); err != nil {
		return failureBy(err, "")
	}
	what := "statement"
	if len(order.Signature) == 0 {
		what = "draft"
	}
	return a.tell(asJSON, map[string]any{"file": file, "verb": order.Verb, "expires": order.Expires, "kind": what}, a.Err,
		"Written: the %s of `belay %s`, once, until %s.\n", what, order.Verb, order.Expires.Local().Format(time.DateTime))
}

// signDraftCmd signs a draft where the key is. It reads no configuration: whether the
// reviewer counts is decided where the statement is used.
func (a *App) signDraftCmd() *cobra.Command {
	var out, as, key string
	var asJSON *bool
	cmd := &cobra.Command{
		Use:     "draft FILE --key FILE --as NAME",
		Short:   "Sign a draft that another machine wrote",
		Example: "  belay reviewer sign draft clear.draft --key anna.key --as anna --out clear.json",
		Args:    oneArg("the file that --draft wrote"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as == "" || key == "" {
				return usageError("--key says which key signs, --as whose it is",
					"The name is the one in belay.yaml of the machine that wrote the draft.")
			}
			return a.signDraft(args[0], as, key, out, *asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&out, "out", "", "file for the statement (default: standard output)")
	f.StringVar(&as, "as", "", "name of the reviewer in belay.yaml")
	f.StringVar(&key, "key", "", "file of the reviewer's key")
	asJSON = f.Bool("json", false, "print JSON: the statement, or with --out which file holds it")
	return cmd
}

func (a *App) signDraft(file, as, keyFile, out string, asJSON bool) error {
	src, err := readLimited(file, queue.MaxOrder)
	if err != nil {
		return failureBy(err, "")
	}
	order, err := queue.DecodeOrder(src)
	if err != nil {
		return failureBy(err, "Nothing was signed.")
	}
	if !time.Now().Before(order.Expires) {
		return failure("the draft could be used until "+order.Expires.Local().Format(time.DateTime),
			"Write another one; --for says how long it lasts.")
	}
	queue.Restamp(&order, leases.At(leases.SystemClock{}))
	a.describeOrder(&order, "")
	pem, err := readLimited(keyFile, tiers.MaxKeyFile)
	if err != nil {
		return failureBy(err, "Nothing was signed.")
	}
	key, err := signing.OpenEd25519(pem, func() ([]byte, error) {
		return a.passphrase("Passphrase of the reviewer: ", false)
	})
	if err != nil {
		return failureBy(err, "The passphrase is asked for on the terminal. Nothing was signed.")
	}
	if err := queue.SignOrder(&order, as, key); err != nil {
		return failureBy(err, "Nothing was signed.")
	}
	return a.writeOrder(&order, out, asJSON)
}

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/internal/keyring"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/internal/statelog"
)

// maxProof bounds a proof file: an event and what belongs to it, in base64.
const maxProof = 64 << 20

type eventsVerifyOptions struct {
	checkpoint, against, proof, key string
	sinceHead                       bool
	json                            bool
	fleet                           verifyFleetOptions
}

func (a *App) eventsVerifyCmd() *cobra.Command {
	var options eventsVerifyOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Prove that no event was changed, removed or moved",
		Long: `verify computes the Merkle tree anew from the stored events. It compares it with the stored
tree and with every signed checkpoint, in the database and in the file that belay.yaml or
--checkpoint names. It names the first event that is wrong, and says how many events no
outside checkpoint covers yet. A program that has the database and the key could have
changed any of those. Exit 5 when something is wrong.

It reads every event. With --since-head it reads only those behind the newest checkpoint
that the stored tree fits, and says how many it did not read. A change to one of those does
not show.

With --proof it checks a proof of ` + "`belay events prove`" + ` instead, without the database.

With --fleet it verifies the logs of all kernels that share a PostgreSQL. It names each kernel that
is missing, silent, forked, rolled back or forged. Heads are verified with the keys of --keys, or
with those that --memory has. A kernel that neither has is verified with the key that the database
names; that is said. --memory is what notices that a kernel is gone, or that a log is
shorter than before: keep the file where no kernel can write.`,
		Example: `  belay events verify
  belay events verify --since-head
  belay events verify --checkpoint /mnt/worm/checkpoints --key "$(cat noted.key)"
  belay events verify --against exported.jsonl
  belay events verify --proof 17.proof --key "$(cat noted.key)"
  belay events verify --fleet --dsn-file auditor.dsn --keys fleet.keys --memory fleet.memory`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.eventsVerify(cmd.Context(), options) },
	}
	f := cmd.Flags()
	f.StringVar(&options.checkpoint, "checkpoint", "", "file of checkpoints from outside the database")
	f.StringVar(&options.against, "against", "", "JSON lines of events that were exported earlier")
	f.StringVar(&options.proof, "proof", "", "check this proof, without the database; needs --key")
	f.StringVar(&options.key, "key", "", "verifier `KEY`, as belay events key printed it when it could be trusted")
	f.BoolVar(&options.sinceHead, "since-head", false, "read only the events behind the newest checkpoint")
	f.BoolVar(&options.json, "json", false, "print JSON")
	options.fleet.flags(f)
	return cmd
}

func (a *App) eventsVerify(ctx context.Context, options eventsVerifyOptions) error {
	if err := options.check(); err != nil {
		return err
	}
	if options.fleet.on {
		return a.verifyFleet(ctx, &options.fleet, options.json)
	}
	if options.proof != "" {
		return a.verifyProof(options)
	}
	if options.sinceHead && options.against != "" {
		return usageError("--since-head does not go with --against", "A comparison with a copy reads every event.")
	}
	if err := a.ownState(); err != nil {
		return err
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	log, err := a.openLog(ctx, dir)
	if err != nil {
		return err
	}
	defer log.Close()
	ev := statelog.Evidence{Verifier: options.key, Checkpoints: options.checkpoint, SinceHead: options.sinceHead}
	if options.against != "" {
		f, err := openFile(options.against)
		if err != nil {
			return failureBy(err, "")
		}
		defer f.Close()
		ev.Copies = f
	}
	r, err := log.Verify(ctx, ev)
	if err != nil {
		return failureBy(err, "The log could not be verified: nothing is known about it.")
	}
	if options.json {
		if err := a.printJSON(r); err != nil {
			return err
		}
	} else {
		printLogReport(a.Out, r)
	}
	if r.Wrong != nil {
		return exitWith(ExitDifferences)
	}
	return nil
}

func printLogReport(out io.Writer, report statelog.Report) {
	if report.Wrong != nil {
		fmt.Fprintf(out,
			"events verify: WRONG: %s\n%d events; %d are not covered by an outside checkpoint that was confirmed before that\n",
			oneLine(report.Wrong.Text, 400), report.Events, report.Uncovered)
		return
	}
	fmt.Fprintf(out, "events verify: ok\n")
	if report.Compacted > 0 {
		fmt.Fprintf(out,
			"events 1 to %d are compacted, as event %d announces: their hashes were checked, their contents cannot be any more\n", report.Compacted, report.Announced)
	}
	for _, rec := range report.Recovered {
		if len(rec.Tables) > 0 {
			fmt.Fprintf(out,
				"recovered: event %d records that a person took rows back into use that were changed outside of belay (%s), and what became of them\n",
				rec.Event, oneLine(strings.Join(rec.Tables, ", "), 200))
			if rec.Last == 0 && rec.Kept {
				continue
			}
		} else if rec.Kept {
			fmt.Fprintf(out, "recovered: event %d records that a person let PostgreSQL go on, which went back; this log lost nothing\n",
				rec.Event)
			continue
		}
		lost := "what was lost is not known"
		if rec.Last > 0 {
			lost = fmt.Sprintf("events %d to %d of before are lost", rec.First, rec.Last)
		}
		fmt.Fprintf(out,
			"recovered: event %d records that a person let the log go on from a database that went back; %s; %s of them do not count\n",
			rec.Event, lost, plural(rec.Checkpoints, "checkpoint"))
	}
	if report.Unread > 0 {
		fmt.Fprintf(out,
			"%d events were not read: the tree over them is that of the newest checkpoint; a change to one of them would not show here\n",
			report.Unread)
	}
	if report.Torn > 0 {
		fmt.Fprintf(out,
			"note: the last outside checkpoint is torn, as a crash or a full disk leaves it: it does not count, all before it do\n")
	}
	fmt.Fprintf(out,
		"%d events, %d checkpoints in the store and %d outside; %d events are not covered by an outside checkpoint yet\n",
		report.Events, report.Checkpoints, report.Outside, report.Uncovered)
}

func (a *App) verifyProof(o eventsVerifyOptions) error {
	if o.checkpoint != "" || o.against != "" || o.sinceHead {
		return usageError("--proof goes with --key only", "A proof carries its own checkpoint.")
	}
	if o.key == "" {
		return usageError("--proof needs --key", "`belay events key` prints the key where the log is kept.")
	}
	src, err := readLimited(o.proof, maxProof)
	if err != nil {
		return failureBy(err, "")
	}
	event, err := statelog.CheckProof(src, o.key)
	if err != nil {
		fmt.Fprintf(a.Out, "events verify: WRONG: %s\n", oneLine(err.Error(), 400))
		return exitWith(ExitDifferences)
	}
	_, err = a.Out.Write(append(event, '\n'))
	return err
}

func (a *App) eventsKeyCmd() *cobra.Command {
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Print the key that verifies checkpoints and proofs",
		Long: `key prints the public half of the key that signs checkpoints of the event log. Note it
where the agent cannot write, and give it to events verify --key. It reads the state directory
alone: a daemon may run, and the database may be away.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.stateDir()
			if err == nil {
				err = existing(dir)
			}
			if err == nil {
				dir, err = statedir.Open(dir)
			}
			if err != nil {
				return err
			}
			key, err := keyring.Events(dir)
			if err != nil {
				return err
			}
			return a.tell(*asJSON, map[string]any{"key": key.Verifier()}, a.Out, "%v\n", key.Verifier())
		},
	}
	asJSON = jsonFlag(cmd)
	return cmd
}

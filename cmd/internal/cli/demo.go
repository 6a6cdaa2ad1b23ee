package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/internal/suite"
	"github.com/belay-hooks/belay/phases"
)

type demoOptions struct {
	json   bool
	record string
	seal   sealFlags
}

func (a *App) demoCmd() *cobra.Command {
	var o demoOptions
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a recorded Claude Code session pass through all eight phases",
		Long: `demo plays a recorded session of Claude Code, and of the model gateway beside it, through
the built-in hooks with a real store. It prints what each hook decided. Without --state it works
in a new temporary directory and says where.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.demo(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "one verdict a line, as JSON")
	cmd.Flags().StringVar(&o.record, "record", "", "also write a recording into `DIR`, for belay replay")
	o.seal.flags(cmd.Flags())
	cmd.AddCommand(a.demoLeasesCmd())
	return cmd
}

// demoDir makes the directory that a demo works in: --state, or a new temporary one.
func (a *App) demoDir() (string, error) {
	if a.state == "" {
		dir, err := os.MkdirTemp("", "belay-demo-")
		if err != nil {
			return "", failureBy(err, "Give a directory with --state.")
		}
		return dir, nil
	}
	if err := os.MkdirAll(a.state, 0o700); err != nil {
		return "", failureBy(err, "")
	}
	if _, err := os.Lstat(filepath.Join(a.state, config.FileName)); err == nil {
		return "", failure(safe(a.state)+" holds a configuration already", "Give a new directory: the demo brings its own.")
	}
	return a.state, nil
}

func (a *App) demo(ctx context.Context, options demoOptions) error {
	dir, err := a.demoDir()
	if err != nil {
		return err
	}
	session, settings := suite.DemoSession()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), settings, 0o600); err != nil {
		return failureBy(err, "")
	}
	opts, finish, err := a.recordDemo(options)
	if err != nil {
		return err
	}
	host, err := a.openState(ctx, dir, opts)
	if err != nil {
		return err
	}
	defer host.Close()

	out := bufio.NewWriter(a.Out)
	defer out.Flush()
	sum := demoSummary{phases: map[phases.Phase]bool{}, decisions: map[phases.Decision]int{}}
	table := newTable("PHASE", "WHAT / HOOK", "DECISION", "EFFECT", "FUEL", "TIME").alignRight(4, 5)
	colors := a.palette()
	err = play(ctx, host, bytes.NewReader(session), func(line played) error {
		for _, v := range line.verdicts {
			sum.add(v)
			if options.json {
				b, err := encodeJSON(v, false)
				if err != nil {
					return err
				}
				if _, err := out.Write(append(b, '\n')); err != nil {
					return err
				}
				continue
			}
			demoRows(table, colors, line.title, v)
		}
		return nil
	})
	if err := finish(err); err != nil {
		return failureBy(err, "")
	}
	if options.json {
		return nil
	}
	table.print(out, colors)
	sum.print(out, colors)
	report, err := statelog.Of(host.Log()).Verify(ctx, statelog.Evidence{})
	if err != nil {
		return failureBy(err, "")
	}
	fmt.Fprintln(out)
	defer printLogReport(out, report) // the last word, after where the events are
	fmt.Fprintf(out,
		"The events are in %s. To see them:\n  belay events tail --state %s\n  belay events show 1 --state %s\n", safe(dir),
		safe(dir), safe(dir))
	return nil
}

// recordDemo prepares a recording where one is asked for; finish ends it.
func (a *App) recordDemo(o demoOptions) (opts belay.Options, finish func(error) error, err error) {
	if o.record == "" {
		if o.seal.set() {
			return opts, nil, usageError("--recipient, --passphrase and --unsafe-plaintext need --record", "")
		}
		return opts, func(err error) error { return err }, nil
	}
	file, err := a.createRecording(o.record, o.seal, localHeader(recording.SourceEval))
	if err != nil {
		return opts, nil, err
	}
	recorder := recording.NewRecorder(file.Writer)
	opts.Recorder = recorder
	return opts, func(err error) error {
		if err == nil {
			err = recorder.Err()
		}
		if err != nil {
			file.abandon()
			return err
		}
		return a.recorded(file, false)
	}, nil
}

// demoRows prints one row for the verdict and one for each hook with an opinion.
func demoRows(table *table, colors palette, title string, verdict phases.Verdict) {
	var fuel, us int64
	for _, h := range verdict.Hooks {
		fuel += h.Fuel
		us += h.DurationUS
	}
	decision := colors.decision(string(verdict.Decision))
	if verdict.Enforced == phases.EnforcedLatched {
		decision += " (latched)"
	}
	reason := ""
	if verdict.Decision != phases.Allow {
		reason = oneLine(verdict.Reason, 64)
	}
	table.row(colors.bold(string(verdict.Phase)), colors.bold(oneLine(title, 44)), decision, reason, count(fuel),
		micros(us))
	for _, h := range verdict.Hooks {
		if h.Decision == phases.HookNone {
			continue
		}
		table.row("", "  "+safe(h.Hook), colors.decision(string(h.Decision)), demoEffects(h), count(h.Fuel),
			micros(h.DurationUS))
	}
}

func demoEffects(h phases.HookReport) string {
	var parts []string
	for _, effect := range h.Effects {
		var text string
		switch effect.Kind {
		case phases.EffectRewrite, phases.EffectRedact:
			text = string(effect.Kind) + " " + effect.Path
			if effect.Label != "" {
				text += " (" + effect.Label + ")"
			}
		case phases.EffectAnnotate:
			text = "annotate " + effect.Key + "=" + string(effect.Value)
		case phases.EffectClamp:
			text = "clamp scopes"
		case phases.EffectBlock, phases.EffectAsk, phases.EffectContext, phases.EffectGrant:
			text = string(effect.Kind)
			if effect.Kind == phases.EffectContext {
				text += ": " + effect.Text
			}
		default:
			text = string(effect.Kind)
		}
		parts = append(parts, oneLine(text, 56))
	}
	if len(parts) > 3 {
		parts = append(parts[:3], fmt.Sprintf("… %d more", len(parts)-3))
	}
	return strings.Join(parts, ", ")
}

// demoSummary counts what the session showed.
type demoSummary struct {
	verdicts, hooks int
	phases          map[phases.Phase]bool
	decisions       map[phases.Decision]int
}

func (s *demoSummary) add(v phases.Verdict) {
	s.verdicts++
	s.hooks += len(v.Hooks)
	s.phases[v.Phase] = true
	s.decisions[v.Decision]++
}

func (s *demoSummary) print(w *bufio.Writer, p palette) {
	fmt.Fprintf(w, "\n%d verdicts in %d phases by %d hook turns: %d allowed, %d asked, %d blocked.\n",
		s.verdicts, len(s.phases), s.hooks, s.decisions[phases.Allow], s.decisions[phases.Ask], s.decisions[phases.Block])
}

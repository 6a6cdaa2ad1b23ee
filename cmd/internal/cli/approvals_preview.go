package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/phases"
)

const (
	previewCommand = "preview-proposal" // hidden: the process of its own that a preview runs in
	previewTime    = 60 * time.Second
	maxPreview     = 256 << 20 // bytes of a task
	previewEvents  = 200       // newest decisions that a preview looks at by default

	// What the process may take, below the sandbox's own limits. Address space is not
	// memory: the runtime and the engine reserve much more than they use.
	previewMemory = 8 << 30
	previewFile   = 64 << 20
)

// preview runs the proposed hook on the newest logged decisions, in a process
// of its own, and returns its verdicts. Only a reviewer's view starts it.
func (a *App) preview(ctx context.Context, binding config.Binding, module []byte, n int) (Preview, error) {
	src, err := a.lookAtRecords(ctx)
	if err != nil {
		return Preview{}, err
	}
	events, err := src.Events(ctx, wire.Query{Type: phases.EventVerdict, Newest: true, Limit: n})
	src.Close()
	if err != nil {
		return Preview{}, err
	}
	p, err := a.previewProcess(ctx, previewCommand, &PreviewTask{Module: module, Binding: binding, Events: events})
	nameFlips(p.Flips, events)
	return p, err
}

// previewProcess runs a task in a process of its own.
func (a *App) previewProcess(ctx context.Context, command string, what any) (Preview, error) {
	return runApart[Preview](ctx, command, what)
}

// runApart has a hidden command of belay do a task in a process of its own, with limits and without an environment.
func runApart[T any](ctx context.Context, command string, what any) (T, error) {
	var none T
	task, err := json.Marshal(what)
	if err != nil {
		return none, err
	}
	exe, err := os.Executable()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, exe, command)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(task), &limitedWriter{w: &out, left: 1 << 20},
		&limitedWriter{w: &errs, left: 16 << 10}
	// Its environment leads neither to the state directory nor to secrets.
	cmd.Env = []string{"TMPDIR=" + os.TempDir(), "GOMEMLIMIT=1GiB"}
	if err := cmd.Run(); err != nil {
		return none, fmt.Errorf("the preview failed: %w: %s", err, oneLine(errs.String(), 300))
	}
	var answer T
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		return none, fmt.Errorf("the preview cannot be read: %w", err)
	}
	return answer, nil
}

type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errors.New("too much output")
	}
	return l.w.Write(b)
}

// previewCmds are the commands of the preview's processes: one for logged
// events, one for recordings, one for two versions of a hook.
func (a *App) previewCmds() []*cobra.Command {
	return []*cobra.Command{
		previewCmd(a, previewCommand, "Run a proposed hook on recorded events; started by `belay approvals show`",
			RunPreview),
		previewCmd(a, previewRecordedCommand, "Run a proposed hook on recordings; started by `belay approvals show`",
			runRecorded),
		previewCmd(a, previewUpgradeCommand, "Run two versions of a hook on logged events; started by `belay hook upgrade`",
			runUpgradePreview),
	}
}

func previewCmd[T, A any](app *App, name, short string, run func(context.Context, T) (A, error)) *cobra.Command {
	return &cobra.Command{
		Use:    name,
		Hidden: true,
		Short:  short,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := limitProcess(uint64(previewTime/time.Second), previewMemory, previewFile); err != nil {
				return failureBy(err, "") // without limits it does not run
			}
			src, err := io.ReadAll(io.LimitReader(app.In, maxPreview+1))
			if err != nil || len(src) > maxPreview {
				return failure("the task cannot be read", "")
			}
			var t T
			if err := json.Unmarshal(src, &t, json.RejectUnknownMembers(true)); err != nil {
				return failureBy(err, "")
			}
			p, err := run(cmd.Context(), t)
			if err != nil {
				return failureBy(err, "")
			}
			return app.printJSON(p)
		},
	}
}

// describePreview prints what the hook would have decided.
func (a *App) describePreview(preview *Preview) {
	seq := a.previewOf(preview)
	if preview.Failed != "" {
		a.rawField("", a.palette().red("it cannot be loaded: "+oneLine(preview.Failed, 300)))
		return
	}
	mean := int64(0)
	if preview.Events > 0 {
		mean = preview.FuelSum / int64(preview.Events)
	}
	a.field("", fmt.Sprintf("%d blocks, %d asks, %d changes, %d failures; fuel %s on average, %s at most", preview.Blocks,
		preview.Asks, preview.Changes, preview.Failures, count(mean), count(preview.FuelMax)))
	if len(preview.Flips) == 0 {
		a.field("flips", "none: nothing would have come out differently")
		return
	}
	a.field("flips", "what would have come out differently")
	t := newTable("  "+seq, "PHASE", "TOOL", "WAS", "WOULD", "FUEL", "REASON", "ACTION").alignRight(0, 5)
	for _, f := range preview.Flips {
		would := oneLine(string(f.Would), 12)
		if f.Kind != "" && f.Would == phases.HookError {
			would += " (" + oneLine(string(f.Kind), 12) + ")"
		}
		t.row(placeOf(preview, f), oneLine(string(f.Phase), 20), oneLine(f.Tool, 20),
			a.palette().decision(oneLine(f.Was, 12)),
			a.palette().decision(would), count(f.Fuel), oneLine(f.Reason, 60), oneLine(f.Action, 80))
	}
	t.print(a.Out, a.palette())
}

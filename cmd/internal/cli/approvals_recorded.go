package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
)

const (
	previewRecordedCommand = "preview-recorded" // hidden, as previewCommand

	// maxRecordedBytes is how much of recordings a preview is given: with what stands
	// round it, it stays below maxPreview.
	maxRecordedBytes = 96 << 20
)

// recordedTask is what a preview on recordings runs on. It holds originals, and goes
// to the process that runs the hook and nowhere else; the key that opens them does not.
type recordedTask struct {
	Module  []byte             `json:"module"`
	Binding config.Binding     `json:"binding"`
	Runs    []recordedRun      `json:"runs"`   // oldest first
	Chains  []recording.Chain  `json:"chains"` // without hooks
	Files   []PreviewRecording `json:"files"`
}

// recordedRun is one invocation of a recording, without what other hooks did.
type recordedRun struct {
	Run    recording.Run `json:"run"`
	Chain  int           `json:"chain"`
	File   int           `json:"file"`
	Number int           `json:"number"` // in its recording, from 1
}

// previewRecorded has a process of its own find out what the proposed hook would
// have said about the newest invocations of recordings.
func (a *App) previewRecorded(ctx context.Context, binding config.Binding, module []byte,
	wish previewWish) (Preview, error) {
	files, err := recordingFiles(wish.recordings)
	if err != nil {
		return Preview{}, err
	}
	task := recordedTask{Module: module, Binding: binding, Runs: []recordedRun{}}
	left := maxRecordedBytes
	slices.Reverse(files) // names of kept ones begin with their time
	for _, path := range files {
		if len(task.Runs) >= wish.events || left <= 0 {
			break
		}
		if err := a.takeNewest(&task, path, wish, &left); err != nil {
			return Preview{}, fmt.Errorf("the preview on recordings failed: %w", err)
		}
	}
	if len(task.Runs) == 0 {
		return Preview{}, errors.New("the recordings hold no originals to run it on")
	}
	slices.Reverse(task.Runs) // newest file first, each from its end
	p, err := a.previewProcess(ctx, previewRecordedCommand, &task)
	if err != nil {
		return p, err
	}
	return p, a.redactPreview(&p, task.Runs)
}

// takeNewest adds the last invocations of a recording, the last one first. The whole
// of it is read: a recording that is not whole does not count.
func (a *App) takeNewest(task *recordedTask, path string, wish previewWish, left *int) error {
	f, err := files.Stream(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in, err := a.unseal(f, path, wish.identities)
	if err != nil {
		return err
	}
	reader, err := recording.NewReader(in, path)
	if err != nil {
		return err
	}
	if reader.Header().Redacted {
		return nil // the logged events are previewed anyway
	}
	type found struct {
		run   recording.Run
		chain *recording.Chain
	}
	var last []found // the newest, in order
	need, n := wish.events-len(task.Runs), 0
	for {
		run, chain, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		n++
		last = append(last, found{run: onlyOf(run, task.Binding.Name), chain: chain})
		if len(last) >= 2*need {
			last = slices.Clone(last[len(last)-need:])
		}
	}
	last = last[max(0, len(last)-need):]
	at := len(task.Files)
	task.Files = append(task.Files,
		PreviewRecording{File: filepath.Base(path), Digest: reader.Digest(), Source: reader.Header().Source, Of: n})
	chains := map[*recording.Chain]int{}
	for i := len(last) - 1; i >= 0; i-- {
		l := &last[i]
		if *left -= len(l.run.Invocation); *left <= 0 {
			return nil // said by Used and Of
		}
		c, ok := chains[l.chain]
		if !ok {
			c = len(task.Chains)
			chains[l.chain] = c
			task.Chains = append(task.Chains,
				recording.Chain{Revision: l.chain.Revision, Ceiling: l.chain.Ceiling, Home: l.chain.Home,
					Bindings: []recording.Binding{}})
		}
		task.Runs = append(task.Runs, recordedRun{Run: l.run, Chain: c, File: at, Number: n - len(last) + i + 1})
		task.Files[at].Used++
	}
	return nil
}

// onlyOf strips an invocation to the turns of the named hook, which must not
// see other hooks' turns.
func onlyOf(run *recording.Run, name string) recording.Run {
	out := *run
	out.Turns = nil
	for _, t := range run.Turns {
		if t.Binding == name && t.Pass != phases.PassAudit {
			t.Calls = nil
			out.Turns = append(out.Turns, t)
		}
	}
	return out
}

// runRecorded is the process of its own.
func runRecorded(ctx context.Context, task recordedTask) (Preview, error) {
	preview := Preview{Flips: []PreviewFlip{}, Recordings: task.Files}
	bench, err := loader.OpenBench(loader.BenchOptions{})
	if err != nil {
		return preview, err
	}
	defer bench.Close()
	b := task.Binding
	alone, err := replay.OpenAlone(ctx, bench,
		replay.AloneHook{Module: task.Module, Match: b.Match, Binding: recording.Binding{
			Name: b.Name, Tier: phases.Sandboxed, Priority: b.Priority, Phases: b.Phases, Allowed: &b.Capabilities,
			Config: recording.Raw(b.Config), Budget: b.Budget,
		}})
	var bad *replay.Error
	if errors.As(err, &bad) && errors.Is(err, replay.ErrCandidate) {
		preview.Failed = phases.SafeText(bad.Text, phases.MaxReasonBytes)
		return preview, nil
	}
	if err != nil {
		return preview, err
	}
	defer func() { _ = alone.Close() }()
	for i := range task.Runs {
		r := &task.Runs[i]
		if r.Chain < 0 || r.Chain >= len(task.Chains) || r.File < 0 || r.File >= len(task.Files) {
			return preview, errors.New("the task contradicts itself")
		}
		r.Run.Chain = fmt.Sprint(r.Chain)
		res, err := alone.Ask(ctx, &r.Run, &task.Chains[r.Chain])
		if err != nil {
			return preview, err
		}
		countRecorded(&preview, r, res)
	}
	preview.Finish()
	return preview, nil
}

func countRecorded(preview *Preview, r *recordedRun, res *replay.Result) {
	if len(res.Turns) == 0 {
		preview.Skipped++
		return
	}
	if len(res.Unknown) > 0 {
		preview.Unknown++
	}
	f := PreviewFlip{In: r.File + 1, Number: r.Number, Phase: res.Invocation.Phase, Tool: res.Invocation.Tool(),
		Was:   string(r.Run.Final.Decision),
		Would: res.Turns[len(res.Turns)-1].Now.Decision, Kind: res.Now.Kind, Reason: res.Now.Reason}
	for _, t := range res.Turns {
		f.Fuel += t.Now.Fuel
		if t.Now.Decision == phases.HookTransform && f.Would == phases.HookNone {
			f.Would = t.Now.Decision // a mutator that was asked again, and had nothing to add
		}
	}
	preview.Count(f)
}

// redactPreview redacts what the hook says about originals, as events do, and names their actions.
func (a *App) redactPreview(p *Preview, runs []recordedRun) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	red, err := redaction.Of(dir)
	if err != nil {
		return err
	}
	texts := []*string{&p.Failed}
	for i := range p.Flips {
		texts = append(texts, &p.Flips[i].Reason, &p.Flips[i].Tool)
	}
	for _, t := range texts {
		*t, _ = red.Text(*t)
	}
	nameRecordedFlips(p.Flips, runs, red)
	return nil
}

// previewOf says what a preview ran on, and what its flips are called by.
func (a *App) previewOf(preview *Preview) string {
	if preview.Recordings == nil {
		a.field("preview",
			fmt.Sprintf(
				"run alone on the newest %d recorded decisions that it would have been asked about (%d others do not concern it).\n"+
					"Stored inputs are redacted: what the hook would make of what is covered is not known.", preview.Events,
				preview.Skipped))
		return "SEQ"
	}
	text := fmt.Sprintf(
		"run alone on %s of recordings (%d others do not concern it): originals, with what was carried along then.",
		plural(preview.Events, "invocation"), preview.Skipped)
	if preview.Unknown > 0 {
		text += fmt.Sprintf(
			"\nIn %d of them it made a call that the recording does not hold, and was answered that nothing is there.",
			preview.Unknown)
	}
	for i, f := range preview.Recordings {
		text += fmt.Sprintf("\n%d: %s, %s, the newest %d of %d", i+1, oneLine(f.File, 80), oneLine(f.Digest, 23), f.Used,
			f.Of)
	}
	a.field("recorded", text)
	return "WHERE"
}

// placeOf is where a flip is found again: the number of an event, or recording:number.
func placeOf(p *Preview, f PreviewFlip) string {
	if p.Recordings == nil {
		return fmt.Sprint(f.Seq)
	}
	return fmt.Sprintf("%d:%d", f.In, f.Number)
}

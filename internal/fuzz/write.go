package fuzz

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
)

const maxShown = 400 // bytes of an input in a finding

// result shrinks the findings, records them and replays the recordings.
func (f *fuzzer) result(ctx context.Context) (*Result, error) {
	out := &Result{
		Hook: f.o.Name, Version: f.desc.Manifest.Version, Digest: f.desc.Digest, Seed: f.o.Seed, Runs: f.runs,
		Inputs: len(f.corpus), Refused: f.refused,
		Configs: len(f.hook.configs), Stopped: ctx.Err() != nil, Findings: []Finding{}, Counts: []Count{},
		Phases: []PhaseStats{},
	}
	for c, n := range f.counts {
		c.Runs = n
		out.Counts = append(out.Counts, c)
	}
	slices.SortFunc(out.Counts, func(a, b Count) int {
		return strings.Compare(string(a.Decision)+" "+string(a.Kind), string(b.Decision)+" "+string(b.Kind))
	})
	for _, p := range phases.Phases() {
		if st := f.stats[p]; st != nil {
			out.Phases = append(out.Phases, *st)
		}
	}
	sortFindings(f.order)
	red, err := f.redactor()
	if err != nil {
		return nil, err
	}
	if err := f.finishAll(ctx); err != nil {
		return nil, err
	}
	for _, n := range f.order {
		// Recordings hold originals; listings and reports do not.
		for _, s := range []*string{&n.Text, &n.How, &n.Input} {
			*s, _ = red.Text(*s)
		}
		out.Findings = append(out.Findings, *n)
	}
	return out, nil
}

// redactor redacts with the inputs as the key: to test a guess takes the inputs.
func (f *fuzzer) redactor() (*redact.Redactor, error) {
	h := sha256.New()
	h.Write([]byte("belay fuzz\x00" + f.desc.Digest))
	for _, in := range f.o.Inputs {
		h.Write(in.Invocation)
	}
	return redact.New(redact.Config{Key: h.Sum(nil)})
}

// finishAll finishes the findings, several at once: none knows of another.
func (f *fuzzer) finishAll(ctx context.Context) error {
	small := f.out(ctx)
	inner := context.WithoutCancel(ctx)
	var jobs []*job
	for _, n := range f.order {
		jobs = append(jobs, &job{other: func(h *hand) error { return f.finish(inner, h.compiled, n, small) }})
	}
	return f.pipe(list(jobs), func(int) bool { return false }, func() bool { return false })
}

// finish makes one finding small, until it need not be smaller, and its recording.
func (f *fuzzer) finish(ctx context.Context, subject *subject, finding *Finding, small func() bool) error {
	repro := finding.repro
	if repro.holds != nil {
		if ok, err := subject.reproduces(ctx, repro); err == nil && ok {
			repro = subject.shrink(ctx, repro, small)
		}
	}
	last := repro.base
	if repro.vary != nil {
		if p := repro.vary(repro.base, repro.param); p != nil {
			last = p
		}
	}
	var err error
	finding.Bytes = len(last.wire)
	finding.Input = string(repro.base.inv.Action)
	if len(finding.Input) > maxShown {
		finding.Input = strings.ToValidUTF8(finding.Input[:maxShown], "") + "…"
	}
	if repro.vary != nil && repro.param > 0 {
		finding.How += " (" + sizeText(repro.param) + ")"
	}
	if last.store != storeWorks || finding.Class == ClassFrontDoor || finding.Class == ClassUnrecorded &&
		repro.holds == nil {
		return nil
	}
	plans := []*plan{repro.base}
	if last != repro.base {
		plans = append(plans, last)
	}
	if finding.Recording, err = subject.recordingOf(ctx, plans); err != nil || finding.Recording == nil {
		return err
	}
	sum := sha256.Sum256(finding.Recording)
	finding.File = finding.Class + "-" + hex.EncodeToString(sum[:6]) + ".rec"
	finding.Replays, err = replays(ctx, f.o.Bench, f.o.Module, finding.Recording)
	return err
}

func sizeText(n int) string {
	switch {
	case n >= 1<<20:
		return "about " + strconv.Itoa(n>>20) + " MiB"
	case n >= 64<<10:
		return "about " + strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}

// recordingOf records the runs of plans; nil when there is nothing to record.
func (s *subject) recordingOf(ctx context.Context, plans []*plan) ([]byte, error) {
	var buffer bytes.Buffer
	out, err := recording.NewWriter(&buffer, recording.Header{Source: recording.SourceTest, CostTable: loader.CostTable})
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		res, err := s.record(ctx, p)
		if err != nil {
			return nil, err
		}
		if res.rec == nil {
			return nil, nil
		}
		if _, err := out.AddChain(res.chain); err != nil {
			return nil, err
		}
		if err := out.AddRun(res.rec); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// replays reports whether a recording has no difference when it is replayed exactly.
func replays(ctx context.Context, bench *loader.Bench, module, src []byte) (bool, error) {
	rd, err := recording.NewReader(bytes.NewReader(src), "finding")
	if err != nil {
		return false, err
	}
	same := true
	err = replay.All(ctx,
		replay.Options{Bench: bench, Mode: replay.Exact, Workers: 1,
			Modules: map[string][]byte{phases.ByteDigest(module): module}}, rd, func(r *replay.Result) error {
			same = same && r.Same()
			return nil
		})
	var refused *replay.Error
	if errors.As(err, &refused) {
		return false, nil
	}
	return same, err
}

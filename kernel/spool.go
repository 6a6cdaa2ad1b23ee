package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/phases"
)

// Bounds of what is kept while the store is down.
const (
	maxSpoolEntries = 512
	maxSpoolBytes   = 256 << 10
)

// spoolEntry is one action that was blocked without a record. It holds names
// and fixed texts, nothing of the action itself.
type spoolEntry struct {
	Time        time.Time    `json:"time"`
	Invocation  string       `json:"invocation"`
	Phase       phases.Phase `json:"phase,omitzero"`
	Runtime     string       `json:"runtime,omitzero"`
	Session     string       `json:"session,omitzero"`
	Kind        phases.Kind  `json:"kind"`
	Reason      string       `json:"reason"`
	Unblockable bool         `json:"unblockable,omitzero"`
}

// spool keeps entries in memory and, when it has a path, in a file, so that also
// a process that ends before the store is back leaves a trace. Safe for
// concurrent use; processes may share the file.
type spool struct {
	path string

	mu      sync.Mutex
	waiting bool // there may be something to report
	memory  []spoolEntry
	dropped int
}

func newSpool(path string) *spool {
	s := &spool{path: path}
	if path != "" {
		left, _ := filepath.Glob(path + "*")
		s.waiting = len(left) > 0
	}
	return s
}

func (s *spool) add(e spoolEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = true
	if s.path != "" && s.append(e) == nil {
		return
	}
	if len(s.memory) >= maxSpoolEntries {
		s.dropped++
		return
	}
	s.memory = append(s.memory, e)
}

// Spool leaves a note in the spool file at path of an action that was blocked
// while no kernel could be opened; the next kernel with that SpoolPath puts it on
// record, with the latch if it asks for one. Only names and the fault's own text are kept.
func Spool(path string, r Refusal, now time.Time) error {
	r.Fault = orFault(r.Fault)
	return newSpool(path).append(spoolEntry{
		Time: now.UTC(), Invocation: phases.SafeLine(r.Invocation.ID, 36), Runtime: phases.SafeLine(r.Invocation.Runtime, phases.MaxRuntimeBytes),
		Session: phases.SafeLine(r.Invocation.Session, phases.MaxIDBytes), Kind: r.Fault.Kind,
		Reason: phases.SafeText(r.Fault.Text, phases.MaxReasonBytes), Unblockable: r.Unblockable,
	})
}

// append writes one line; the file is as bounded as the memory. A line that was cut
// short before it must not take it along.
func (s *spool) append(e spoolEntry) error {
	line, err := json.Marshal(&e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err == nil && fi.Size() > maxSpoolBytes {
		err = errors.New("spool full")
	}
	if err == nil && fi.Size() > 0 {
		last := []byte{'\n'}
		if _, err = f.ReadAt(last, fi.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	return errors.Join(err, f.Close())
}

// take returns everything that waits, and what to call when it is on record.
// Preconditions: s.mu is held.
func (s *spool) take() (entries []spoolEntry, dropped int, done func()) {
	entries, dropped = append(entries, s.memory...), s.dropped
	var files []string
	if s.path != "" {
		// Taking the file away first keeps other processes from adding to what is
		// about to be reported. What was taken and not finished is reported first,
		// by whoever comes next: twice is better than never, and one file is
		// enough while the store stays down.
		if files, _ = filepath.Glob(s.path + ".*"); len(files) == 0 {
			claim := fmt.Sprintf("%s.%d-%d", s.path, os.Getpid(), time.Now().UnixNano())
			if os.Rename(s.path, claim) == nil {
				files = []string{claim}
			}
		}
		for _, f := range files {
			e, d := readSpool(f)
			entries, dropped = append(entries, e...), dropped+d
		}
	}
	return entries, dropped, func() {
		s.memory, s.dropped, s.waiting = nil, 0, false
		for _, f := range files {
			os.Remove(f)
		}
		if s.path != "" {
			_, err := os.Lstat(s.path)
			s.waiting = err == nil
		}
	}
}

// readSpool reads what can be read; a line cut short by a crash or a full disk counts as dropped.
func readSpool(path string) (entries []spoolEntry, dropped int) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, 1
	}
	for line := range bytes.Lines(b) {
		var e spoolEntry
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil:
			dropped++
		default:
			entries = append(entries, e)
		}
	}
	return entries, dropped
}

// gap is what a gap event tells.
type gap struct {
	Blocked     int       `json:"blocked"` // actions that were blocked without a record, as far as known
	Dropped     int       `json:"dropped"` // of these, without even a note
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Invocations []string  `json:"invocations"` // the first maxGapIDs
}

const maxGapIDs = 64

// recoverGap puts on record what could not be recorded while the store was down,
// before anything else is decided: latches that are owed included. It returns nil when
// nothing waits.
func (k *Kernel) recoverGap(ctx context.Context, revision string) error {
	s := k.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.waiting {
		return nil
	}
	for range 2 { // what was taken before, and what came after it
		if !s.waiting {
			break
		}
		if err := k.report(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// report puts one load of the spool on record. Preconditions: k.spool.mu is held.
func (k *Kernel) report(ctx context.Context, revision string) error {
	entries, dropped, done := k.spool.take()
	if len(entries)+dropped == 0 {
		done()
		return nil
	}
	now := k.o.Clock.Now()
	latched := map[SessionKey]bool{}
	for _, e := range entries {
		key := SessionKey{Runtime: e.Runtime, Session: e.Session}
		if !e.Unblockable || latched[key] {
			continue
		}
		latched[key] = true
		b := Batch{Now: now}
		k.latch(&b, &phases.Event{Invocation: e.Invocation, Phase: e.Phase, Runtime: e.Runtime, Session: e.Session,
			Reason: e.Reason, Kind: e.Kind, DecidedBy: kernelName, PolicyRevision: revision})
		if _, err := k.commit(ctx, b); err != nil {
			return err
		}
	}
	g := gap{Blocked: len(entries) + dropped, Dropped: dropped, Invocations: []string{}}
	for _, e := range entries {
		if g.First.IsZero() || e.Time.Before(g.First) {
			g.First = e.Time
		}
		if e.Time.After(g.Last) {
			g.Last = e.Time
		}
		if len(g.Invocations) < maxGapIDs {
			g.Invocations = append(g.Invocations, phases.SafeLine(e.Invocation, 36))
		}
	}
	out, err := json.Marshal(&g)
	if err != nil {
		return err
	}
	_, err = k.commit(ctx, Batch{Now: now, Events: []phases.Event{{
		ID: k.o.NewID(now), Type: phases.EventGap, Time: now, PolicyRevision: revision,
		Reason: "the store could not write: these actions were blocked without a record", Kind: phases.KindStore, Output: out,
	}}})
	if err != nil {
		return err
	}
	done()
	k.o.Logger.LogAttrs(ctx, slog.LevelWarn, "the store writes again", slog.Int("unrecorded", g.Blocked))
	return nil
}

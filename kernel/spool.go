package kernel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// maxSpoolEntries bounds the notes in memory while the store is down.
const maxSpoolEntries = 512

// spool keeps entries in memory and, when it has a path, in a file, so that also
// a process that ends before the store is back leaves a trace. Safe for
// concurrent use; processes may share the file.
type spool struct {
	path string

	// reporting keeps one report at a time. It is held while the store is waited for; mu
	// never is, so that a note is made also while a report hangs.
	reporting sync.Mutex

	mu       sync.Mutex
	waiting  bool // there may be something to report
	reserve  *notes.ReserveWatch
	memory   []notes.Note
	dropped  int
	standing map[noteKey]standing // of notes whose records were being written
}

func newSpool(path string) *spool {
	s := &spool{path: path, reserve: notes.NewReserveWatch(path)}
	if path != "" {
		_, err := os.Lstat(path)
		s.waiting = err == nil || len(notes.Taken(path)) > 0 || notes.InReserve(path)
		_ = notes.Reserve(path) // without it a full disk and a kill lose notes, and nothing else
	}
	return s
}

func (s *spool) add(e notes.Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(e)
}

// put is add. Preconditions: s.mu is held.
func (s *spool) put(note notes.Note) {
	s.waiting = true
	if s.path != "" && notes.Append(s.path, note) == nil {
		return
	}
	if len(s.memory) >= maxSpoolEntries {
		h, ok := notes.Hold(note, s.memory)
		if !ok || len(s.memory) >= 2*maxSpoolEntries {
			s.dropped++
			return
		}
		note = h
	}
	s.memory = append(s.memory, note)
}

// Spool leaves a note in the spool file at path of an action that was blocked
// while no kernel could be opened; the next kernel with that SpoolPath logs it,
// with the latch if it asks for one. Only names and the fault's own text are kept.
func Spool(path string, r Refusal, now time.Time) error {
	n := notes.Of(r.Invocation, r.Fault, r.latches(), now)
	n.Cause, n.Phases = r.why(), phasesOf(r.Of)
	return notes.Append(path, n)
}

// take returns everything that waits, and what to call when it is recorded. Of soon only
// the latches are due: the records are being written. One whose latch is set is told by
// taking Unblockable from it. Preconditions: s.reporting is held.
func (s *spool) take() (entries []notes.Note, soon []*notes.Note, dropped int, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	inMemory, notNoted := len(s.memory), s.dropped
	entries, dropped = append(entries, s.memory...), s.dropped
	var files []string
	if s.path != "" {
		// Taking the file away first keeps other processes from adding notes to it while it is
		// reported. The next process first reports a file that was taken and not finished: twice is
		// better than never, and one file is enough while the store stays down.
		if files = notes.Taken(s.path); len(files) == 0 {
			claim := fmt.Sprintf("%s.%d-%d", s.path, os.Getpid(), time.Now().UnixNano())
			if notes.Take(s.path, claim) == nil {
				files = []string{claim}
			}
		}
		for _, f := range files {
			e, d := notes.Read(f)
			entries, dropped = append(entries, e...), dropped+d
		}
	}
	var reserved notes.Reserved
	if s.path != "" {
		reserved = notes.ReadReserve(s.path)
		entries, dropped = append(entries, reserved.Notes...), dropped+reserved.Dropped
	}
	entries, others := s.sift(entries)
	for n := range others {
		if e := &others[n]; e.Unblockable && s.standing[keyOf(e)] == open {
			soon = append(soon, e)
		}
	}
	return entries, soon, dropped, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.memory, s.dropped = slices.Delete(s.memory, 0, inMemory), s.dropped-notNoted // others may have come since
		s.waiting = len(s.memory)+s.dropped > 0
		s.sifted(others) // into a new file, before the old ones go
		for _, f := range files {
			os.Remove(f)
		}
		_ = reserved.Clear(s.path) // else it is reported again
		s.look()
	}
}

// look finds a note that another process has left: a client that could not ask this
// process, say, whose session has to be latched here. Preconditions: s.mu is held.
func (s *spool) look() {
	if s.path == "" || s.waiting {
		return
	}
	_, err := os.Lstat(s.path)
	s.waiting = err == nil || s.reserve.Holds()
}

// anything reports whether there may be something to report.
func (s *spool) anything() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return s.waiting
}

// close ends the looking for notes of others.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserve.Close()
}

// gap is the content of a gap event.
type gap struct {
	Blocked     int       `json:"blocked"` // actions that were blocked without a record, as far as known
	Dropped     int       `json:"dropped"` // of these, without even a note
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Invocations []string  `json:"invocations"` // the first maxGapIDs

	// Lifted are sessions that were held until now, since an event of theirs was refused
	// that nothing would have blocked: the first maxGapIDs.
	Lifted []liftedSession `json:"lifted,omitzero"`
}

type liftedSession struct {
	Runtime string           `json:"runtime"`
	Session string           `json:"session"`
	Cause   phases.LatchKind `json:"cause"`
}

const maxGapIDs = 64

// recoverGap records what could not be recorded while the store was down,
// before anything else is decided: latches that are owed included. It returns nil when
// nothing waits.
func (k *Kernel) recoverGap(ctx context.Context, revision string) error {
	if err := k.announceWaiting(ctx); err != nil {
		return err
	}
	s := k.spool
	s.reporting.Lock()
	defer s.reporting.Unlock()
	if !s.anything() {
		return nil
	}
	for range 2 { // files taken before, then notes that came after them
		if err := k.report(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// report records one load of the spool. Preconditions: k.spool.reporting is held.
func (k *Kernel) report(ctx context.Context, revision string) error {
	entries, soon, dropped, done := k.spool.take()
	if len(entries)+len(soon)+dropped == 0 {
		done()
		return nil
	}
	now := k.options.Clock.Now()
	snap := k.snapshot()
	if snap == nil { // closed: which hooks would have judged is not known any more
		snap = &snapshot{users: 2, judges: func(phases.Phase) bool { return true }}
	}
	defer func() { _ = snap.release() }()
	gapID := k.options.NewID(now) // the event that tells of the refusals that made latches
	type holding struct {
		wire.Session
		whole bool
	}
	latched := map[holding]phases.LatchEnd{}
	freed := map[wire.Session]phases.LatchKind{}
	owed := slices.Clone(entries)
	for _, e := range soon {
		owed = append(owed, *e)
	}
	for i := range owed {
		note, told := &owed[i], gapID
		if err := k.redactNote(note); err != nil {
			return err
		}
		key := wire.Session{Runtime: note.Runtime, Session: note.Session}
		ends := snap.noteEnds(note)
		if ends == phases.EndsByJudging && !(k.retained.has(note.Invocation) && k.aloneIn(ctx, key)) {
			ends = phases.EndsByPerson // another process retained it, which has ended
		}
		if before, ok := latched[holding{key, note.Whole}]; !note.Unblockable || ok && before == phases.EndsByPerson {
			continue
		}
		late := i >= len(entries) // its record tells of it
		if ends == phases.EndsWithCause {
			if !late { // the gap event records the end
				freed[key] = note.Cause
			}
			continue
		}
		if late {
			told = ""
		}
		latched[holding{key, note.Whole}] = ends
		b := Batch{Now: now}
		k.latchAs(&b,
			&phases.Event{ID: told, Invocation: note.Invocation, Phase: note.Phase, Runtime: note.Runtime, Session: note.Session,
				Reason: note.Reason, Kind: note.Kind, DecidedBy: kernelName, PolicyRevision: revision},
			latchOutput{Cause: note.Cause, Event: told, Ends: ends, Unnamed: note.Session == "" && !note.Whole})
		if _, err := k.commit(ctx, b); err != nil {
			return err
		}
		if late {
			soon[i-len(entries)].Unblockable = false
		}
	}
	if len(entries)+dropped == 0 {
		done()
		return nil
	}
	found := gap{Blocked: len(entries) + dropped, Dropped: dropped, Invocations: []string{}}
	for key, cause := range freed {
		if l, err := k.options.Store.Latch(ctx, key); err == nil && l == nil && len(found.Lifted) < maxGapIDs {
			found.Lifted = append(found.Lifted, liftedSession{Runtime: key.Runtime, Session: key.Session, Cause: cause})
		}
	}
	slices.SortFunc(found.Lifted, func(a, b liftedSession) int {
		return cmp.Or(cmp.Compare(a.Runtime, b.Runtime), cmp.Compare(a.Session, b.Session))
	})
	for _, e := range owed[:len(entries)] {
		if found.First.IsZero() || e.Time.Before(found.First) {
			found.First = e.Time
		}
		if e.Time.After(found.Last) {
			found.Last = e.Time
		}
		if len(found.Invocations) < maxGapIDs {
			found.Invocations = append(found.Invocations, phases.SafeLine(e.Invocation, 36))
		}
	}
	out, err := json.Marshal(&found)
	if err != nil {
		return err
	}
	_, err = k.commit(ctx, Batch{Now: now, Events: []phases.Event{{
		ID: gapID, Type: phases.EventGap, Time: now, PolicyRevision: revision,
		Reason: "the store could not write: these actions were blocked without a record", Kind: phases.KindStore, Output: out,
	}}})
	if err != nil {
		return err
	}
	done()
	k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the store writes again", slog.Int("unrecorded", found.Blocked))
	return nil
}

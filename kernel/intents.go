package kernel

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/phases"
)

// openIntent notes a call that is about to happen, so that a process which dies in the middle is
// found out. It holds names only.
type openIntent struct {
	ID         string       `json:"id"` // of the intent's event
	Time       time.Time    `json:"time"`
	Invocation string       `json:"invocation"`
	Phase      phases.Phase `json:"phase"`
	Runtime    string       `json:"runtime,omitzero"`
	Session    string       `json:"session,omitzero"`
	Agent      string       `json:"agent,omitzero"`
	Run        string       `json:"run,omitzero"`
	User       string       `json:"user,omitzero"`
	Tool       string       `json:"tool"`
	Binding    string       `json:"binding"`
	Digest     string       `json:"hook_digest,omitzero"`
	Version    string       `json:"hook_version,omitzero"`
	Signer     string       `json:"signer,omitzero"`
	Tier       phases.Tier  `json:"tier"`
}

const (
	intentSuffix   = ".json"
	maxIntentBytes = 16 << 10
)

// journal keeps one file for each call that is under way, locked by the process that
// makes it. With no directory it keeps nothing. Safe for concurrent use; processes
// may share the directory.
type journal struct{ dir string }

// begin notes an intent durably, before its event is committed. done takes the
// note away; it is called when the outcome is recorded, or when the intent is not.
// abandon leaves the note for the next Open.
func (j journal) begin(intent openIntent) (n *note, err error) {
	if j.dir == "" {
		return &note{}, nil
	}
	raw, err := json.Marshal(&intent)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(j.dir, ".new-*")
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*note, error) {
		os.Remove(file.Name())
		file.Close()
		return nil, err
	}
	// The lock is on the file, not on its name: it is never there without.
	if err := lockNote(file); err != nil {
		return fail(err)
	}
	if _, err := file.Write(raw); err != nil {
		return fail(err)
	}
	if err := file.Sync(); err != nil {
		return fail(err)
	}
	path := filepath.Join(j.dir, intent.ID+intentSuffix)
	if err := os.Rename(file.Name(), path); err != nil {
		return fail(err)
	}
	if err := statedir.SyncDir(j.dir); err != nil {
		os.Remove(path)
		file.Close()
		return nil, err
	}
	return &note{f: file, path: path}, nil
}

// note is an intent that this process has noted.
type note struct {
	once sync.Once
	f    *os.File
	path string
}

func (n *note) done() {
	n.once.Do(func() {
		if n.f != nil {
			os.Remove(n.path)
			n.f.Close()
		}
	})
}

func (n *note) abandon() {
	n.once.Do(func() {
		if n.f != nil {
			n.f.Close()
		}
	})
}

// left returns the intents whose processes are gone. Each stays locked until it is
// done or abandoned.
func (j journal) left() (list []leftIntent) {
	if j.dir == "" {
		return nil
	}
	names, _ := os.ReadDir(j.dir)
	for _, entry := range names {
		path := filepath.Join(j.dir, entry.Name())
		file, err := files.OpenFlags(path, os.O_RDWR)
		if err != nil {
			continue
		}
		if !noteLeft(file) {
			file.Close()
			continue
		}
		n := &note{f: file, path: path}
		if !strings.HasSuffix(entry.Name(), intentSuffix) {
			n.done() // it never became an intent
			continue
		}
		l := leftIntent{note: n}
		raw := make([]byte, maxIntentBytes)
		size, _ := file.ReadAt(raw, 0)
		if err := json.Unmarshal(raw[:size], &l.intent); err != nil {
			l.intent = openIntent{ID: strings.TrimSuffix(entry.Name(), intentSuffix)}
		}
		list = append(list, l)
	}
	return list
}

type leftIntent struct {
	intent openIntent
	note   *note
}

// recoverIntents records calls whose process died: their outcome is unknown.
// What cannot be recorded now is left for the next Open.
func (k *Kernel) recoverIntents(ctx context.Context) {
	for _, l := range k.journal.left() {
		if err := k.recoverIntent(ctx, &l.intent); err != nil {
			l.note.abandon()
			k.options.Logger.LogAttrs(ctx, slog.LevelError, "a call whose outcome is not known could not be recorded",
				slog.String("intent", l.intent.ID), slog.Any("error", err))
			continue
		}
		l.note.done()
	}
}

func (k *Kernel) recoverIntent(ctx context.Context, in *openIntent) error {
	found, err := k.options.Store.Events(ctx, wire.Query{ID: in.ID})
	if err != nil {
		return err
	}
	if len(found) == 0 || found[0].Type != phases.EventIntent {
		return nil // it was noted and never committed: nothing was done
	}
	intent := found[0]
	outcomes, err := k.options.Store.Events(ctx,
		wire.Query{Type: phases.EventOutcome, Invocation: intent.Invocation, Limit: wire.MaxLimit})
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.Intent == intent.ID {
			return nil
		}
	}
	now := k.options.Clock.Now()
	out := intent
	out.ID, out.Type, out.Time, out.PolicyRevision = k.options.NewID(now), phases.EventOutcome, now, k.Revision()
	out.Input, out.InputDigest, out.Masked, out.Notes, out.Changed = nil, "", nil, nil, nil
	out.Decision, out.Reason = OutcomeUnknown, "belay ended before it was known what came of the call"
	if _, err := k.commit(ctx, Batch{Now: now, Events: []phases.Event{out}}); err != nil {
		return err
	}
	k.options.Logger.LogAttrs(ctx, slog.LevelWarn, "the outcome of a call is not known: belay ended in the middle of it",
		slog.String("intent", intent.ID), slog.String("tool", intent.Tool))
	return nil
}

// effort is one thing that a hook wants done outside of belay, from the moment it
// is logged to the moment its outcome is.
type effort struct {
	kernel *Kernel
	inv    audit.Invocation // the one that intent and outcome belong to
	by     audit.Asker
	id     string
	note   *note

	audit *audit.Builder // of the invocation that it belongs to; nil: the kernel's own
}

// builder redacts the record of the effort.
func (e *effort) builder() *audit.Builder {
	if e.audit == nil {
		return &e.kernel.audit
	}
	return e.audit
}

// noteDown makes the note that survives the process. Its error is of kind store.
func (e *effort) noteDown(at time.Time) error {
	tool, err := e.builder().Redactor.Text(e.inv.Tool)
	if err != nil {
		return phases.NewFault(phases.KindAudit, "the name of a tool could not be redacted", err)
	}
	n, err := e.kernel.journal.begin(openIntent{
		ID: e.id, Time: at.UTC(), Invocation: e.inv.ID, Phase: e.inv.Phase, Runtime: e.inv.Runtime, Session: e.inv.Session,
		Agent: e.inv.Agent,
		Run:   e.inv.Run, User: e.inv.User, Tool: tool, Binding: e.by.Binding, Digest: e.by.Digest, Version: e.by.Version,
		Signer: e.by.Signer, Tier: e.by.Tier,
	})
	if err != nil {
		return storeFault("what was about to happen could not be noted", err)
	}
	e.note = n
	return nil
}

// drop takes the note back: nothing will be done.
func (e *effort) drop() {
	if e.note != nil {
		e.note.done()
	}
}

// recordOutcome records the outcome. The error is a *phases.Fault.
func (e *effort) recordOutcome(ctx context.Context, outcome, reason string, result, summary []byte,
	took time.Duration) error {
	at := e.kernel.options.Clock.Now()
	ev, auditErr := e.builder().Outcome(&e.inv, e.by, e.id, outcome, reason, result, summary, took,
		e.kernel.options.NewID(at), at)
	if _, err := e.kernel.commit(ctx, Batch{Now: at, Events: []phases.Event{ev}}); err != nil {
		e.note.abandon()
		e.kernel.options.Logger.LogAttrs(ctx, slog.LevelError, "the outcome of a call could not be recorded",
			slog.String("intent", e.id), slog.Any("error", err))
		return storeFault("what came of a call could not be recorded", err)
	}
	e.note.done()
	return auditErr
}

// begin commits an intent that has no verdict to go with. The error is a *phases.Fault.
func (e *effort) begin(ctx context.Context, action []byte) error {
	at := e.kernel.options.Clock.Now()
	ev, err := e.builder().Intent(&e.inv, e.by, action, e.id, at)
	if err != nil {
		return err
	}
	if err := e.noteDown(at); err != nil {
		return err
	}
	if _, err := e.kernel.commit(ctx, Batch{Now: at, Events: []phases.Event{ev}}); err != nil {
		e.drop()
		return storeFault("what was about to happen could not be recorded", err)
	}
	return nil
}

func (e *effort) String() string { return fmt.Sprintf("%s (intent %s)", e.inv.Tool, e.id) }

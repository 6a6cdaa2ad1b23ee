package belay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/internal/spoolfile"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// SinkStatus says how one place for events or checkpoints stands.
type SinkStatus struct {
	Kind    string    `json:"kind"` // store, jsonl, checkpoint, recordings
	Path    string    `json:"path,omitzero"`
	Durable bool      `json:"durable"` // while it fails every action is blocked
	OK      bool      `json:"ok"`
	Seq     int64     `json:"seq,omitzero"`     // the last event that is known to be in it
	Trouble Trouble   `json:"trouble,omitzero"` // why it is not OK, in a word
	Problem string    `json:"problem,omitzero"` // the same, for operators
	Since   time.Time `json:"since,omitzero"`   // since when, as far as this process knows

	// Of recordings: invocations that this process has kept, and could not keep.
	Kept int64 `json:"kept,omitzero"`
	Lost int64 `json:"lost,omitzero"`
}

// SinkRecordings is the kind of what keeps full inputs, beside the record.
const SinkRecordings = "recordings"

// openSinks puts the files of belay.yaml behind the store. Records in memory go
// nowhere: whoever asks for them does not want a record.
func (b *Belay) openSinks() error {
	if v, ok := b.store.(interface{ Durable() bool }); ok && !v.Durable() && !b.o.InMemory {
		return fmt.Errorf("%w: no sink is durable: the store keeps events in memory only", ErrState)
	}
	set, err := b.sinkSettings()
	if err != nil {
		return err
	}
	newID := func(at time.Time) string { return uuid.Must(uuid.NewV7AtTime(at)).String() }
	b.sinks = sink.New(b.marks, set, newID, b.log)
	return nil
}

// sinkSettings turns belay.yaml into settings. Preconditions: nobody else uses b, or b.mu is held.
func (b *Belay) sinkSettings() ([]sink.Setting, error) {
	if b.o.InMemory {
		return nil, nil
	}
	for _, f := range b.file.Events.MarkFiles() {
		if err := b.notOurs(f.Path); err != nil {
			return nil, err
		}
	}
	var out []sink.Setting
	for _, s := range b.file.Events.JSONL() {
		if err := b.notOurs(s.Path); err != nil {
			return nil, err
		}
		out = append(out, sink.Setting{Durable: s.Must(), Options: sink.Options{Path: filepath.Clean(s.Path), Rotate: s.RotateMiB << 20, Keep: s.Keep}})
	}
	return out, nil
}

// notOurs keeps sinks from writing into the files of the state directory.
func (b *Belay) notOurs(path string) error {
	in, err := filepath.Rel(b.dir, filepath.Clean(path))
	if err != nil || strings.HasPrefix(in, "..") {
		return nil
	}
	first, _, _ := strings.Cut(filepath.ToSlash(in), "/")
	for _, name := range []string{config.FileName, "trust.yaml", "belay.db", "belay.sock", "belay.lock", spoolfile.Name, spoolfile.ReserveName, "keys", "cache", "blobs"} {
		if first == name || strings.HasPrefix(first, "belay.db-") || strings.HasPrefix(first, spoolfile.Name+".") {
			return fmt.Errorf("%w: events.sinks: %s is a file of the state directory", ErrConfig, path)
		}
	}
	return nil
}

// Sinks tries every place for events and checkpoints and says how they stand, the
// store first.
func (b *Belay) Sinks(ctx context.Context) []SinkStatus {
	store := SinkStatus{Kind: "store", Durable: !b.o.InMemory, OK: true}
	if b.o.Store == nil && !b.o.InMemory {
		store.Path = filepath.Join(b.dir, "belay.db")
	}
	if err := b.probe(ctx); err != nil {
		store.fail(err)
	} else if size, err := b.store.LogSize(ctx); err != nil {
		store.fail(err)
	} else {
		store.Seq = size
	}
	out := []SinkStatus{store}
	for _, s := range b.sinks.Check(ctx) {
		st := SinkStatus{Kind: "jsonl", Path: s.Path, Durable: s.Durable, OK: s.OK, Seq: s.Seq}
		if !s.OK {
			st.fail(s.Err)
			st.Since = s.Since.UTC()
		}
		out = append(out, st)
	}
	for _, f := range b.marks.state() {
		st := SinkStatus{Kind: "checkpoint", Path: f.Path, Durable: f.Required, OK: f.failed == nil}
		if f.failed != nil {
			st.fail(f.failed)
		}
		out = append(out, st)
	}
	if st, ok := b.keepSink(ctx); ok {
		out = append(out, st)
	}
	return out
}

// Believed reports whether the store may be believed at all: it compares all of it with its
// high-water mark and with what the log records. The error is kernel.ErrRollback or
// kernel.ErrTampered; that the store cannot be written is none here.
func (b *Belay) Believed(ctx context.Context) error {
	err := b.probe(ctx)
	if errors.Is(err, kernel.ErrRollback) || errors.Is(err, kernel.ErrTampered) {
		return err
	}
	return nil
}

// probe finds out whether the store can write, by writing, and whether its rows are
// those that the log records.
func (b *Belay) probe(ctx context.Context) error {
	return b.store.Probe(ctx, time.Now())
}

// Trouble says in a word why something cannot be written. It holds no path and no
// text from outside.
type Trouble string

const (
	DiskFull    Trouble = "disk_full"
	IOError     Trouble = "io_error"
	NoAccess    Trouble = "no_access"   // permissions, or a file system that is read-only
	Foreign     Trouble = "foreign"     // the file does not continue this log: a person has to look
	RolledBack  Trouble = "rolled_back" // the database is older than its high-water mark says
	Tampered    Trouble = "tampered"    // rows that restrict are not those that the log records
	Unavailable Trouble = "unavailable" // anything else
)

// TroubleOf sorts an error. Nil is "".
func TroubleOf(err error) Trouble {
	// The database's own errors are known in one package only, and by their text here.
	says := func(text string) bool { return strings.Contains(err.Error(), text) }
	switch {
	case err == nil:
		return ""
	case errors.Is(err, kernel.ErrRollback):
		return RolledBack
	case errors.Is(err, kernel.ErrTampered):
		return Tampered
	case errors.Is(err, sink.ErrForeign):
		return Foreign
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) || says("database or disk is full"):
		return DiskFull
	case errors.Is(err, syscall.EIO) || says("disk I/O error"):
		return IOError
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || says("readonly database"):
		return NoAccess
	}
	return Unavailable
}

func (s *SinkStatus) fail(err error) {
	s.OK, s.Trouble = false, TroubleOf(err)
	// The database calls it an I/O error when there is no space for its shared memory.
	if s.Trouble == IOError && s.Path != "" && noSpace(filepath.Dir(s.Path)) {
		s.Trouble = DiskFull
	}
	s.Problem = phases.SafeText(err.Error(), 1<<10)
	if s.Trouble == RolledBack {
		s.Problem = phases.SafeText(whyBehind(err), 1<<10)
	}
	if s.Trouble == DiskFull {
		s.Problem = "the disk is full: " + s.Problem
	}
}

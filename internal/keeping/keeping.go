// Package keeping decides which recorder of full inputs is in use: the one that
// the recordings of belay.yaml ask for, as long as they ask for it. It logs
// that retention began, changed or ended. It never decides which inputs are
// retained, or in which form: package internal/retention does.
package keeping

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/realpath"
	"github.com/belay-hooks/belay/internal/retention"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Options are what a Keeping is made of.
type Options struct {
	Dir     string          // the state directory, absolute
	Fixed   kernel.Recorder // records beside the recorder; nil: nothing does
	Off     bool            // nothing is kept: what leaves no record leaves no recording
	Records bool            // opened to look at records: nothing is decided here
	Logger  *slog.Logger
	// Kernel returns what logs a sentence (Notice) and tells the time by which recordings are
	// old (CalmTime); nil before it is open: then nothing is old yet.
	Kernel func() *kernel.Kernel
}

// Keeping is a kernel.Recorder: the one of its options, and the recorder of the
// configuration in force. It is safe for concurrent use.
type Keeping struct {
	o   Options
	now atomic.Pointer[Recorder]
}

// Recorder is a recorder with the policy that it follows.
type Recorder struct {
	*retention.Recorder
	policy *config.Recordings
}

// New makes a Keeping that keeps nothing before Use.
func New(o Options) *Keeping { return &Keeping{o: o} }

// Recorder is what the kernel records with; nil when nothing can ever be recorded.
func (k *Keeping) Recorder() kernel.Recorder {
	if k.o.Fixed == nil && k.o.Off {
		return nil // nothing is spent on it
	}
	return k
}

// Wants implements kernel.Recorder.
func (k *Keeping) Wants(inv *phases.Invocation) bool {
	now := k.now.Load()
	return now != nil && now.Wants(inv) || k.o.Fixed != nil && k.o.Fixed.Wants(inv)
}

// Recorded implements kernel.Recorder. The recorder looks itself whether it wants it.
func (k *Keeping) Recorded(r *kernel.Recording) {
	if now := k.now.Load(); now != nil {
		now.Recorded(r)
	}
	if k.o.Fixed != nil && k.o.Fixed.Wants(&r.Invocation) {
		k.o.Fixed.Recorded(r)
	}
}

// Ready returns why the invocation may not be decided: nothing of it could be kept.
func (k *Keeping) Ready(inv *phases.Invocation) error {
	if now := k.now.Load(); now != nil && now.policy.OnError == config.OnErrorBlock {
		return now.Ready(inv)
	}
	return nil
}

// Close ends the current recording. Closing may log a notice: close the parts
// that Notice needs after it.
func (k *Keeping) Close() error {
	if now := k.now.Swap(nil); now != nil {
		return now.Close()
	}
	return nil
}

// Next makes the recorder that a configuration asks for: the one in use where
// nothing has changed, nil when nothing is to be retained. The error is
// config.ErrUnusable. The caller hands the result to Use, or to Drop.
// Preconditions: one caller at a time.
func (k *Keeping) Next(f *config.File) (*Recorder, error) {
	r := f.Recordings
	if r == nil || k.o.Off {
		return nil, nil
	}
	if now := k.now.Load(); now != nil && reflect.DeepEqual(now.policy, r) {
		return now, nil
	}
	dir, err := k.target(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, f.Errorf("/recordings/dir", "%v", err))
	}
	s := r.Settings()
	made, err := retention.Open(retention.Policy{
		Dir: dir, Recipients: r.Recipients, Plaintext: r.UnsafePlaintext, Phases: r.Phases, Tools: r.Tools,
		Rotate: s.Rotate, RotateBytes: s.RotateBytes, Keep: s.Keep, MaxBytes: s.MaxBytes,
		Block:  r.OnError == config.OnErrorBlock,
		Logger: k.o.Logger, Notice: k.notice, Calm: k.calm,
	})
	var bad *retention.Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, f.Errorf("/recordings"+bad.Pointer, "%s", bad.Text))
	case err != nil:
		return nil, fmt.Errorf("%w: recordings: %w", config.ErrUnusable, err)
	}
	if r.UnsafePlaintext && !k.o.Records {
		k.o.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"UNSAFE: full inputs are kept in plain text: whoever has the files can read them", slog.String("dir", r.Dir))
	}
	return &Recorder{Recorder: made, policy: r}, nil
}

// target returns where recordings go, with links followed: never into the state
// directory, which others back up and agents may read.
func (k *Keeping) target(dir string) (string, error) {
	to, err := realpath.Outside("", k.o.Dir, dir)
	if errors.Is(err, realpath.ErrInside) {
		return "", errors.New(
			"is in the state directory: what is kept holds originals, secrets included, and belongs elsewhere")
	}
	return to, err
}

// Use takes a recorder into use, nil for none. Inputs retained until now are a
// file of their own, also where nothing has changed. Preconditions: as of Next.
func (k *Keeping) Use(ctx context.Context, next *Recorder) {
	switch old := k.now.Swap(next); {
	case old == nil:
	case old == next:
		old.Turn()
	default:
		if err := old.Close(); err != nil {
			k.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a recording could not be ended", slog.Any("error", err))
		}
	}
}

// Drop closes a recorder that is not taken into use after all. The one in use stays.
func (k *Keeping) Drop(next *Recorder) error {
	if next == nil || next == k.now.Load() {
		return nil
	}
	return next.Close()
}

// noticeTime bounds how long a recorder waits for its notice.
const noticeTime = 5 * time.Second

// notice logs a recorder's message.
func (k *Keeping) notice(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), noticeTime)
	defer cancel()
	if err := k.o.Kernel().Notice(ctx, text); err != nil {
		k.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a notice about recordings could not be recorded", slog.String("text", text),
			slog.Any("error", err))
	}
}

// calm is the time by which recordings are old.
func (k *Keeping) calm() time.Time {
	if open := k.o.Kernel(); open != nil {
		return open.CalmTime()
	}
	return time.Time{}
}

// Sink tries the directory by writing and returns the state of retention in the
// form of a sink; ok is false when nothing is to be retained.
func (k *Keeping) Sink() (s wire.Sink, ok bool) {
	now := k.now.Load()
	if now == nil {
		return s, false
	}
	st := now.State()
	s = wire.Sink{Kind: wire.SinkRecordings, Path: now.policy.Dir, Durable: now.policy.OnError == config.OnErrorBlock,
		OK: st.Err == nil, Kept: st.Kept, Lost: st.Lost}
	if st.Err != nil {
		sink.Fail(&s, st.Err)
		if !st.Since.IsZero() {
			s.Since = st.Since.UTC()
		}
	}
	return s, true
}

package retention

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
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/sink"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// SwitchOptions are the options of a Switch.
type SwitchOptions struct {
	Dir     string          // the state directory, absolute
	Fixed   kernel.Recorder // records beside the recorder; nil: nothing does
	Off     bool            // nothing is retained: an invocation without a record has no recording
	Records bool            // opened to look at records: nothing is decided here
	Logger  *slog.Logger
	// Kernel returns what logs a sentence (Notice) and tells the time by which recordings are
	// old (CalmTime); nil before it is open: then nothing is old yet.
	Kernel func() *kernel.Kernel
}

// Switch is a kernel.Recorder: the one of its options, and the recorder of the
// configuration in force, which Use switches. It is safe for concurrent use.
type Switch struct {
	o   SwitchOptions
	now atomic.Pointer[InUse]
}

// InUse is a Recorder with the section of belay.yaml that it follows.
type InUse struct {
	*Recorder
	policy *config.Recordings
}

// NewSwitch makes a Switch that retains nothing before Use.
func NewSwitch(o SwitchOptions) *Switch { return &Switch{o: o} }

// Recorder is what the kernel records with; nil when nothing can ever be recorded.
func (s *Switch) Recorder() kernel.Recorder {
	if s.o.Fixed == nil && s.o.Off {
		return nil // nothing is spent on it
	}
	return s
}

// Wants implements kernel.Recorder.
func (s *Switch) Wants(inv *phases.Invocation) bool {
	now := s.now.Load()
	return now != nil && now.Wants(inv) || s.o.Fixed != nil && s.o.Fixed.Wants(inv)
}

// Recorded implements kernel.Recorder. The recorder looks itself whether it wants it.
func (s *Switch) Recorded(r *kernel.Recording) {
	if now := s.now.Load(); now != nil {
		now.Recorded(r)
	}
	if s.o.Fixed != nil && s.o.Fixed.Wants(&r.Invocation) {
		s.o.Fixed.Recorded(r)
	}
}

// Blocking returns the recorder of now if it blocks what it cannot retain, else nil. Ask its Ready.
func (s *Switch) Blocking() *InUse {
	if now := s.now.Load(); now != nil && now.policy.OnError == config.OnErrorBlock {
		return now
	}
	return nil
}

// Ready returns why the invocation may not be decided: its input could not be retained.
func (s *Switch) Ready(inv *phases.Invocation) error {
	if now := s.Blocking(); now != nil {
		return now.Ready(inv)
	}
	return nil
}

// Close ends the current recording. Closing may log a notice: close the parts
// that Notice needs after it.
func (s *Switch) Close() error {
	if now := s.now.Swap(nil); now != nil {
		return now.Close()
	}
	return nil
}

// Next makes the recorder that a configuration asks for: the one in use where
// nothing has changed, nil when nothing is to be retained. The error is
// config.ErrUnusable. The caller hands the result to Use, or to Drop.
// Preconditions: one caller at a time.
func (s *Switch) Next(f *config.File) (*InUse, error) {
	r := f.Recordings
	if r == nil || s.o.Off {
		return nil, nil
	}
	if now := s.now.Load(); now != nil && reflect.DeepEqual(now.policy, r) {
		return now, nil
	}
	dir, err := s.target(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, f.Errorf("/recordings/dir", "%v", err))
	}
	set := r.Settings()
	made, err := Open(Policy{
		Dir: dir, Recipients: r.Recipients, Plaintext: r.UnsafePlaintext, Phases: r.Phases, Tools: r.Tools,
		Rotate: set.Rotate, RotateBytes: set.RotateBytes, Keep: set.Keep, MaxBytes: set.MaxBytes,
		Block:  r.OnError == config.OnErrorBlock,
		Logger: s.o.Logger, Notice: s.notice, Calm: s.calm,
	})
	var bad *Error
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("%w: %w", config.ErrUnusable, f.Errorf("/recordings"+bad.Pointer, "%s", bad.Text))
	case err != nil:
		return nil, fmt.Errorf("%w: recordings: %w", config.ErrUnusable, err)
	}
	if r.UnsafePlaintext && !s.o.Records {
		s.o.Logger.LogAttrs(context.Background(), slog.LevelWarn,
			"UNSAFE: full inputs are kept in plain text: every reader of the files sees them", slog.String("dir", r.Dir))
	}
	return &InUse{Recorder: made, policy: r}, nil
}

// target returns where recordings go, with links followed: never into the state
// directory, which others back up and agents may read.
func (s *Switch) target(dir string) (string, error) {
	to, err := files.Outside("", s.o.Dir, dir)
	if errors.Is(err, files.ErrInside) {
		return "", errors.New(
			"is in the state directory: what is kept holds originals, secrets included, and belongs elsewhere")
	}
	return to, err
}

// Use takes a recorder into use, nil for none. Inputs retained until now are a
// file of their own, also where nothing has changed. Preconditions: as of Next.
func (s *Switch) Use(ctx context.Context, next *InUse) {
	switch old := s.now.Swap(next); {
	case old == nil:
	case old == next:
		old.Turn()
	default:
		if err := old.Close(); err != nil {
			s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a recording could not be ended", slog.Any("error", err))
		}
	}
}

// Drop closes a recorder that is not taken into use after all. The one in use stays.
func (s *Switch) Drop(next *InUse) error {
	if next == nil || next == s.now.Load() {
		return nil
	}
	return next.Close()
}

// noticeTime bounds how long a recorder waits for its notice.
const noticeTime = 5 * time.Second

// notice logs a recorder's message.
func (s *Switch) notice(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), noticeTime)
	defer cancel()
	if err := s.o.Kernel().Notice(ctx, text); err != nil {
		s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a notice about recordings could not be recorded", slog.String("text", text),
			slog.Any("error", err))
	}
}

// calm is the time by which recordings are old.
func (s *Switch) calm() time.Time {
	if open := s.o.Kernel(); open != nil {
		return open.CalmTime()
	}
	return time.Time{}
}

// Sink tries the directory by writing and returns the state of retention in the
// form of a sink; ok is false when nothing is to be retained.
func (s *Switch) Sink() (state wire.Sink, ok bool) {
	now := s.now.Load()
	if now == nil {
		return state, false
	}
	st := now.State()
	state = wire.Sink{Kind: wire.SinkRecordings, Path: now.policy.Dir, Durable: now.policy.OnError == config.OnErrorBlock,
		OK: st.Err == nil, Kept: st.Kept, Lost: st.Lost}
	if st.Err != nil {
		sink.Fail(&state, st.Err)
		if !st.Since.IsZero() {
			state.Since = st.Since.UTC()
		}
	}
	return state, true
}

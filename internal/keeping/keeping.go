package belay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofrs/uuid/v5"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/place"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// KeepPolicy is what belay.yaml says under recordings: that full inputs are kept,
// where, for whom, and within which bounds.
type KeepPolicy struct {
	Dir         string         // absolute, not below the state directory
	Recipients  []string       // age1…; none: Plaintext
	Plaintext   bool           // UNSAFE: whoever has the files can read them
	Phases      []phases.Phase // none: all
	Tools       string         // RE2, unanchored, of phases that are about tools; "": all
	Rotate      time.Duration  // a file is ended after about so long
	RotateBytes int64          // and at this size
	Keep        time.Duration  // what is older is removed
	MaxBytes    int64          // of everything that is kept in Dir; the oldest is removed
	Block       bool           // while nothing can be kept, nothing goes on

	Logger *slog.Logger
	// Notice puts a sentence on record. It may take as long as a commit.
	Notice func(text string)
}

// Keeper keeps full inputs. It is a kernel.Recorder that looks at the policy itself;
// package harness/keep has one. Safe for concurrent use.
type Keeper interface {
	kernel.Recorder

	// Ready returns why an invocation that is wanted cannot be kept. It is asked before
	// the invocation is decided, and only when the policy blocks.
	Ready(inv *phases.Invocation) error

	// Turn ends the file that is being written, so that it can be used.
	Turn()

	// State tries the directory by writing and says how things stand.
	State(ctx context.Context) KeepState

	// Close writes what waits and ends the file.
	Close() error
}

// KeepState says how a Keeper stands.
type KeepState struct {
	Err   error     // why nothing can be kept now; nil: it can
	Since time.Time // since when it cannot, as far as this process knows
	Kept  int64     // invocations, by this process
	Lost  int64     // that could not be kept, by this process
	Files int       // in the directory
	Cut   int       // of them, without an end: a process ended while it wrote
	Bytes int64     // of all of them
}

// A KeepError is a policy that a Keeper cannot follow. Pointer is a place in it (RFC
// 6901, below recordings), such as /recipients/0.
type KeepError struct {
	Pointer string
	Text    string
}

func (e *KeepError) Error() string { return e.Text }

// keeping is the kernel's Recorder: the one of the options, and the keeper of the
// configuration in force.
type keeping struct {
	fixed kernel.Recorder // nil: none
	now   atomic.Pointer[kept]
}

// kept is a keeper with the policy that it follows.
type kept struct {
	Keeper
	policy *config.Recordings
}

// Wants implements kernel.Recorder.
func (k *keeping) Wants(inv *phases.Invocation) bool {
	now := k.now.Load()
	return now != nil && now.Wants(inv) || k.fixed != nil && k.fixed.Wants(inv)
}

// Recorded implements kernel.Recorder. The keeper looks itself whether it wants it.
func (k *keeping) Recorded(r *kernel.Recording) {
	if now := k.now.Load(); now != nil {
		now.Recorded(r)
	}
	if k.fixed != nil && k.fixed.Wants(&r.Invocation) {
		k.fixed.Recorded(r)
	}
}

// ready returns why the invocation may not be decided: nothing of it could be kept.
func (k *keeping) ready(inv *phases.Invocation) error {
	if now := k.now.Load(); now != nil && now.policy.OnError == config.OnErrorBlock {
		return now.Ready(inv)
	}
	return nil
}

// close ends what is being kept.
func (k *keeping) close() error {
	if now := k.now.Swap(nil); now != nil {
		return now.Close()
	}
	return nil
}

// recorder is what the kernel records with.
func (b *Belay) recorder() kernel.Recorder {
	if b.o.Recorder == nil && b.o.Keeper == nil {
		return nil // nothing is spent on it
	}
	return &b.keeping
}

// nextKeeper makes the keeper that belay.yaml asks for; the one that there is where
// nothing has changed, nil when nothing is to be kept. Preconditions: as readConfig.
func (b *Belay) nextKeeper() (*kept, error) {
	r := b.file.Recordings
	if r == nil || b.o.InMemory { // what leaves no record leaves no recording
		return nil, nil
	}
	if now := b.keeping.now.Load(); now != nil && reflect.DeepEqual(now.policy, r) {
		return now, nil
	}
	if b.o.Keeper == nil {
		if b.o.NoHooks {
			return nil, nil // nothing is decided here
		}
		return nil, fmt.Errorf("%w: %w", ErrConfig, b.file.Errorf("/recordings", "this program cannot keep full inputs: it has to give belay.Options.Keeper (package harness/keep has one)"))
	}
	dir, err := b.keepPlace(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, b.file.Errorf("/recordings/dir", "%v", err))
	}
	s := r.Settings()
	k, err := b.o.Keeper(KeepPolicy{
		Dir: dir, Recipients: r.Recipients, Plaintext: r.UnsafePlaintext, Phases: r.Phases, Tools: r.Tools,
		Rotate: s.Rotate, RotateBytes: s.RotateBytes, Keep: s.Keep, MaxBytes: s.MaxBytes, Block: r.OnError == config.OnErrorBlock,
		Logger: b.log, Notice: b.keepNotice,
	})
	var bad *KeepError
	switch {
	case errors.As(err, &bad):
		return nil, fmt.Errorf("%w: %w", ErrConfig, b.file.Errorf("/recordings"+bad.Pointer, "%s", bad.Text))
	case err != nil:
		return nil, fmt.Errorf("%w: recordings: %w", ErrConfig, err)
	}
	if r.UnsafePlaintext && !b.o.NoHooks {
		b.log.LogAttrs(context.Background(), slog.LevelWarn, "UNSAFE: full inputs are kept in plain text: whoever has the files can read them", slog.String("dir", r.Dir))
	}
	return &kept{Keeper: k, policy: r}, nil
}

// keepPlace returns where recordings go, with links followed: never into the state
// directory, which others back up and agents may read.
func (b *Belay) keepPlace(dir string) (string, error) {
	to, err := place.Follow("", dir)
	if err != nil {
		return "", err
	}
	state, err := place.Follow("", b.dir)
	if err != nil {
		return "", err
	}
	if place.Within(state, to) {
		return "", errors.New("is in the state directory: what is kept holds originals, secrets included, and belongs elsewhere")
	}
	return to, nil
}

// reloadKeeper takes a keeper into use, nil for none. What was kept until now is a
// file of its own from here on, also where nothing has changed. Preconditions: as readConfig.
func (b *Belay) reloadKeeper(ctx context.Context, next *kept) {
	switch old := b.keeping.now.Swap(next); {
	case old == nil:
	case old == next:
		old.Turn()
	default:
		if err := old.Close(); err != nil {
			b.log.LogAttrs(ctx, slog.LevelWarn, "a recording could not be ended", slog.Any("error", err))
		}
	}
	b.announceKeeping(ctx)
}

// keepNotice puts what a keeper says on record.
func (b *Belay) keepNotice(text string) {
	ctx, cancel := context.WithTimeout(context.Background(), keepNoticeTime)
	defer cancel()
	if err := b.kernel.Notice(ctx, text); err != nil {
		b.log.LogAttrs(ctx, slog.LevelWarn, "a notice about recordings could not be recorded", slog.String("text", text), slog.Any("error", err))
	}
}

const keepNoticeTime = 5 * time.Second

// Where the store remembers what the record says last about keeping. No hook can
// have a namespace with a colon in it.
const (
	keepNamespace = "belay:keeping"
	keepKey       = "policy"
)

// announceKeeping puts on record that keeping began, changed or ended, once: also
// when many processes find out one after the other. The store being away is no
// reason not to open; the next one says it.
func (b *Belay) announceKeeping(ctx context.Context) {
	if b.o.NoHooks || b.o.InMemory || b.o.Keeper == nil {
		return
	}
	for range 3 {
		err := b.tryAnnounce(ctx)
		if err == nil {
			return
		}
		if !errors.Is(err, kernel.ErrConflict) {
			b.log.LogAttrs(ctx, slog.LevelWarn, "it could not be recorded whether full inputs are kept", slog.Any("error", err))
			return
		}
	}
}

func (b *Belay) tryAnnounce(ctx context.Context) error {
	said, err := b.store.HookState(ctx, keepNamespace, keepKey)
	if err != nil {
		return err
	}
	r := b.file.Recordings
	is := describeKeeping(r)
	if is == string(said.Value) {
		return nil
	}
	text := "keeping of full inputs ended; it was: " + string(said.Value)
	if r != nil && said.Value == nil {
		text = "keeping of full inputs began: " + is
	} else if r != nil {
		text = "keeping of full inputs changed: " + is
	}
	now := time.Now()
	_, err = b.sinks.Commit(ctx, kernel.Batch{
		Now: now, StateReads: []kernel.StateRead{{Namespace: keepNamespace, Key: keepKey, Version: said.Version}},
		StateWrites: []kernel.StateWrite{{Namespace: keepNamespace, Key: keepKey, Value: []byte(is), Delete: r == nil}},
		Events: []phases.Event{{ID: uuid.Must(uuid.NewV7AtTime(now)).String(), Type: phases.EventNotice, Time: now, PolicyRevision: b.revision(),
			Reason: phases.SafeText(text, phases.MaxReasonBytes)}},
	})
	return err
}

// describeKeeping says in a line what is kept for whom; "" for nothing.
func describeKeeping(r *config.Recordings) string {
	if r == nil {
		return ""
	}
	who := "sealed for " + strings.Join(r.Recipients, ", ")
	if r.UnsafePlaintext {
		who = "UNSAFE: in plain text"
	}
	of := "all phases"
	if len(r.Phases) > 0 {
		names := make([]string, len(r.Phases))
		for i, p := range r.Phases {
			names[i] = string(p)
		}
		of = strings.Join(names, ", ")
	}
	if r.Tools != "" {
		of += ", tools " + r.Tools
	}
	lost := "what cannot be kept is counted"
	if r.OnError == config.OnErrorBlock {
		lost = "what cannot be kept is blocked"
	}
	return fmt.Sprintf("in %s, %s; %s; %s", r.Dir, who, of, lost)
}

// keepSink says how what is kept stands, in the form of a sink.
func (b *Belay) keepSink(ctx context.Context) (wire.Sink, bool) {
	now := b.keeping.now.Load()
	if now == nil {
		return wire.Sink{}, false
	}
	st := now.State(ctx)
	s := wire.Sink{Kind: SinkRecordings, Path: now.policy.Dir, Durable: now.policy.OnError == config.OnErrorBlock, OK: st.Err == nil, Kept: st.Kept, Lost: st.Lost}
	if st.Err != nil {
		sinkFails(&s, st.Err)
		if !st.Since.IsZero() {
			s.Since = st.Since.UTC()
		}
	}
	return s, true
}

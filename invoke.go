package belay

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/redaction"
	"github.com/belay-hooks/belay/internal/statedir"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// Classes of errors beside a block, for errors.Is.
var (
	// ErrHookClock: InvokeOptions.HookClock was set where a decision has consequences.
	ErrHookClock = errors.New("the clock of hooks cannot be set here")
	// ErrNoHooks: it was opened without hooks, to look at records.
	ErrNoHooks = errors.New("opened without hooks")
)

// Invoke decides one invocation; see kernel.Kernel.InvokeWith.
func (b *Belay) Invoke(ctx context.Context, inv phases.Invocation) (phases.Verdict, error) {
	return b.InvokeWith(ctx, inv, InvokeOptions{})
}

// InvokeWith decides one invocation and returns when the answer is logged.
// The verdict is always complete; an error stands only beside a block. With HookClock
// it blocks, unless Options.InMemory is set.
func (b *Belay) InvokeWith(ctx context.Context, inv phases.Invocation, o InvokeOptions) (phases.Verdict, error) {
	if b.o.NoHooks {
		return b.Refuse(ctx, kernel.Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.Unblockable,
			Fault: phases.NewFault(phases.KindLoad, "belay was opened without hooks", ErrNoHooks)})
	}
	if o.HookClock != nil && !b.o.InMemory {
		return b.Refuse(ctx, kernel.Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.Unblockable,
			Fault: phases.NewFault(phases.KindProtocol, "hooks read the host's clock where something is recorded",
				ErrHookClock)})
	}
	if recorder := b.recorder.Blocking(); recorder != nil {
		inv = inv.Clone() // the kernel decides what Ready looks at, whatever the caller does meanwhile
		if err := recorder.Ready(&inv); err != nil {
			return b.Refuse(ctx, kernel.Refusal{Invocation: inv, Raw: inv.Action, Unblockable: o.Unblockable,
				Fault: phases.NewFault(phases.KindStore, "full inputs cannot be kept, and nothing goes on without", err)})
		}
	}
	o.Credential = cmp.Or(o.Credential, ownCredential())
	v, err := b.kernel.InvokeWith(ctx, inv, o)
	return b.unrecorded(ctx, v), err
}

// Refuse records and answers a block for what could not be decided, such as a
// payload that does not decode.
func (b *Belay) Refuse(ctx context.Context, r kernel.Refusal) (phases.Verdict, error) {
	v, err := b.kernel.Refuse(ctx, r)
	return b.unrecorded(ctx, v), err
}

// Spool leaves a note that an action was blocked although dir could not be
// opened: the next Open that can write records it and sets the latch that it
// asks for. The error is ErrState; there is nothing else that a caller could do then.
func Spool(dir string, r kernel.Refusal) error {
	if err := kernel.Spool(filepath.Join(dir, notes.SpoolName), redaction.Refusal(dir, r), time.Now()); err != nil {
		return statedir.Unusable("spool", err)
	}
	return nil
}

// noteDryRun stands in every verdict of a dry run.
const noteDryRun = "dry run: nothing of this is recorded, used up or carried out"

// unrecorded takes out of a dry run's verdict what names records that do not exist.
func (b *Belay) unrecorded(ctx context.Context, v phases.Verdict) phases.Verdict {
	if !b.o.DryRun {
		return v
	}
	v.Event = nil
	if v.Approval != nil {
		if it, err := b.storage.Store.Approval(ctx, v.Approval.ID); err != nil || it == nil {
			v.Approval = nil
		}
	}
	v.Notes = append(v.Notes, noteDryRun)
	return v
}

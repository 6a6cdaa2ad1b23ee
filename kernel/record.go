package kernel

import (
	"context"
	"encoding/hex"
	"log/slog"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/audit"
	"github.com/belay-hooks/belay/phases"
)

// changedMetadata returns the metadata that the chain changed, redacted as it will be
// stored, or nil when there is nothing to store. The verdict gets the redacted values: the
// run carries them from now on.
func (i *invocation) changedMetadata(run RunState, verdict *phases.Verdict, chain *chain) (phases.Metadata, error) {
	var changed phases.Metadata
	for key, entry := range verdict.Metadata {
		old, ok := run.Metadata[key]
		if ok && string(old.Value) == string(entry.Value) && old.Hook == entry.Hook && old.Tier == entry.Tier {
			continue
		}
		redacted, masked, err := i.redactEntry(key, entry)
		if err != nil {
			verdict.Metadata = cloneMetadata(run.Metadata)
			return nil, err
		}
		if masked {
			entry.Value = redacted
			verdict.Metadata[key] = entry
			if note := "metadata " + key + NoteRedacted; !slices.Contains(verdict.Notes, note) {
				verdict.Notes = append(verdict.Notes, note)
			}
		}
		if changed == nil {
			changed = phases.Metadata{}
		}
		changed[key] = entry
	}
	if len(changed) == 0 {
		if !chain.retried {
			return nil, nil
		}
		changed = phases.Metadata{}
	}
	if note := "metadata is not carried along: the invocation names no session"; !i.carries &&
		!slices.Contains(verdict.Notes, note) {
		verdict.Notes = append(verdict.Notes, note)
	}
	return changed, nil
}

// redactEntry redacts a value that a hook wrote. What a hook that is kept apart calls a secret is redacted there only.
func (i *invocation) redactEntry(key string, entry phases.Entry) (jsontext.Value, bool, error) {
	redactor := i.redactor()
	if phases.IsApart(key) {
		return i.audit().Apart().Entry(key, entry)
	}
	redacted, masked, err := audit.ForStored(redactor).JSON(entry.Value)
	return redacted, len(masked) > 0, err
}

// record builds the events of the verdict, in place, and lets the audit hooks redact more. With an
// error, a *phases.Fault, the verdict has become a block, and the events hold digests only.
func (i *invocation) record(ctx context.Context, record *audit.Record, chain *chain, run RunState,
	verdict *phases.Verdict, changed phases.Metadata, at time.Time) (phases.Metadata, []phases.Event, error) {
	newID := i.kernel.options.NewID
	nameEvents := func() string { // the ids of the turns' events come before the verdict's
		for n := range chain.turns {
			chain.turns[n].ID = newID(at)
		}
		return newID(at)
	}
	builder := i.audit()
	changed, err := i.build(record, chain, run, verdict, changed, nameEvents, at)
	var turns []audit.Turn
	if err == nil {
		turns, err = chain.auditPass(ctx, verdict, record)
	} else { // nothing is stored that could not be redacted
		verdict.Metadata, changed, chain.stateWrites = cloneMetadata(run.Metadata), nil, nil
	}
	if err != nil {
		fault := phases.FaultOf(err)
		if fault == nil || fault.Kind != phases.KindAudit {
			fault = phases.NewFault(phases.KindAudit, "the audit phase failed", err)
		}
		blockVerdict(verdict, phases.KindAudit, auditor(turns), fault.Text)
		i.applyEnforcement(verdict)
		i.kernel.options.Logger.LogAttrs(ctx, slog.LevelError, "audit failed: the action is blocked",
			slog.String("invocation", i.inv.ID), slog.String("phase", string(i.inv.Phase)))
		*record = builder.Digests(i.input, verdict, changed, chain.turns, nameEvents(), at)
		record.Verdict.Reason = fault.Text // fixed text
		err = fault
	}
	verdict.Masked = slices.Clone(record.Verdict.Masked)
	if verdict.Masked == nil {
		verdict.Masked = []string{}
	}
	var seed [2 * len(i.seed)]byte
	hex.Encode(seed[:], i.seed[:])
	record.Verdict.Seed = string(seed[:])
	events := record.Events()
	for n := range turns {
		turns[n].ID = newID(at)
		event, turnErr := builder.Turn(i.input.Invocation(), &turns[n], at)
		_ = turnErr // the event then holds digests only
		events = append(events, event)
		verdict.Hooks = append(verdict.Hooks, turns[n].Report)
	}
	return changed, events, err
}

// auditor names the audit hook that failed, or the kernel.
func auditor(turns []audit.Turn) string {
	for _, turn := range turns {
		if turn.Report.Decision == phases.HookError {
			return turn.Report.Hook
		}
	}
	return kernelName
}

// Package storetest is the contract of kernel.Store as tests: every
// implementation runs the same suite. It decides what a store must do and never
// how.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// T0 is the time at which the tests begin.
var T0 = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

// Run runs the suite. open returns a new and empty store; the suite closes it.
func Run(t *testing.T, open func(t *testing.T) kernel.Store) {
	for name, f := range map[string]func(*testing.T, kernel.Store){
		"events round trip":                      eventsRoundTrip,
		"events are numbered":                    eventsNumbered,
		"queries agree with Match":               queries,
		"limits":                                 limits,
		"all or nothing":                         allOrNothing,
		"run metadata":                           runMetadata,
		"run metadata expires":                   runExpiry,
		"runs of a session":                      runsOfSession,
		"hook state":                             hookState,
		"state usage":                            stateUsage,
		"latches":                                latches,
		"latch of a whole runtime":               latchOfRuntime,
		"latches that end by themselves":         latchEnds,
		"latch of what names no session":         latchUnnamed,
		"unlatched condition":                    unlatched,
		"concurrent increments":                  concurrentIncrements,
		"cancelled commit":                       cancelled,
		"closed":                                 closed,
		"what it keeps is its own":               ownership,
		"empty batch":                            emptyBatch,
		"odd text survives":                      oddText,
		"a latch of no session":                  latchAlone,
		"conflict leaves no traces":              conflictTraces,
		"the log grows with events":              logGrows,
		"a long log":                             longLog,
		"old events are compacted":               compacts,
		"checkpoints are dropped":                dropsCheckpoints,
		"checkpoints":                            checkpoints,
		"approvals round trip":                   approvalsRoundTrip,
		"approvals take legal steps":             approvalSteps,
		"approvals run out":                      approvalsRunOut,
		"approvals run out by the boot clock":    approvalsRunOutByBoot,
		"what is old is old by calm time":        oldByCalmTime,
		"approvals are deduplicated and counted": approvalQuota,
		"approvals have holders":                 approvalHolders,
		"approvals in odd time zones":            approvalsInOddZones,
		"approvals give way":                     approvalsSuperseded,
		"approvals are decided once":             approvalsOnce,
		"approvals conflict as a whole":          approvalConflicts,
		"approvals are forgotten":                approvalsForgotten,
		"leases round trip":                      leasesRoundTrip,
		"lease claims":                           leaseClaims,
		"leases by holder":                       leasesByHolder,
		"lease clocks":                           leaseClocks,
		"lease trees":                            leaseTrees,
		"lease mints":                            leaseMints,
		"lease renewals":                         leaseRenewals,
		"leases agree with the model":            leaseModel,
		"leases are forgotten":                   leasesForgotten,
		"leases under contention":                leasesContended,
		"a change needs an event":                changeNeedsEvent,
		"events cover what restricts":            restrictionsRecorded,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			f(t, s)
		})
	}
}

func event(id string) phases.Event {
	return phases.Event{ID: id, Type: phases.EventVerdict, Time: T0}
}

var filler atomic.Int64

// evented returns the batch with an event, if it changes something and has none.
func evented(b kernel.Batch) kernel.Batch {
	if b.Valid() != nil {
		b.Events = []phases.Event{event(fmt.Sprint("change-", filler.Add(1)))}
	}
	return b
}

func commit(t *testing.T, s kernel.Store, b kernel.Batch) kernel.Receipt {
	t.Helper()
	b = evented(b)
	if b.Now.IsZero() {
		b.Now = T0
	}
	r, err := s.Commit(t.Context(), b)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return r
}

func wantConflict(t *testing.T, s kernel.Store, b kernel.Batch) {
	t.Helper()
	b = evented(b)
	if b.Now.IsZero() {
		b.Now = T0
	}
	if _, err := s.Commit(t.Context(), b); !errors.Is(err, kernel.ErrConflict) || errors.Is(err, kernel.ErrUnavailable) {
		t.Fatalf("Commit: %v, want ErrConflict and nothing else", err)
	}
}

// prune drops what has had its time, and returns how many runs went.
func prune(t *testing.T, s kernel.Store, now time.Time) int {
	t.Helper()
	return commit(t, s, kernel.Batch{Now: now, Prune: true}).Pruned
}

func all(t *testing.T, s kernel.Store) []phases.Event {
	t.Helper()
	es, err := s.Events(t.Context(), wire.Query{Limit: wire.MaxLimit})
	if err != nil {
		t.Fatalf("Events: %v", err)
	}
	return es
}

// equalJSON compares raw values by what they mean.
var equalJSON = cmp.Comparer(func(a, b jsontext.Value) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	return a.Canonicalize() == nil && b.Canonicalize() == nil && string(a) == string(b)
})

// Wall is a moment on a host without a boot clock.
func Wall(t time.Time) leases.Instant { return leases.Instant{Wall: t} }

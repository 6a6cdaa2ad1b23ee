package storetest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// TestStore is what the author of a store writes. open returns a new and empty store.
func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) kernel.Store { return memory.New() })
}

// A store takes a batch as a whole and numbers its events; a batch that rests on something
// that has changed is a conflict and leaves no trace. storetest.Run holds a store to all of
// it: see TestStore of this package.
func Example() {
	ctx, now := context.Background(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	store := memory.New()
	write := kernel.StateWrite{Namespace: "n", Key: "k", Value: []byte("1")}
	for _, id := range []string{"a", "b"} {
		receipt, err := store.Commit(ctx, kernel.Batch{Now: now, StateWrites: []kernel.StateWrite{write},
			StateReads: []kernel.StateRead{{Namespace: "n", Key: "k"}}, // the value was absent
			Events:     []phases.Event{{ID: id, Type: phases.EventVerdict, Time: now}}})
		fmt.Println(receipt.First, err)
	}
	events, err := store.Events(ctx, wire.Query{})
	fmt.Println(len(events), err)
	// Output:
	// 1 <nil>
	// 0 the state it was computed from has changed: hook state
	// 1 <nil>
}

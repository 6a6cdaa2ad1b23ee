package sandbox

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/belay-hooks/belay/phases"
)

// What a caller has put into its context is not the engine's: no option of it changes how a hook runs. What the host
// finds there is the run alone.
func TestNothingOfTheCallerReachesTheEngine(t *testing.T) {
	type own struct{}
	ctx := context.WithValue(experimental.WithSnapshotter(t.Context()), own{}, "the caller's")
	m := load(t, open(t, Options{}), guest(t, "guard"))
	inv := newInvocation(ctx, m, &RunRequest{Session: session(t, phases.PreTool, lsAction)}, testTime)
	call := inv.callContext()
	if got := call.Value(own{}); got != nil {
		t.Errorf("a caller's value is %v", got)
	}
	wrapped := experimental.WithMemoryAllocator(call, experimental.MemoryAllocatorFunc(
		func(uint64, uint64) experimental.LinearMemory { return nil }))
	if invocationOf(call) != inv || invocationOf(wrapped) != inv {
		t.Error("the run is not found")
	}
}

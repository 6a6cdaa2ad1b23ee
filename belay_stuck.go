package belay

import (
	"time"

	"github.com/belay-hooks/belay/internal/sandbox"
)

// closeLook is how often a Close that waits for hooks looks whether one was left behind,
// and closePatience how many looks it then still waits.
const (
	closeLook     = 100 * time.Millisecond
	closePatience = 10
)

// Stuck is closed when so many hooks were left behind that the process should answer
// what has begun, and end; see kernel.MaxLeftBehind.
func (b *Belay) Stuck() <-chan struct{} { return b.kernel.Stuck() }

// LeftBehind returns the bindings that ignored their deadline and still run. They block
// until that has ended.
func (b *Belay) LeftBehind() []string { return b.kernel.LeftBehind() }

// closeEngine unloads all modules. It waits for code that runs, but not for what was left
// behind: such code stays loaded.
func closeEngine(e *sandbox.Engine, left func() bool) error {
	done := make(chan error, 1)
	go func() { done <- e.Close() }()
	tick := time.NewTicker(closeLook)
	defer tick.Stop()
	for looks := 0; looks < closePatience; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if left() {
				looks++
			}
		}
	}
	return nil
}

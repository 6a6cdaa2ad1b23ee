package loader

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

// closeEngine unloads all modules. It waits for code that runs, but not for turns that the
// kernel left behind: their code stays loaded.
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

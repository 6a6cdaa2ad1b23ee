package belay

import "time"

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

// closeEngine unloads all modules. It waits for hooks that run, but not for those that
// were left behind: their code stays loaded, since it runs.
func (b *Belay) closeEngine() error {
	done := make(chan error, 1)
	go func() { done <- b.engine.Close() }()
	tick := time.NewTicker(closeLook)
	defer tick.Stop()
	for looks := 0; looks < closePatience; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if b.kernel != nil && len(b.kernel.LeftBehind()) > 0 {
				looks++
			}
		}
	}
	return nil
}

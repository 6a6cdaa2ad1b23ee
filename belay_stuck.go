package belay

// Stuck is closed when so many hooks were left behind that the process should answer
// what has begun, and end; see kernel.MaxLeftBehind.
func (b *Belay) Stuck() <-chan struct{} { return b.kernel.Stuck() }

// LeftBehind returns the bindings that ignored their deadline and still run. They block
// until that has ended.
func (b *Belay) LeftBehind() []string { return b.kernel.LeftBehind() }

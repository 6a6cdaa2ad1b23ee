// Package host is the seam between package hook and the test host when a hook is
// built for another target than WebAssembly. It decides nothing, and it is never
// part of a guest.
package host

// Host answers the calls of a hook. Results are as in the ABI: a length or 0, or
// a negative code.
type Host interface {
	Read(call, arg string, dst []byte) int32
	Call(call, a, b string) int32
	Rewrite(path, value string, kind int32) int32
	Log(level int32, text string) int32
	TimeNow() int64
	Random(dst []byte) int32
}

// current stands in for the one host that a guest has. Tests set it; they run
// one hook at a time (see hooktest.Host.Run).
var current Host

// Set makes h the host, and returns the one before.
func Set(h Host) (before Host) {
	before, current = current, h
	return before
}

// Current returns the host, and panics when a hook is called outside of a test.
func Current() Host {
	if current == nil {
		panic("hook: no host: outside of belay, call the hook through hooktest.Host.Run")
	}
	return current
}

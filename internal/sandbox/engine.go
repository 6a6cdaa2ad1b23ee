package sandbox

import (
	"log/slog"

	"github.com/belay-hooks/belay/hostcalls"
)

// Options configure an [Engine]. The zero value works: the compiler where the
// platform has one, no cache, the whole table of hostcalls.
type Options struct {
	// CacheDir is where compiled code is kept between processes; made with mode
	// 0700 when absent. Empty: no cache. It is refused when others can write to it.
	CacheDir string
	// CacheKey authenticates what is in CacheDir, at least 16 bytes of secret.
	// Whoever can write to the directory and knows the key can run native code in
	// this process.
	CacheKey []byte
	// Interpreter runs modules on the engine's interpreter: 40 times slower, same
	// fuel, same results. No cache.
	Interpreter bool
	// Logger gets what operators should know (a garbled cache entry, say); nil
	// discards it.
	Logger *slog.Logger
	// Table is what guests can import from module belay_v1; nil means hostcalls.Table().
	Table []hostcalls.Call
}

// Class says who answers for a module; it picks the ceiling of its compile estimate.
type Class int

const (
	// AdHoc is what an agent proposes or somebody tries out: an estimate of at most 1 s.
	AdHoc Class = iota
	// Installed is what an operator has bound: at most 6 s, once, and needs a manifest.
	Installed
)

// Package hook is for writing belay hooks in Go: typed wrappers of guest ABI
// version 1. It decides nothing by itself and never does I/O but through the
// host.
//
// A hook is a main package that exports one function per phase:
//
//	package main
//
//	import "github.com/belay-hooks/belay/hooks-sdk/go"
//
//	func main() {}
//
//	//go:wasmexport pre_tool
//	func preTool() int32 {
//		if line, _ := hook.InputCommand(); line == "reboot" {
//			hook.Block("no reboots")
//		}
//		return hook.OK
//	}
//
// Returning OK without an effect means "no opinion". Returning Fail, or a panic,
// fails the hook, and belay then blocks the action. Effects are a transaction:
// they count only when the function returns OK.
//
// Effects return nothing, on purpose: an effect that the host refuses (not
// granted, not legal in the phase, too large) fails the whole turn whatever the
// hook does next, so there is nothing to handle.
//
// Only host functions that a hook really reaches become imports of its module,
// and imports are what its manifest has to declare as capabilities.
//
// The package needs neither reflection nor any other package, and compiles with
// TinyGo and with Go (GOOS=wasip1 GOARCH=wasm, -buildmode=c-shared). Natively it
// talks to the test host of package hooktest. A guest has one thread; nothing
// here is safe for concurrent use, and nothing needs to be.
package hook

// Command belay-eval decides one event of an agent runtime while no daemon serves: belay-hook becomes
// it, with its own arguments. It does what `belay eval --runtime` does with them, and links what decides
// and no more, since it starts for every event. What it cannot do as belay would, it leaves to
// `belay eval`, which it then becomes before it has read a byte of the event.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/belay-hooks/belay/cmd/internal/alone"
	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
)

func main() {
	if alone.IsCompiler(os.Args) {
		os.Exit(alone.Compile(os.Stdin, os.Stdout, os.Stderr))
	}
	alone.CollectLate()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := hookcmd.Command{Alone: alone.Open}.Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// Command belay-hook is what an agent runtime starts for each of its events when it
// takes only commands: it brings the event to the daemon and starts in a fraction of
// the time that belay itself takes. It does what `belay eval` does with the same
// arguments: --runtime NAME, --for EVENT, --state DIR. With --connect DIR it asks a daemon
// of another user instead.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/belay-hooks/belay/cmd/internal/hookcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := hookcmd.Command{}.Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// Command belay is a hook host for AI agents; `belay --help` lists its commands.
// This file only connects the process to package cli.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/belay-hooks/belay/cmd/internal/alone"
	"github.com/belay-hooks/belay/cmd/internal/cli"
)

func main() {
	if alone.IsCompiler(os.Args) {
		os.Exit(alone.Compile(os.Stdin, os.Stdout, os.Stderr))
	}
	if cli.IsToolStarter(os.Args) {
		os.Exit(cli.StartTool(os.Args))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := (&cli.App{Compiler: alone.OwnCompiler()}).Main(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/statedir"
)

type initOptions struct {
	empty bool
}

func (a *App) initCmd() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up the state directory with a first configuration",
		Long: `init makes the state directory and writes belay.yaml with the built-in hooks that
suit most people: dangerous commands are blocked, a push asks first, secrets and
terminal codes are taken out of results. An existing belay.yaml is left alone.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.init(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.empty, "empty", false, "bind no hooks")
	return cmd
}

func (a *App) init(ctx context.Context, o initOptions) error {
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failureBy(err, "")
	}
	file := filepath.Join(dir, config.FileName)
	text := starter
	if o.empty {
		text = config.Empty
	}
	if err := statedir.Create(file, []byte(text), 0o600); errors.Is(err, fs.ErrExist) {
		return failure(safe(file)+" exists already", "Edit it, or give another directory with --state.")
	} else if err != nil {
		return failureBy(err, "")
	}
	// Opening it makes the keys and the database, and proves that every hook loads.
	host, err := a.openState(ctx, dir, belay.Options{})
	if err != nil {
		return err
	}
	defer host.Close()
	fmt.Fprintf(a.Out, "belay is set up in %s\n\n", safe(dir))
	if err := a.printBindings(host.Bindings(), false); err != nil {
		return err
	}
	fmt.Fprintf(a.Out,
		"\nNext:\n  edit %s\n  belay connect claude-code (or codex)\n  belay hook list\n  echo '{\"phase\":\"pre_tool\",\"action\":{\"tool\":\"exec\",\"args\":{\"command\":\"rm -rf /\"}}}' | belay eval\n", safe(file))
	return nil
}

// starter is the configuration that `belay init` writes.
const starter = `# belay.yaml: which hooks run, when, and what they may do.
# A hook gets only the capabilities listed here; ` + "`belay hook inspect`" + ` prints what it asks for.
version: belay/v1

# What decides where no hook does: allow, ask or block. A tool that belay does not know is judged by
# what its call carries, such as a command; known_tools: ["mcp:github:*"] names those that are fine.
unknown_tools: allow
default: {pre_tool: allow, spawn: allow, state_transition: allow}

hooks:
  # Dangerous commands: deleting system trees, writing to disks, running what the network sends.
  # It asks where it cannot be told beforehand what would run; config: {unknown: block} is stricter.
  - name: command-block
    module: builtin:command-block
    priority: 100
    match: {tools: "^exec$"}
    capabilities: [block, request_approval, shell_parse, pattern_match]

  # A push is asked about first.
  - name: ask-push
    module: builtin:ask-push
    priority: 50
    match: {tools: "^exec$"}
    capabilities: [request_approval, block, shell_parse]

  # Terminal codes are taken out of results, so that they cannot hide text.
  - name: strip-ansi
    module: builtin:strip-ansi
    capabilities: ["rewrite:/result"]

  # Secrets in messages and results are covered before a model sees them.
  - name: redact-secret
    module: builtin:redact-secret
    capabilities: [find_secrets, "rewrite:/text", "rewrite:/system", "rewrite:/messages", "rewrite:/result"]
`

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/config"
	"github.com/belay-hooks/belay/internal/files"
	"github.com/belay-hooks/belay/internal/schema"
	"github.com/belay-hooks/belay/internal/statedir"
)

type initOptions struct {
	empty bool
	json  bool
}

func (a *App) initCmd() *cobra.Command {
	var o initOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up the state directory with a first configuration",
		Long: `init makes the state directory and writes belay.yaml with the built-in hooks that suit most
people. They block dangerous commands, and keep files of keys and credentials from agents. They
ask before a change that would switch belay off, and take secrets and terminal codes out of
results. init leaves an existing belay.yaml alone.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return a.init(cmd.Context(), o) },
	}
	cmd.Flags().BoolVar(&o.empty, "empty", false, "bind no hooks")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (a *App) init(ctx context.Context, o initOptions) error {
	if err := a.ownState(); err != nil {
		return err
	}
	dir, err := a.stateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return failureBy(err, "")
	}
	file := filepath.Join(dir, config.FileName)
	text, err := starter(dir)
	if err != nil {
		return failureBy(err, "")
	}
	if o.empty {
		text = config.Empty
	}
	if err := statedir.Create(file, []byte(schemaLine+text), 0o600); errors.Is(err, fs.ErrExist) {
		return failure(safe(file)+" exists already", "Edit it, or give another directory with --state.")
	} else if err != nil {
		return failureBy(err, "")
	}
	if text, ok := schema.Of("belay"); ok {
		if err := files.Write(filepath.Join(dir, schemaFile), text, files.Options{Perm: 0o600}); err != nil {
			return failureBy(err, "")
		}
	}
	// Opening it makes the keys and the database, and proves that every hook loads.
	host, err := a.openState(ctx, dir, belay.Options{})
	if err != nil {
		return err
	}
	defer host.Close()
	if o.json {
		return a.printJSON(map[string]any{"state": dir, "config": file, "hooks": host.Bindings()})
	}
	fmt.Fprintf(a.Out, "belay is set up in %s\n\n", safe(dir))
	if err := a.printBindings(host.Bindings(), false); err != nil {
		return err
	}
	fmt.Fprintf(a.Out,
		"\nNext:\n  edit %s\n  belay connect claude-code (or codex, gemini-cli)\n  belay hook list\n  echo '{\"phase\":\"pre_tool\",\"action\":{\"tool\":\"exec\",\"args\":{\"command\":\"rm -rf /\"}}}' | belay eval\n", safe(file))
	return nil
}

// starter returns the configuration that `belay init` writes for a state directory.
func starter(dir string) (string, error) {
	list, err := ownPaths(dir)
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(starterText, "OWN_PATHS", string(list)), nil
}

// ownPaths returns, as JSON, which files settings-guard protects beside those that it knows: the state
// directory and the programs that decide, under each name that they have.
func ownPaths(dir string) ([]byte, error) {
	var list []string
	add := func(path string) {
		for _, p := range []string{path, realName(path)} {
			if !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	add(abs)
	if self, err := os.Executable(); err == nil {
		add(self)
		add(filepath.Join(filepath.Dir(self), "belay-hook"))
		add(filepath.Join(filepath.Dir(self), "belay-eval"))
	}
	return json.Marshal(list)
}

// realName returns where a path leads, or the path itself where nothing is there.
func realName(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	return path
}

const starterText = `# belay.yaml: which hooks run, when, and what they may do.
# A hook gets only the capabilities listed here; ` + "`belay hook inspect`" + ` prints what it asks for.
version: belay/v1

# What decides where no hook does: allow, ask or block. A tool that belay does not know is judged by
# what its call carries, such as a command; known_tools: ["mcp:github:*"] names those that are fine.
unknown_tools: allow
default: {pre_tool: allow, spawn: allow, state_transition: allow}

hooks:
  # Dangerous commands: deleting system trees, writing to disks, running what the network sends, opening
  # a shell to it, skipping the hooks of a repository. It asks where it cannot be told beforehand what would
  # run. config: {rules: {push: ask}} asks before a push, {unknown: block} is stricter; each rule has its name.
  - name: command-guard
    module: builtin:command-guard
    priority: 100
    match: {tools: "^exec$"}
    capabilities: [block, request_approval, shell_parse, pattern_match]

  # Files that hold keys and credentials: no tool may open them, and no command may read, copy or send them.
  # config: {allowed: [certs/dev.pem]} names files that are fine, {answer: ask} lets a person decide.
  - name: path-guard
    module: builtin:path-guard
    priority: 99
    match: {tools: "^(exec|read|write|edit|apply_patch|grep|glob|list|lsp|image|web_fetch)$"} # and what carries a path
    capabilities: [block, request_approval, shell_parse, path_resolve]

  # What would switch belay off waits for a person: settings of the runtimes, belay's own files, programs
  # and commands. ` + "`belay approvals approve`" + ` allows one change; reading passes.
  - name: settings-guard
    module: builtin:settings-guard
    priority: 90
    via: queue # not the agent's own prompt
    capabilities: [block, request_approval, shell_parse, path_resolve, state_get, state_put]
    config: {paths: OWN_PATHS}

  # Terminal codes are taken out of results, so that they cannot hide text.
  - name: strip-ansi
    module: builtin:strip-ansi
    capabilities: ["rewrite:/result"]

  # Secrets in messages and results are covered before a model sees them. belay redacts the record by itself;
  # ` + "`belay hook install builtin:audit-redact`" + ` masks more of it, such as addresses of mail.
  - name: redact-secret
    module: builtin:redact-secret
    capabilities: [find_secrets, "rewrite:/text", "rewrite:/system", "rewrite:/messages", "rewrite:/result"]
`

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// payload is the event as Claude Code sends it to a command.
const payload = `{"session_id":"5c1f0e7e","transcript_path":"/home/dev/.claude/projects/acme/5c1f0e7e.jsonl",` +
	`"cwd":"/home/dev/acme","permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash",` +
	`"tool_input":{"command":"go test ./leases ./tiers 2>&1 | tail -40","description":"Run the lease and tier tests"},` +
	`"tool_use_id":"toolu_01ABCDEF0123456789"}`

// scripts are hooks as people write them, by the program that runs them: exit code 2 refuses.
var scripts = []struct{ name, program, file, text string }{
	{"a hook in sh, with jq's work by sed", "sh", "hook.sh",
		`command=$(sed -n 's/.*"command":"\([^"]*\)".*/\1/p'); case $command in *"rm -rf /"*) exit 2;; esac`},
	{"a hook in bash", "bash", "hook.bash",
		`read -r input; re='"command":"([^"]*)"'; [[ $input =~ $re ]]; ` +
			`[[ ${BASH_REMATCH[1]} == *"rm -rf /"* ]] && exit 2; exit 0`},
	{"a hook in Python", "python3", "hook.py",
		"import json, sys\nsys.exit(2 if 'rm -rf /' in json.load(sys.stdin)['tool_input']['command'] else 0)\n"},
	{"a hook in Node.js", "node", "hook.js",
		"process.exit(JSON.parse(require('fs').readFileSync(0)).tool_input.command.includes('rm -rf /') ? 2 : 0)\n"},
}

// starts is one event: a process that reads it, and its end.
func starts(dir, want, name string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Stdin = strings.NewReader(payload)
		cmd.Dir = dir
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%w: %s%s", err, out.Bytes(), errs.Bytes())
		}
		if !strings.HasSuffix(strings.TrimSpace(out.String()), want) {
			return errors.New("it answered " + out.String())
		}
		return nil
	}
}

func openProcesses(ctx context.Context, y *yard) ([]subject, error) {
	bin, err := y.belayBinaries(ctx)
	if err != nil {
		return nil, err
	}
	dir, pid, err := y.daemon(ctx, bin)
	if err != nil {
		return nil, err
	}
	alone, err := y.bound(ctx, "alone")
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(dir, "frame.sock")
	subjects := []subject{
		{name: "a Go program with the same round trip", pids: []int{pid}, note: "belay's daemon decides",
			do: starts(y.work, `{"stdout":"{}","exit":0}`, filepath.Join(bin, "roundtrip"), socket, "claude-code")},
		{name: "belay-hook", pids: []int{pid}, note: "belay's daemon decides",
			do: starts(y.work, "{}", filepath.Join(bin, "belay-hook"), "--runtime", "claude-code", "--state", dir)},
		{name: "belay-eval, alone", note: "opens the state directory, decides durably",
			do: starts(y.work, "{}", filepath.Join(bin, "belay-eval"), "--runtime", "claude-code", "--state", alone)},
		{name: "belay eval, alone", note: "opens the state directory, decides durably",
			do: starts(y.work, "{}", filepath.Join(bin, "belay"), "eval", "--runtime", "claude-code", "--state", alone)},
	}
	peers, err := commands(ctx, y)
	if err != nil {
		return nil, err
	}
	for _, c := range peers {
		s := subject{name: c.name, note: "no record"}
		if c.missing != "" {
			s.note = "not here: " + c.missing + " is missing"
		} else {
			s.do = starts(y.work, "", c.args[0], c.args[1:]...)
		}
		subjects = append(subjects, s)
	}
	return subjects, nil
}

// command is a hook of people's own, as a runtime starts it.
type command struct {
	name    string
	args    []string
	missing string // the program that is not here; then there are no args
}

// commands builds or writes the hooks that belay's are compared with.
func commands(ctx context.Context, y *yard) ([]command, error) {
	var all []command
	for _, p := range compiled() {
		c, err := p.command(ctx, y)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	for _, s := range scripts {
		program, err := exec.LookPath(s.program)
		if err != nil {
			all = append(all, command{name: s.name, missing: s.program})
			continue
		}
		file := filepath.Join(y.work, s.file)
		if err := os.WriteFile(file, []byte(s.text), 0o600); err != nil {
			return nil, err
		}
		all = append(all, command{name: s.name, args: []string{program, file}})
	}
	return all, nil
}

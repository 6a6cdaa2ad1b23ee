package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/connect"
)

// foundRuntime is a runtime of this machine.
type foundRuntime struct {
	Runtime   string          `json:"runtime"`
	Program   string          `json:"program,omitzero"` // where the client is
	Settings  string          `json:"settings,omitzero"`
	Connected []connect.Level `json:"connected,omitzero"`
	Differs   []connect.Level `json:"differs,omitzero"` // has entries of belay's that say another thing
	Problem   string          `json:"problem,omitzero"`
	Command   string          `json:"command"` // what connects it
}

// clients are the programs of the runtimes.
func clients() map[string]string {
	return map[string]string{"claude-code": "claude", "codex": "codex", "cursor": "cursor", "gemini-cli": "gemini",
		"openclaw": "openclaw", "opencode": "opencode"}
}

// connectFind says which runtimes are here, and what connect would do. It writes nothing.
func (a *App) connectFind(o connectOptions) error {
	if o.user || o.project || o.local || o.managed || o.yes || o.print || o.hook != "" || o.daemon != "" {
		return usageError("connect which runtime?", "Give "+strings.Join(connect.Runtimes(), " or ")+".")
	}
	found, err := a.findRuntimes()
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(found)
	}
	if len(found) == 0 {
		fmt.Fprintf(a.Out, "No runtime that belay can connect is here: %s.\n", strings.Join(connect.Runtimes(), ", "))
		return nil
	}
	p := a.palette()
	for _, f := range found {
		state := p.yellow("not connected")
		switch {
		case f.Problem != "":
			state = p.red(safe(f.Problem))
		case len(f.Differs) > 0:
			state = p.yellow("connected, but not as belay would do it: " + levelNames(f.Differs))
		case len(f.Connected) > 0:
			state = p.green("connected: " + levelNames(f.Connected))
		}
		fmt.Fprintf(a.Out, "%-12s %s\n", f.Runtime, state)
		if f.Program != "" {
			fmt.Fprintf(a.Out, "  client    %s\n", safe(f.Program))
		}
		if f.Settings != "" {
			fmt.Fprintf(a.Out, "  settings  %s\n", safe(f.Settings))
		}
		if len(f.Connected) == 0 || len(f.Differs) > 0 {
			fmt.Fprintf(a.Out, "  `%s` shows what it would write, and asks\n", f.Command)
		}
	}
	return nil
}

func levelNames(levels []connect.Level) string {
	var out []string
	for _, l := range levels {
		out = append(out, string(l))
	}
	return strings.Join(out, ", ")
}

// settingsDir is where a runtime keeps one person's settings.
func settingsDir(name string, place connect.Place) string {
	return map[string]string{"claude-code": place.Claude, "codex": place.Codex, "cursor": place.Cursor,
		"gemini-cli": place.Gemini,
		"openclaw":   place.OpenClaw, "opencode": place.OpenCode}[name]
}

// hasClient reports whether a runtime is here: its program, or a directory of settings that it made.
func hasClient(name string, place connect.Place) bool {
	if _, err := exec.LookPath(clients()[name]); err == nil {
		return true
	}
	fi, err := os.Stat(settingsDir(name, place))
	return err == nil && fi.IsDir()
}

// notHere says that a runtime whose settings are written is not there to read them.
func notHere(name string) string {
	return name + " is not here: there is no program " + clients()[name] +
		" on the PATH and no settings of its own. It asks belay once it is installed"
}

// findRuntimes looks for clients on the PATH, and for their directories of settings.
func (a *App) findRuntimes() ([]foundRuntime, error) {
	o := connectOptions{connected: true, print: true} // looks, and writes nothing
	place, err := a.connectPlace(o)
	if err != nil {
		return nil, err
	}
	hook, err := a.connectHook(o)
	command := func(name string) string { return "belay connect " + name }
	if hook.Machine {
		command = func(name string) string {
			if slices.Contains(connect.Levels(name), connect.Managed) {
				return "sudo belay system connect " + name
			}
			return "belay connect " + name
		}
	}
	var out []foundRuntime
	for _, name := range connect.Runtimes() {
		f := foundRuntime{Runtime: name, Command: command(name)}
		if path, err := exec.LookPath(clients()[name]); err == nil {
			f.Program, _ = filepath.Abs(path)
		}
		dir := settingsDir(name, place)
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			f.Settings = dir
		}
		if err != nil {
			f.Problem = err.Error()
		}
		for _, l := range connect.Levels(name) {
			if f.Problem != "" {
				break
			}
			f.look(l, place, hook)
		}
		if f.Program != "" || f.Settings != "" || len(f.Connected) > 0 {
			out = append(out, f)
		}
	}
	return out, nil
}

// look says how a level stands: connecting it would change nothing, or it has entries of belay's
// that disconnecting would take out.
func (f *foundRuntime) look(l connect.Level, place connect.Place, hook connect.Hook) {
	read := connect.Writer{Now: time.Now()}.Read
	with, err := connect.Make(f.Runtime, l, place, hook, true, read)
	if err != nil {
		f.Problem = err.Error()
		return
	}
	without, err := connect.Make(f.Runtime, l, place, hook, false, read)
	switch {
	case err != nil:
		f.Problem = err.Error()
	case !with.Changes():
		f.Connected = append(f.Connected, l)
	case without.Changes():
		f.Connected = append(f.Connected, l)
		f.Differs = append(f.Differs, l)
	}
}

package connect

import (
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/adapters/codex"
	"github.com/belay-hooks/belay/adapters/cursor"
	geminicli "github.com/belay-hooks/belay/adapters/gemini-cli"
	"github.com/belay-hooks/belay/adapters/openclaw"
	"github.com/belay-hooks/belay/adapters/opencode"
)

// Asks returns the files of a runtime's settings that have all its sessions ask belay with the state directory,
// whatever project they are in: those of the person and of the machine. "" stands for the machine's daemon. None for
// a runtime that is not connected so.
func Asks(name string, place Place, state string, read Reader) (files []string) {
	l := &look{runtime: name, state: state}
	l.gatherAll(place, read)
	seen := map[string]bool{}
	for _, r := range l.entries {
		everywhere := r.level == User || r.level == Managed
		if everywhere && r.inv.daemon == "" && sameDir(r.inv.state, state) && !seen[r.path] {
			seen[r.path] = true
			files = append(files, r.path)
		}
	}
	return files
}

// gatherAll reads the settings of all levels of the runtime.
func (l *look) gatherAll(place Place, read Reader) {
	switch l.runtime {
	case claudecode.Runtime:
		l.events = claudeEvents()
		for _, level := range []Level{Managed, User, Project, Local} {
			l.claude(level, place.files(l.runtime, level)[0].path, read)
		}
	case codex.Runtime:
		l.events = codex.Events()
		l.codex(place, read)
	case cursor.Runtime:
		l.events = cursor.Events()
		l.cursor(place, read)
	case geminicli.Runtime:
		l.events = geminicli.Events()
		l.gemini(place, read)
	case openclaw.Runtime:
		l.events = openclaw.Registered()
		l.openClaw(place, read)
	case opencode.Runtime:
		l.events = opencode.Events()
		l.openCode(place, read)
	}
}

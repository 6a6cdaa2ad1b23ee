package reconcile

import (
	"io"
	"strings"
	"time"

	"github.com/belay-hooks/belay/internal/store/sqlite/foreign"
	"github.com/belay-hooks/belay/internal/transcripts"
	"github.com/belay-hooks/belay/internal/transcripts/claudecode"
	"github.com/belay-hooks/belay/internal/transcripts/codex"
	"github.com/belay-hooks/belay/internal/transcripts/geminicli"
	"github.com/belay-hooks/belay/internal/transcripts/openclaw"
	"github.com/belay-hooks/belay/internal/transcripts/opencode"
)

// runtime is what is to be known of one runtime's log and hooks.
type runtime struct {
	name  string
	event string // the hook event that decides a call
	ids   bool   // hooks are told the id that the log has
	like  likeness
	// tellsRefusals: the log says of each call that a hook refused that it did not run.
	tellsRefusals bool
	// agentOf returns the name that a log has for the agent of an event; "" is the main one.
	agentOf func(agent string) string
	// silent reports whether the log may lack the call of the verdict though it was made; nil: it may not.
	silent func(v *Verdict) bool

	// The files: logs is the form of the names of all sessions' logs, session says whose log a file is,
	// files which others belong to it.
	logs    string
	session func(file string, r io.Reader) (string, error)
	files   func(dir transcripts.Directory, file, session string) (list []transcripts.File, more bool)
	read    func(r io.Reader, session string, file transcripts.File, before transcripts.Mark) (
		log transcripts.Log, rewritten bool, err error)
	// rows reads the sessions of a log that is a database, in place of the three above; nil: it is none.
	rows func(db *foreign.DB, since time.Time) ([]*transcripts.Log, error)
	// begun lists the sessions of a database that began since then.
	begun func(db *foreign.DB, since time.Time) ([]transcripts.Begun, error)
}

func runtimes() map[string]runtime {
	main := func(string) string { return "" }
	last := func(agent string) string { // TYPE/ID
		if agent == "main" {
			return ""
		}
		return agent[strings.LastIndexByte(agent, '/')+1:]
	}
	return map[string]runtime{
		"claude-code": {name: "claude-code", event: claudecode.Event, ids: true, tellsRefusals: true, agentOf: last,
			like: likeness{defaults: true, paths: true},
			logs: claudecode.Logs, session: claudecode.Session, files: claudecode.Files, read: claudecode.ReadFile},
		"codex": {name: "codex", event: codex.Event, ids: true, agentOf: last,
			silent: func(v *Verdict) bool { return codex.Nested(v.ID) },
			logs:   codex.Logs, session: codex.Session, files: codex.Files, read: codex.ReadFile},
		"gemini-cli": {name: "gemini-cli", event: geminicli.Event, agentOf: main,
			logs: geminicli.Logs, session: geminicli.Session, files: geminicli.Files, read: geminicli.ReadFile},
		"opencode": {name: "opencode", event: opencode.Event, ids: true, agentOf: last, logs: opencode.Logs,
			rows: opencode.Read, begun: opencode.Sessions, tellsRefusals: true},
		"openclaw": {name: "openclaw", event: openclaw.Event, ids: true, agentOf: main, logs: openclaw.Logs,
			rows: openclaw.Read, begun: openclaw.Sessions, tellsRefusals: true,
			like: likeness{cuts: true, prepared: openclaw.Prepared}},
	}
}

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/belay-hooks/belay/cmd/internal/connect"
	"github.com/belay-hooks/belay/phases"
)

// person is a home in which runtimes keep their settings and logs.
type person struct {
	t           *testing.T
	home, state string
	app         *App
}

func newPerson(t *testing.T) *person {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, home: home, state: filepath.Join(home, "state")}
	p.app = &App{Getwd: func() (string, error) { return filepath.Join(home, "project"), nil },
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}
	return p
}

func (p *person) write(name, content string, at time.Time) {
	p.t.Helper()
	path := filepath.Join(p.home, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600),
		os.Chtimes(path, at, at)); err != nil {
		p.t.Fatal(err)
	}
}

// connect writes the settings as `belay connect` does, at that time.
func (p *person) connect(runtime string, level connect.Level, at time.Time) {
	p.t.Helper()
	place, err := p.app.connectPlace(connectOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	plan, err := connect.Make(runtime, level, place, connect.Hook{Program: "/usr/local/bin/belay-hook", State: p.state},
		true, connect.Writer{}.Read)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, f := range plan.Files {
		rel, err := filepath.Rel(p.home, f.Path)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(filepath.ToSlash(rel), string(f.New), at)
	}
}

// claudeLog is a session of Claude Code's that began at that time.
func (p *person) claudeLog(session string, at time.Time) {
	p.write(".claude/projects/p/"+session+".jsonl", fmt.Sprintf(
		`{"type":"queue-operation","sessionId":%q}`+"\n"+`{"type":"user","timestamp":%q,"sessionId":%q}`+"\n",
		session, at.UTC().Format(time.RFC3339Nano), session), time.Now())
}

// openCodeLog is a database with sessions of OpenCode's, each with the session that it is a subagent's of.
func (p *person) openCodeLog(at time.Time, sessions ...[2]string) {
	p.t.Helper()
	path := filepath.Join(p.home, ".local", "share", "opencode", "opencode.db")
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		p.t.Fatal(err)
	}
	db, err := sqlite3.Open(path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer db.Close()
	err = db.Exec("CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, time_created INTEGER, time_updated INTEGER)")
	for _, s := range sessions {
		err = errors.Join(err, db.Exec(fmt.Sprintf("INSERT INTO session VALUES ('%s', nullif('%s', ''), %d, %d)", s[0], s[1],
			at.UnixMilli(), at.UnixMilli())))
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *person) unheard(l *logOf, gone int64, now time.Time) string {
	p.t.Helper()
	found, lost, err := p.app.unheardSessionsOf(p.t.Context(), l, p.state, gone, now)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, u := range found {
		names = append(names, u.Runtime+"/"+u.Session.Session)
	}
	for _, u := range lost {
		names = append(names, "not read: "+u.runtime)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// A session that stands in the runtime's own log, and of which belay has no event, is told: as one of `opencode
// --pure`, in which no plugin announces itself.
func TestASessionThatBelayNeverHeardOf(t *testing.T) {
	now := time.Now()
	p := newPerson(t)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	p.connect("claude-code", connect.User, ago(300))
	p.connect("opencode", connect.User, ago(300))
	p.claudeLog("heard", ago(30))
	p.claudeLog("off", ago(31))
	p.claudeLog("before-belay", ago(400))
	p.claudeLog("just-begun", ago(0))
	p.openCodeLog(ago(20), [2]string{"ses_heard"}, [2]string{"ses_child", "ses_heard"}, [2]string{"ses_pure"},
		[2]string{"ses_pure_child", "ses_pure"})
	l := new(logOf)
	l.add(now, 30, "claude-code", "heard", "SessionStart", phases.PrePlan)
	l.add(now, 30, "codex", "off", "SessionStart", phases.PrePlan) // another runtime's session of that name
	l.events = append(l.events, phases.Event{Seq: int64(len(l.events) + 1), Type: phases.EventReconcile, Time: now,
		Runtime: "claude-code", Session: "off"}) // belay itself has read that log
	l.add(now, 20, "opencode", "ses_heard", "event", phases.Audit)
	if got := p.unheard(l, 0, now); got != "claude-code/off opencode/ses_pure" {
		t.Errorf("told: %s", got)
	}
	// Of a session that began before the first event whose contents are there, belay cannot tell.
	if got := p.unheard(l, 1, now); got != "opencode/ses_pure" {
		t.Errorf("told: %s", got)
	}
	// An event from before belay was connected anew says that belay was asked then.
	older := new(logOf)
	older.add(now, 500, "claude-code", "x", "SessionStart", phases.PrePlan)
	l.events = append(older.events, l.events...)
	if got := p.unheard(l, 0, now); got != "claude-code/before-belay claude-code/off opencode/ses_pure" {
		t.Errorf("told: %s", got)
	}
	// What cannot be read is said.
	p.write(".local/share/opencode/opencode.db", strings.Repeat("no database ", 1000), now)
	if got := p.unheard(l, 0, now); got != "claude-code/before-belay claude-code/off not read: opencode" {
		t.Errorf("told: %s", got)
	}
}

// Sessions of a runtime that does not ask this state directory in all projects say nothing.
func TestSessionsOfRuntimesThatNeedNotAsk(t *testing.T) {
	now := time.Now()
	for name, prepare := range map[string]func(p *person){
		"not connected":                  func(*person) {},
		"connected in the project alone": func(p *person) { p.connect("claude-code", connect.Project, now.Add(-time.Hour)) },
		"connected with another state directory": func(p *person) {
			p.state += "-other"
			p.connect("claude-code", connect.User, now.Add(-time.Hour))
			p.state = strings.TrimSuffix(p.state, "-other")
		},
		"of days ago": func(p *person) {
			p.connect("claude-code", connect.User, now.Add(-time.Hour*1000))
			p.claudeLog("off", now.Add(-time.Hour*50))
		},
	} {
		p := newPerson(t)
		p.claudeLog("off", now.Add(-30*time.Minute))
		prepare(p)
		if got := p.unheard(new(logOf), 0, now); got != "" {
			t.Errorf("%s: told: %s", name, got)
		}
	}
}

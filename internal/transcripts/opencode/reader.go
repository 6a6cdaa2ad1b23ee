// Package opencode reads the database in which OpenCode keeps its sessions, opencode.db: a row of the table part
// for each call, in the order of their ids. A subagent has a session of its own, below the one that started
// it. The tables are the runtime's own and not documented; they were seen in version 1.18.33.
package opencode

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/store/sqlite/foreign"
	"github.com/belay-hooks/belay/internal/transcripts"
)

// Event is the name of the hook event that decides a call.
const Event = "tool.execute.before"

// Logs is the form of the paths of the databases.
const Logs = "opencode*.db"

type part struct {
	Type   string `json:"type"`
	Tool   string `json:"tool"`
	CallID string `json:"callID"`
	State  struct {
		Status string         `json:"status"`
		Input  jsontext.Value `json:"input"`
		Error  string         `json:"error"`
	} `json:"state"`
}

// silent are kinds of parts that tell of no call.
func silent(kind string) bool {
	switch kind {
	case "text", "reasoning", "file", "step-start", "step-finish", "snapshot", "patch", "agent", "retry",
		"compaction", "subtask":
		return true
	}
	return false
}

// Read returns the logs of the sessions that were written since then: those of a session and of its subagents
// follow one another.
func Read(db *foreign.DB, since time.Time) ([]*transcripts.Log, error) {
	parents := map[string]string{}
	var order []string
	written := map[string]bool{}
	err := db.Each("SELECT id, coalesce(parent_id, ''), time_updated FROM session ORDER BY time_created, id",
		[]string{"session"}, nil, func(r foreign.Row) error {
			parents[r.Text(0)] = r.Text(1)
			order = append(order, r.Text(0))
			written[r.Text(0)] = r.Int(2) >= since.UnixMilli()
			return nil
		})
	if err != nil {
		return nil, err
	}
	logs := map[string]*transcripts.Log{}
	var out []*transcripts.Log
	for _, id := range order {
		root := rootOf(parents, id)
		if !written[id] && !written[root] {
			continue
		}
		log := &transcripts.Log{Session: root}
		if root != id {
			log.Agent = id
		}
		logs[id] = log
		out = append(out, log)
	}
	seen := map[*transcripts.Log]map[string]bool{}
	err = db.Each("SELECT session_id, time_created, data FROM part ORDER BY session_id, id", []string{"part"}, nil,
		func(r foreign.Row) error {
			log := logs[r.Text(0)]
			if log == nil || len(log.Calls) > transcripts.MaxCalls {
				return nil
			}
			if seen[log] == nil {
				seen[log] = map[string]bool{}
			}
			if what := add(log, seen[log], r.Int(1), r.Text(2)); what != "" {
				log.Note(what)
			}
			if len(log.Calls) > transcripts.MaxCalls {
				log.Note(transcripts.TooMany)
			}
			return nil
		})
	return out, err
}

// Sessions returns the sessions that began since then, without those of subagents.
func Sessions(db *foreign.DB, since time.Time) (out []transcripts.Begun, err error) {
	err = db.Each("SELECT id, time_created FROM session WHERE coalesce(parent_id, '') = '' AND time_created >= ? "+
		"ORDER BY time_created DESC LIMIT 1000", []string{"session"}, []int64{since.UnixMilli()},
		func(r foreign.Row) error {
			out = append(out, transcripts.Begun{Session: r.Text(0), At: time.UnixMilli(r.Int(1)).UTC()})
			return nil
		})
	return out, err
}

// rootOf returns the session of a person from which the session was started.
func rootOf(parents map[string]string, id string) string {
	for range 64 { // one deeper than that is none that OpenCode makes
		parent, ok := parents[id]
		if !ok || parent == "" {
			return id
		}
		id = parent
	}
	return id
}

func add(log *transcripts.Log, seen map[string]bool, at int64, data string) string {
	var p part
	if transcripts.Decode([]byte(data), &p) != nil {
		return transcripts.NotJSON
	}
	switch {
	case p.Type != "tool" && silent(p.Type):
		return ""
	case p.Type != "tool":
		return transcripts.NewKind
	case p.CallID == "" || p.Tool == "" || p.State.Input.Kind() != '{':
		return transcripts.NoShape
	}
	if seen[p.CallID] {
		log.Doubled = append(log.Doubled, p.CallID)
		return ""
	}
	seen[p.CallID] = true
	c := transcripts.Call{ID: p.CallID, Names: []string{p.Tool}, Args: p.State.Input, Agent: log.Agent,
		At: time.UnixMilli(at).UTC()}
	switch p.State.Status {
	case "completed":
		c.State = transcripts.Ran
	case "error":
		c.State = transcripts.Failed
	case "pending", "running":
		c.State = transcripts.Open
	default:
		return transcripts.NewKind
	}
	log.Calls = append(log.Calls, c)
	return ""
}

// Package openclaw reads the databases in which OpenClaw keeps its sessions,
// agents/AGENT/agent/openclaw-agent.sqlite: a row of the table transcript_events for each record, and in
// session_windows the key by which hooks know a session. The tables are the runtime's own and not
// documented; they were seen in version 2026.9.6.
package openclaw

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/zstd"

	"github.com/belay-hooks/belay/internal/store/sqlite/foreign"
	"github.com/belay-hooks/belay/internal/transcripts"
)

// Event is the name of the hook event that decides a call.
const Event = "before_tool_call"

// Logs is the form of the paths of the databases.
const Logs = "agents/*/agent/openclaw-agent.sqlite"

// maxRecord is how large a compressed record may be, by OpenClaw's own tables.
const maxRecord = 4 << 20

type record struct {
	Type    string    `json:"type"`
	Time    time.Time `json:"timestamp"`
	Message struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
		CallID  string         `json:"toolCallId"`
		Tool    string         `json:"toolName"`
		IsError bool           `json:"isError"`
		Details jsontext.Value `json:"details"`
	} `json:"message"`
}

type part struct {
	Type      string         `json:"type"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
	Text      string         `json:"text"`
}

// session is what was read of one session.
type session struct {
	log   *transcripts.Log
	calls map[string]int // by id
}

// Sessions returns the sessions that began since then. A key that was used before has a session of its own then.
func Sessions(db *foreign.DB, since time.Time) (out []transcripts.Begun, err error) {
	err = db.Each("SELECT session_key, created_at FROM session_windows WHERE created_at >= ? "+
		"ORDER BY created_at DESC LIMIT 1000", []string{"session_windows"}, []int64{since.UnixMilli()},
		func(r foreign.Row) error {
			out = append(out, transcripts.Begun{Session: r.Text(0), At: time.UnixMilli(r.Int(1)).UTC()})
			return nil
		})
	return out, err
}

// Read returns the logs of the sessions that were written since then.
func Read(db *foreign.DB, since time.Time) ([]*transcripts.Log, error) {
	plain, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxRecord))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	sessions := map[string]*session{}
	var out []*transcripts.Log
	err = db.Each("SELECT w.session_key, e.event_json, e.event_zstd FROM transcript_events e "+
		"JOIN session_windows w ON w.session_id = e.session_id WHERE w.updated_at >= ? "+
		"ORDER BY w.created_at, e.session_id, e.seq", []string{"transcript_events", "session_windows"},
		[]int64{since.UnixMilli()}, func(r foreign.Row) error {
			key := r.Text(0)
			s := sessions[key]
			if s == nil {
				s = &session{&transcripts.Log{Session: key}, map[string]int{}}
				sessions[key] = s
				out = append(out, s.log)
			}
			if len(s.log.Calls) > transcripts.MaxCalls {
				return nil
			}
			text := []byte(r.Text(1))
			if packed := r.Blob(2); packed != nil {
				if text, err = plain.DecodeAll(packed, nil); err != nil {
					s.log.Note(transcripts.NotJSON)
					return nil
				}
			}
			if what := s.record(text); what != "" {
				s.log.Note(what)
			}
			if len(s.log.Calls) > transcripts.MaxCalls {
				s.log.Note(transcripts.TooMany)
			}
			return nil
		})
	return out, err
}

func (s *session) record(text []byte) string {
	var r record
	if transcripts.Decode(text, &r) != nil {
		return transcripts.NotJSON
	}
	switch r.Type {
	case "session", "model_change", "thinking_level_change", "custom", "custom_message", "compaction",
		"branch_summary", "label", "session_info", "leaf":
		return ""
	case "message":
	default:
		return transcripts.NewKind
	}
	switch r.Message.Role {
	case "user", "system", "custom", "bashExecution", "branchSummary", "compactionSummary":
		return ""
	case "assistant":
		return s.said(&r)
	case "toolResult":
		return s.result(&r)
	}
	return transcripts.NewKind
}

func (s *session) said(r *record) string {
	if r.Message.Content.Kind() == '"' {
		return ""
	}
	var parts []part
	if transcripts.Decode(r.Message.Content, &parts) != nil {
		return transcripts.NoShape
	}
	unknown := ""
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == "text", p.Type == "thinking", p.Type == "image":
		case p.Type != "toolCall":
			unknown = transcripts.NewKind
		case p.ID == "" || p.Name == "" || p.Arguments.Kind() != '{':
			unknown = transcripts.NoShape
		default:
			if _, ok := s.calls[p.ID]; ok {
				s.log.Doubled = append(s.log.Doubled, p.ID)
				continue
			}
			s.calls[p.ID] = len(s.log.Calls)
			s.log.Calls = append(s.log.Calls, transcripts.Call{ID: p.ID, Names: []string{p.Name},
				Args: p.Arguments.Clone(), At: r.Time, State: transcripts.Open})
		}
	}
	return unknown
}

func (s *session) result(r *record) string {
	i, ok := s.calls[r.Message.CallID]
	if !ok && r.Message.IsError && refused(r, r.Message.Tool) {
		return "" // a call of a tool that does not exist is not in the log
	}
	if !ok {
		return transcripts.NoShape // a result of no call
	}
	c := &s.log.Calls[i]
	if c.State = transcripts.Ran; r.Message.IsError && refused(r, c.Names[0]) {
		c.State = transcripts.Refused
	}
	return ""
}

// refused reports whether the client says that it did not run the call.
func refused(r *record, tool string) bool {
	var details struct {
		Status string `json:"status"`
	}
	if transcripts.Decode(r.Message.Details, &details) == nil && details.Status == "blocked" {
		return true
	}
	var parts []part
	if transcripts.Decode(r.Message.Content, &parts) != nil {
		return false
	}
	text := ""
	for i := range parts {
		text += parts[i].Text
	}
	return text == "Tool "+tool+" not found" || strings.HasPrefix(text, `Validation failed for tool "`+tool+`"`)
}

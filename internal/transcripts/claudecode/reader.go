// Package claudecode reads the transcripts of Claude Code: one file of JSON lines for a session,
// PROJECT/SESSION.jsonl, and one for each of its subagents, PROJECT/SESSION/subagents/agent-ID.jsonl. The
// format is the runtime's own and not documented; it was seen in versions 2.1.329 and 2.1.330.
package claudecode

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Event is the name of the hook event that decides a call.
const Event = "PreToolUse"

type line struct {
	Type    string         `json:"type"`
	Session string         `json:"sessionId"`
	Agent   string         `json:"agentId"`
	Time    time.Time      `json:"timestamp"`
	Message jsontext.Value `json:"message"`
}

type message struct {
	Content jsontext.Value `json:"content"`
}

type part struct {
	Type    string         `json:"type"`
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Input   jsontext.Value `json:"input"`
	UseID   string         `json:"tool_use_id"`
	Content jsontext.Value `json:"content"`
	IsError bool           `json:"is_error"`
	Text    string         `json:"text"`
}

// reader reads one file.
type reader struct {
	log   *transcripts.Log
	calls map[string]int // by id
}

// Read reads one file of the session. agent is the subagent whose file it is, "" for the session's own.
func Read(r io.Reader, session, agent string, before transcripts.Mark) (log transcripts.Log, rewritten bool,
	err error) {
	log = transcripts.Log{Session: session, Agent: agent}
	in := reader{&log, map[string]int{}}
	rewritten, err = transcripts.Lines(r, before, &log, in.line)
	return log, rewritten, err
}

// silent are kinds of records that tell of no call.
func silent(kind string) bool {
	return slices.Contains([]string{"agent-color", "agent-name", "agent-setting", "ai-title", "api-request",
		"api-request-blob", "api-request-resumed", "api-request-shape", "artifact-autoreact-ledger",
		"artifact-comment-monitor", "atis-latch", "attachment", "attribution-snapshot", "bridge-session",
		"content-replacement", "continued-in", "cost-state", "custom-title", "data-flow-incomplete", "data-flow-records",
		"derived-from", "dev-mods", "ended-by-model", "file-history-delta", "file-history-snapshot", "fork-context-ref",
		"frame-link", "history-suppression", "isolation-latch", "last-prompt", "memory-mode", "mode", "observer-ref",
		"permission-mode", "pr-link", "progress", "queue-operation", "relocated", "resume-head-vouch", "session-owner",
		"summary", "system", "tag", "tools-used", "worktree-state"}, kind)
}

func (r *reader) line(b []byte) string {
	var l line
	if err := transcripts.Decode(b, &l); err != nil {
		return transcripts.NotJSON
	}
	if l.Type != "user" && l.Type != "assistant" {
		if silent(l.Type) {
			return ""
		}
		return transcripts.NewKind
	}
	if l.Session != r.log.Session || l.Agent != r.log.Agent {
		return transcripts.Foreign // of a session that was copied, or forged
	}
	var m message
	if l.Message == nil || transcripts.Decode(l.Message, &m) != nil {
		return transcripts.NoShape
	}
	if m.Content.Kind() == '"' {
		return ""
	}
	var parts []part
	if m.Content.Kind() != '[' || transcripts.Decode(m.Content, &parts) != nil {
		return transcripts.NoShape
	}
	unknown := ""
	for i := range parts {
		if what := r.part(&l, &parts[i]); what != "" {
			unknown = what
		}
	}
	return unknown
}

func (r *reader) part(l *line, p *part) (unknown string) {
	switch p.Type {
	case "tool_use":
		if l.Type != "assistant" || p.ID == "" || p.Name == "" || p.Input.Kind() != '{' {
			return transcripts.NoShape
		}
		if _, ok := r.calls[p.ID]; ok {
			r.log.Doubled = append(r.log.Doubled, p.ID)
			return ""
		}
		r.calls[p.ID] = len(r.log.Calls)
		r.log.Calls = append(r.log.Calls, transcripts.Call{ID: p.ID, Names: []string{p.Name}, Args: p.Input.Clone(),
			Agent: r.log.Agent, At: l.Time, State: transcripts.Open})
	case "tool_result":
		i, ok := r.calls[p.UseID]
		if !ok {
			return transcripts.NoShape // a result of no call
		}
		if c := &r.log.Calls[i]; c.State != transcripts.Ran {
			c.State = transcripts.Ran
			if p.IsError && refused(textOf(p.Content)) {
				c.State = transcripts.Refused
			}
		}
	case "text", "thinking", "redacted_thinking", "image", "document", "server_tool_use", "web_search_tool_result",
		"web_fetch_tool_result", "tool_reference", "search_result", "connector_text":
	default:
		return transcripts.NewKind
	}
	return ""
}

// refused reports whether the text is one of the client's own for a call that it did not run.
func refused(text string) bool {
	text = strings.TrimSpace(text)
	return slices.ContainsFunc([]string{"The user doesn't want to ", "[Request interrupted ", "Permission to use ",
		"Claude requested permissions to ", "PreToolUse:", "PreToolUse hook ", "<tool_use_error>"},
		func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// textOf returns the text of a result, which is a string or a list of parts.
func textOf(content jsontext.Value) string {
	var text string
	if content.Kind() == '"' && transcripts.Decode(content, &text) == nil {
		return text
	}
	var parts []part
	if content.Kind() != '[' || transcripts.Decode(content, &parts) != nil {
		return ""
	}
	for i := range parts {
		text += parts[i].Text
	}
	return text
}

// Package geminicli reads the session files of Gemini CLI: one file of JSON lines for a session,
// tmp/PROJECT/chats/session-TIME-ID.jsonl, and one for each of its subagents, chats/SESSION/ID.jsonl. A
// line is a message, which a later line with the same id replaces, or a change of the session. The
// format is the runtime's own and not documented; it was seen in version 0.61.0.
package geminicli

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Event is the name of the hook event that decides a call. Hooks are told no id of it.
const Event = "BeforeTool"

type line struct {
	Session string         `json:"sessionId"`
	Kind    string         `json:"kind"`
	Set     jsontext.Value `json:"$set"`
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Calls   jsontext.Value `json:"toolCalls"`
}

type call struct {
	ID     string         `json:"id"`
	Name   string         `json:"name"`
	Args   jsontext.Value `json:"args"`
	Status string         `json:"status"`
	Time   time.Time      `json:"timestamp"`
	Result []struct {
		Response struct {
			Response struct {
				Error  jsontext.Value `json:"error"`
				Output jsontext.Value `json:"output"`
			} `json:"response"`
		} `json:"functionResponse"`
	} `json:"result"`
}

// reader reads one file.
type reader struct {
	log   *transcripts.Log
	own   string // the session that the file names first
	calls map[string]int
}

// Read reads one file. session is the one that hooks are told, and agent the subagent whose file it is,
// "" for the session's own.
func Read(r io.Reader, session, agent string, before transcripts.Mark) (log transcripts.Log, rewritten bool,
	err error) {
	log = transcripts.Log{Session: session, Agent: agent}
	in := reader{&log, session, map[string]int{}}
	if agent != "" {
		in.own = agent
	}
	rewritten, err = transcripts.Lines(r, before, &log, in.line)
	return log, rewritten, err
}

func (r *reader) line(b []byte) string {
	var l line
	if transcripts.Decode(b, &l) != nil {
		return transcripts.NotJSON
	}
	switch {
	case l.Set != nil:
		return r.set(l.Set)
	case l.Session != "" && l.ID == "":
		// The file begins with it, and once more after each start of the session.
		if l.Session != r.own {
			return transcripts.Foreign
		}
		return ""
	case l.ID == "":
		return transcripts.NoShape
	}
	return r.message(&l)
}

// set reads a change of the session, which may bring its messages anew.
func (r *reader) set(raw jsontext.Value) string {
	var set struct {
		Session  string `json:"sessionId"`
		Messages []line `json:"messages"`
	}
	if transcripts.Decode(raw, &set) != nil {
		return transcripts.NoShape
	}
	if set.Session != "" && set.Session != r.own {
		return transcripts.Foreign
	}
	unknown := ""
	for i := range set.Messages {
		if what := r.message(&set.Messages[i]); what != "" {
			unknown = what
		}
	}
	return unknown
}

func (r *reader) message(l *line) string {
	if !slices.Contains([]string{"user", "gemini", "info", "error", "warning"}, l.Type) {
		return transcripts.NewKind
	}
	if l.Calls == nil {
		return ""
	}
	var calls []call
	if l.Type != "gemini" || transcripts.Decode(l.Calls, &calls) != nil {
		return transcripts.NoShape
	}
	unknown := ""
	for i := range calls {
		if what := r.call(&calls[i]); what != "" {
			unknown = what
		}
	}
	return unknown
}

func (r *reader) call(c *call) string {
	if c.ID == "" || c.Name == "" || c.Args.Kind() != '{' {
		return transcripts.NoShape
	}
	state, ok := stateOf(c)
	if !ok {
		return transcripts.NewKind
	}
	if i, again := r.calls[c.ID]; again { // the message was written anew
		old := &r.log.Calls[i]
		if old.Names[0] != c.Name || string(old.Args) != string(c.Args) {
			r.log.Doubled = append(r.log.Doubled, c.ID)
		} else if old.State != transcripts.Ran {
			old.State = state
		}
		return ""
	}
	r.calls[c.ID] = len(r.log.Calls)
	r.log.Calls = append(r.log.Calls, transcripts.Call{ID: c.ID, Names: []string{c.Name}, Args: c.Args.Clone(),
		Agent: r.log.Agent, At: c.Time, State: state})
	return ""
}

// stateOf says what has become of the call; ok is false for a status that belay does not know.
func stateOf(c *call) (state transcripts.State, ok bool) {
	switch c.Status {
	case "success":
		return transcripts.Ran, true
	case "cancelled":
		return transcripts.Failed, true
	case "validating", "scheduled", "executing", "awaiting_approval":
		return transcripts.Open, true
	case "error":
	default:
		return "", false
	}
	text := ""
	for _, r := range c.Result {
		var s string
		if e := r.Response.Response.Error; e.Kind() == '"' && transcripts.Decode(e, &s) == nil {
			text += s
		}
	}
	switch {
	case strings.HasPrefix(text, "Tool execution blocked: "), strings.HasPrefix(text, "params must "),
		strings.HasPrefix(text, "params/"), strings.HasPrefix(text, `Tool "`+c.Name+`" not found`):
		return transcripts.Refused, true
	case strings.Contains(text, "<untrusted_context>"): // an output that a hook has changed
		return transcripts.Ran, true
	}
	return transcripts.Failed, true
}

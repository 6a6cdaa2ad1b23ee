// Package codex reads the rollouts of Codex: one file of JSON lines for a session,
// sessions/YEAR/MONTH/DAY/rollout-TIME-ID.jsonl, and one for each of its subagents. The format is the
// runtime's own and not documented; it was seen in version 0.169.0.
package codex

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/transcripts"
)

// Event is the name of the hook event that decides a call.
const Event = "PreToolUse"

type line struct {
	Time    time.Time      `json:"timestamp"`
	Type    string         `json:"type"`
	Payload jsontext.Value `json:"payload"`
}

// meta is the first record.
type meta struct {
	ID      string `json:"id"`
	Session string `json:"session_id"`
	Parent  string `json:"parent_thread_id"`
	Forked  string `json:"forked_from_id"`
}

// item is a record of what the model said, or of what became of it.
type item struct {
	Type      string         `json:"type"`
	CallID    string         `json:"call_id"`
	Name      string         `json:"name"`
	Space     string         `json:"namespace"`
	Arguments string         `json:"arguments"`
	Input     string         `json:"input"`
	Output    jsontext.Value `json:"output"`
	Item      struct {
		Type    string   `json:"type"`
		ID      string   `json:"id"`
		Command []string `json:"command"`
	} `json:"item"`
}

// reader reads one file.
type reader struct {
	log   *transcripts.Log
	id    string // of the thread, by the name of the file
	meta  bool   // was there a first record
	calls map[string]int
	other map[string]bool // calls that no hook is told of
	forks bool            // the file begins with a copy of another session
}

// Read reads one file. id is the thread that its name says; the log says which session it is of, and
// which subagent.
func Read(r io.Reader, id string, before transcripts.Mark) (log transcripts.Log, rewritten bool, err error) {
	in := reader{log: &log, id: id, calls: map[string]int{}, other: map[string]bool{}}
	rewritten, err = transcripts.Lines(r, before, &log, in.line)
	return log, rewritten, err
}

func (r *reader) line(b []byte) string {
	var l line
	if transcripts.Decode(b, &l) != nil {
		return transcripts.NotJSON
	}
	if !r.meta {
		r.meta = true
		return r.first(&l)
	}
	switch l.Type {
	case "response_item", "event_msg":
		var it item
		if l.Payload.Kind() != '{' || transcripts.Decode(l.Payload, &it) != nil {
			return transcripts.NoShape
		}
		if l.Type == "event_msg" {
			return r.event(&l, &it)
		}
		return r.item(&l, &it)
	case "session_meta", "turn_context", "world_state", "token_usage_record", "compacted", "ghost_snapshot":
		return ""
	}
	return transcripts.NewKind
}

// first reads the record that says whose log it is.
func (r *reader) first(l *line) string {
	var m meta
	if l.Type != "session_meta" || transcripts.Decode(l.Payload, &m) != nil || m.ID == "" {
		return transcripts.NoShape
	}
	if m.ID != r.id {
		return transcripts.Foreign
	}
	r.log.Session, r.forks = m.ID, m.Forked != ""
	if m.Parent != "" && m.Session != "" && m.Session != m.ID {
		r.log.Session, r.log.Agent = m.Session, m.ID
	}
	return ""
}

func (r *reader) item(l *line, it *item) string {
	switch it.Type {
	case "function_call":
		return r.function(l, it)
	case "custom_tool_call":
		if it.CallID == "" || it.Name == "" {
			return transcripts.NoShape
		}
		if it.Name == "exec" { // code mode: what the code calls is told, not the code
			r.other[it.CallID] = true
			return ""
		}
		return r.call(l, it, []string{it.Name}, textArgs(it.Input))
	case "local_shell_call":
		return transcripts.NoShape // not seen
	case "function_call_output", "custom_tool_call_output":
		return r.output(it)
	case "message", "reasoning", "additional_tools", "web_search_call", "tool_search_call", "tool_search_output",
		"image_generation_call", "compaction", "ghost_snapshot", "context_compaction":
		return ""
	}
	return transcripts.NewKind
}

// textArgs are the arguments as hooks are told of a call that takes a text.
func textArgs(text string) jsontext.Value {
	b, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		return nil
	}
	return b
}

func (r *reader) function(l *line, it *item) string {
	var args struct {
		Cmd   *string `json:"cmd"`
		Chars *string `json:"chars"`
	}
	raw := jsontext.Value(it.Arguments)
	if it.CallID == "" || it.Name == "" {
		return transcripts.NoShape
	}
	object := raw.Kind() == '{' && transcripts.Decode(raw, &args) == nil
	switch {
	case it.Space == "" && it.Name == "exec_command" && object && args.Cmd != nil:
		return r.call(l, it, []string{"Bash"}, textArgs(*args.Cmd))
	case it.Space == "" && it.Name == "write_stdin" && object && (args.Chars == nil || *args.Chars == ""):
		r.other[it.CallID] = true // it asks for more output, and writes nothing
		return ""
	case it.Space == "" && it.Name == "wait":
		r.other[it.CallID] = true // for code that runs
		return ""
	}
	names := []string{it.Space + it.Name}
	if it.Space != "" {
		names = append(names, it.Name, it.Space+"__"+it.Name)
	}
	if !object {
		raw = nil
	}
	return r.call(l, it, names, raw.Clone())
}

func (r *reader) call(l *line, it *item, names []string, args jsontext.Value) string {
	if r.forks {
		return transcripts.Foreign
	}
	if _, ok := r.calls[it.CallID]; ok || r.other[it.CallID] {
		r.log.Doubled = append(r.log.Doubled, it.CallID)
		return ""
	}
	r.calls[it.CallID] = len(r.log.Calls)
	r.log.Calls = append(r.log.Calls, transcripts.Call{ID: it.CallID, Names: names, Args: args, Agent: r.log.Agent,
		At: l.Time, State: transcripts.Open})
	return ""
}

func (r *reader) output(it *item) string {
	i, ok := r.calls[it.CallID]
	switch {
	case r.other[it.CallID], r.forks:
		return ""
	case !ok:
		return transcripts.NoShape
	}
	if c := &r.log.Calls[i]; c.State == transcripts.Open {
		c.State = transcripts.Ran
		var text string
		if it.Output.Kind() == '"' && transcripts.Decode(it.Output, &text) == nil && refused(text) {
			c.State = transcripts.Refused
		}
	}
	return ""
}

// refused reports whether the text is one of the client's own for a call that it did not run.
func refused(text string) bool {
	return slices.ContainsFunc([]string{"unsupported call: ", "failed to parse function arguments: ",
		"Command blocked by PreToolUse hook", "Tool call blocked by PreToolUse hook", "aborted by user",
		"aborted before dispatch"},
		func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// event reads what became of a call. A command or a patch that ran has a record of its own, with the id of
// its call, or with one that no call has where code of the model's called.
func (r *reader) event(l *line, it *item) string {
	if it.Type != "item_completed" || it.Item.Type != "CommandExecution" && it.Item.Type != "FileChange" {
		return "" // events of the session, for people
	}
	if it.Item.ID == "" {
		return transcripts.NoShape
	}
	if i, ok := r.calls[it.Item.ID]; ok {
		r.log.Calls[i].State = transcripts.Ran
		return ""
	}
	if r.forks {
		return ""
	}
	c := transcripts.Call{ID: it.Item.ID, Names: []string{"apply_patch"}, Agent: r.log.Agent, At: l.Time,
		State: transcripts.Ran, Nested: true}
	if it.Item.Type == "CommandExecution" {
		c.Names = []string{"Bash"}
		if n := len(it.Item.Command); n == 3 { // of the shell that Codex starts it with
			c.Args = textArgs(it.Item.Command[2])
		}
	}
	r.calls[it.Item.ID] = len(r.log.Calls)
	r.log.Calls = append(r.log.Calls, c)
	return ""
}

// Nested reports whether the id is one of a call that code of the model's made: the log tells of those
// that ran a command or a patch.
func Nested(id string) bool { return strings.HasPrefix(id, "exec-") }

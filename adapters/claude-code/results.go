package claudecode

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/adapters"
	"github.com/belay-hooks/belay/adapters/internal/payload"
)

// Claude Code tells of a result twice: PostToolUse, or PostToolUseFailure, and then PostToolBatch before
// the next request. Neither comes for a call that the person stops. A call that a rule, a person or
// another hook refuses comes in the batch alone, with a fixed sentence for a result. After Stop, and
// when the person writes again, no call runs any more; then the client's transcript says which of
// these it was.

// resultsOf returns what the event tells of calls that were released before it, nil when it tells nothing.
func resultsOf(p *received, agent string, opts adapters.Options) *adapters.Results {
	over := func(transcript string) *adapters.Results {
		path := p.OptStr(transcript)
		p.Unread(transcript)
		return &adapters.Results{Over: true, Told: func() map[string]bool { return readResults(opts, path) }}
	}
	switch p.Event() {
	case "PermissionRequest":
		return &adapters.Results{Asked: true}
	case "PermissionDenied":
		if id := p.OptStr("tool_use_id"); id != "" {
			return &adapters.Results{Never: []string{id}}
		}
	case "PostToolBatch":
		r := &adapters.Results{}
		if agent == mainAgent {
			r = over("transcript_path")
		}
		calls, _ := p.Find("tool_calls")
		for _, call := range payload.Fields(calls) {
			c := payload.Of(p.Event(), call.Value)
			id, response := c.OptStr("tool_use_id"), c.OptStr("tool_response")
			if settled(response) {
				r.Never = append(r.Never, id)
			} else {
				r.Late = append(r.Late, id)
			}
		}
		return r
	case "Stop", "UserPromptSubmit":
		if agent == mainAgent {
			return over("transcript_path")
		}
	case "SubagentStop":
		return over("agent_transcript_path")
	}
	return nil
}

// settled reports whether the text that the model reads as a result is none of a tool: a fixed sentence of
// the client for a call that did not run or was stopped, or belay's own for one that is withheld.
func settled(text string) bool {
	text = strings.TrimSpace(text)
	return strings.Contains(text, "[withheld by belay") ||
		slices.ContainsFunc([]string{"The user doesn't want to ", "[Request interrupted ", "Permission to use ",
			"Claude requested permissions to ", "PreToolUse:", "PreToolUse hook ", "<tool_use_error>"},
			func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// maxTranscriptTail bounds what is read of a transcript, in bytes. The calls that are looked for are of the
// last answer of the model.
const maxTranscriptTail = 4 << 20

// readResults reports of the calls at the end of a transcript whether the model reads a result of a tool.
// It is false for a call without any result: the client has ended before there was one.
func readResults(opts adapters.Options, path string) map[string]bool {
	out := map[string]bool{}
	if opts.Tail == nil || path == "" {
		return out
	}
	tail, err := opts.Tail(path, maxTranscriptTail)
	if err != nil {
		return out // not known
	}
	for line := range bytes.Lines(tail) {
		var l transcriptLine
		var m transcriptMessage
		if json.Unmarshal(line, &l) != nil || l.Message == nil || json.Unmarshal(l.Message, &m) != nil {
			continue // the first line may be cut
		}
		parts, err := partsOf(m.Content)
		if err != nil {
			continue
		}
		for i := range parts {
			switch part := &parts[i]; part.Type {
			case "tool_use":
				if _, seen := out[part.ID]; !seen && part.ID != "" {
					out[part.ID] = false
				}
			case "tool_result":
				text := ""
				if part.Content != nil {
					text = textOf(part.Content)
				}
				out[part.UseID] = out[part.UseID] || !settled(text)
			}
		}
	}
	return out
}

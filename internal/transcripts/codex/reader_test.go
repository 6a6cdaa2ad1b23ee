package codex_test

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/transcripts"
	"github.com/belay-hooks/belay/internal/transcripts/codex"
)

// What the client says in place of a result: whether the call ran.
func TestStatesOfCalls(t *testing.T) {
	const ran = `{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"c",` +
		`"command":["/bin/bash","-lc","x"]}}}` + "\n"
	for name, c := range map[string]struct {
		before, output string
		want           transcripts.State
	}{
		"a result":                           {"", "Chunk ID: 1", transcripts.Ran},
		"the session ended first":            {"", "aborted before dispatch", transcripts.Refused},
		"a hook refused it":                  {"", "Command blocked by PreToolUse hook: no", transcripts.Refused},
		"there is no such tool":              {"", "unsupported call: x", transcripts.Refused},
		"an output that says so":             {ran, "aborted before dispatch", transcripts.Ran},
		"arguments of another form":          {"", "failed to parse function arguments: x", transcripts.Refused},
		"an output that only quotes a reply": {"", "it was aborted before dispatch", transcripts.Ran},
	} {
		text := `{"type":"session_meta","payload":{"id":"s","session_id":"s"}}` + "\n" +
			`{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"exec_command",` +
			`"arguments":"{\"cmd\":\"x\"}"}}` + "\n" + c.before +
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"` + c.output + `"}}` + "\n"
		log, _, err := codex.Read(strings.NewReader(text), "s", transcripts.Mark{})
		if err != nil || log.Unknown != 0 || len(log.Calls) != 1 || log.Calls[0].State != c.want {
			t.Errorf("%s: %v %+v", name, err, log)
		}
	}
}

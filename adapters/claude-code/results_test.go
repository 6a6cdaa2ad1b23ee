package claudecode_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
)

// resultsOf decodes an event of the session and returns what it tells of calls before it.
func resultsOf(t *testing.T, event, members string, opts adapters.Options) *adapters.Results {
	t.Helper()
	ev, err := claudecode.New().Decode([]byte(`{"session_id":"s","transcript_path":"/t","cwd":"/w","hook_event_name":"`+
		event+
		`",`+members+`}`), opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range ev.Steps[1:] {
		if step.Results != nil {
			t.Errorf("%s: a later step tells it again", event)
		}
	}
	return ev.Steps[0].Results
}

// Which events say that calls are over, and what their transcripts say of those.
func TestEventsThatTellOfResults(t *testing.T) {
	const call = `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"c"`
	sub := `"agent_id":"a","agent_type":"t",`
	stop := `"stop_hook_active":false,"last_assistant_message":"m"`
	for name, c := range map[string]struct{ event, members, want string }{
		"before a call":    {"PreToolUse", call, "nothing"},
		"its result":       {"PostToolUse", call + `,"tool_response":{}`, "nothing"},
		"its failure":      {"PostToolUseFailure", call + `,"error":"e"`, "nothing"},
		"a question":       {"PermissionRequest", `"tool_name":"Bash","tool_input":{}`, "asked"},
		"a refusal":        {"PermissionDenied", call, "never c"},
		"a batch":          {"PostToolBatch", `"tool_calls":[{` + call + `,"tool_response":"x"}]`, "late c, over by /t"},
		"a subagent's":     {"PostToolBatch", sub + `"tool_calls":[{` + call + `,"tool_response":"x"}]`, "late c"},
		"the end":          {"Stop", stop, "over by /t"},
		"a subagent's end": {"SubagentStop", sub + `"agent_transcript_path":"/sub",` + stop, "over by /sub"},
		"the next prompt":  {"UserPromptSubmit", `"prompt":"p"`, "over by /t"},
		"a start":          {"SessionStart", `"source":"resume"`, "nothing"},
		"compaction":       {"PreCompact", `"trigger":"auto"`, "nothing"},
	} {
		read := ""
		r := resultsOf(t, c.event, c.members, adapters.Options{Tail: func(path string, most int) ([]byte, error) {
			read = path
			return nil, errors.New("gone")
		}})
		got := []string{}
		if r == nil {
			r, got = &adapters.Results{}, append(got, "nothing")
		}
		if r.Asked {
			got = append(got, "asked")
		}
		for _, id := range r.Late {
			got = append(got, "late "+id)
		}
		for _, id := range r.Never {
			got = append(got, "never "+id)
		}
		if r.Over {
			if known := r.Told(); len(known) != 0 {
				t.Errorf("%s: a transcript that cannot be read says %v", name, known)
			}
			got = append(got, "over by "+read)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// What the client writes in the place of a result is none; what a tool said is one, also of a failure.
// The transcript has what version 2.1.329 wrote when the person stopped a call, when a hook was killed
// twice, and when the client was.
func TestTranscriptsTellWhichResultsAreRead(t *testing.T) {
	r := resultsOf(t, "UserPromptSubmit", `"prompt":"p"`,
		adapters.Options{Tail: func(path string, most int) ([]byte, error) {
			if most < 1<<20 {
				t.Errorf("%d bytes are little", most)
			}
			return readFile(t, "testdata/ended.jsonl"), nil
		}})
	want := map[string]bool{"read": true, "failed": true, "stopped": false, "withheld": false, "rule": false,
		"killed": false}
	if got := r.Told(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := resultsOf(t, "UserPromptSubmit", `"prompt":"p"`, adapters.Options{}).Told(); len(got) != 0 {
		t.Errorf("without a reader: %v", got)
	}
}

// In a batch the model's own text says which calls ran.
func TestBatchesTellWhichCallsRan(t *testing.T) {
	never := []string{"The user doesn't want to proceed with this tool use.", "[Request interrupted by user for tool use]",
		"Permission to use Bash with command curl x has been denied.", "PreToolUse:Bash hook error: no",
		"PreToolUse hook for Bash returned x", "<tool_use_error>String to replace not found in file.</tool_use_error>",
		"Claude requested permissions to write to /x, but you haven't granted it yet.",
		"The file [withheld by belay: the words] has been updated successfully."}
	late := []string{"M  src/server.js", "", "Exit code 1", "He said: Permission to use"}
	calls := []string{`{"tool_name":"Read","tool_input":{},"tool_use_id":"other","tool_response":[{"type":"text","text":"x"}]}`}
	want := []string{"other"}
	for n, text := range slices.Concat(late, never) {
		calls = append(calls,
			fmt.Sprintf(`{"tool_name":"Bash","tool_input":{},"tool_use_id":"c-%d","tool_response":%q}`, n, text))
		if n < len(late) {
			want = append(want, fmt.Sprint("c-", n))
		}
	}
	r := resultsOf(t, "PostToolBatch", `"tool_calls":[`+strings.Join(calls, ",")+`]`, adapters.Options{})
	if !slices.Equal(r.Late, want) || len(r.Never) != len(never) {
		t.Errorf("late %v, never %v", r.Late, r.Never)
	}
}

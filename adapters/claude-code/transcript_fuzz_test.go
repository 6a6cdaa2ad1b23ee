package claudecode_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// Any transcript yields only payloads of events that a transcript can tell of. The
// adapter takes or refuses them as it does a runtime's.
func FuzzTranscript(f *testing.F) {
	for _, s := range []string{
		`{"type":"user","uuid":"u","sessionId":"s","cwd":"/home/dev","message":{"content":"do it"}}`,
		`{"type":"assistant","sessionId":"s","cwd":"/home/dev","message":{"content":[{"type":"text","text":"so"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}]}}` + "\n" +
			`{"type":"user","sessionId":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"}],"is_error":true}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"mcp__a__b","input":{"a":1,"a":2}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"none"}]},"toolUseResult":{"stdout":"x"}}`,
		`{"type":"user","message":{"content":7}}`, `{"type":"user","message":[]}`, `[]`, `{"message":"\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	told := []string{"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"}
	f.Fuzz(func(t *testing.T, src []byte) {
		var tr claudecode.Transcript
		for _, line := range lines(src) {
			payloads, err := tr.Line(line)
			if err != nil && len(payloads) > 0 {
				t.Fatalf("%q is refused, and something is made of it", line)
			}
			for _, p := range payloads {
				if event, _ := phases.GetString(p, "/hook_event_name"); !jsontext.Value(p).IsValid() ||
					!slices.Contains(told, event) {
					t.Fatalf("%q is made into %s", line, p)
				}
				ev, err := claudecode.New().Decode(p, adapters.Options{})
				switch {
				case err == nil && len(ev.Steps) == 0:
					t.Fatalf("nothing is decided about %s", p)
				case err != nil && !errors.Is(err, adapters.ErrPayload) && !errors.Is(err, phases.ErrDecode):
					t.Fatalf("%s: error of no class: %v", p, err)
				}
			}
		}
	})
}

func lines(src []byte) (out [][]byte) {
	for len(src) > 0 {
		n := slices.Index(src, '\n')
		if n < 0 {
			return append(out, src)
		}
		out, src = append(out, src[:n]), src[n+1:]
	}
	return out
}

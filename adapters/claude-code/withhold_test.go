package claudecode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/adapters"
	claudecode "github.com/belay-hooks/belay/adapters/claude-code"
	"github.com/belay-hooks/belay/phases"
)

// What the model reads of a result that is withheld: the refusal, and nothing that says the call was
// a success. Where a fixed sentence of the client could, the run ends with it.
func TestWithheldResultReadsAsNone(t *testing.T) {
	const reason = "a secret in the output"
	var out strings.Builder
	for _, s := range samples(t) {
		if s.Event != "PostToolUse" {
			continue
		}
		p := parseObject(s.Payload)
		ev := decode(t, s)
		verdict := phases.Verdict{Phase: phases.PostTool, Decision: phases.Block, DecidedBy: "guard", Reason: reason}
		for name, ans := range map[string]adapters.Answer{
			"blocked": claudecode.New().Encode(ev, []phases.Verdict{verdict}),
			"lost":    claudecode.New().Failure(s.Payload, adapters.Options{}, phases.NewFault("store", reason, nil)),
		} {
			e := react(s.Event, s.Payload, ans, false)
			read := printed(toolOf(p), e.output)
			first, _, _ := strings.Cut(read, "\n")
			if ans.Latch == "" && leaks(p["tool_response"], e.output) {
				t.Errorf("%s %s: the model reads %s", s.Name, name, read)
			}
			if ans.Latch == "" && !strings.Contains(read, "withheld by belay") && !e.stopped {
				t.Errorf("%s %s: it does not read as withheld: %s", s.Name, name, read)
			}
			praise := strings.Contains(read, "success") || strings.Contains(read, "started")
			if praise && !e.stopped && (!strings.Contains(read, "no result]") || strings.Contains(read, reason)) {
				t.Errorf("%s %s: a sentence says that it went well: %s", s.Name, name, read)
			}
			m := parseObject(ans.Stdout)
			if d, r := m["decision"], m["reason"]; !e.stopped && (d != "block" || !strings.Contains(r.(string), reason)) {
				t.Errorf("%s %s: no hook error says why: %v %v", s.Name, name, d, r)
			}
			if name == "blocked" {
				fmt.Fprintf(&out, "%s\n  reads: %s\n  run ends: %v, session latched: %v\n", s.Name, first, e.stopped,
					ans.Latch != "")
			}
		}
	}
	golden(t, "reads.txt", []byte(out.String()))
}

// Each row of the table is a shape that the client publishes, whatever the refusal says.
func TestWithheldShapesAreTheClients(t *testing.T) {
	for tool := range outputShapes() {
		payload := []byte(`{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"` + tool + `","tool_input":{`)
		ans := claudecode.New().Failure(payload, adapters.Options{Event: "PostToolUse"},
			phases.NewFault("store", "a \"quoted\" $NAME\n", nil))
		out, ok := specificOf(ans)["updatedToolOutput"]
		if !ok || !taken(tool, nil, out) {
			t.Errorf("%s: %s", tool, ans.Stdout)
		}
		if ans.Latch != "" {
			t.Errorf("%s: a payload that was cut off latches: %+v", tool, ans)
		}
	}
}

// A response with a member that the table does not have comes from another client: what that takes is
// not known, so the run ends and the session is held.
func TestResponseOfAnotherVersionLatches(t *testing.T) {
	for _, name := range []string{"variants.PostToolUse.Bash.newer", "captured.PostToolUse.Skill"} {
		payload := payloadOf(t, name)
		ans := claudecode.New().Failure(payload, adapters.Options{}, nil)
		if e := react("PostToolUse", payload, ans, false); ans.Latch == "" || !e.stopped {
			t.Errorf("%s: %+v", name, ans)
		}
		ev, err := claudecode.New().Decode(payload, adapters.Options{})
		if err != nil || ev.Steps[0].Blockable {
			t.Errorf("%s: blockable, %v", name, err)
		}
	}
}

// A batch that is blocked is not sent now, but stands in the transcript: the session is held, so that no
// later request brings it. A batch that could not be judged had each result judged before.
func TestBlockedBatchLatches(t *testing.T) {
	for _, name := range []string{"captured.PostToolBatch.Bash", "variants.PostToolBatch.two"} {
		payload := payloadOf(t, name)
		ev, err := claudecode.New().Decode(payload, adapters.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var verdicts []phases.Verdict
		for i := range ev.Steps {
			verdicts = append(verdicts, allow(ev.Steps[i].Invocation))
		}
		if ans := claudecode.New().Encode(ev, verdicts); ans.Latch != "" {
			t.Errorf("%s: allowed: %+v", name, ans)
		}
		last := len(verdicts) - 1
		verdicts[last] = rewriteAt(t, ev.Steps[last].Invocation, "/result", `"[redacted]"`)
		ans := claudecode.New().Encode(ev, verdicts)
		if e := react("PostToolBatch", payload, ans, false); !e.blocked || ans.Latch == "" || ans.Session == "" {
			t.Errorf("%s: %+v", name, ans)
		}
	}
}

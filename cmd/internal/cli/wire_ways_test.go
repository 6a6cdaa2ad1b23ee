//go:build unix

package cli_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/phases"
)

type wireCase struct{ name, src, want string }

// wireCases is what an agent of one's own may send, and what comes of it by each way. want is the
// decision, or the code of a problem and the pointer to what is wrong. They are made when they are needed: each command
// of the scripts is this program.
func wireCases() []wireCase {
	return []wireCase{
		{"a message", `{"phase":"pre_plan","runtime":"my-agent","session":"s","action":{"kind":"message","text":"hello"}}`,
			"allow"},
		{"a secret in a message", `{"phase":"pre_plan","runtime":"my-agent","session":"s",` +
			`"action":{"kind":"message","text":"use ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B"}}`, "allow /text"},
		{"a message that is too long", `{"phase":"pre_plan","action":{"kind":"message","text":"` +
			strings.Repeat("x", 600) + `"}}`, "block policy"},
		{"a long message", `{"phase":"pre_plan","action":{"kind":"message","text":"` +
			strings.Repeat("x", 300) + `"}}`, "allow"},
		{"a request", `{"phase":"pre_send","action":{"provider":"example","messages":[{"role":"user",` +
			`"content":"ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B"}]}}`, "allow /messages/0/content"},
		{"an answer that is not finished", `{"phase":"post_receive","run":"r","action":{"kind":"final","text":` +
			`"Done, it should now work. I haven't run the tests."}}`, "allow"},
		{"a command", `{"phase":"pre_tool","runtime":"my-agent","session":"s","cwd":"/w",` +
			`"action":{"tool":"exec","args":{"command":"ls"}}}`, "allow /args/timeout"},
		{"a command that destroys", `{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"rm -rf /"}}}`,
			"block policy"},
		{"a command that cannot be told", `{"phase":"pre_tool","session":"s","action":{"tool":"exec","args":` +
			`{"command":"$(cat cmd)"}}}`, "ask policy"},
		{"a tool that no table knows, with a command", `{"phase":"pre_tool","runtime":"my-agent",` +
			`"action":{"tool":"my_shell","args":{"command":"rm -rf /"}}}`, "block policy"},
		{"a file outside of the scopes", `{"phase":"pre_tool","scopes":{"fs_read":["/w/**"]},` +
			`"action":{"tool":"read","args":{"file_path":"/etc/hosts"}}}`, "block policy"},
		{"the same, held by the caller", `{"phase":"pre_tool","holds_scopes":true,"scopes":{"fs_read":["/w/**"]},` +
			`"action":{"tool":"read","args":{"file_path":"/etc/hosts"}}}`, "allow"},
		{"a secret in a result", `{"phase":"post_tool","action":{"tool":"exec","args":{"command":"env"},` +
			`"result":{"stdout":"ghp_R4nd0mT0k3nF0rT3st1ngPurp0s3sXy9Za1B"}}}`, "allow /result/stdout"},
		{"a change of stage", `{"phase":"state_transition","session":"s","action":{"machine":"stage","from":"test",` +
			`"to":"deploy","data":{}}}`, "ask policy"},
		{"a child", `{"phase":"spawn","action":{"parent":"main","child":{"agent":"helper"},"depth":1}}`, "allow"},
		{"a child that is too deep", `{"phase":"spawn","action":{"parent":"main","child":{"agent":"helper"},"depth":3}}`,
			"block policy"},
		{"a child with more than its parent", `{"phase":"spawn","parent_scopes":{"tools":["read"]},` +
			`"action":{"child":{"agent":"a","tools":["read","write"]},"depth":1}}`, "block policy"},
		{"an event", `{"phase":"audit","action":{"kind":"turn_ended","data":{"tokens":7}}}`, "allow"},

		{"nothing", ``, "invalid_invocation"},
		{"no JSON", `ls`, "invalid_invocation"},
		{"an array", `[]`, "invalid_invocation"},
		{"two documents", `{"phase":"audit","action":{"kind":"x"}} {}`, "invalid_invocation"},
		{"a member twice", `{"phase":"pre_tool","phase":"audit","action":{"kind":"x"}}`, "invalid_invocation /phase"},
		{"another spelling", `{"Phase":"audit","action":{"kind":"x"}}`, "invalid_invocation /Phase"},
		{"a phase that is none", `{"phase":"pre_tol","action":{"tool":"exec","args":{}}}`, "invalid_invocation /phase"},
		{"no action", `{"phase":"pre_tool"}`, "invalid_invocation"},
		{"an action of another phase", `{"phase":"pre_tool","action":{"kind":"message"}}`, "invalid_invocation /action/kind"},
		{"an unknown member", `{"phase":"pre_tool","action":{"tool":"exec","args":{},"comand":"x"}}`,
			"invalid_invocation /action/comand"},
		{"arguments as text", `{"phase":"pre_tool","action":{"tool":"exec","args":"ls"}}`,
			"invalid_invocation /action/args"},
		{"a relative directory", `{"phase":"pre_tool","cwd":"w","action":{"tool":"exec","args":{}}}`,
			"invalid_invocation /cwd"},
		{"no truth value", `{"phase":"pre_tool","holds_scopes":"true","action":{"tool":"exec","args":{}}}`,
			"invalid_invocation /holds_scopes"},
		{"half a character", `{"phase":"audit","action":{"kind":"\ud800"}}`, "invalid_invocation /action/kind"},
		{"more than may come", `{"phase":"audit","action":{"kind":"x","data":{"t":"` + strings.Repeat("x", 1<<20) + `"}}}`,
			"too_large"},
	}
}

// wireHooks stands behind what `belay init` binds.
const wireHooks = `
  - {name: length, module: "builtin:prompt-length", capabilities: [block, add_context],
     config: {max_chars: 500, long_chars: 200}}
  - {name: defaults, module: "builtin:default-args", capabilities: ["rewrite:/args"],
     config: {defaults: {exec: {timeout: 1000}}}}
  - {name: stages, module: "builtin:stage-gate", capabilities: [block, request_approval]}
  - {name: depth, module: "builtin:refuse-deep-spawn", capabilities: [block]}
  - {name: score, module: "builtin:score-answer", capabilities: [annotate, retry, pattern_match]}
`

// wireState makes a state directory whose hooks say more than yes and no.
func wireState(t *testing.T) string {
	t.Helper()
	top, err := os.MkdirTemp("", "belay-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(top) })
	dir := filepath.Join(top, "state")
	if out, code := (&process{dir: dir}).belay(t, "init"); code != 0 {
		t.Fatal(out)
	}
	path := filepath.Join(dir, "belay.yaml")
	if err := os.WriteFile(path, []byte(fileText(t, path)+wireHooks), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A document that an agent of one's own sends gets the same answer by standard input, with and without
// a daemon, over HTTP, and over the framed socket: the same verdict, or the same problem.
func TestOneAnswerByEveryWay(t *testing.T) {
	daemon := serveProcess(t, wireState(t))
	ways := []struct {
		name string
		ask  func(t *testing.T, src string) jsontext.Value
	}{
		{"standard input", func(t *testing.T, src string) jsontext.Value { return askByInput(t, daemon.dir, src) }},
		{"HTTP", func(t *testing.T, src string) jsontext.Value { return askByHTTP(t, daemon.dir, src) }},
		{"frames", func(t *testing.T, src string) jsontext.Value { return askByFrame(t, daemon.dir, 1, src) }},
		{"frames, in short", func(t *testing.T, src string) jsontext.Value { return askByFrame(t, daemon.dir, 0, src) }},
	}
	alone := wireState(t)
	for _, c := range wireCases() {
		t.Run(c.name, func(t *testing.T) {
			want := wireAnswer(t, c.src, askByInput(t, alone, c.src))
			if got := wireWords(want); got != c.want {
				t.Errorf("it is %q, not %q: %v", got, c.want, want)
			}
			for _, w := range ways {
				if d := cmp.Diff(want, wireAnswer(t, c.src, w.ask(t, c.src))); d != "" {
					t.Errorf("standard input without a daemon, and %s (-want +got):\n%s", w.name, d)
				}
			}
		})
	}
}

// wireAnswer returns the members that say the same by every way. A verdict in short leaves out what is
// empty, and an action that is the one that was asked about.
func wireAnswer(t *testing.T, src string, answer jsontext.Value) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(answer, &m); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	event, _ := m["event"].(map[string]any)
	if event == nil || event["id"] == "" {
		t.Errorf("it is on no record: %s", answer)
	}
	if problem, ok := m["error"].(map[string]any); ok {
		delete(problem, "hint")
		if problem["decision"] != "block" {
			t.Errorf("a problem that is no block: %s", answer)
		}
		return problem
	}
	for _, name := range []string{"id", "event", "hooks", "masked", "policy_revision", "action_digest"} {
		delete(m, name) // each question's own, or left out in short
	}
	if a, ok := m["approval"].(map[string]any); ok {
		m["approval"] = a["id"] != ""
		delete(m, "notes") // of the first one alone: no reviewer has a key
	}
	if m["decision"] == "allow" && m["action"] == nil {
		var sent map[string]any
		if err := json.Unmarshal([]byte(src), &sent); err != nil {
			t.Fatal(err)
		}
		m["action"] = sent["action"]
	}
	for name, v := range m {
		if list, ok := v.([]any); v == nil || ok && len(list) == 0 {
			delete(m, name)
		} else if o, ok := v.(map[string]any); ok && len(o) == 0 {
			delete(m, name)
		}
	}
	return m
}

// wireWords is an answer in a few words.
func wireWords(m map[string]any) string {
	var out []string
	for _, name := range []string{"decision", "kind", "code", "pointer"} {
		if s, _ := m[name].(string); s != "" && (name != "decision" || m["code"] == nil) {
			out = append(out, s)
		}
	}
	if changed, ok := m["changed"].([]any); ok {
		for _, ptr := range changed {
			out = append(out, ptr.(string))
		}
	}
	return strings.Join(out, " ")
}

func askByInput(t *testing.T, dir, src string) jsontext.Value {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "belay", "--state", dir, "eval")
	var out, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(src), &out, &log
	_ = cmd.Run()
	decision, _ := phases.GetString(out.Bytes(), "/decision")
	status, known := map[string]int{"allow": 0, "block": 3, "ask": 4, "": 1}[decision]
	if got := cmd.ProcessState.ExitCode(); !known || got != status {
		t.Errorf("exit %d beside %q: %s", got, decision, log.String())
	}
	return out.Bytes()
}

func askByHTTP(t *testing.T, dir, src string) jsontext.Value {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, "belay.sock"))
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial}}
	defer client.CloseIdleConnections()
	resp, err := client.Post("http://belay/v1/invoke", "application/json", strings.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := phases.Get(body, "/error"); problem == (resp.StatusCode == http.StatusOK) {
		t.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return body
}

func askByFrame(t *testing.T, dir string, flags byte, src string) jsontext.Value {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", filepath.Join(dir, "frame.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	question := append([]byte{0xBE, 1, 0x01, flags}, binary.BigEndian.AppendUint32(nil, uint32(len(src)))...)
	if _, err := conn.Write(append(question, src...)); err != nil {
		t.Fatal(err)
	}
	header := make([]byte, 8)
	if _, err := io.ReadFull(conn, header); err != nil {
		t.Fatal(err)
	}
	body := make([]byte, binary.BigEndian.Uint32(header[4:]))
	if _, err := io.ReadFull(conn, body); err != nil {
		t.Fatal(err)
	}
	if _, problem := phases.Get(body, "/error"); problem != (header[2] == 0x83) {
		t.Errorf("kind %#x: %s", header[2], body)
	}
	return body
}

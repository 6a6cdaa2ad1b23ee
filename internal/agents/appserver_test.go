//go:build agents

package agents_test

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

// asked is what Codex asked its person, and what else came of a conversation in which there is one.
type asked struct {
	questions []string // their methods
	done      bool     // the turn ended by itself
}

// message is one of app-server's JSON-RPC.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// withPerson has Codex work on the prompt for a person who can be asked, and who answers each question with the
// decision ("accept" or "decline"): `codex exec` asks nothing. What the agent runs is in Codex's own sandbox.
func (c *codexClient) withPerson(prompt, decision string) (out asked) {
	c.t.Helper()
	wall := newWall(c.t)
	defer wall.report()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	args := c.command("app-server")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.project, c.environ(wall), 5*time.Second
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	send := func(v map[string]any) {
		b, _ := json.Marshal(v)
		_, _ = in.Write(append(b, '\n'))
		said.Write(append(b, '\n'))
	}
	send(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{
		"clientInfo": map[string]any{"name": "belay-agents", "version": "1"}}})
	dec := json.NewDecoder(stdout)
	for !out.done {
		var m message
		if err := dec.Decode(&m); err != nil {
			break
		}
		said.WriteString(m.Method + string(m.ID) + " " + string(m.Params) + string(m.Result) + string(m.Error) + "\n")
		switch {
		case m.Method != "" && m.ID != nil:
			out.questions = append(out.questions, m.Method)
			send(map[string]any{"id": m.ID, "result": map[string]any{"decision": decision}})
		case string(m.ID) == "1":
			send(map[string]any{"method": "initialized"})
			send(map[string]any{"id": 2, "method": "thread/start", "params": map[string]any{"cwd": c.project,
				"approvalPolicy": "on-request", "sandbox": "workspace-write"}})
		case string(m.ID) == "2":
			var started struct {
				Thread struct {
					ID string `json:"id"`
				} `json:"thread"`
			}
			if err := json.Unmarshal(m.Result, &started); err != nil || started.Thread.ID == "" {
				c.t.Errorf("no thread was started: %s%s", m.Result, m.Error)
				out.done = true
			}
			send(map[string]any{"id": 3, "method": "turn/start", "params": map[string]any{"threadId": started.Thread.ID,
				"input": []any{map[string]any{"type": "text", "text": prompt}}}})
		case m.Method == "turn/completed":
			out.done = true
		}
	}
	_ = in.Close()
	_ = cmd.Wait()
	c.out = said.String()
	return out
}

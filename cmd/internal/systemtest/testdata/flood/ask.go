package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

const (
	httpSocket  = "/run/belay/belay.sock"
	frameSocket = "/run/belay/frame.sock"
)

func question(session, command string) phases.Invocation {
	action, err := json.Marshal(map[string]any{"tool": "exec", "args": map[string]any{"command": command}})
	if err != nil {
		panic(err)
	}
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: session, Action: action}
}

// ask prints how long each of n questions took.
func ask(way string, n int) error {
	once, end, err := asker(way)
	if err != nil {
		return err
	}
	defer end()
	var took []string
	for range n {
		began := time.Now()
		if err := once(); err != nil {
			return err
		}
		took = append(took, strconv.FormatInt(time.Since(began).Microseconds(), 10))
	}
	fmt.Println(strings.Join(took, " "))
	return nil
}

// asker returns what asks one question by a way, and fails unless it is allowed.
func asker(way string) (once func() error, end func(), err error) {
	switch way {
	case "frames":
		c, err := client.Dial("")
		if err != nil {
			return nil, nil, err
		}
		return func() error {
			v, err := c.Invoke(context.Background(), question("polite", "ls -l"))
			if err != nil || v.Decision != phases.Allow {
				return fmt.Errorf("%s %s: %w", v.Decision, v.Reason, err)
			}
			return nil
		}, func() { _ = c.Close() }, nil
	case "http":
		body := `{"phase":"pre_tool","runtime":"custom","session":"polite","action":{"tool":"exec","args":{"command":"ls -l"}}}`
		c := overHTTP()
		return func() error { return post(context.Background(), c, body) }, c.CloseIdleConnections, nil
	case "hook":
		payload := `{"session_id":"polite","transcript_path":"/t","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash",` +
			`"tool_input":{"command":"ls -l"},"tool_use_id":"t1"}`
		return func() error {
			cmd := exec.Command("/usr/local/bin/belay-hook", "--runtime", "claude-code")
			cmd.Stdin = strings.NewReader(payload)
			out, err := cmd.CombinedOutput()
			if err != nil || strings.Contains(string(out), "deny") {
				return fmt.Errorf("belay-hook: %s %w", out, err)
			}
			return nil
		}, func() {}, nil
	}
	return nil, nil, fmt.Errorf("no way %q", way)
}

func overHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", httpSocket)
	}}}
}

// post asks by HTTP, and fails unless the answer is to allow.
func post(ctx context.Context, c *http.Client, body string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://belay/v1/invoke", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	var v phases.Verdict
	if err == nil && resp.StatusCode == http.StatusOK {
		err = json.Unmarshal(answer, &v)
	}
	if err != nil || v.Decision != phases.Allow {
		return fmt.Errorf("%s %s: %w", resp.Status, answer, err)
	}
	return nil
}

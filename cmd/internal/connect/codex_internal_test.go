package connect

import "testing"

// The hashes are those that the client itself lists for these hooks (Codex 0.169.0, hooks/list of
// its app server).
func TestTheTrustIsTheClientsOwn(t *testing.T) {
	for _, c := range []struct{ label, command, want string }{
		{"session_start", "/a/b", "sha256:0a5a2c583c40899e747a836da23567bc98354d1a595d18652e5ffd60b4c62f7b"},
		{"pre_tool_use", "/usr/local/bin/belay-hook --runtime codex --for PreToolUse --state /x",
			"sha256:6ce0b466b390f7a2753355a11bc0af9c6d795dad1a9e022066ad752a261d7138"},
	} {
		if got := trustHash(c.label, c.command, 30); got != c.want {
			t.Errorf("%s: %s, the client has %s", c.label, got, c.want)
		}
	}
}

// The names under which Codex stores trust are those of its events, written apart.
func TestLabelsOfEvents(t *testing.T) {
	for name, want := range map[string]string{"PreToolUse": "pre_tool_use", "Stop": "stop",
		"PostModelRequest": "post_model_request"} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, e := range codexEvents() {
		if want := 30; e.timeout != want && e.name != "SessionEnd" && e.name != "Interrupt" || e.timeout > want {
			t.Errorf("%s waits %d s", e.name, e.timeout)
		}
	}
}

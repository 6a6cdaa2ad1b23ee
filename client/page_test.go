package client_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/internal/prose"
	"github.com/belay-hooks/belay/phases"
)

// overTLS is what docs/SERVE.md shows of a daemon on the loopback address.
func overTLS(stateDir string, tokens map[client.Role]string) (*client.Client, error) {
	cert, err := client.ReadCertificate(filepath.Join(stateDir, "keys", "tls.crt"))
	if err != nil {
		return nil, err
	}
	c, err := client.New(client.Options{URL: "https://127.0.0.1:4170", Certificate: cert, Tokens: tokens})
	return c, err
}

// bySocket is what docs/SERVE.md shows of asking: it returns why the action may not run.
func bySocket(ctx context.Context, stateDir string, action jsontext.Value, run func(jsontext.Value)) string {
	c, err := client.Dial(stateDir) // client.ErrNotRunning: no daemon serves there
	if err != nil {
		return err.Error()
	}
	v, err := c.Invoke(ctx, phases.Invocation{Phase: phases.PreTool, Action: action})
	if v.Decision != phases.Allow { // also whenever err is not nil
		return v.Reason
	}
	run(v.Action)
	return ""
}

// Each line of Go in docs/SERVE.md is a line of the functions above, which compile; where no daemon serves, neither
// lets anything run.
func TestServePageShowsTheExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/SERVE.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("page_test.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, b := range prose.Blocks(string(page)) {
		if b.Language != "go" {
			continue
		}
		for line := range strings.Lines(b.Text) {
			lines++
			if line = strings.TrimSpace(line); !strings.Contains(string(source), line) {
				t.Errorf("docs/SERVE.md shows a line that does not compile here: %s", line)
			}
		}
	}
	if lines < 6 {
		t.Errorf("only %d lines of Go", lines)
	}
	if _, err := overTLS(t.TempDir(), nil); err == nil {
		t.Error("a client without a certificate")
	}
	if why := bySocket(t.Context(), t.TempDir(), nil, func(jsontext.Value) { t.Error("it ran") }); why == "" {
		t.Error("no reason")
	}
}

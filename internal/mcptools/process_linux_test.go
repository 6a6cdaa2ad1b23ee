package mcptools_test

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// A server that does not end at the end of its input is ended with the process that started it.
func TestServerDiesWithItsParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BELAY_TEST_MCP=parent")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := out.Read(line)
	pid, _ := phases.GetString(jsontext.Value(strings.TrimSuffix(strings.TrimSpace(string(line[:n])), " <nil>")),
		"/content/0/text")
	if err != nil || !alive(pid) {
		t.Fatalf("%q %v", line[:n], err)
	}
	cmd.Process.Kill()
	io.Copy(io.Discard, out)
	cmd.Wait()
	ends(t, "the server", pid)
}

//go:build agents

package hookrunner_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/adapters/internal/hookrunner"
)

// TestOpenClawsOwnRunner runs the cases with the runner of the installed client.
func TestOpenClawsOwnRunner(t *testing.T) {
	client, node := os.Getenv("BELAY_OPENCLAW"), os.Getenv("BELAY_OPENCLAW_NODE")
	if client == "" || node == "" {
		t.Fatal("BELAY_OPENCLAW and BELAY_OPENCLAW_NODE name no client; scripts/test-agents installs one")
	}
	var list []map[string]any
	for _, c := range hookrunner.Cases() {
		list = append(list, map[string]any{"hook": c.Hook, "values": c.Values})
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "testdata/runner.mjs", filepath.Join(filepath.Dir(client), "dist"), file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []struct {
		Got hookrunner.Value `json:"got"`
		Ran int              `json:"ran"`
	}
	if err := json.Unmarshal(out, &got); err != nil || len(got) != len(list) {
		t.Fatalf("%v, %d answers", err, len(got))
	}
	for i, c := range hookrunner.Cases() {
		if diff := cmp.Diff(c.Want, got[i].Got); diff != "" || got[i].Ran != c.Ran {
			t.Errorf("%s: %s: %d handlers ran, want %d: %s", c.Hook, c.Name, got[i].Ran, c.Ran, diff)
		}
	}
}

package outside_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/outside"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/kernel/storetest"
	"github.com/belay-hooks/belay/phases"
)

// The store passes the suite that each store passes.
func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) kernel.Store { return outside.New() })
}

func command(session, line string) phases.Invocation {
	return phases.Invocation{Phase: phases.PreTool, Runtime: "custom", Session: session,
		Action: jsontext.Value(`{"tool":"exec","args":{"command":"` + line + `"}}`)}
}

// A kernel decides with a loader, a store, a redactor and a recorder of another module.
func TestKernel(t *testing.T) {
	store, recorder := outside.New(), &outside.Recorder{Session: "s-1"}
	k, err := kernel.Open(t.Context(), &kernel.Config{Revision: "1", Bindings: []kernel.BindingSpec{
		{Name: "no-rm", Module: "go:no-rm"},
	}}, kernel.Options{Store: store, Loader: outside.Loader{"no-rm": "rm -rf"}, Redactor: outside.Redactor("hunter2"),
		Recorder: recorder})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]phases.Decision{"echo hunter2": phases.Allow, "rm -rf /": phases.Block} {
		if v, err := k.Invoke(t.Context(), command("s-1", line)); err != nil || v.Decision != want {
			t.Errorf("%s: %s, %v, want %s", line, v.Decision, err, want)
		}
	}
	if _, err := k.Invoke(t.Context(), command("s-2", "ls")); err != nil {
		t.Error(err)
	}
	if got := recorder.Actions(); len(got) != 2 {
		t.Errorf("recorded: %q, want the two of s-1", got)
	}
	events, err := store.Events(t.Context(), wire.Query{Type: phases.EventVerdict})
	if err != nil || len(events) != 3 || strings.Contains(string(events[0].Input)+string(events[1].Input), "hunter2") {
		t.Errorf("%d events, %v, want 3 without the secret", len(events), err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// A host keeps its events in a store of another module and full inputs where belay.yaml says;
// hooks are verified and tools run by this module.
func TestHost(t *testing.T) {
	dir, kept := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	config(t, dir, "hooks: []\nrecordings:\n  dir: "+kept+"\n  unsafe_plaintext: true\n")
	store, verifier := outside.New(), &outside.Verifier{}
	calls := filepath.Join("..", "calls", "request_tool_call.wasm")
	host, err := belay.Open(t.Context(), dir, belay.Options{Store: store, Verifier: verifier, Tools: outside.Tools{},
		Hooks: []belay.AdHocHook{{Name: "caller", Path: calls,
			Config: jsontext.Value(`{"request":{"tool":"echo","args":{"q":"x"}}}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := host.Invoke(t.Context(), command("s-1", "echo original"))
	if err != nil || v.Decision != phases.Allow ||
		!strings.Contains(string(v.Metadata["reply"].Value), `"result":{"q":"x"}`) {
		t.Errorf("%s, metadata %v, %v, want the tool's answer", v.Decision, v.Metadata, err)
	}
	if tools, err := host.Tools(t.Context()); err != nil || len(tools) != 1 || tools[0].Name != "echo" {
		t.Errorf("tools %v, %v", tools, err)
	}
	if events, err := host.Events(t.Context(), wire.Query{}); err != nil || len(events) == 0 {
		t.Errorf("%d events, %v", len(events), err)
	}
	if err := host.Log().Believed(t.Context()); err != nil {
		t.Errorf("the log: %v", err)
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := store.LogSize(t.Context()); err != nil || n == 0 {
		t.Errorf("%d events in the store, %v: closing a host leaves a store that was given open", n, err)
	}
	files, err := filepath.Glob(filepath.Join(kept, "*.rec"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings: %q, %v, want one file", files, err)
	}
	if b, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(b), "echo original") {
		t.Errorf("the recording does not hold the input: %v", err)
	}
}

// A program proposes a hook, a reviewer's key approves it, and from then on the hook decides.
func TestProposal(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config(t, dir, "hooks: []\nreviewers: [{name: dev, key: \"ed25519:"+base64.StdEncoding.EncodeToString(public)+"\"}]\n")
	verifier, recorder := &outside.Verifier{}, &outside.Recorder{Session: "s-1"}
	host, err := belay.Open(t.Context(), dir, belay.Options{Store: outside.New(), Verifier: verifier, Recorder: recorder})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	module, err := os.ReadFile(filepath.Join("..", "..", "examples-wasm", "command-guard", "command-guard.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	module = append(module, 0, 4, 3, 'o', 'u', 't') // a section of its own: what comes with belay is not proposed
	it, _, err := host.Propose(t.Context(), approvals.Proposal{Module: module, Reason: "no rm of all"}, "uid 1000")
	if err != nil || it.State != approvals.Pending || it.Kind != approvals.KindProposal {
		t.Fatalf("%+v, %v, want a pending proposal", it, err)
	}
	if v, err := host.Invoke(t.Context(), command("s-1", "rm -rf /")); err != nil || v.Decision != phases.Allow {
		t.Errorf("before the decision: %s, %v", v.Decision, err)
	}
	d, err := approvals.Draft(&it, approvals.Approve, "dev", "", time.Now(), 5*time.Minute)
	if err == nil {
		err = approvals.Sign(&it, &d, private)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, changed, err := host.Decide(t.Context(), it.ID, d); err != nil || !changed {
		t.Fatalf("%v, %v, want belay.yaml to be written", changed, err)
	}
	if err := host.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := host.Invoke(t.Context(), command("s-1", "rm -rf /"))
	if err != nil || v.Decision != phases.Block {
		t.Errorf("after the decision: %s, %v", v.Decision, err)
	}
	if len(verifier.Asked()) == 0 {
		t.Error("the verifier was not asked about the proposed hook")
	}
	want := []string{"allow", "block"}
	if got := recorder.Actions(); len(got) != 2 || !slices.EqualFunc(got, want, strings.HasSuffix) {
		t.Errorf("recorded: %q, want one that was allowed and one that was blocked", got)
	}
}

func config(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte("version: belay/v1\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
}

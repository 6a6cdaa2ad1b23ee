package harness_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/harness"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/phases"
)

// readModule reads a module of the repository.
func readModule(t *testing.T, path string) []byte {
	t.Helper()
	m, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// recordCommands has a host with command-guard decide commands.
func recordCommands(t *testing.T, o harness.RecordOptions, commands ...string) []byte {
	t.Helper()
	var file bytes.Buffer
	r, err := harness.Record(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	host, err := belay.Open(t.Context(), t.TempDir(),
		belay.Options{Hooks: []belay.AdHocHook{{Path: guard}}, Recorder: r})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		args, err := jsontext.AppendQuote(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := host.Invoke(t.Context(), phases.Invocation{Phase: phases.PreTool, Runtime: "test", Session: "s-1",
			Action: jsontext.Value(`{"tool":"bash","args":{"command":` + string(args) + `}}`)})
		if v.Decision == "" {
			t.Fatalf("%s: no decision", c)
		}
	}
	if err := errors.Join(host.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A recording of a host is replayed call by call, in plain text and sealed either way.
func TestRecordAndReplay(t *testing.T) {
	key, recipient, err := recording.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		seal harness.RecordOptions
		keys harness.Keys
	}{
		"plain":      {harness.RecordOptions{UnsafePlaintext: true}, harness.Keys{}},
		"key":        {harness.RecordOptions{Recipients: []string{recipient}}, harness.Keys{Identities: []byte(key)}},
		"passphrase": {harness.RecordOptions{Passphrase: "open"}, harness.Keys{Passphrase: "open"}},
	} {
		t.Run(name, func(t *testing.T) {
			file := recordCommands(t, c.seal, "ls -la", "rm -rf /")
			o := harness.ReplayOptions{Modules: [][]byte{readModule(t, guard)}, Keys: c.keys}
			res, err := harness.Replay(t.Context(), o, bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if res.Invocations != 2 || res.Different != 0 {
				t.Errorf("%d invocations, %d differ; want 2 and 0", res.Invocations, res.Different)
			}
			if name == "plain" {
				return
			}
			if bytes.Contains(file, []byte("rm -rf /")) {
				t.Error("a sealed recording shows the command")
			}
			o.Keys = harness.Keys{}
			if _, err := harness.Replay(t.Context(), o, bytes.NewReader(file)); !errors.Is(err, recording.ErrSealed) {
				t.Errorf("without a key: %v", err)
			}
		})
	}
}

// Who can open a recording has to be said, and said once.
func TestRecordSaysWhoOpens(t *testing.T) {
	for _, o := range []harness.RecordOptions{
		{}, {Passphrase: "a", UnsafePlaintext: true}, {Recipients: []string{"age1x"}, Passphrase: "a"},
	} {
		if _, err := harness.Record(&bytes.Buffer{}, o); err == nil ||
			!strings.Contains(err.Error(), "Recipients, Passphrase and UnsafePlaintext") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := harness.Record(&bytes.Buffer{}, harness.RecordOptions{Recipients: []string{"age1x"}}); err == nil {
		t.Error("a recipient that is none was taken")
	}
}

// A candidate that lets everything through flips the block, and the report says so in
// each form.
func TestReplayCandidate(t *testing.T) {
	file := recordCommands(t, harness.RecordOptions{UnsafePlaintext: true}, "ls -la", "rm -rf /")
	o := harness.ReplayOptions{
		Modules: [][]byte{readModule(t, guard)},
		Hooks: []harness.ReplayHook{
			{Name: "command-guard", Module: readModule(t, "../internal/replay/testdata/lenient.wasm"), AllowAll: true},
		},
	}
	res, err := harness.Replay(t.Context(), o, bytes.NewReader(file), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if res.Invocations != 2 || res.Flips != 1 || res.Different != 1 {
		t.Errorf("%+v; want 2 invocations, 1 flip", res)
	}
	for form, write := range map[string]func() ([]byte, error){"json": res.JSON, "html": res.HTML, "junit": res.JUnit} {
		if b, err := write(); err != nil || !bytes.Contains(b, []byte("command-guard")) {
			t.Errorf("%s: %v, %d bytes", form, err, len(b))
		}
	}
	if _, err := harness.Replay(t.Context(), o); err == nil {
		t.Error("nothing was replayed, and that is no error")
	}
}

// A run has the cases of the CLI, with their statuses.
func TestRun(t *testing.T) {
	res, err := harness.Run(t.Context(), harness.RunOptions{}, "../examples-wasm/strip-ansi")
	if err != nil {
		t.Fatal(err)
	}
	if !res.Passed() || len(res.Cases) == 0 {
		t.Errorf("%+v", res.Cases)
	}
	dir := t.TempDir()
	module, err := filepath.Abs(guard)
	if err != nil {
		t.Fatal(err)
	}
	suite := "hook: " + module + `
cases:
  - name: wrong
    phase: pre_tool
    action: {tool: exec, args: {command: 'ls'}}
    want: {decision: block}
`
	path := filepath.Join(dir, "wrong.yaml")
	if err := os.WriteFile(path, []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	golden := `{"format":"belay-golden/v1","cases":{"gone":{}}}`
	if err := os.WriteFile(filepath.Join(dir, "wrong.golden.json"), []byte(golden), 0o600); err != nil {
		t.Fatal(err)
	}
	if res, err = harness.Run(t.Context(), harness.RunOptions{}, path); err != nil {
		t.Fatal(err)
	}
	if res.Passed() || len(res.Cases) != 2 || res.Cases[0].Status != "fail" || len(res.Cases[0].Differences) == 0 ||
		res.Cases[0].Line != 3 || res.Cases[1].Status != "golden" || res.Cases[1].Name != "gone" {
		t.Errorf("%+v", res.Cases)
	}
	if xml, err := res.JUnit(); err != nil || !bytes.Contains(xml, []byte("<failure")) {
		t.Errorf("%s %v", xml, err)
	}
	if _, err := harness.Run(t.Context(), harness.RunOptions{}, t.TempDir()); err == nil {
		t.Error("a folder without cases passed")
	}
}

// A finding can be replayed with the recording that the fuzz run gives.
func TestFuzz(t *testing.T) {
	module := readModule(t, "../internal/fuzz/testdata/planted/overflow.wasm")
	o := harness.FuzzOptions{Seed: 1, Runs: 400}
	res, err := harness.Fuzz(t.Context(), module, o)
	if err != nil {
		t.Fatal(err)
	}
	if res.Runs < o.Runs || res.Stopped || len(res.Findings) == 0 {
		t.Fatalf("%d runs, stopped %t, %d findings", res.Runs, res.Stopped, len(res.Findings))
	}
	for _, f := range res.Findings {
		if f.Recording == nil {
			continue
		}
		r, err := harness.Replay(context.Background(), harness.ReplayOptions{Modules: [][]byte{module}},
			bytes.NewReader(f.Recording))
		if err != nil || r.Different != 0 {
			t.Errorf("%s: %+v %v", f.Class, r, err)
		}
	}
	if b, err := res.JSON(); err != nil || !bytes.Contains(b, []byte("belay-fuzz-report/v1")) {
		t.Errorf("%v, %d bytes", err, len(b))
	}
}

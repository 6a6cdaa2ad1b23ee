package belay_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// A program that embeds belay cannot give hooks another clock for a decision that is recorded
// and carried out.
func TestHookClockNeedsNoRecord(t *testing.T) {
	clock := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	b := open(t, state(t, "version: belay/v1\nhooks: []\n"), belay.Options{})
	v, err := b.InvokeWith(t.Context(), exec("ls"), belay.InvokeOptions{HookClock: &clock})
	if v.Decision != phases.Block || v.Kind != phases.KindProtocol || !errors.Is(err, belay.ErrHookClock) {
		t.Errorf("%s %s, %v, want a block", v.Decision, v.Kind, err)
	}
	m := open(t, state(t, "version: belay/v1\nhooks: []\n"), belay.Options{InMemory: true})
	if v, err := m.InvokeWith(t.Context(), exec("ls"),
		belay.InvokeOptions{HookClock: &clock}); v.Decision != phases.Allow || err != nil {
		t.Errorf("in memory: %s, %v", v.Decision, err)
	}
}

// A dry run decides by the stored data and changes none of it: events, the
// queue, state, latches, notes of blocks, checkpoints.
func TestDryRunLeavesNothing(t *testing.T) {
	marks := filepath.Join(t.TempDir(), "marks")
	dir := state(t, guarded+`  - name: push
    module: builtin:ask-push
    capabilities: [block, request_approval, shell_parse]
events:
  checkpoint: {file: `+marks+`}
`)
	b := open(t, dir, belay.Options{})
	asked := invoke(t, b, exec("git push"))
	if asked.Approval == nil {
		t.Fatalf("%+v, want an ask", asked)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	note := kernel.Refusal{Invocation: phases.Invocation{Runtime: "custom", Session: "s-9"},
		Fault: phases.NewFault(phases.KindStore, "no store", nil), Unblockable: true}
	if err := belay.Spool(dir, note); err != nil {
		t.Fatal(err)
	}
	before, marksBefore := filesOf(t, dir), filesOf(t, filepath.Dir(marks))

	clock := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	d := open(t, dir, belay.Options{DryRun: true})
	o := belay.InvokeOptions{HookClock: &clock}
	for command, want := range map[string]phases.Decision{"ls": phases.Allow, "rm -rf /": phases.Block,
		"git push": phases.Ask, "git push other": phases.Ask} {
		v, err := d.InvokeWith(t.Context(), exec(command), o)
		if err != nil || v.Decision != want || v.Event != nil ||
			!slices.Contains(v.Notes, "dry run: nothing of this is recorded, used up or carried out") {
			t.Errorf("%s: %s, event %v, notes %q, %v", command, v.Decision, v.Event, v.Notes, err)
		}
		if waits := v.Approval != nil; waits != (command == "git push") || waits && v.Approval.ID != asked.Approval.ID {
			t.Errorf("%s: approval %+v, want only one that is in the queue", command, v.Approval)
		}
	}
	unblockable := o
	unblockable.Unblockable = true
	if v, _ := d.InvokeWith(t.Context(), exec("rm -rf /"), unblockable); v.Decision != phases.Block {
		t.Errorf("%+v", v)
	}
	if v, _ := d.Refuse(t.Context(),
		kernel.Refusal{Raw: []byte("{"), Fault: phases.NewFault(phases.KindProtocol, "no", nil)}); v.Event != nil {
		t.Errorf("a refusal is logged: %+v", v.Event)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, filesOf(t, dir)) + cmp.Diff(marksBefore, filesOf(t, filepath.Dir(marks))); diff != "" {
		t.Errorf("the dry run changed files:\n%s", diff)
	}
	// A session that a dry run blocked is not latched; the note of before is taken in now.
	b = open(t, dir, belay.Options{})
	if v := invoke(t, b, exec("ls")); v.Decision != phases.Allow {
		t.Errorf("%+v", v)
	}
	latches, err := b.Latches(t.Context())
	if err != nil || len(latches) != 1 || latches[0].Session != "s-9" {
		t.Errorf("latches %+v, %v, want that of the note", latches, err)
	}
}

// A host in memory does not take the notes of blocks that belong to the log.
func TestInMemoryLeavesTheSpool(t *testing.T) {
	dir := state(t, "version: belay/v1\nhooks: []\n")
	if err := belay.Spool(dir,
		kernel.Refusal{Invocation: phases.Invocation{Runtime: "custom", Session: "s-9"},
			Fault: phases.NewFault(phases.KindStore, "no store", nil), Unblockable: true}); err != nil {
		t.Fatal(err)
	}
	m := open(t, dir, belay.Options{InMemory: true})
	invoke(t, m, exec("ls"))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, dir, belay.Options{})
	invoke(t, b, exec("ls"))
	if latches, err := b.Latches(t.Context()); err != nil || len(latches) != 1 {
		t.Errorf("latches %+v, %v, want that of the note", latches, err)
	}
}

// filesOf returns what the files of a state directory hold, apart from what SQLite
// shares between processes and the compiled code.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.Contains(path, "cache") || strings.HasSuffix(path, "-shm") ||
			strings.HasSuffix(path, "-wal") {
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = fmt.Sprintf("%x", sha256.Sum256(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The clock of hooks is set where something is run again, made up or tried out, and
// nowhere else: who adds a place says here why no caller can reach it.
func TestWhoSetsTheHookClock(t *testing.T) {
	known := map[string]string{
		"kernel/clock.go":             "what it means, and KeepTime",
		"kernel/options.go":           "the member",
		"kernel/recorder.go":          "leaves it out: it is the recorded time",
		"kernel/own.go":               "copies it, so that the caller cannot move it afterwards",
		"kernel/toolcall.go":          "calls of a hook go by the clock that the hook reads",
		"invoke.go":                   "refuses it where something is recorded",
		"cmd/internal/cli/preview.go": "previews, in memory",
		"internal/rig/decide.go":      "suites, replays, fuzzing and the kit, in memory",
		"cmd/internal/cli/eval_at.go": "eval --at, a dry run",
	}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sets := strings.Contains(string(src), "HookClock") || strings.Contains(string(src), "KeepTime(")
		if _, ok := known[filepath.ToSlash(path)]; ok != sets {
			t.Errorf("%s sets the clock of hooks: %v, listed: %v", path, sets, ok)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

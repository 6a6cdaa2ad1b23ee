package replay_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
)

const execLine = `{"invocation":{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","args":{"command":"ls"}}}}`

func hookOf(t testing.TB, name, file string) *replay.Candidate {
	return &replay.Candidate{Hooks: []replay.Hook{{Name: name, Module: module(t, file)}}}
}

// On behalf of another hook a turn lives on the fuel that one had left, and the
// kernel holds the tool to its scopes: a replay does, too.
func TestNestedInvocations(t *testing.T) {
	src, _, _ := chatty(t)
	runs, chain := outer(t, src)
	r, err := replay.New(replay.Options{Bench: bench(t), Modules: modules(t, "chatty")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if runs[0].Turns[0].Budget == 0 {
		t.Error("the recording does not say how much fuel the turn was given")
	}
	runs[0].Turns[0].Budget = 1000
	res, err := r.Replay(t.Context(), runs[0], chain)
	if err != nil || res.Now.Kind != phases.KindFuel {
		t.Errorf("with 1000 fuel: %v %+v", err, res.Now)
	}
	all, _ := read(t, src)
	i := slices.IndexFunc(all, func(r *recording.Run) bool { return r.Options.OnBehalf && r.Reach != nil })
	if i < 0 {
		t.Fatal("no tool call of a hook says what the tool can touch")
	}
	nested := *all[i]
	nested.Invocation = []byte(strings.Replace(string(nested.Invocation), `"tools":["*"]`, `"tools":["read"]`, 1))
	if res, err = r.Replay(t.Context(), &nested, chain); err != nil {
		t.Fatal(err)
	} else if res.Now.Decision != phases.Block || res.Now.DecidedBy != "belay" ||
		!strings.Contains(res.Now.Reason, "scopes") {
		t.Errorf("a tool outside of its scopes: %+v", res.Now)
	}
}

// A request that the recording does not contain finds nothing, reaches no port, and is counted.
func TestCandidateAsksForTheUnknown(t *testing.T) {
	line := strings.Replace(execLine, `"command":"ls"`, `"paths":{"paths":[]}`, 1)
	src := record(t, nil, []byte(line),
		belay.Options{Hooks: []belay.AdHocHook{{Name: "guard", Module: module(t, "lenient")}}})
	res, err := replayAll(t, src, replay.Options{Bench: bench(t), Candidate: hookOf(t, "guard", "chatty"), Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(res[0].Unknown, "\n")
	for _, want := range []string{"guard (validate): state count", "guard (validate): state_usage"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	if res[0].Now.Decision != phases.Allow || len(res[0].Now.Metadata) != 1 {
		t.Errorf("%+v", res[0].Now)
	}
}

// A new version has the capabilities of the one before, unless all are allowed.
func TestCandidateHoldsWhatWasAllowed(t *testing.T) {
	src := record(t, nil, []byte(execLine),
		belay.Options{Hooks: []belay.AdHocHook{{Name: "guard", Module: module(t, "lenient")}}})
	runs, chains := read(t, src)
	chains[0].Bindings[0].Allowed = &[]string{}
	for _, all := range []bool{false, true} {
		c := hookOf(t, "guard", "strict")
		c.Hooks[0].AllowAll = all
		r, err := replay.New(replay.Options{Bench: bench(t), Candidate: c})
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Replay(t.Context(), runs[0], chains[0])
		switch {
		case !all: // it imports what the one before was not allowed
			if !errors.Is(err, replay.ErrCandidate) || !strings.Contains(err.Error(), "block, not granted") {
				t.Errorf("allow what was allowed: %v %+v, want the capability that is missing", err, res)
			}
		case err != nil || res.Now.Decision != phases.Block || res.Now.Kind != phases.KindPolicy:
			t.Errorf("allow all: %v %+v", err, res)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCandidateRefused(t *testing.T) {
	src := record(t, nil, []byte(execLine),
		belay.Options{Hooks: []belay.AdHocHook{{Name: "guard", Module: module(t, "lenient")}}})
	broken := &replay.Candidate{Hooks: []replay.Hook{{Name: "guard", Module: []byte("\x00asm\x01\x00\x00\x00nonsense")}}}
	if _, err := replayAll(t, src, replay.Options{Bench: bench(t), Candidate: broken}); !errors.Is(err,
		replay.ErrCandidate) || !strings.Contains(err.Error(), "guard") {
		t.Errorf("no module: %v", err)
	}
	twice := &replay.Candidate{Hooks: []replay.Hook{{Name: "a", Module: module(t, "strict")},
		{Name: "a", Module: module(t, "strict")}}}
	if _, err := replay.New(replay.Options{Candidate: twice}); !errors.Is(err, replay.ErrCandidate) {
		t.Errorf("two for one: %v", err)
	}
	if _, err := replayAll(t, src,
		replay.Options{Bench: bench(t),
			Candidate: &replay.Candidate{Policy: filepath.Join(t.TempDir(), "belay.yaml")}}); !errors.Is(err,
		replay.ErrCandidate) {
		t.Errorf("no configuration: %v", err)
	}
}

// A hook that could not be loaded when it was recorded blocks again; put right, it does not.
func TestRecordedLoadFailure(t *testing.T) {
	dir := t.TempDir()
	config := "version: belay/v1\nhooks:\n  - name: gone\n    module: gone.wasm\n    digest: sha256:" +
		strings.Repeat("0", 64) + "\n    capabilities: [block]\n"
	if err := os.WriteFile(filepath.Join(dir, "belay.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	src := record(t, []byte(config), []byte(execLine), belay.Options{})
	runs, _ := read(t, src)
	if runs[0].Chained.Kind != phases.KindLoad {
		t.Fatalf("recorded %+v", runs[0].Chained)
	}
	res, err := replayAll(t, src, replay.Options{Bench: bench(t)})
	if err != nil || !res[0].Same() {
		t.Errorf("%v %+v", err, res[0].Differences)
	}
	res, err = replayAll(t, src, replay.Options{Bench: bench(t), Candidate: hookOf(t, "gone", "lenient")})
	if err != nil || res[0].Now.Decision != phases.Allow {
		t.Errorf("put right: %v %+v", err, res)
	}
}

// Of a recording made from events nothing is known of the other hooks but what they
// had come to: a candidate adds to it, unless it takes the place of the one that decided.
func TestCandidateOnRedactedRuns(t *testing.T) {
	run := recording.Run{Invocation: []byte(`{"phase":"pre_tool","session":"s","action":{"tool":"exec","args":{}}}`)}
	for _, c := range []struct {
		base, by, hook, file string
		want                 phases.Decision
	}{
		{"allow", "", "new", "strict", phases.Block},
		{"allow", "", "new", "lenient", phases.Allow},
		{"block", "guard", "new", "lenient", phases.Block},
		{"block", "guard", "guard", "lenient", phases.Allow},
		{"ask", "guard", "new", "strict", phases.Block},
	} {
		run.Chained = recording.Verdict{Decision: phases.Decision(c.base), DecidedBy: c.by}
		r, err := replay.New(replay.Options{Bench: bench(t), Candidate: hookOf(t, c.hook, c.file)})
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Replay(t.Context(), &run, nil)
		if err != nil || res.Now.Decision != c.want {
			t.Errorf("%+v: %v, %s", c, err, res.Now.Decision)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

package replay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

func module(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// clockTool is a tool that counts how often it is run, and tells it.
type clockTool struct{ runs int }

func (c *clockTool) Tools(context.Context) ([]kernel.ToolInfo, error) { return nil, nil }

func (c *clockTool) Call(context.Context, kernel.ToolCall) (kernel.ToolResult, error) {
	c.runs++
	if c.runs == 3 {
		return kernel.ToolResult{}, errors.New("the clock is broken")
	}
	return kernel.ToolResult{Result: jsontext.Value(`{"runs":` + strings.Repeat("1", c.runs) + `}`)}, nil
}

// chatty records a hook that uses its state, a tool and the file system.
func chatty(t *testing.T) (src []byte, tool *clockTool, link string) {
	t.Helper()
	dir := t.TempDir()
	link = filepath.Join(dir, "link")
	if err := os.Symlink("/srv/target", link); err != nil {
		t.Fatal(err)
	}
	tool = &clockTool{}
	line := `{"invocation":{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","args":{"command":"ls", "paths":{"paths":["` + link + `","` + dir + `/nothing"]}}}}}`
	src = record(t, nil, []byte(strings.Repeat(line+"\n", 4)),
		belay.Options{Tools: tool, Hooks: []belay.AdHocHook{{Name: "chatty", Module: module(t, "chatty")}}})
	if tool.runs != 4 {
		t.Fatalf("the tool ran %d times", tool.runs)
	}
	return src, tool, link
}

func read(t testing.TB, src []byte) (runs []*recording.Run, chains []*recording.Chain) {
	t.Helper()
	rd, err := recording.NewReader(bytes.NewReader(src), "test.rec")
	if err != nil {
		t.Fatal(err)
	}
	for {
		run, chain, err := rd.Next()
		if err != nil {
			return runs, chains
		}
		runs, chains = append(runs, run), append(chains, chain)
	}
}

// outer leaves out the invocations that were made on behalf of a hook.
func outer(t testing.TB, src []byte) (out []*recording.Run, chain *recording.Chain) {
	runs, chains := read(t, src)
	for _, r := range runs {
		if !r.Options.OnBehalf {
			out = append(out, r)
		}
	}
	if len(out) == len(runs) {
		t.Fatal("no hook asked for a tool")
	}
	return out, chains[0]
}

func modules(t testing.TB, names ...string) map[string][]byte {
	out := map[string][]byte{}
	for _, n := range names {
		m := module(t, n)
		out[phases.ByteDigest(m)] = m
	}
	return out
}

// A replay asks no tool, no file system and no store: hooks get the recorded answers.
func TestReplayTouchesNothing(t *testing.T) {
	src, tool, link := chatty(t)
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, nil, 0o600); err != nil { // now it is a file
		t.Fatal(err)
	}
	res, err := replayAll(t, src, replay.Options{Bench: bench(t), Modules: modules(t, "chatty")})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res {
		for _, d := range r.Differences {
			t.Errorf("invocation %d: %+v", i, d)
		}
	}
	if tool.runs != 4 {
		t.Errorf("the replay ran the tool: %d", tool.runs)
	}
	// There was something to answer.
	runs, _ := outer(t, src)
	var ports []string
	for _, a := range runs[3].Turns[0].Answers {
		ports = append(ports, a.Port)
	}
	for _, p := range []string{"state", "state_usage", "readlink", "request_tool_call"} {
		if !slices.Contains(ports, p) {
			t.Errorf("no answer of %s in %v", p, ports)
		}
	}
	if got := string(runs[3].Turns[0].Answers[slices.Index(ports, "state")].Reply.Complete()); got != "xxx" {
		t.Errorf("the state of the fourth invocation is %q", got)
	}
}

// Every kind of difference is found, and called by its name.
func TestExactFindsEachDifference(t *testing.T) {
	src, _, _ := chatty(t)
	b := bench(t)
	for name, c := range map[string]struct {
		change func(*recording.Run)
		what   string
		text   string
	}{
		"a call less": {func(r *recording.Run) { r.Turns[0].Calls = r.Turns[0].Calls[:len(r.Turns[0].Calls)-1] },
			replay.WhatExtra, "annotate"},
		"a call more": {func(r *recording.Run) {
			r.Turns[0].Calls = append(r.Turns[0].Calls, recording.Call{Name: "time_now"})
		}, replay.WhatMissing, "time_now"},
		"another order": {func(r *recording.Run) { c := r.Turns[0].Calls; c[6], c[7] = c[7], c[6] }, replay.WhatReordered,
			"random"},
		"another call": {func(r *recording.Run) { r.Turns[0].Calls[5].Name = "input_keys" }, replay.WhatCall,
			"input_keys"},
		"another argument": {func(r *recording.Run) { r.Turns[0].Calls[0].In[0].Bytes = []byte("/other") }, replay.WhatCall,
			"/other"},
		"another answer": {func(r *recording.Run) { r.Turns[0].Calls[6].Code++ }, replay.WhatCall, "time_now() = "},
		"fuel of a call": {func(r *recording.Run) { r.Turns[0].Calls[6].Fuel++ }, replay.WhatCall, " fuel, with"},
		"another buffer": {func(r *recording.Run) { r.Turns[0].Calls[0].Cap++ }, replay.WhatCall, "with a buffer of"},
		"an answer less": {func(r *recording.Run) { r.Turns[0].Answers = r.Turns[0].Answers[:1] }, replay.WhatAnswer,
			"nothing more"},
		"an answer more": {func(r *recording.Run) {
			r.Turns[0].Answers = append(r.Turns[0].Answers, recording.Answer{Port: "state_usage"})
		}, replay.WhatAnswer, "state_usage"},
		"another request": {func(r *recording.Run) { r.Turns[0].Answers[0].Request.Bytes = []byte("/elsewhere") },
			replay.WhatAnswer, "/elsewhere"},
		"what a port said": {func(r *recording.Run) { tool(r).Reply.Bytes = []byte(`{"runs":"no"}`) }, replay.WhatCall,
			"runs"},
		"an effect": {func(r *recording.Run) { r.Turns[0].Outcome.Effects[0].Key = "other" }, replay.WhatOutcome,
			"effects"},
		"a state write": {func(r *recording.Run) { r.Turns[0].Outcome.StateWrites[0].Version++ }, replay.WhatOutcome,
			"state writes"},
		"a log line": {func(r *recording.Run) { r.Turns[0].Outcome.Logs[0].Level = 3 }, replay.WhatOutcome, "log"},
		"fuel":       {func(r *recording.Run) { r.Turns[0].Outcome.Fuel++ }, replay.WhatFuel, "chatty"},
		"memory":     {func(r *recording.Run) { r.Turns[0].Outcome.MemoryPeak++ }, replay.WhatMemory, "chatty"},
		"a failure": {func(r *recording.Run) { r.Turns[0].Fault = &recording.Fault{Kind: phases.KindTrap, Text: "x"} },
			replay.WhatOutcome, "failure"},
		"the input": {func(r *recording.Run) { r.Turns[0].InputSHA256 = strings.Repeat("0", 64) }, replay.WhatInput,
			"sha256:000"},
		"the seed":    {func(r *recording.Run) { r.Seed = strings.Repeat("0", 64) }, replay.WhatCall, "random"},
		"a turn less": {func(r *recording.Run) { r.Turns = nil }, replay.WhatTurn, "no such turn"},
		"a turn more": {func(r *recording.Run) { r.Turns = append(r.Turns, r.Turns[0]) }, replay.WhatTurn,
			"no such turn"},
		"not complete": {func(r *recording.Run) { r.Turns[0].Incomplete = true }, replay.WhatPartial, "more calls"},
		"the decision": {func(r *recording.Run) { r.Chained.Decision = phases.Block }, replay.WhatDecision, "block"},
		"the reason":   {func(r *recording.Run) { r.Chained.Reason = "other" }, replay.WhatVerdict, "other"},
		"the action": {func(r *recording.Run) { r.Chained.Action = jsontext.Value(`{"tool":"read"}`) },
			replay.WhatRewrite, "read"},
		"the metadata": {func(r *recording.Run) { r.Chained.Metadata = nil }, replay.WhatVerdict, "metadata"},
		"a latch": {func(r *recording.Run) { r.Latch = &recording.Latch{Reason: "held", Kind: phases.KindPolicy} },
			replay.WhatDecision, "held"},
	} {
		runs, chain := outer(t, src)
		run := runs[1]
		c.change(run)
		r, err := replay.New(replay.Options{Bench: b, Modules: modules(t, "chatty")})
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Replay(t.Context(), run, chain)
		if err != nil {
			t.Fatal(err)
		}
		found := slices.ContainsFunc(res.Differences, func(d replay.Difference) bool {
			return d.What == c.what && strings.Contains(d.Where+d.Want+d.Got, c.text)
		})
		for _, d := range res.Differences {
			if d.Want == d.Got {
				t.Errorf("%s: a difference that shows none: %+v", name, d)
			}
		}
		if !found {
			t.Errorf("%s: no %q with %q in %+v", name, c.what, c.text, res.Differences)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func tool(r *recording.Run) *recording.Answer {
	i := slices.IndexFunc(r.Turns[0].Answers, func(a recording.Answer) bool { return a.Port == "request_tool_call" })
	return &r.Turns[0].Answers[i]
}

func TestExactRefuses(t *testing.T) {
	src, _, _ := chatty(t)
	b := bench(t)
	_, err := replayAll(t, src, replay.Options{Bench: b})
	var e *replay.Error
	if !errors.As(err, &e) || !errors.Is(err, replay.ErrModule) || !strings.Contains(e.Text, "chatty (sha256:") ||
		e.Hint == "" {
		t.Errorf("no module: %v", err)
	}
	_, err = replayAll(t, src,
		replay.Options{Bench: b, Mode: replay.Exact,
			Candidate: &replay.Candidate{Hooks: []replay.Hook{{Name: "chatty", Module: module(t, "lenient")}}}})
	if !errors.Is(err, replay.ErrRefused) || !strings.Contains(err.Error(), "was recorded as sha256:") {
		t.Errorf("another digest: %v", err)
	}
	same := &replay.Candidate{Hooks: []replay.Hook{{Name: "chatty", Module: module(t, "chatty")}}}
	if res, err := replayAll(t, src, replay.Options{Bench: b, Mode: replay.Exact, Candidate: same}); err != nil ||
		len(res) < 8 || !res[3].Same() {
		t.Errorf("the file that was recorded: %v", err)
	}
	r, err := replay.New(replay.Options{Bench: b})
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []int{1, 99} {
		err := r.Admit(recording.Header{CostTable: table})
		if want := fmt.Sprintf("counted by cost table %d, and this belay counts by %d", table,
			loader.CostTable); !errors.Is(err, replay.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("another cost table: %v", err)
		}
	}
	if err := r.Admit(recording.Header{CostTable: loader.CostTable, Redacted: true}); !errors.Is(err, replay.ErrRefused) {
		t.Errorf("redacted: %v", err)
	}
	if _, err := replay.New(replay.Options{Bench: b, Mode: "roughly"}); !errors.Is(err, replay.ErrRefused) {
		t.Errorf("unknown mode: %v", err)
	}
}

// A turn that ended at a deadline is held to the calls that it made until then.
func TestDeadlinesAreIgnored(t *testing.T) {
	line := `{"invocation":{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","args":{"command":"ls"}}}}`
	src := record(t, nil, []byte(line), belay.Options{Hooks: []belay.AdHocHook{{Name: "spin", Module: module(t, "spin")}}})
	runs, chains := read(t, src)
	if f := runs[0].Turns[0].Fault; f == nil || f.Kind != phases.KindDeadline && f.Kind != phases.KindFuel {
		t.Fatalf("recorded: %+v", f)
	}
	// Whichever came first on this machine, make it the deadline.
	runs[0].Turns[0].Fault = &recording.Fault{Kind: phases.KindDeadline, Text: "the hook took too long"}
	runs[0].Chained.Kind, runs[0].Chained.Reason = phases.KindDeadline, "the hook took too long"
	r, err := replay.New(replay.Options{Bench: bench(t), Modules: modules(t, "spin")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := r.Replay(t.Context(), runs[0], chains[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range res.Differences {
		if d.Where != "reason" { // it quotes the failure, which the test has put in place
			t.Errorf("%+v", d)
		}
	}
	runs[0].Turns[0].Calls[0].Name = "random"
	if res, err = r.Replay(t.Context(), runs[0], chains[0]); err != nil || res.Same() {
		t.Errorf("another call before the deadline: %v", err)
	}
}

// What hooks read as the time is in the recording, and so is the caller's claim: both
// come again, and neither is taken for the other.
func TestReplayKeepsBothTimes(t *testing.T) {
	line := `{"invocation":{"phase":"pre_tool","time":"2019-06-07T08:09:10Z","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","args":{"command":"ls"}}}}`
	src := record(t, nil, []byte(line+"\n"),
		belay.Options{Hooks: []belay.AdHocHook{{Name: "chatty", Module: module(t, "chatty")}}})
	runs, chains := read(t, src)
	run, chain := runs[0], chains[0]
	inv, err := run.Decode()
	if err != nil || inv.ReportedTime.Year() != 2019 || inv.Time.Year() < 2026 {
		t.Fatalf("time %s, reported %s: %v", inv.Time, inv.ReportedTime, err)
	}
	r, err := replay.New(replay.Options{Bench: bench(t), Modules: modules(t, "chatty")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res, err := r.Replay(t.Context(), run, chain)
	if err != nil || len(res.Differences) != 0 {
		t.Fatalf("%+v %v", res, err)
	}
	// Without the claim the hook would read another document.
	run.ReportedTime = time.Time{}
	if res, err = r.Replay(t.Context(), run, chain); err != nil || len(res.Differences) == 0 ||
		res.Differences[0].What != replay.WhatInput {
		t.Errorf("%+v %v, want another input", res, err)
	}
}

// A recording of today has the caller's time as the only one, and its hooks read that.
func TestReplayOfARecordingWithOneTime(t *testing.T) {
	src, err := os.ReadFile(filepath.Join("testdata", "one_time.rec"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := replayAll(t, src, replay.Options{Bench: bench(t), Modules: modules(t, "chatty")})
	if err != nil || len(res) != 1 || len(res[0].Differences) != 0 {
		t.Fatalf("%+v %v", res, err)
	}
	if at := res[0].Invocation.Time; at.Year() != 2019 || !res[0].Invocation.ReportedTime.IsZero() {
		t.Errorf("time %s, reported %s", at, res[0].Invocation.ReportedTime)
	}
}

package replay_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/phases"
	"github.com/belay-hooks/belay/tiers"
)

// eachRun calls each for the invocations of a recording.
func eachRun(t *testing.T, src []byte, each func(*recording.Run, *recording.Chain)) {
	t.Helper()
	rd, err := recording.NewReader(bytes.NewReader(src), "test.rec")
	if err != nil {
		t.Fatal(err)
	}
	for {
		run, chain, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		each(run, chain)
	}
}

func alone(t *testing.T, name, file string, match *tiers.Match) *replay.Alone {
	t.Helper()
	a, err := replay.OpenAlone(t.Context(), bench(t),
		replay.AloneHook{Module: module(t, file), Match: match,
			Binding: recording.Binding{Name: name, Tier: phases.Sandboxed}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// A hook of a recorded name gets the recorded answers and decides the same. Under another
// name there is no answer for it, and no request reaches the world.
func TestAloneAnswers(t *testing.T) {
	src, tool, _ := chatty(t)
	same, other := alone(t, "chatty", "chatty", nil), alone(t, "newcomer", "chatty", nil)
	n := 0
	eachRun(t, src, func(run *recording.Run, chain *recording.Chain) {
		if len(run.Turns) == 0 || run.Turns[0].Binding != "chatty" || len(run.Turns[0].Answers) == 0 {
			return
		}
		n++
		res, err := same.Ask(t.Context(), run, chain)
		if err != nil {
			t.Fatal(err)
		}
		if len(res.Unknown) != 0 || !res.Same() || len(res.Turns) != 1 || res.Turns[0].Now.Fuel != run.Turns[0].Outcome.Fuel {
			t.Errorf("got %v, %+v", res.Unknown, res.Differences)
		}
		if res, err = other.Ask(t.Context(), run, chain); err != nil || len(res.Unknown) == 0 {
			t.Errorf("got %v, %v", res.Unknown, err)
		}
	})
	if n == 0 || tool.runs != 4 {
		t.Errorf("%d runs, %d calls of the tool", n, tool.runs-4)
	}
}

// The other hooks of a recording, and a latch of its session, do not affect a hook that
// is replayed alone. The baseline is the recorded verdict of the chain.
func TestAloneIsAlone(t *testing.T) {
	strict, lenient := alone(t, "next", "strict", nil), alone(t, "command-block", "lenient", nil)
	none := alone(t, "next", "strict", &tiers.Match{Tools: "^nothing$", Any: true})
	asked := 0
	eachRun(t, demo(t), func(run *recording.Run, chain *recording.Chain) {
		run.Latch = &recording.Latch{Reason: "an old block"}
		res, err := strict.Ask(t.Context(), run, chain)
		if err != nil {
			t.Fatal(err)
		}
		tool := res.Invocation.Phase == phases.PreTool
		if tool != (len(res.Turns) == 1) ||
			tool != (res.Now.Decision == phases.Block && strings.Contains(res.Now.Reason, "nothing is allowed")) {
			t.Errorf("%s: %d turns, %+v", res.Invocation.Phase, len(res.Turns), res.Now)
		}
		if res.Base.Decision != run.Chained.Decision {
			t.Errorf("held against %s", res.Base.Decision)
		}
		if tool {
			asked++
			if res, err = lenient.Ask(t.Context(), run, chain); err != nil || res.Now.Decision != phases.Allow {
				t.Errorf("%+v, %v", res.Now, err)
			}
		}
		if res, err = none.Ask(t.Context(), run, chain); err != nil || len(res.Turns) != 0 {
			t.Errorf("a hook for no tool was asked: %+v, %v", res, err)
		}
	})
	if asked == 0 {
		t.Error("nothing was asked")
	}
	_, err := replay.OpenAlone(t.Context(), bench(t),
		replay.AloneHook{Module: []byte("\x00asm"), Binding: recording.Binding{Name: "x", Tier: phases.Sandboxed}})
	if !errors.Is(err, replay.ErrCandidate) {
		t.Errorf("got %v", err)
	}
}

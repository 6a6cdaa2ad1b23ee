package replay_test

import (
	"testing"

	"github.com/belay-hooks/belay/internal/replay"
)

func TestDemoReplaysWithoutADifference(t *testing.T) {
	src := demo(t)
	for _, workers := range []int{1, 3} {
		res, err := replayAll(t, src, replay.Options{Bench: bench(t), Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		if len(res) < 18 {
			t.Errorf("%d invocations", len(res))
		}
		turns := 0
		for _, r := range res {
			for _, d := range r.Differences {
				t.Errorf("%s %s: %+v", r.Invocation.Phase, r.Invocation.Tool(), d)
			}
			turns += len(r.Turns)
		}
		if turns < 20 {
			t.Errorf("%d turns", turns)
		}
	}
}

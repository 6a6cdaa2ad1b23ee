package suite

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// Runs that each update a case of their own, at the same time, all end up in the golden.
func TestGoldenUpdatesAreNotLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "suite.golden.json")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var r CaseResult
			r.Case = fmt.Sprintf("case %d", i)
			r.Verdict = phases.Verdict{Decision: phases.Allow}
			if err := updateGolden(path, []CaseResult{r}, false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	g, err := readGolden(path)
	if err != nil || len(g.Cases) != 8 {
		t.Errorf("%d cases, %v", len(g.Cases), err)
	}
}

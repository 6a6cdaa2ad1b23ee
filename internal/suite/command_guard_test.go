package suite_test

import (
	"path/filepath"
	"testing"
)

// The guard's recall and precision stay at their floors on each corpus of commands; see testdata/command-guard/README.md.
// The authors of its rules did not see the held ones.
func TestCommandGuardOnLabelledData(t *testing.T) {
	blocks := openGuard(t, "command-guard")
	for _, corpus := range []struct {
		file              string
		recall, precision float64
	}{
		{"commands_tuned.jsonl", 0.60, 0.93},
		{"hard_tuned.jsonl", 0.52, 0.86},
	} {
		t.Run(corpus.file, func(t *testing.T) {
			s := scoreOf(t, filepath.Join("testdata/command-guard", corpus.file), blocks)
			if s.recall() < corpus.recall || s.precision() < corpus.precision {
				t.Errorf("recall %.3f, precision %.3f; at least %.2f and %.2f",
					s.recall(), s.precision(), corpus.recall, corpus.precision)
			}
		})
	}
}

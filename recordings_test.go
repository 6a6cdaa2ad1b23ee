package belay_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/recording"
)

// A program that opens a state directory whose belay.yaml asks for recordings keeps
// them: there is nothing to inject.
func TestRecordingsOfAnEmbedder(t *testing.T) {
	kept := filepath.Join(t.TempDir(), "kept")
	b := open(t, state(t, "version: belay/v1\nhooks: []\nrecordings:\n  dir: "+kept+"\n  unsafe_plaintext: true\n"),
		belay.Options{})
	invoke(t, b, exec("echo original"))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(kept, "*.rec"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := recording.NewReader(f, files[0])
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := r.Next()
	if err != nil || !strings.Contains(string(run.Invocation), "echo original") {
		t.Errorf("got %v, %v", run, err)
	}
}

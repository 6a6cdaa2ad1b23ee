package kernel

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/phases"
)

// Whatever stands in the spool, each line of it is an entry or is counted as lost. A note that
// is added later is not lost with it.
func FuzzSpool(f *testing.F) {
	line, err := json.Marshal(&notes.Note{Time: time.Unix(1, 0).UTC(), Invocation: "i", Kind: phases.KindStore,
		Reason: "because"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(bytes.Clone(line), '\n'))
	f.Add(line[:len(line)-4]) // cut short by a full disk
	f.Add(append(bytes.Clone(line), make([]byte, 70<<10)...))
	f.Add(append(make([]byte, 70<<10), append([]byte("\n"), line...)...))
	f.Add([]byte("\n\r\n \n{}\n"))
	f.Fuzz(func(t *testing.T, before []byte) {
		if len(before) > notes.MaxSpool {
			return // nothing is added then
		}
		s := newSpool(filepath.Join(t.TempDir(), "spool.jsonl"))
		if err := os.WriteFile(s.path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		s.add(notes.Note{Invocation: "the last", Reason: "because"})
		s.reporting.Lock()
		defer s.reporting.Unlock()
		entries, _, dropped, done := s.take()
		done()
		lines := 0
		for l := range bytes.Lines(before) {
			if len(bytes.TrimSpace(l)) > 0 {
				lines++
			}
		}
		if n := len(entries); n == 0 || entries[n-1].Invocation != "the last" || n+dropped != lines+1 {
			t.Fatalf("of %d lines and one more are %d entries, %d lost", lines, n, dropped)
		}
	})
}

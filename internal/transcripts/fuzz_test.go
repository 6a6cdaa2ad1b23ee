package transcripts_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/belay-hooks/belay/internal/transcripts"
	"github.com/belay-hooks/belay/internal/transcripts/claudecode"
	"github.com/belay-hooks/belay/internal/transcripts/codex"
	"github.com/belay-hooks/belay/internal/transcripts/geminicli"
)

// seeds are the recorded logs of sessions.
func seeds(f *testing.F) {
	f.Helper()
	found, _ := filepath.Glob("../reconcile/testdata/*/log/*/*/*.jsonl")
	more, _ := filepath.Glob("../reconcile/testdata/*/log/*/*/*/*/*.jsonl")
	for _, path := range append(found, more...) {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, 0)
		f.Add(b, len(b)/2)
	}
	f.Add([]byte("{\"a\":1}\n\n{\"a\":"), 3)
}

// Whatever a log says, reading it ends, gives whole calls, and the same mark for the same bytes; a log that only
// grew is not rewritten, and one that lost what was read before is.
func fuzzLines(f *testing.F, read func(r io.Reader, before transcripts.Mark) (transcripts.Log, bool, error)) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		log, rewritten, err := read(bytes.NewReader(b), transcripts.Mark{})
		if err != nil || rewritten || log.Mark.Offset > int64(len(b)) {
			t.Fatalf("%v %v %+v", err, rewritten, log.Mark)
		}
		if log.Unknown > 0 && log.First == "" {
			t.Error("something is unknown, and nothing says why")
		}
		for _, c := range log.Calls {
			if c.ID == "" || len(c.Names) == 0 || c.State == "" || c.Args != nil && c.Args.Kind() != '{' {
				t.Fatalf("half a call: %+v", c)
			}
		}
		head := b[:min(max(cut, 0), len(b))]
		part, _, err := read(bytes.NewReader(head), transcripts.Mark{})
		if err != nil {
			t.Fatal(err)
		}
		if _, rewritten, err := read(bytes.NewReader(b), part.Mark); err != nil || rewritten {
			t.Errorf("a log that grew from %d bytes: %v, %v", part.Mark.Offset, rewritten, err)
		}
		if _, rewritten, _ := read(bytes.NewReader(head), log.Mark); rewritten != (part.Mark != log.Mark) {
			t.Errorf("a log that shrank from %d bytes to %d: %v", log.Mark.Offset, part.Mark.Offset, rewritten)
		}
	})
}

func FuzzClaudeCode(f *testing.F) {
	fuzzLines(f, func(r io.Reader, before transcripts.Mark) (transcripts.Log, bool, error) {
		return claudecode.Read(r, "a79c7f03-c262-4ef1-aafe-2018d72d897b", "", before)
	})
}

func FuzzCodex(f *testing.F) {
	fuzzLines(f, func(r io.Reader, before transcripts.Mark) (transcripts.Log, bool, error) {
		return codex.Read(r, "01a20c95-a85e-70d3-a07c-1d9b719e4597", before)
	})
}

func FuzzGeminiCLI(f *testing.F) {
	fuzzLines(f, func(r io.Reader, before transcripts.Mark) (transcripts.Log, bool, error) {
		return geminicli.Read(r, "42d98238-f39a-4354-8cc0-643ceea49c11", "", before)
	})
}

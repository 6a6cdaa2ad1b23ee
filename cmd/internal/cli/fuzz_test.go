package cli_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

// Ctrl-C: findings are written and shown; no findings are no answer.
func TestFuzzStops(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		hook string
		exit int
		out  string // of the last line
	}{
		{"short", cli.ExitDifferences, "findings, stopped early\n"},
		{"sound", cli.ExitError, "0 findings, stopped early\n"},
	} {
		t.Run(c.hook, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var out, errs seenBuffer
			done := make(chan int)
			report := filepath.Join(dir, c.hook+".json")
			kept := filepath.Join(dir, c.hook)
			go func() {
				a := &cli.App{Out: &out, Err: &errs, Terminal: true}
				done <- a.Main(ctx,
					[]string{"fuzz", "../../../internal/fuzz/testdata/planted/" + c.hook + ".wasm", "--runs", "1000000000", "--state",
						filepath.Join(dir, "state"), "--out", kept, "--report", report})
			}()
			told := regexp.MustCompile(`\d found`)
			if c.exit == cli.ExitDifferences {
				told = regexp.MustCompile(`([2-9]|\d\d) found`) // one may be a note
			}
			for end := time.Now().Add(60 * time.Second); !told.MatchString(errs.String()); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("nothing is found: %s", errs.String())
				}
			}
			cancel()
			if code := <-done; code != c.exit {
				t.Errorf("exit %d, want %d: %s%s", code, c.exit, out.String(), errs.String())
			}
			if !strings.HasSuffix(out.String(), c.out) {
				t.Errorf("%s", out.String())
			}
			b, err := os.ReadFile(report)
			if err != nil || !strings.Contains(string(b), `"stopped": true`) {
				t.Errorf("the report: %v\n%s", err, b)
			}
			if recs, _ := filepath.Glob(filepath.Join(kept, "*.rec")); (len(recs) > 0) != (c.exit == cli.ExitDifferences) {
				t.Errorf("recordings: %v", recs)
			}
		})
	}
}

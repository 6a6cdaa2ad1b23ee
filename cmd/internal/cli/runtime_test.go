package cli_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/cmd/internal/cli"
)

// TestRuntimeWithoutAPayload: a runtime that neither writes nor closes the
// hook's standard input, or sends a signal, gets the block form before it would
// go on without an answer.
func TestRuntimeWithoutAPayload(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience time.Duration
		signal   bool
	}{{"late", 20 * time.Millisecond, false}, {"signal", time.Hour, true}} {
		t.Run(c.name, func(t *testing.T) {
			in, w := io.Pipe()
			defer w.Close()
			go io.WriteString(w, `{"hook_event_name":"PreToolUse",`)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.signal {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			var out, errs bytes.Buffer
			home := filepath.Join(t.TempDir(), "state")
			app := &cli.App{In: in, Out: &out, Err: &errs, Patience: c.patience, Getenv: func(n string) string {
				return map[string]string{"BELAY_HOME": home}[n]
			}}
			code := app.Main(ctx, []string{"eval", "--runtime", "claude-code", "--for", "PreToolUse"})
			if code != 2 || !strings.Contains(out.String(), `"permissionDecision":"deny"`) || errs.Len() == 0 {
				t.Errorf("exit %d, %s, %s", code, &out, &errs)
			}
		})
	}
}

// TestSignalEndsReading: a plain command does not wait for its input after a signal.
func TestSignalEndsReading(t *testing.T) {
	for _, args := range [][]string{{"eval"}, {"eval", "--lines"}} {
		in, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var out, errs bytes.Buffer
		home := filepath.Join(t.TempDir(), "state")
		getenv := func(n string) string { return map[string]string{"BELAY_HOME": home}[n] }
		if code := (&cli.App{In: in, Out: &out, Err: &errs, Getenv: getenv}).Main(ctx, []string{"init"}); code != 0 {
			t.Fatal(errs.String())
		}
		out.Reset()
		time.AfterFunc(20*time.Millisecond, cancel)
		if code := (&cli.App{In: in, Out: &out, Err: &errs, Getenv: getenv}).Main(ctx, args); code != 1 || out.Len() > 0 {
			t.Errorf("%v: exit %d, %s", args, code, &out)
		}
	}
}

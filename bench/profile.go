package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// profiled matches the subjects of belay that decide in this process: of others there is nothing to see here.
var profiled = regexp.MustCompile(
	`^(belay, (a turn|Invoke|durable)|1 KiB|256 KiB|chain of (1|16)$|\d+ hooks|64 at once)`)

const (
	profileTime = 2 * time.Second // of one subject
	profileRate = 16 << 10        // bytes between two samples of allocations
	topRows     = 24              // of a printed table
	// outer are functions that stand around everything else.
	outer = `^main\.|^runtime\.(main|goexit)$|\(\*Belay\)\.Invoke|\(\*Kernel\)\.[Ii]nvoke|` +
		`\(\*invocation\)\.(decide|attempt)$`
)

// profile writes two profiles of each row into a directory, and prints the top of their tables.
func (y *yard) profile(ctx context.Context, g group, dir string, out io.Writer) error {
	if g.open == nil || y.only.String() != "" && !y.only.MatchString(g.name) {
		return nil
	}
	inside := &yard{settings: y.settings, work: filepath.Join(y.work, short(g.name)), built: map[string]string{}}
	defer inside.close()
	if err := os.MkdirAll(inside.work, 0o700); err != nil {
		return err
	}
	subjects, err := g.open(ctx, inside)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		if s.do == nil || len(s.pids) > 0 || !profiled.MatchString(s.name) {
			continue
		}
		base := filepath.Join(dir, short(strings.ReplaceAll(g.name+" "+s.name, ",", "")))
		n, err := s.record(ctx, base)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Fprintf(out, "\n%s: %s (%d times)\n", g.name, s.name, n)
		for _, table := range [][]string{
			{"-sample_index=cpu", base + ".cpu"},
			{"-sample_index=alloc_space", "-base", base + ".before", base + ".allocs"},
		} {
			if err := top(ctx, out, table); err != nil {
				return err
			}
		}
	}
	return nil
}

// record profiles a subject for profileTime, into base.cpu, and base.allocs with what was allocated before
// it in base.before. It returns how many decisions that were.
func (s *subject) record(ctx context.Context, base string) (decisions int, err error) {
	if _, err := s.turn(ctx, 8); err != nil { // what is made once is not its own
		return 0, err
	}
	if err := writeAllocs(base + ".before"); err != nil {
		return 0, err
	}
	f, err := os.Create(base + ".cpu")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return 0, err
	}
	for begin := time.Now(); time.Since(begin) < profileTime; decisions += s.decisions() {
		if err = s.do(ctx); err != nil {
			break
		}
	}
	pprof.StopCPUProfile()
	if err != nil {
		return 0, err
	}
	return decisions, writeAllocs(base + ".allocs")
}

func writeAllocs(path string) error {
	runtime.GC() // the profile is as of the last collection
	var b bytes.Buffer
	if err := pprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

// top prints the functions that take the most, without the head of pprof's report.
func top(ctx context.Context, out io.Writer, args []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-top", "-cum",
		fmt.Sprintf("-nodecount=%d", topRows), "-hide=" + outer}, args...)...)
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go tool pprof: %w", err)
	}
	_, table, found := bytes.Cut(text, []byte("      flat "))
	if !found {
		return fmt.Errorf("go tool pprof printed no table: %s", text)
	}
	_, err = fmt.Fprintf(out, "%s\n      flat %s", args[0], table)
	return err
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// fact is a row of a table of figures that no two subjects take turns for.
type fact struct {
	what, figure string
	value        float64 // the figure, in its unit
	note         string
}

const (
	daemonIdle     = "an idle daemon, one hook in C"
	collectionLate = "the same, 99th of a hundred"
)

// settled is how long a daemon waits before it counts as idle.
const settled = 4 * time.Second

// idleFacts are what belay holds while nothing happens, and what a collection of garbage waits for.
func idleFacts(ctx context.Context, y *yard) ([]fact, error) {
	bin, err := y.belayBinaries(ctx)
	if err != nil {
		return nil, err
	}
	one, err := y.bound(ctx, "one")
	if err != nil {
		return nil, err
	}
	first := filepath.Join(y.work, "init")
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "belay"), "--state", first, "init")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("belay init: %w: %s", err, out)
	}
	var facts []fact
	for _, c := range []struct{ what, dir string }{
		{daemonIdle, one},
		{"an idle daemon, the hooks of belay init", first},
	} {
		f, err := y.idleDaemon(ctx, bin, c.dir)
		if err != nil {
			return nil, err
		}
		f.what = c.what
		facts = append(facts, f)
	}
	more, err := y.packageFacts(ctx)
	return append(facts, more...), err
}

// idleDaemon is the memory of a daemon that was asked nothing.
func (y *yard) idleDaemon(ctx context.Context, bin, dir string) (f fact, err error) {
	inside := &yard{settings: y.settings, work: y.work}
	defer inside.close()
	cmd := exec.Command(filepath.Join(bin, "belay"), "--state", dir, "serve")
	pid, err := inside.start(ctx, filepath.Join(dir, "belay.sock"), cmd)
	if err != nil {
		return f, err
	}
	select {
	case <-ctx.Done():
		return f, ctx.Err()
	case <-time.After(settled):
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return f, err
	}
	kib := map[string]int{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] == "kB" {
			kib[fields[0]], _ = strconv.Atoi(fields[1])
		}
	}
	if kib["Rss:"] == 0 || kib["Anonymous:"] == 0 {
		return f, fmt.Errorf("no sizes in %s", text)
	}
	resident, own := float64(kib["Rss:"])*1024/1e6, float64(kib["Anonymous:"])*1024/1e6
	return fact{figure: fmt.Sprintf("%.1f MB resident", resident), value: resident,
		note: fmt.Sprintf("%.1f MB of it its own, the rest pages of the program's file", own)}, nil
}

// packageFacts are those that benchmarks of belay's own packages report.
func (y *yard) packageFacts(ctx context.Context) ([]fact, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$",
		"-bench", "^Benchmark(IdleInstance|Collection)$", "-benchtime", "100x", "./internal/sandbox")
	cmd.Dir = y.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test: %w: %s", err, out)
	}
	of, err := reported(out)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"IdleInstance/guard-c", "IdleInstance/strip-ansi", "IdleInstance/standard-go",
		"Collection"} {
		if of[name] == nil {
			return nil, fmt.Errorf("Benchmark%s is not among what go test ran: %s", name, out)
		}
	}
	instance := func(what, name string) fact {
		kib := of["IdleInstance/"+name]["KiB/instance"]
		return fact{what, fmt.Sprintf("%.0f KiB", kib), kib, "pages of its own; all instances share an image"}
	}
	stop := func(what, unit string) fact {
		wait, slice := of["Collection"][unit], of["Collection"]["µs/slice"]
		n := wait / max(slice, 1)
		return fact{what, fmt.Sprintf("%.0f µs, %.2f slices", wait, n), n, "upper bound of a bucket"}
	}
	return []fact{
		instance("an idle instance in C", "guard-c"),
		instance("an idle instance in Rust", "strip-ansi"),
		instance("an idle instance in Go", "standard-go"),
		stop("a collection beside four hooks that never end: until all goroutines stand still, median", "p50-µs/stop"),
		stop(collectionLate, "p99-µs/stop"),
	}, nil
}

// reported reads what benchmarks print: figures by benchmark and unit.
func reported(out []byte) (map[string]map[string]float64, error) {
	of := map[string]map[string]float64{}
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "Benchmark")
		name = strings.TrimSuffix(name, fmt.Sprintf("-%d", runtime.GOMAXPROCS(0)))
		of[name] = map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			figure, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			of[name][fields[i+1]] = figure
		}
	}
	if len(of) == 0 {
		return nil, errors.New("no benchmark reported anything")
	}
	return of, nil
}

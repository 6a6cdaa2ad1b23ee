package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/belay-hooks/belay/client"
	"github.com/belay-hooks/belay/phases"
)

const (
	soakCallers  = 48
	soakQuarters = 4
	soakReload   = 5 * time.Second // between two reloads
)

// soakHooks come with belay; together they are asked in every phase. Number %d changes from one reload to the next, so
// that each makes a new policy.
const soakHooks = `hooks:
  - {name: command-guard, module: 'builtin:command-guard', priority: %d, match: {tools: '^exec$'},
     capabilities: [block, request_approval, shell_parse, pattern_match]}
  - {name: path-guard, module: 'builtin:path-guard', priority: 50,
     match: {tools: '^(exec|read|write|edit|apply_patch|grep|glob|list|lsp|image|web_fetch)$'},
     capabilities: [block, request_approval, shell_parse, path_resolve]}
  - {name: settings-guard, module: 'builtin:settings-guard', via: queue,
     capabilities: [block, request_approval, shell_parse, path_resolve, state_get, state_put]}
  - {name: strip-ansi, module: 'builtin:strip-ansi', capabilities: ['rewrite:/result']}
  - {name: redact-secret, module: 'builtin:redact-secret',
     capabilities: [find_secrets, 'rewrite:/text', 'rewrite:/system', 'rewrite:/messages', 'rewrite:/result']}
  - {name: refuse-deep-spawn, module: 'builtin:refuse-deep-spawn', capabilities: [block]}
  - {name: stage-gate, module: 'builtin:stage-gate', capabilities: [block, request_approval]}
  - {name: audit-redact, module: 'builtin:audit-redact', capabilities: [redact]}
`

// soak is a daemon under callers that never rest, for as long as the settings say.
type soak struct {
	dir     string // the daemon's state directory
	pid     int
	quarter time.Duration
	begun   time.Time
	reloads int
}

// reading is what one looks at between two quarters.
type reading struct {
	at        time.Duration // since the soak began
	processor time.Duration // of the daemon
	disk      int64         // bytes in its state directory
	resident  int64         // bytes of its memory
}

// stretch is a part of the soak.
type stretch struct {
	name      string
	took      []time.Duration // each verdict, by the clock of its caller
	from, to  reading
	sentBytes int64
}

// runSoak has callers ask a daemon in turn, and returns the table for the page and the goals that it is about.
func runSoak(ctx context.Context, y *yard) (page []byte, goals *grid, err error) {
	before := look()
	bin, err := y.belayBinaries(ctx)
	if err != nil {
		return nil, nil, err
	}
	s := &soak{quarter: y.soak / soakQuarters}
	if s.dir, err = y.state("soak", fmt.Sprintf(soakHooks, 51)); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(filepath.Join(bin, "belay"), "--state", s.dir, "serve")
	if s.pid, err = y.start(ctx, filepath.Join(s.dir, "belay.sock"), cmd); err != nil {
		return nil, nil, err
	}
	stretches, err := s.run(ctx)
	if err != nil {
		return nil, nil, err
	}
	var table bytes.Buffer
	s.write(&table, before, y.soak, stretches)
	soakGrid(stretches).print(os.Stdout)
	return table.Bytes(), reached(soakGoals(stretches), nil), nil
}

func (s *soak) run(ctx context.Context) ([]stretch, error) {
	ctx, end := context.WithCancel(ctx) // without a deadline, so that no call ends by one before ctx has
	defer end()
	readings := make([]reading, soakQuarters+1)
	callers := make([]caller, soakCallers)
	errs := make([]error, soakCallers+1)
	var err error
	text := prose(rand.New(rand.NewPCG(16, 0)), 8<<20)
	s.begun = time.Now()
	if readings[0], err = s.read(); err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	for i := range callers {
		callers[i] = caller{soak: s, events: newEvents(uint64(i), text)}
		all.Go(func() {
			if errs[i] = callers[i].run(ctx); errs[i] != nil {
				end() // one that fails ends the soak
			}
		})
	}
	all.Go(func() {
		if errs[soakCallers] = s.reloading(ctx); errs[soakCallers] != nil {
			end()
		}
	})
	for n := 1; n <= soakQuarters && err == nil; n++ {
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(s.begun.Add(time.Duration(n) * s.quarter))):
		}
		readings[n], err = s.read()
	}
	end()
	all.Wait()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	stretches := make([]stretch, soakQuarters)
	for n := range stretches {
		stretches[n] = stretch{name: fmt.Sprintf("quarter %d", n+1), from: readings[n], to: readings[n+1]}
		for i := range callers {
			stretches[n].took = append(stretches[n].took, callers[i].took[n]...)
			stretches[n].sentBytes += callers[i].sent[n]
		}
		slices.Sort(stretches[n].took)
	}
	return stretches, nil
}

// caller asks the daemon about one event after the other, on a connection of its own.
type caller struct {
	*soak
	events *events
	took   [soakQuarters][]time.Duration
	sent   [soakQuarters]int64
}

func (c *caller) run(ctx context.Context) error {
	conn, err := client.Dial(c.dir)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		inv, want := c.events.next()
		from := time.Now()
		v, err := conn.Invoke(ctx, inv)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil && (v.Decision != want || want == phases.Allow && v.Kind != "") {
			err = fmt.Errorf("%s of %d bytes: %s by %s (%s: %s), not %s", inv.Phase, len(inv.Action), v.Decision, v.DecidedBy,
				v.Kind, v.Reason, want)
		}
		if err != nil {
			return err
		}
		if n := int(time.Since(c.begun) / c.quarter); n < soakQuarters {
			c.took[n] = append(c.took[n], time.Since(from))
			c.sent[n] += int64(len(inv.Action))
		}
	}
}

// reloading writes a new belay.yaml and has the daemon take it up, again and again.
func (s *soak) reloading(ctx context.Context) error {
	admin, err := client.Dial(s.dir)
	if err != nil {
		return err
	}
	defer admin.Close()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(soakReload, s.quarter/2)):
		}
		text := "version: belay/v1\n" + fmt.Sprintf(soakHooks, 51+(s.reloads+1)%2)
		next := filepath.Join(s.dir, "belay.yaml.next")
		if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
			return err
		}
		if err := os.Rename(next, filepath.Join(s.dir, "belay.yaml")); err != nil {
			return err
		}
		r, err := admin.Reload(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reload: %w", err)
		}
		if r.Revision == last {
			return errors.New("a reload left the policy as it was")
		}
		last = r.Revision
		s.reloads++
	}
}

func (s *soak) read() (r reading, err error) {
	r.at = time.Since(s.begun)
	if r.processor, r.resident, err = usage(s.pid); err != nil {
		return r, err
	}
	r.disk, err = diskBytes(s.dir)
	return r, err
}

// usage is the processor time of a process, ended threads included, and the memory that it holds.
func usage(pid int) (processor time.Duration, resident int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // what comes before may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return 0, 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	const tick = time.Second / 100 // of every Linux that Go runs on
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	pages, err3 := strconv.ParseInt(fields[21], 10, 64)
	return time.Duration(user+system) * tick, pages * int64(os.Getpagesize()), errors.Join(err, err2, err3)
}

// diskBytes is the size of the files of a directory. Files that go away meanwhile count nothing.
func diskBytes(dir string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				total += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return total, err
}

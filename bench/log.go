package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belay-hooks/belay/phases"
)

const (
	// biglog's first invocation, and the time between two of them; four events are one invocation.
	logBegin  = 1_780_000_000 * time.Second
	logStep   = 5 * time.Second
	logRounds = 5
)

// bigLog is a state directory whose log has so many events.
type bigLog struct {
	events   int
	dir      string
	session  string // of one of its newest events
	perEvent float64
}

// asked is a command about a log, and what it takes in each log, in rounds.
type asked struct {
	name, note string
	args       func(bigLog) []string
	input      string
	says       string // what its output has to hold; "" for nothing
	flat       bool   // it takes no longer for a larger log
	took       [][]time.Duration
}

// logCommands are the rows of the table. The first is the process that all of them pay for.
func logCommands() []asked {
	query := func(flags ...string) func(bigLog) []string {
		return func(bigLog) []string { return append([]string{"events", "query", "--limit", "100"}, flags...) }
	}
	middle := func(l bigLog) []string {
		from := time.Unix(0, 0).UTC().Add(logBegin + time.Duration(l.events/8)*logStep)
		return query("--since", from.Format(time.RFC3339), "--until", from.Add(5*time.Minute).Format(time.RFC3339))(l)
	}
	const event = `{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"ls"}}}`
	return []asked{
		{name: "belay --help", note: "the process alone", args: func(bigLog) []string { return []string{"--help"} },
			says: "Usage:"},
		{name: "eval", note: "opens the log, decides, records", input: event, says: `"allow"`, flat: true,
			args: func(bigLog) []string { return []string{"eval"} }},
		{name: "events tail", args: func(bigLog) []string { return []string{"events", "tail"} }, says: "pre_tool",
			flat: true},
		{name: "status", args: func(bigLog) []string { return []string{"status"} }, says: "policy",
			flat: true},
		{name: "query --decision block", args: query("--decision", "block"), says: "command-guard"},
		{name: "query --tool web_fetch", args: query("--tool", "web_fetch"), says: "web_fetch"},
		{name: "query --session", args: func(l bigLog) []string { return query("--session", l.session)(l) }, says: "grep"},
		{name: "query --hook command-guard --decision block", says: "command-guard",
			args: query("--hook", "command-guard", "--decision", "block")},
		{name: "query --kind deadline", note: "one invocation in 1,009", args: query("--kind", "deadline")},
		{name: "query --since --until", note: "five minutes of its middle", args: middle, says: "exec"},
		{name: "query --tool of no event", args: query("--tool", "no_such_tool"), says: "No event matches"},
		{name: "events verify", note: "reads every event", says: "verify: ok",
			args: func(bigLog) []string { return []string{"events", "verify"} }},
		{name: "events verify --since-head", note: "reads what came after the newest checkpoint", says: "were not read",
			args: func(bigLog) []string { return []string{"events", "verify", "--since-head"} }},
	}
}

// runLogs measures the commands about logs of these sizes, and returns the table for the page and the goals that it is
// about.
func runLogs(ctx context.Context, y *yard) (page []byte, goals *grid, err error) {
	before := look()
	bin, err := y.belayBinaries(ctx)
	if err != nil {
		return nil, nil, err
	}
	logs := make([]bigLog, len(y.logs))
	for i, n := range y.logs {
		if logs[i], err = y.fill(ctx, bin, n); err != nil {
			return nil, nil, fmt.Errorf("%d events: %w", n, err)
		}
		fmt.Fprintf(os.Stderr, "a log of %d events is made\n", n)
	}
	all := logCommands()
	for i := range all {
		all[i].took = make([][]time.Duration, len(logs))
	}
	for round := range logRounds + 1 {
		for i := range all {
			for k, l := range logs {
				took, err := all[i].run(ctx, bin, l)
				if err != nil {
					return nil, nil, fmt.Errorf("%s: %d events: %w", all[i].name, l.events, err)
				}
				if round > 0 { // the first one reads files that the system does not hold yet
					all[i].took[k] = append(all[i].took[k], took)
				}
			}
		}
		progress("logs", round, logRounds)
	}
	var text bytes.Buffer
	table := logGrid(logs, all)
	table.print(os.Stdout)
	writeLogs(&text, before, table)
	return text.Bytes(), reached(logGoals(logs, all), nil), nil
}

// fill makes a log. A decision after that signs a checkpoint of it, and another one comes after the checkpoint.
func (y *yard) fill(ctx context.Context, bin string, events int) (l bigLog, err error) {
	l.events = events
	if l.dir, err = y.bound(ctx, fmt.Sprintf("log-%d", events)); err != nil {
		return l, err
	}
	eval := asked{args: func(bigLog) []string { return []string{"eval"} }, says: `"allow"`,
		input: `{"phase":"pre_tool","action":{"tool":"exec","args":{"command":"ls"}}}`}
	if _, err := eval.run(ctx, bin, l); err != nil { // makes the directory's keys
		return l, err
	}
	empty, err := diskBytes(l.dir)
	if err != nil {
		return l, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "biglog"), "-events", strconv.Itoa(events),
		filepath.Join(l.dir, "belay.db"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return l, fmt.Errorf("biglog: %w: %s", err, out)
	}
	full, err := diskBytes(l.dir)
	if err != nil {
		return l, err
	}
	l.perEvent = float64(full-empty) / float64(events)
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "belay"), "--state", l.dir, "events", "query", "--json",
		"--limit", "1", "--tool", "grep").Output()
	if err != nil {
		return l, err
	}
	var newest phases.Event
	if err := json.Unmarshal(out, &newest); err != nil || newest.Session == "" {
		return l, fmt.Errorf("no event of the log: %w: %s", err, out)
	}
	l.session = newest.Session
	for range 2 {
		if _, err := eval.run(ctx, bin, l); err != nil {
			return l, err
		}
	}
	return l, nil
}

// run has the command answer once.
func (a *asked) run(ctx context.Context, bin string, l bigLog) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "belay"), append([]string{"--state", l.dir}, a.args(l)...)...)
	cmd.Stdin = strings.NewReader(a.input)
	out, err := cmd.CombinedOutput()
	if err == nil && !bytes.Contains(out, []byte(a.says)) {
		err = errors.New("it does not say " + a.says)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %.2000s", err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// cells are a command's columns: milliseconds by log, and how many times the largest log takes what the smallest does.
func (a *asked) cells(logs []bigLog) []string {
	cells := []string{a.name}
	medians := make([]time.Duration, len(logs))
	for k := range logs {
		medians[k] = middle(slices.Clone(a.took[k]), 50)
		cells = append(cells, millis(medians[k]))
	}
	return append(cells, times(a.ratio()), a.note)
}

// ratio compares the largest log with the smallest, within each round.
func (a *asked) ratio() float64 {
	var ratios []float64
	for i, least := range a.took[0] {
		ratios = append(ratios, float64(a.took[len(a.took)-1][i])/float64(max(least, 1)))
	}
	return middle(ratios, 50)
}

func logGrid(logs []bigLog, all []asked) *grid {
	g := &grid{header: []string{""}}
	disk := []string{"bytes on disk an event"}
	for _, l := range logs {
		g.header = append(g.header, strconv.Itoa(l.events)+" events")
		disk = append(disk, fmt.Sprintf("%.0f", l.perEvent))
	}
	g.header = append(g.header, "last to first", "")
	for _, a := range all {
		g.rows = append(g.rows, a.cells(logs))
	}
	disk = append(disk, times(logs[len(logs)-1].perEvent/logs[0].perEvent), "the database with its tree and lookup")
	g.rows = append(g.rows, disk)
	return g
}

// logGoals are those of the largest log.
func logGoals(logs []bigLog, all []asked) []goal {
	last := len(logs) - 1
	slowest, steepest := 0.0, 0.0
	for _, a := range all {
		took := middle(slices.Clone(a.took[last]), 50)
		switch {
		case strings.HasPrefix(a.name, "query"):
			slowest = max(slowest, took.Seconds()*1000)
		case a.flat:
			steepest = max(steepest, a.ratio())
		}
	}
	return []goal{
		{name: "the slowest query of the largest log", limit: 200, unit: " ms", of: known(slowest)},
		{name: "tail, status and opening, largest log against smallest", limit: 1.2, unit: "×", of: known(steepest)},
		{name: "bytes on disk an event", limit: 1024, unit: " bytes", of: known(logs[last].perEvent)},
	}
}

// writeLogs writes the part of the page between the marks.
func writeLogs(w io.Writer, m machine, table *grid) {
	fmt.Fprintf(w, "Written by `make bench-events` on %s, commit %s.\n", m.at.Format("2 January 2006"), m.commit)
	fmt.Fprintf(w, "%d processors (%s), Linux %s, load %s before the run.\n", m.count, m.processor, m.kernel, m.load)
	fmt.Fprintf(w, "Milliseconds of processor time of the whole process, medians of %d rounds; files in the system's\n"+
		"cache.\n\n", logRounds)
	table.page(w)
}

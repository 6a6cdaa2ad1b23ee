package systemtest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// delays are how long each of several questions took, in µs.
type delays []int

func (w delays) at(percent int) int {
	if len(w) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(w))
	return sorted[len(sorted)*percent/100]
}

func (w delays) median() int { return w.at(50) }
func (w delays) p99() int    { return w.at(99) }

// Of each flood and each way to ask: how much longer bob waits while alice floods, and how much longer while programs
// that ask nothing use the same processor time. Figures, and no test; they are the table of docs/BENCHMARKS.md. In each
// of the rounds that BELAY_FLOOD_ROUNDS says, bob asks alone, beside the flood, and beside the other programs.
// BELAY_FLOOD_KINDS names some of the floods.
func TestFloodFigures(t *testing.T) {
	rounds, err := strconv.Atoi(os.Getenv("BELAY_FLOOD_ROUNDS"))
	if err != nil || rounds < 1 {
		t.Skip("make bench-system measures this, with BELAY_FLOOD_ROUNDS")
	}
	if !inNamespace(t) {
		return
	}
	some := strings.Fields(os.Getenv("BELAY_FLOOD_KINDS"))
	fmt.Println(
		"| control groups | alice floods with | bob asks by | alone: median, 99th, µs | beside the flood: median, 99th, µs " +
			"| 99th: flood | 99th: her processor time alone | and the daemon's | in rounds | processors: alice, daemon |\n" +
			"|---|---|---|---:|---:|---:|---:|---:|---|---:|",
	)
	for _, flat := range []bool{false, true} {
		groups := map[bool]string{false: "as systemd's", true: "one for all"}[flat]
		t.Run(groups, func(t *testing.T) {
			m := floodedMachine(t, flat)
			for _, c := range []struct{ kind, way string }{
				{"all", "frames"}, {"all", "http"}, {"all", "hook"}, {"questions", "frames"}, {"sessions", "frames"}, {"large",
					"frames"},
				{"connections", "hook"}, {"bodies", "frames"}, {"unread", "frames"}, {"drops", "frames"},
			} {
				if len(some) == 0 || slices.Contains(some, c.kind) {
					m.figures(groups, c.kind, c.way, rounds)
				}
			}
		})
	}
}

// floodSeconds is how long a flood goes on, and floodBegins how long it has before bob asks.
const (
	floodSeconds = 3
	floodBegins  = 300 * time.Millisecond
)

// figures prints one row: the medians of the rounds, and the ratios of each.
func (m *machine) figures(groups, kind, way string, rounds int) {
	m.t.Helper()
	n := map[string]int{"hook": 100}[way]
	if n == 0 {
		n = 400
	}
	var alone, beside [2]delays             // medians, 99th
	var floods, programs, processors tenths // the ratios of each round
	var ofAlice, ofDaemon delays            // ms of processor time each second
	for range rounds {
		used := m.daemonUsed()
		before := m.asks(bob, way, n)
		own := m.daemonUsed() - used // for bob's questions

		used, began := m.daemonUsed(), time.Now()
		end := m.flood(kind, floodSeconds)
		during := m.asks(bob, way, n)
		did := end()
		took := int(time.Since(began).Milliseconds())
		alices, daemons := 1000*did.ms/took, 1000*max(0, m.daemonUsed()-used-own)/took

		quiet := m.burning(alice, alices)
		withPrograms := m.asks(bob, way, n)
		quiet()
		quietAlice, quietDaemon := m.burning(alice, alices), m.burning(0, daemons)
		withProcessors := m.asks(bob, way, n)
		quietAlice()
		quietDaemon()

		alone[0], alone[1] = append(alone[0], before.median()), append(alone[1], before.p99())
		beside[0], beside[1] = append(beside[0], during.median()), append(beside[1], during.p99())
		floods.add(during, before)
		programs.add(withPrograms, before)
		processors.add(withProcessors, before)
		ofAlice, ofDaemon = append(ofAlice, alices), append(ofDaemon, daemons)
	}
	fmt.Printf("| %s | %s | %s | %d, %d | %d, %d | %s× | %s× | %s× | %s; %s; %s | %d, %d %% |\n", groups, kind, way,
		alone[0].median(), alone[1].median(), beside[0].median(), beside[1].median(), floods.median(), programs.median(),
		processors.median(), floods, programs, processors, ofAlice.median()/10, ofDaemon.median()/10)
}

// tenths are ratios of the 99th of a hundred, in tenths.
type tenths struct{ delays }

func (r *tenths) add(beside, alone delays) {
	r.delays = append(r.delays, 10*beside.p99()/max(1, alone.p99()))
}

func (r tenths) median() string { return shown(r.delays.median()) }

// String lists the rounds, the least first.
func (r tenths) String() string {
	var all []string
	for _, one := range slices.Sorted(slices.Values(r.delays)) {
		all = append(all, shown(one))
	}
	return strings.Join(all, " ")
}

func shown(tenths int) string { return fmt.Sprintf("%d.%d", tenths/10, tenths%10) }

// burning has a program use so many ms of processor time each second, in the control group of a user or, with uid 0, of
// the daemon. It asks nothing. The returned function ends it.
func (m *machine) burning(uid, ms int) (end func()) {
	m.t.Helper()
	cmd := m.inRoot(uid, "/usr/local/bin/flood", "burn", strconv.Itoa(ms), "60")
	m.must(m.groups.start(uid, cmd))
	time.Sleep(floodBegins)
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // with the signal
	}
}

// daemonUsed is the processor time that the daemon has used, in ms.
func (m *machine) daemonUsed() int {
	m.t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.daemon.Process.Pid))
	m.must(err)
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	user, err := strconv.Atoi(fields[11])
	m.must(err)
	system, err := strconv.Atoi(fields[12])
	m.must(err)
	return (user + system) * 1000 / clockTicks
}

// clockTicks are those of a second in /proc, on every machine that Go runs on.
const clockTicks = 100

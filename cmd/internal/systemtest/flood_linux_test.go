package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Bounds of the daemon while one user floods it in every way at once.
const (
	// mostSockets are connections of one user that are open or wait (64 and 64 on each socket), those that are being
	// told why they are refused, and the few of others.
	mostSockets = 4*64 + 64 + 64
	mostMiB     = 640 // of memory, at any moment; a flood without bounds takes gigabytes
)

// One user floods the daemon with questions, sessions, connections, bodies of 64 MiB, questions that come by drops, and
// answers that are not read. Every question of the other one is decided meanwhile, what the daemon holds for the first
// one stays within bounds, and all goes on afterwards. How much longer the other one waits is printed: a figure, and no
// test. make bench-system measures more of it.
func TestFlood(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := floodedMachine(t, false)
	before := m.asks(bob, "frames", 150)
	flooding := m.flood("all", 3)
	watched := m.watchDaemon()
	during := m.asks(bob, "frames", 150)
	for _, way := range []string{"http", "hook"} {
		m.asks(bob, way, 20)
	}
	did := flooding()
	sockets, mib := watched()
	if did.answered+did.refused < 100 || did.connected < 500 {
		t.Errorf("there was no flood: %+v", did)
	}
	if sockets > mostSockets || mib > mostMiB {
		t.Errorf("the daemon had %d sockets, at most %d; and took %d MiB, at most %d", sockets, mostSockets, mib, mostMiB)
	}
	fmt.Printf("  bob alone: median %d µs, 99th of a hundred %d µs\n"+
		"  while alice floods: median %d µs, 99th of a hundred %d µs (%.1f times); the daemon has %d sockets and %d MiB at most\n"+
		"  alice: %d questions answered, %d refused, %d connections\n", before.median(), before.p99(), during.median(), during.p99(),
		float64(during.p99())/float64(max(1, before.p99())), sockets, mib, did.answered, did.refused, did.connected)
	if d, r := m.verdict(alice, nil, "after", "ls"); d == "deny" {
		t.Errorf("alice, after the flood: %s %s", d, r)
	}
	for _, uid := range []string{"1501", "1502"} {
		if out, errs, code := m.as(0, "", "/usr/local/bin/belay", "--state", "/var/lib/belay/users/"+uid, "events",
			"verify"); code != 0 {
			t.Errorf("the log of uid %s: %s%s", uid, out, errs)
		}
	}
}

// floodedMachine is a machine that serves alice and bob already. Its processes are in control groups as systemd has
// them, where this machine can have such; with flat, all are in one.
func floodedMachine(t *testing.T, flat bool) *machine {
	t.Helper()
	groups, why := newCgroups(t, flat)
	if why != nil {
		fmt.Printf("  no control groups can be made here, so that programs of the users take time from each other: %v\n", why)
	}
	m := newMachine(t)
	m.groups = groups
	m.install(systemYAML, organisation)
	m.start()
	for _, uid := range []int{alice, bob} {
		m.asks(uid, "frames", 20)
	}
	return m
}

// asks asks so often as a user, one question after the other. Each of them has to be allowed.
func (m *machine) asks(uid int, way string, n int) delays {
	m.t.Helper()
	out, errs, code := m.as(uid, "", "/usr/local/bin/flood", "ask", way, strconv.Itoa(n))
	took := strings.Fields(out)
	if code != 0 || len(took) != n {
		m.t.Errorf("uid %d is not served by %s: exit %d, %s%s\n%.2000s", uid, way, code, out, errs, tail(m.log.String()))
		return nil
	}
	var all delays
	for _, f := range took {
		us, err := strconv.Atoi(f)
		m.must(err)
		all = append(all, us)
	}
	return all
}

// flooded is what a flood has done.
type flooded struct {
	answered, refused, connected int
	ms                           int // of processor time, of the program that floods
}

// flood has alice flood, and returns when that has begun. The returned function waits for its end.
func (m *machine) flood(kind string, seconds int) (end func() flooded) {
	m.t.Helper()
	done := make(chan string, 1)
	go func() {
		out, errs, _ := m.as(alice, "", "/usr/local/bin/flood", "bad", kind, strconv.Itoa(seconds))
		done <- out + errs
	}()
	time.Sleep(floodBegins)
	return func() (did flooded) {
		m.t.Helper()
		out := <-done
		if _, err := fmt.Sscan(out, &did.answered, &did.refused, &did.connected, &did.ms); err != nil {
			m.t.Errorf("the flood: %s", out)
		}
		return did
	}
}

// watchDaemon looks at the daemon until the returned function is called, which returns the most sockets that it had,
// and the most memory.
func (m *machine) watchDaemon() (end func() (sockets, mib int)) {
	proc := fmt.Sprintf("/proc/%d", m.daemon.Process.Pid)
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		most := 0
		for {
			n := 0
			fds, _ := os.ReadDir(filepath.Join(proc, "fd"))
			for _, fd := range fds {
				if to, err := os.Readlink(filepath.Join(proc, "fd", fd.Name())); err == nil && strings.HasPrefix(to, "socket:") {
					n++
				}
			}
			most = max(most, n)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() (sockets, mib int) {
		close(stop)
		return <-done, m.daemonMiB("VmHWM:")
	}
}

// daemonMiB is a figure of the daemon's memory, such as VmRSS: or, at most so far, VmHWM:.
func (m *machine) daemonMiB(figure string) int {
	m.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.daemon.Process.Pid))
	m.must(err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, figure); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			m.must(err)
			return kib >> 10
		}
	}
	m.t.Fatalf("no %s in %s", figure, status)
	return 0
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

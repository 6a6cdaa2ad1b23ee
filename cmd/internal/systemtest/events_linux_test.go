package systemtest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const machineDir = "/var/lib/belay/machine"

// event is what these tests look at of one.
type event struct {
	Type, Decision, User, Reason, Session string
	Output                                struct {
		Code, Request, Socket, Revision string
		UID                             int
		Count                           int
		Users                           int
	}
}

// events returns those of a state directory that a root reads, of one type, in order.
func (m *machine) events(dir, typ string) (out []event) {
	m.t.Helper()
	text, errs, code := m.as(0, "", "/usr/local/bin/belay", "--state", dir, "events", "query", "--type", typ, "--json",
		"--limit", "500")
	if code != 0 {
		m.t.Fatalf("%s: %s%s\n%s", dir, text, errs, tail(m.log.String()))
	}
	for line := range strings.Lines(text) {
		var e event
		m.must(json.Unmarshal([]byte(line), &e))
		out = append(out, e)
	}
	return out
}

// until waits for an event.
func (m *machine) until(dir, typ, what string, is func(e event) bool) event {
	m.t.Helper()
	for end := time.Now().Add(8 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		all := m.events(dir, typ)
		for _, e := range all {
			if is(e) {
				return e
			}
		}
		if time.Now().After(end) {
			m.t.Errorf("no event: %s; there are %+v\n%s", what, all, tail(m.log.String()))
			return event{}
		}
	}
}

// connectAs opens a connection to the machine's socket as each of these users, and closes it.
func (m *machine) connectAs(first, last int) {
	m.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with this goroutine
		for uid := first; uid <= last; uid++ {
			if _, _, e := syscall.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
				done <- e
				return
			}
			c, err := net.Dial("unix", m.path("run/belay/belay.sock"))
			_, _, _ = syscall.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0))
			if err != nil {
				done <- err
				return
			}
			c.Close()
		}
		done <- nil
	}()
	m.must(<-done)
}

// Each try that reaches belay is an event: of a user who may ask in their own log, of any other in the machine's, with
// the daemon's start and end, and what becomes of system.yaml. A flood under many uids leaves a bounded number. The log
// is proven and reported like every other one.
func TestEachTryIsAnEvent(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.install(systemYAML, organisation)
	m.start()
	m.verdict(mallet, nil, "s-1", "ls")
	m.verdict(alice, nil, "s-1", "ls")
	m.until(machineDir, "access", "mallet was refused", func(e event) bool {
		return e.Decision == "refused" && e.User == "mallet" && e.Output.Code == "not_allowed" && e.Output.UID == mallet &&
			strings.Contains(e.Reason, "users.allow")
	})
	m.until(machineDir, "access", "alice has a state directory", func(e event) bool {
		return e.Decision == "began" && e.Output.UID == alice
	})
	m.until(machineDir, "notice", "the daemon has started", func(e event) bool {
		return e.Decision == "started" && strings.HasPrefix(e.Output.Revision, "sha256:")
	})
	_, _, _ = m.as(alice, "", "/usr/local/bin/belay", "reload")
	m.until("/var/lib/belay/users/1501", "access", "alice tried root's verb", func(e event) bool {
		return e.Decision == "refused" && e.Output.Code == "wrong_role" && e.Output.Request == "POST /v1/reload" &&
			e.User == "alice"
	})
	for _, e := range m.events("/var/lib/belay/users/1501", "access") {
		if e.User != "alice" {
			t.Errorf("alice's log has %+v", e)
		}
	}

	m.connectAs(40000, 40599)
	before := len(m.events(machineDir, "access"))
	if before > 40 {
		t.Errorf("600 users leave %d events", before)
	}
	path := m.path("etc/belay/system.yaml")
	m.must(os.Chmod(path, 0o666))
	time.Sleep(1100 * time.Millisecond) // until it is looked at again
	m.connectAs(bob, bob)
	if d, r := m.verdict(alice, nil, "s-1", "ls"); d != "deny" {
		t.Errorf("while system.yaml is not believed: %s %s", d, r)
	}
	m.must(os.Chmod(path, 0o644))
	time.Sleep(1100 * time.Millisecond)
	m.connectAs(bob, bob)
	m.until(machineDir, "notice", "system.yaml is not believed", func(e event) bool {
		return e.Decision == "not_believed" && strings.Contains(e.Reason, "written by others")
	})
	m.until(machineDir, "notice", "system.yaml is believed again", func(e event) bool { return e.Decision == "believed" })

	m.stop(syscall.SIGTERM)
	sum := 0
	for _, e := range m.events(machineDir, "access") {
		if e.Output.Code == "not_allowed" && (e.Output.UID >= 40000 || e.Output.Users > 0) {
			sum += e.Output.Count
		}
	}
	if sum != 600 {
		t.Errorf("600 refused connections are %d in the log", sum)
	}
	for _, args := range [][]string{{"events", "verify"}, {"events", "report"}} {
		if out, errs, code := m.as(0, "", "/usr/local/bin/belay", append([]string{"--state", machineDir},
			args...)...); code != 0 {
			t.Errorf("%v: %s%s", args, out, errs)
		}
	}
	if out, errs, code := m.as(alice, "", "/usr/local/bin/belay", "--state", machineDir, "events", "query"); code == 0 &&
		strings.Contains(out, "mallet") {
		t.Errorf("alice reads the machine's log: %s%s", out, errs)
	}

	// The log cannot be opened: who may ask is served, who may not stays refused and is counted, and the status is red.
	m.must(os.Rename(m.path(machineDir), m.path(machineDir+".away")))
	m.must(os.WriteFile(m.path(machineDir), nil, 0o600))
	m.start()
	if d, r := m.verdict(alice, nil, "s-2", "rm -rf /"); d != "deny" || !strings.Contains(r, "command-guard") {
		t.Errorf("alice is not served: %s %s\n%s", d, r, tail(m.log.String()))
	}
	if d, r := m.verdict(mallet, nil, "s-2", "ls"); d != "deny" || !strings.Contains(r, "users.allow") {
		t.Errorf("mallet: %s %s", d, r)
	}
	if out, errs, code := m.as(alice, "", "/usr/local/bin/belay", "status"); code != 1 ||
		!strings.Contains(out, "the machine's log cannot be written") {
		t.Errorf("the status: %d %s%s", code, out, errs)
	}
	m.must(os.Remove(m.path(machineDir)))
	m.must(os.Rename(m.path(machineDir+".away"), m.path(machineDir)))
	refusals := 0
	m.until(machineDir, "access", "mallet was refused again", func(e event) bool {
		if e.User == "mallet" {
			refusals++
		}
		return refusals > 1
	})
	if out, errs, code := m.as(0, "", "/usr/local/bin/belay", "--state", machineDir, "events", "verify"); code != 0 {
		t.Errorf("afterwards: %s%s", out, errs)
	}
	m.stop(syscall.SIGTERM)
	fmt.Printf("  %-7s %-7s %-68s %s\n", "held", "root", "looks for what was tried in the machine's log", "all there")
}

package systemtest

import (
	"fmt"
	"strings"
	"testing"
)

// One user floods the daemon with questions, connections, bodies of 64 MiB and answers that are not read. Every question
// of the other one is decided meanwhile. How much longer that takes is printed: a figure, and no test.
func TestFlood(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	m := newMachine(t)
	m.install(systemYAML, organisation)
	m.start()
	ask := func(n int) (median, p99 int) {
		t.Helper()
		out, errs, code := m.as(bob, "", "/usr/local/bin/flood", "ask", fmt.Sprint(n))
		if _, err := fmt.Sscan(out, &median, &p99); code != 0 || err != nil {
			t.Errorf("bob is not served: exit %d, %s%s\n%.2000s", code, out, errs, tail(m.log.String()))
		}
		return median, p99
	}
	ask(20)
	median, p99 := ask(150)
	flooding := make(chan string, 1)
	go func() {
		out, errs, _ := m.as(alice, "", "/usr/local/bin/flood", "bad", "2")
		flooding <- out + errs
	}()
	for first := true; ; first = false {
		if out, _, _ := m.as(alice, "", "/usr/local/bin/flood", "ask", "1"); strings.TrimSpace(out) != "" || !first {
			break // alice's own server is there
		}
	}
	floodedMedian, floodedP99 := ask(150)
	out := <-flooding
	var answered, refused, connected int
	if _, err := fmt.Sscan(out, &answered, &refused, &connected); err != nil || answered+refused < 100 || connected < 500 {
		t.Errorf("there was no flood: %s", out)
	}
	fmt.Printf("  bob alone: median %d µs, 99th percentile %d µs\n  while alice floods: median %d µs, 99th percentile %d µs (%.1f times)\n"+
		"  alice: %d questions answered, %d refused, %d connections\n", median, p99, floodedMedian, floodedP99,
		float64(floodedP99)/float64(max(1, p99)), answered, refused, connected)
	if d, r := m.verdict(alice, nil, "after", "ls"); d == "deny" {
		t.Errorf("alice, after the flood: %s %s", d, r)
	}
	for _, uid := range []string{"1501", "1502"} {
		if out, errs, code := m.as(0, "", "/usr/local/bin/belay", "--state", "/var/lib/belay/users/"+uid, "events", "verify"); code != 0 {
			t.Errorf("the log of uid %s: %s%s", uid, out, errs)
		}
	}
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

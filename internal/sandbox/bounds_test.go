package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/hostcalls"
)

// What compiling is estimated to take may be all of the budget, and not one more.
func TestEstimateAtTheLimit(t *testing.T) {
	e := open(t, Options{Interpreter: true})
	limit := AdHoc.budget()
	for name, c := range map[string]struct {
		nanos, bytes uint64
		refused      bool
	}{
		"all":            {limit.Nanos, limit.Bytes, false},
		"one nanosecond": {limit.Nanos + 1, limit.Bytes, true},
		"one byte":       {limit.Nanos, limit.Bytes + 1, true},
	} {
		p, err := e.parse(caller(t, "pre_tool", false))
		if err != nil {
			t.Fatal(err)
		}
		p.info.EstimateNS, p.info.EstimateBytes = int64(c.nanos), int64(c.bytes)
		if err := e.admitFile(p, &LoadOptions{Class: AdHoc, MemoryCap: DefaultMemoryCap}); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A line of one byte is logged, an empty one is not.
func TestPrintedLines(t *testing.T) {
	s := newStub(t, 1)
	copy(s.mem[1024:], "a\n\nbc\nd")
	s.put(512, 1024, 7)
	if errno, f := s.call("fd_write", 1, 512, 1, 0); errno != wasiOK || f != nil {
		t.Fatal(errno, f)
	}
	s.inv.close()
	want := []hostcalls.LogEntry{{Level: 1, Text: "a"}, {Level: 1, Text: "bc"}, {Level: 1, Text: "d"}}
	if diff := cmp.Diff(want, s.inv.session.Logs()); diff != "" {
		t.Error(diff)
	}
}

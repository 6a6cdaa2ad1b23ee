package sandbox

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/phases"
)

// residentKB reads a figure of /proc/self/status, in KiB.
func residentKB(t *testing.T, name string) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == name+":" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no " + name)
	return 0
}

// One invocation takes at most its memory cap and 16 MiB from the host, whatever
// it does: growing to the cap and touching all of it, recursing, flooding.
func TestHostMemory(t *testing.T) {
	const slack = 16 << 10 // KiB
	e := open(t, Options{})
	for _, limit := range []int64{DefaultMemoryCap, 64 << 20} {
		m, err := e.Load(t.Context(), guest(t, "hogs"), LoadOptions{MemoryCap: limit})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []phases.Phase{phases.StateTransition, phases.PostReceive, phases.Spawn, phases.Audit} {
			debug.FreeOSMemory()
			before := residentKB(t, "VmRSS")
			// 5 resets the peak to the current resident size.
			if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				run(t, m, RunRequest{Phase: p, Fuel: 32 << 20, Timeout: -1}, lsAction)
			}
			took := residentKB(t, "VmHWM") - before
			if took > limit>>10+slack {
				t.Errorf("%s took %d KiB at a cap of %d KiB", p, took, limit>>10)
			}
			if p == phases.StateTransition && took < limit>>10/2 {
				t.Errorf("%s took only %d KiB: the measurement does not see guest memory", p, took)
			}
		}
	}
	// Nothing is left mapped.
	debug.FreeOSMemory()
	before := residentKB(t, "VmSize")
	m := load(t, e, guest(t, "hogs"))
	for range 50 {
		run(t, m, RunRequest{Phase: phases.StateTransition, Fuel: 32 << 20, Timeout: -1}, lsAction)
	}
	if grew := residentKB(t, "VmSize") - before; grew > 10*DefaultMemoryCap>>10 {
		t.Errorf("50 runs left %d KiB of address space behind", grew)
	}
}

// Loading and unloading leaves nothing behind: no code, no address space.
func TestUnloading(t *testing.T) {
	e := open(t, Options{})
	var before int64
	for i := range 120 {
		if i == 20 { // pools and the runtime's own tables are filled by now
			runtime.GC()
			debug.FreeOSMemory()
			before = residentKB(t, "VmRSS")
		}
		m := load(t, e, guest(t, "guard"))
		run(t, m, RunRequest{Phase: phases.PreTool}, lsAction)
		m.Close()
	}
	runtime.GC() // finalizers free the code
	debug.FreeOSMemory()
	if grew := residentKB(t, "VmRSS") - before; grew > 4<<10 {
		t.Errorf("100 modules left %d KiB behind", grew)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.modules) != 0 {
		t.Errorf("the engine still knows %d modules", len(e.modules))
	}
}

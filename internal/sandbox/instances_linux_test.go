package sandbox

import "testing"

// An instantiation that fails gives its address space back.
func TestFailedInstancesGiveTheirMemoryBack(t *testing.T) {
	file := reparse(t, caller(t, "pre_tool", false))
	file.Memory.Min = maxMemory / pageSize
	m, err := open(t, Options{Interpreter: true}).Load(t.Context(), encode(t, file), LoadOptions{MemoryCap: maxMemory})
	if err != nil {
		t.Fatal(err)
	}
	fresh := freshOf(m)
	short := newFreshInstances(fresh.runtime, fresh.code, maxMemory-pageSize)
	before := residentKB(t, "VmSize")
	for range 4 {
		if inst, err := short.acquire(t.Context(), nil); inst != nil || faultOf(t, err).Text != textHostMemory {
			t.Fatal(inst, err)
		}
	}
	if grew := residentKB(t, "VmSize") - before; grew >= maxMemory>>10 {
		t.Errorf("4 of them left %d KiB of address space behind", grew)
	}
}

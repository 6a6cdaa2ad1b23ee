package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/sandbox/meter"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// TestInstancesAreMetered: code that lacks what the host measures a guest by never becomes an instance.
func TestInstancesAreMetered(t *testing.T) {
	m := load(t, open(t, Options{Interpreter: true}), caller(t, "pre_tool", false))
	fresh := freshOf(m)
	global := func(mutable bool) wasm.Global {
		return wasm.Global{Type: wasm.I64, Mutable: mutable, Init: wasm.ConstExpr{Op: wasm.OpI64Const}}
	}
	both := []string{meter.ExportFuel, meter.ExportGrowFailed}
	for name, c := range map[string]struct {
		exports []string
		fixed   bool // the globals cannot be set
		memory  bool
		good    bool
	}{
		"all":                      {both, false, true, true},
		"nothing":                  {nil, false, false, false},
		"no budget":                {both[1:], false, true, false},
		"a budget that is fixed":   {both, true, true, false},
		"no mark of refused pages": {both[:1], false, true, false},
		"no memory":                {both, false, false, false},
	} {
		file := reparse(t, caller(t, "pre_tool", false))
		file.Exports = file.Exports[1:] // the phase
		for n, export := range c.exports {
			file.Globals = append(file.Globals, global(!c.fixed))
			file.Exports = append(file.Exports, wasm.Export{Name: export, Kind: wasm.ExternGlobal, Index: uint32(n)})
		}
		if !c.memory {
			file.Memory = nil
		}
		code, err := fresh.runtime.CompileModule(t.Context(), encode(t, file))
		must(t, err)
		inst, err := newFreshInstances(fresh.runtime, code, maxMemory).acquire(t.Context(), nil)
		switch {
		case c.good && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.good:
			fresh.release(inst, false, time.Now())
		case inst != nil || faultOf(t, err) == nil || faultOf(t, err).Text != textInstantiate ||
			!strings.Contains(fmt.Sprint(errors.Unwrap(faultOf(t, err).Cause)), "lacks what the pass adds"):
			t.Errorf("%s: %v, %v", name, inst, err)
		}
	}
}

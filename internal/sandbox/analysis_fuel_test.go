package sandbox

import (
	"context"
	"testing"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// An analysis knows what the guest can still pay once the base is charged, whatever the
// slices.
func TestAnalysesAreToldTheirFuel(t *testing.T) {
	const budget = 1_000_000
	var left int64
	rows := table("find_secrets", func(row *hostcalls.Call) {
		row.Handle = func(_ context.Context, _ *hostcalls.Session, a *hostcalls.Args) (hostcalls.Result, error) {
			left = a.Fuel
			return hostcalls.Result{}, nil
		}
	})
	find := imported{module: hostcalls.Module, name: "find_secrets", params: []wasm.ValType{wasm.I32, wasm.I32}, results: i32}
	m := load(t, open(t, Options{Table: rows}), caller(t, "pre_tool", false, find))
	row, _ := hostcalls.Lookup("find_secrets")
	first := int64(0)
	for _, slice := range []int64{1, 1000, 0} {
		left = 0
		rep, err := m.Run(t.Context(), RunRequest{Phase: phases.PreTool, Fuel: budget, Slice: slice, Session: session(t, phases.PreTool, lsAction)})
		if err != nil {
			t.Fatal(err)
		}
		if most := budget - row.Cost.Base; left > most || left < most-100 || left < budget-rep.Fuel {
			t.Errorf("%d left of %d, of which %d were used in all", left, budget, rep.Fuel)
		}
		if first == 0 {
			first = left
		}
		if left != first {
			t.Errorf("with slices of %d: %d left, before %d", slice, left, first)
		}
	}
}

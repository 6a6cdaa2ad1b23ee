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
	find := imported{module: hostcalls.Module, name: "find_secrets", params: []wasm.ValType{wasm.I32, wasm.I32},
		results: i32}
	m := load(t, open(t, Options{Table: rows}), caller(t, "pre_tool", false, find))
	row, _ := hostcalls.Lookup("find_secrets")
	first := int64(0)
	for _, slice := range []int64{1, 1000, 0} {
		left = 0
		rep, err := m.Run(t.Context(),
			RunRequest{Phase: phases.PreTool, Fuel: budget, Slice: slice, Session: session(t, phases.PreTool, lsAction)})
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

// What an analysis costs for each byte is paid before it begins: a guest that cannot pay for
// its text has none of it looked at.
func TestAnalysesBeginWhenTheirTextIsPaid(t *testing.T) {
	row, _ := hostcalls.Lookup("find_secrets")
	find := imported{module: hostcalls.Module, name: "find_secrets", params: []wasm.ValType{wasm.I32, wasm.I32},
		results: i32}
	for fuel, runs := range map[int64]bool{row.Cost.Base - 1: false, row.Cost.Base + 1000: true} {
		ran := false
		rows := table("find_secrets", func(row *hostcalls.Call) {
			row.Handle = func(context.Context, *hostcalls.Session, *hostcalls.Args) (hostcalls.Result, error) {
				ran = true
				return hostcalls.Result{}, nil
			}
		})
		m := load(t, open(t, Options{Table: rows}), caller(t, "pre_tool", false, find))
		_, err := m.Run(t.Context(),
			RunRequest{Phase: phases.PreTool, Fuel: fuel, Session: session(t, phases.PreTool, lsAction)})
		if ran != runs || (err == nil) != runs || !runs && faultOf(t, err).Kind != phases.KindFuel {
			t.Errorf("with %d units: it ran: %v, %v", fuel, ran, err)
		}
	}
	if row.Cost.PerIn*hostcalls.MaxScan < 20_000_000 {
		t.Errorf("the largest text costs %d", row.Cost.PerIn*hostcalls.MaxScan)
	}
}

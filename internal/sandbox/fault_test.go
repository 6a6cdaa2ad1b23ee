package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/belay-hooks/belay/hostcalls"
	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// The reason of a trap is the text of the engine's innermost error, and no text on the
// way to it: a wrapper may say anything.
func TestTrapReasonIsTheInnermost(t *testing.T) {
	inner := errors.New("something else")
	for _, reason := range trapReasons {
		leaf := errors.New(reason)
		for name, err := range map[string]error{
			"bare": leaf, "wrapped": fmt.Errorf("wasm error: %w\nwasm stack trace:\n\t.$1()", leaf),
			"wrapped twice": fmt.Errorf("a: %w", fmt.Errorf("b: %w", leaf)),
		} {
			if got := trapReason(err); got != reason {
				t.Errorf("%s, %s: %q", reason, name, got)
			}
		}
		for name, err := range map[string]error{
			"a wrapper's text":     named{reason, inner},
			"two wrappers' text":   named{reason, named{reason, inner}},
			"more than the reason": errors.New(reason + "!"),
			"less than the reason": errors.New(reason[1:]),
		} {
			if got, want := trapReason(err), "engine error: "+err.Error(); got != want {
				t.Errorf("%s, %s: %q", reason, name, got)
			}
		}
	}
}

// named is an error whose text says nothing of the error that it wraps.
type named struct {
	text  string
	below error
}

func (n named) Error() string { return n.text }
func (n named) Unwrap() error { return n.below }

// A call that is not allowed yet ends the run before its arguments are looked at, before
// it costs anything and before the session hears of it, also where its ranges are wild.
func TestEarlyCallsGoNowhere(t *testing.T) {
	e := open(t, Options{})
	rows := map[string]hostcalls.Call{}
	for _, c := range hostcalls.Table() {
		rows[c.Name] = c
	}
	early := 0
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		c := rows[name]
		inv, ctx := direct(t, e)
		inv.init = true
		before := inv.inst.fuelLeft()
		f := e.host["belay_v1"][name]
		stack := slices.Repeat([]uint64{0xffff_ffff}, max(len(f.sig.Params), 1))
		_, _, ended := hostCall(ctx, inv, f, stack)
		if refused := strings.Contains(ended, textEarlyCall); refused == c.InInit {
			t.Errorf("%s: %q", name, ended)
		}
		if c.InInit {
			continue
		}
		early++
		if left := inv.inst.fuelLeft(); left != before {
			t.Errorf("%s: cost %d", name, before-left)
		}
		if n := inv.session.Hostcalls(); n != 0 || inv.ended == nil {
			t.Errorf("%s: the session heard %d calls, ended by %v", name, n, inv.ended)
		}
	}
	if early < 10 {
		t.Errorf("%d calls are refused", early)
	}
}

// TestEarlyCallsOfGuests: a guest that makes such a call while it is initialised hears that, too, whatever
// its ranges are.
func TestEarlyCallsOfGuests(t *testing.T) {
	e := open(t, Options{})
	block := e.host["belay_v1"]["block"].sig
	for name, at := range map[string]uint64{"within its memory": 64, "wild": 0xffff_ffff} {
		file := reparse(t,
			caller(t, "pre_tool", false, imported{"belay_v1", "block", block.Params, block.Results, []int64{64, 1}}))
		var body []byte
		for range block.Params {
			body = wasm.AppendInstr(body, &wasm.Instr{Op: wasm.OpI32Const, Bits: at})
		}
		body = wasm.AppendInstr(body, &wasm.Instr{Op: wasm.OpCall})
		for range block.Results {
			body = wasm.AppendInstr(body, &wasm.Instr{Op: wasm.OpDrop})
		}
		body = wasm.AppendInstr(body, &wasm.Instr{Op: wasm.OpEnd})
		file.Types = append(file.Types, wasm.FuncType{})
		file.Funcs = append(file.Funcs, wasm.Func{Type: uint32(len(file.Types) - 1), Body: body})
		file.Exports = append(file.Exports, wasm.Export{Name: exportInitialize, Kind: wasm.ExternFunc, Index: 2})
		m := load(t, e, encode(t, file))
		_, err := m.Run(t.Context(),
			RunRequest{Phase: phases.PreTool, Session: session(t, phases.PreTool, lsAction), Timeout: -1})
		f := faultOf(t, err)
		if f == nil || f.Kind != phases.KindHostcall || f.Text != textEarlyCall ||
			!strings.Contains(f.Cause.Error(), "block during start or _initialize") {
			t.Errorf("%s: %v, %v", name, err, f)
		}
	}
}

package sandbox

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// envModule is what AssemblyScript's runtime imports from; nothing else is in it.
const envModule = "env"

func envFunctions() map[string]*hostFunc {
	return map[string]*hostFunc{
		// abort(message, file, line, column): the strings are UTF-16 in guest memory and
		// of no use to anyone who has the function's name.
		"abort": {
			sig: wasm.FuncType{Params: valTypes("iiii")},
			fn: api.GoModuleFunc(func(ctx context.Context, _ api.Module, _ []uint64) {
				inv := invocationOf(ctx)
				if inv.inst.growRefused() {
					inv.endf(phases.KindMemory, textMemory, "abort after memory.grow was refused")
				}
				inv.endf(phases.KindTrap, textTrap, "abort")
			}),
		},
		// seed() feeds Math.random: 53 random bits, as a number that is never NaN.
		"seed": {
			sig: wasm.FuncType{Results: []wasm.ValType{wasm.F64}},
			fn: api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
				inv := invocationOf(ctx)
				inv.charge(wasiCost)
				stack[0] = api.EncodeF64(float64(binary.LittleEndian.Uint64(inv.session.Random(8)) >> 11))
			}),
		},
	}
}

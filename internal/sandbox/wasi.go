package sandbox

import (
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
	"github.com/belay-hooks/belay/phases"
)

// The WASI stub: enough of wasi_snapshot_preview1 for the runtime of standard Go
// and for C libraries to start and to print. It is not a capability, because it
// gives none: no file, no network, no real clock, no real randomness. Names and
// signatures are those of the preview 1 specification.

const wasiModule = "wasi_snapshot_preview1"

// Error numbers of preview 1.
const (
	wasiOK     = 0
	wasiBADF   = 8
	wasiINVAL  = 28
	wasiNOSYS  = 52
	wasiCost   = 500 // fuel of a call of the stub, as for the cheapest hostcalls
	wasiChunk  = 4 << 10
	wasiPerSub = 100 // fuel per subscription
)

// wasiFn answers one call; the arguments are stack slots. The result is an error
// number.
type wasiFn func(inv *invocation, stack []uint64) uint32

// wasiCall is a function of the stub.
type wasiCall struct {
	fn wasiFn
}

// Call implements api.GoModuleFunction.
func (w *wasiCall) Call(ctx context.Context, _ api.Module, stack []uint64) {
	inv := invocationOf(ctx)
	inv.charge(wasiCost)
	stack[0] = uint64(w.fn(inv, stack))
}

func wasiFunctions() map[string]*hostFunc {
	answer := func(errno uint32) wasiFn { return func(*invocation, []uint64) uint32 { return errno } }
	answers := map[string]wasiFn{
		"args_get":            answer(wasiOK),
		"environ_get":         answer(wasiOK),
		"sched_yield":         answer(wasiOK),
		"args_sizes_get":      wasiNone,
		"environ_sizes_get":   wasiNone,
		"clock_time_get":      wasiClockTimeGet,
		"poll_oneoff":         wasiPollOneoff,
		"random_get":          wasiRandomGet,
		"fd_write":            wasiFdWrite,
		"fd_fdstat_get":       answer(wasiBADF),
		"fd_fdstat_set_flags": answer(wasiBADF),
		"fd_prestat_get":      answer(wasiBADF),
		"fd_prestat_dir_name": answer(wasiBADF),
		"fd_close":            answer(wasiBADF),
		"fd_read":             answer(wasiBADF),
	}
	out := map[string]*hostFunc{}
	for name, params := range preview1 {
		fn := answers[name]
		if fn == nil {
			fn = answer(wasiNOSYS)
		}
		f := &hostFunc{fn: &wasiCall{fn: fn}, sig: wasm.FuncType{Params: valTypes(params), Results: []wasm.ValType{wasm.I32}}}
		if name == "proc_exit" {
			f.fn, f.sig.Results = api.GoModuleFunc(wasiProcExit), nil
		}
		out[name] = f
	}
	return out
}

// preview1 lists every function of wasi_snapshot_preview1 with its parameters: i
// is an i32, I an i64. All but proc_exit answer an error number.
var preview1 = map[string]string{
	"args_get": "ii", "args_sizes_get": "ii", "environ_get": "ii", "environ_sizes_get": "ii",
	"clock_res_get": "ii", "clock_time_get": "iIi", "random_get": "ii", "sched_yield": "",
	"poll_oneoff": "iiii", "proc_exit": "i", "proc_raise": "i",
	"fd_advise": "iIIi", "fd_allocate": "iII", "fd_close": "i", "fd_datasync": "i",
	"fd_fdstat_get": "ii", "fd_fdstat_set_flags": "ii", "fd_fdstat_set_rights": "iII",
	"fd_filestat_get": "ii", "fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi",
	"fd_pread": "iiiIi", "fd_prestat_dir_name": "iii", "fd_prestat_get": "ii", "fd_pwrite": "iiiIi",
	"fd_read": "iiii", "fd_readdir": "iiiIi", "fd_renumber": "ii", "fd_seek": "iIii", "fd_sync": "i",
	"fd_tell": "ii", "fd_write": "iiii",
	"path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
	"path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii",
	"path_remove_directory": "iii", "path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii",
	"sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
}

func valTypes(s string) []wasm.ValType {
	out := make([]wasm.ValType, len(s))
	for i := range out {
		out[i] = map[byte]wasm.ValType{'i': wasm.I32, 'I': wasm.I64}[s[i]]
	}
	return out
}

// wasiNone answers a count and a size of zero.
func wasiNone(inv *invocation, stack []uint64) uint32 {
	for _, slot := range stack[:2] {
		inv.check(span{low32(slot), 4}, "wasi")
	}
	inv.copyOut(low32(stack[0]), make([]byte, 4))
	inv.copyOut(low32(stack[1]), make([]byte, 4))
	return wasiOK
}

// wasiRandomGet fills a range from the run's recorded stream, or from the
// module's own during start and _initialize.
func wasiRandomGet(inv *invocation, stack []uint64) uint32 {
	s := span{low32(stack[0]), low32(stack[1])}
	inv.check(s, "random_get")
	for s.n > 0 {
		n := min(s.n, wasiChunk)
		inv.charge(2 * int64(n))
		inv.copyOut(s.ptr, inv.session.Random(int(n)))
		s.ptr, s.n = s.ptr+n, s.n-n
	}
	return wasiOK
}

// wasiProcExit is a failure whatever the code is: a hook that has ended itself
// has not answered.
func wasiProcExit(ctx context.Context, _ api.Module, stack []uint64) {
	inv := invocationOf(ctx)
	k, text := phases.KindOutput, textExit
	if inv.inst.growRefused() {
		// The runtime of a language ends itself when it gets no memory.
		k, text = phases.KindMemory, textMemory
	}
	inv.end(phases.NewFault(k, text, &Detail{Reason: "proc_exit"}))
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

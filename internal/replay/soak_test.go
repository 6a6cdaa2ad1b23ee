package replay_test

import (
	"io"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/internal/loader"
	"github.com/belay-hooks/belay/internal/recording"
	"github.com/belay-hooks/belay/internal/replay"
	"github.com/belay-hooks/belay/internal/report"
)

// Memory stays flat however long a recording is: 20 000 invocations here, 1 000 000
// with `make test-soak`, through writer, reader, sandbox and report.
func TestSoak(t *testing.T) {
	total := 20_000
	if s := os.Getenv("BELAY_SOAK"); s != "" {
		var err error
		if total, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	line := `{"invocation":{"phase":"pre_tool","runtime":"custom","session":"s","run":"r","action":{"tool":"exec","args":{"command":"ls"}}}}`
	src := record(t, nil, []byte(line),
		belay.Options{Hooks: []belay.AdHocHook{{Name: "strict", Module: module(t, "strict")}}})
	runs, chains := read(t, src)
	runs[0].Chained.Reason = "something else" // every one differs: reports have to bear that, too

	pr, pw := io.Pipe()
	go func() {
		w, err := recording.NewWriter(pw, recording.Header{CostTable: loader.CostTable})
		if err == nil {
			_, err = w.AddChain(chains[0])
		}
		for n := 0; n < total && err == nil; n++ {
			err = w.AddRun(runs[0])
		}
		if err == nil {
			err = w.Close()
		}
		pw.CloseWithError(err) // nil is the end of the file
	}()
	rd, err := recording.NewReader(pr, "soak")
	if err != nil {
		t.Fatal(err)
	}
	b := report.NewBuilder("exact", "")
	b.Begin(rd.Header())
	var early, late uint64
	n := 0
	err = replay.All(t.Context(), replay.Options{Bench: bench(t), Modules: modules(t, "strict")}, rd,
		func(r *replay.Result) error {
			b.Add(r)
			switch n++; n {
			case total / 4:
				early = heap()
			case total:
				late = heap()
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	b.End(rd.Digest(), 0)
	r, err := b.Report()
	if err != nil || r.Summary.Different != total {
		t.Fatalf("%v %+v", err, r.Summary)
	}
	t.Logf("%d invocations: %d KiB of heap after a quarter, %d KiB at the end", n, early>>10, late>>10)
	if late > early+(4<<20) {
		t.Errorf("the heap grew from %d to %d KiB", early>>10, late>>10)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

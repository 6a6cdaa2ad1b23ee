package meter

import (
	"bytes"
	"slices"
	"strconv"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox/wasm"
)

// branches has six regions: the entry, both arms of an if, a loop, the code
// behind its exit, and the end.
func branches(t testing.TB) []byte {
	return one(t, sig(ty(i32), ty(i32)), locals(1, i32),
		get(0), i32c(10), o(wasm.OpI32LtU), // entry
		blk(wasm.OpIf), i32c(1), set(1), // 1
		o(wasm.OpElse), i32c(2), set(1), // 2
		o(end), get(1), o(wasm.OpDrop), // 3
		blk(wasm.OpBlock), blk(wasm.OpLoop), get(0), i32c(5), o(wasm.OpI32GtU), brIf(1), // 4
		get(0), i32c(1), o(wasm.OpI32Add), set(0), br(0), // 5
		o(end), o(end), get(1)) // 6
}

func hit(t testing.TB, i *instance) []int {
	t.Helper()
	out := []int{}
	for n := range i.out.Regions {
		if i.mod.ExportedGlobal(ExportCover+strconv.Itoa(n/64)).Get()>>(n%64)&1 != 0 {
			out = append(out, n)
		}
	}
	return out
}

func TestCoverageIsExact(t *testing.T) {
	out := instrument(t, branches(t), Options{Cover: true})
	for i, r := range out.Regions {
		if r.Func != 0 || i > 0 && r.Start != out.Regions[i-1].End || r.End <= r.Start {
			t.Errorf("region %d: %+v", i, r)
		}
	}
	for _, c := range []struct {
		arg  uint64
		want []int
	}{
		{7, []int{0, 1, 3, 4, 6}},    // small, and the loop is left at once
		{3, []int{0, 1, 3, 4, 5, 6}}, // small, and the loop turns
		{200, []int{0, 2, 3, 4, 6}},  // large
		{1 << 31, []int{0, 2, 3, 4, 6}},
	} {
		for _, e := range engines {
			i, err := newRuntime(t, e).instantiate(&out)
			if err != nil {
				t.Fatal(err)
			}
			i.invoke("f", Account{Limit: 1 << 20}, c.arg)
			if got := hit(t, i); !slices.Equal(got, c.want) || len(out.Regions) != 7 {
				t.Errorf("%s f(%d): %v of %d regions, want %v of 7", e, c.arg, got, len(out.Regions), c.want)
			}
		}
	}
}

// What ran before a trap counts, and what did not run does not.
func TestCoverageUpToATrap(t *testing.T) {
	out := instrument(t, divLate(t), Options{Cover: true})
	i, err := newRuntime(t, compiler).instantiate(&out)
	if err != nil {
		t.Fatal(err)
	}
	if got := hit(t, i); len(got) != 0 {
		t.Errorf("before any run: %v", got)
	}
	if o, _ := i.invoke("f", Account{Limit: 1 << 20}, 3); o.fault == "" {
		t.Fatalf("%+v", o)
	}
	if got := hit(t, i); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("%v of %+v", got, out.Regions)
	}
}

// Without the option nothing is added, so that no production module changes.
func TestNoCoverageUnasked(t *testing.T) {
	out := instrument(t, branches(t), Options{})
	if out.Regions != nil {
		t.Errorf("%+v", out.Regions)
	}
	if bytes.Contains(out.Wasm, []byte(ExportCover)) {
		t.Error("a module that nobody wants to cover has marks")
	}
}

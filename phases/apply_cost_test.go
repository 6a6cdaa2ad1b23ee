package phases

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A mask can be longer than the value that it replaces; the result of a redaction is
// bounded before it is built.
func TestRedactDoesNotGrowWithoutBound(t *testing.T) {
	action := jsontext.Value(`{"tool":"exec","args":{"x":[` + strings.Repeat(`"",`, 300_000) + `""]}}`)
	by := Actor{Hook: "h", Tier: Sandboxed, Mutator: true, Grants: map[EffectKind]bool{EffectRedact: true}}
	e := Effect{Kind: EffectRedact, Path: "/args/x", Label: strings.Repeat("l", maxLabelBytes)}
	var err error
	n := allocated(func() { _, err = ApplyEffect(PreTool, PassMutate, action, by, e) })
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("error %v, not ErrTooLarge", err)
	}
	if n > 4*MaxInputBytes {
		t.Errorf("%d bytes were allocated to find that out", n)
	}
}

// Checking a list of tools for lost entries takes work in proportion to both lists.
func TestSubsetComparesEachEntryOnce(t *testing.T) {
	var tools strings.Builder
	for i := range 400 {
		fmt.Fprintf(&tools, `{"name":"t%d"},`, i)
	}
	action := jsontext.Value(`{"provider":"p","messages":[],"tools":[` + tools.String() + `{"name":"last"}]}`)
	by := Actor{Hook: "h", Tier: Sandboxed, Mutator: true, Rewrite: []string{""}}
	e := Effect{Kind: EffectRewrite, Path: "/tools",
		Value: jsontext.Value(`[{"name":"x","d":"` + strings.Repeat("x", 200_000) + `"}]`)}
	var err error
	n := allocated(func() { _, err = ApplyEffect(PreSend, PassMutate, action, by, e) })
	if !errors.Is(err, errInvalid) || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("error %v, not that entries may only be dropped", err)
	}
	if n > 8<<20 {
		t.Errorf("%d bytes were allocated to find that out", n)
	}
}

// A mutator that repeats itself in the validate pass is held to the value that it
// names: the rest of the action has kept its bytes and is not put in order again.
func TestValidatePassComparesWhatChanged(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, `"%x":0,`, i*7919%1_000_003)
	}
	action := jsontext.Value(`{"tool":"exec","args":{"x":{` + b.String() + `"z":10,"list":[1,1]}}}`)
	by := Actor{Hook: "h", Tier: Sandboxed, Mutator: true, Rewrite: []string{""},
		Grants: map[EffectKind]bool{EffectRedact: true}}
	whole := allocated(func() { _, _ = DecodeAction(PreTool, action) })
	for _, c := range []struct {
		e    Effect
		same bool
	}{
		{Effect{Kind: EffectRewrite, Path: "/args/x/z", Value: jsontext.Value("1e1")}, true},
		{Effect{Kind: EffectRewrite, Path: "/args/x/z", Value: jsontext.Value("11")}, false},
		{Effect{Kind: EffectRewrite, Path: "/args/x/z", Value: jsontext.Value("[10]")}, false},
		{Effect{Kind: EffectRewrite, Path: "/args/x/list", Value: jsontext.Value("[1, 1.0]")}, true},
		{Effect{Kind: EffectRewrite, Path: "/args/x/list/0", Remove: true}, false},
		{Effect{Kind: EffectRewrite, Path: "/args/x/none", Remove: true}, true},
		{Effect{Kind: EffectRewrite, Path: "/args/x/new", Value: jsontext.Value("1")}, false},
		{Effect{Kind: EffectRewrite, Path: "/args/x", Value: jsontext.Value("{}")}, false},
		{Effect{Kind: EffectRedact, Path: "/args/x/z", Label: "l"}, false},
	} {
		var err error
		n := allocated(func() { _, err = ApplyEffect(PreTool, PassValidate, action, by, c.e) })
		if c.same && err != nil || !c.same && !errors.Is(err, errUnstable) {
			t.Errorf("%+v: %v", c.e, err)
		}
		if n > 2*whole+6<<20 {
			t.Errorf("%+v: %d bytes were allocated, decoding takes %d", c.e, n, whole)
		}
	}
}

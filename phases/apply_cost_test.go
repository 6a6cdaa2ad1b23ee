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

// A mask is longer than what it covers; the result of a redaction is bounded
// before it is built.
func TestRedactDoesNotGrowWithoutBound(t *testing.T) {
	action := jsontext.Value(`{"tool":"exec","args":{"x":[` + strings.Repeat(`"",`, 300_000) + `""]}}`)
	by := Actor{Hook: "h", Tier: Sandboxed, Mutator: true, Grants: map[EffectKind]bool{EffectRedact: true}}
	e := Effect{Kind: EffectRedact, Path: "/args/x", Label: strings.Repeat("l", MaxLabelBytes)}
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
	e := Effect{Kind: EffectRewrite, Path: "/tools", Value: jsontext.Value(`[{"name":"x","d":"` + strings.Repeat("x", 200_000) + `"}]`)}
	var err error
	n := allocated(func() { _, err = ApplyEffect(PreSend, PassMutate, action, by, e) })
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("error %v, not that entries may only be dropped", err)
	}
	if n > 8<<20 {
		t.Errorf("%d bytes were allocated to find that out", n)
	}
}

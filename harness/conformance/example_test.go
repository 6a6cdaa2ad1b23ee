package conformance_test

import (
	"context"
	"fmt"

	"github.com/belay-hooks/belay/harness/conformance"
)

// deafHost is a host that loses the effects of hooks. A host of your own loads the module
// and calls the phase.
type deafHost struct{ inner conformance.Host }

func (h deafHost) Run(ctx context.Context, r conformance.Request) (conformance.Outcome, error) {
	o, err := h.inner.Run(ctx, r)
	o.Effects = nil
	return o, err
}

// Each rule is a small module and what has to come of it. A test of a host calls
// conformance.Run(t, host), which runs all of them.
func ExampleRule_Verify() {
	ctx := context.Background()
	host, err := conformance.OpenBelayHost(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	rules, err := conformance.Rules()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range rules {
		if r.ID != "block" {
			continue
		}
		for _, h := range []conformance.Host{host, deafHost{host}} {
			broken, err := r.Verify(ctx, h)
			fmt.Println(r.ID, broken, err)
		}
	}
	// Output:
	// block [] <nil>
	// block [there is no block] <nil>
}

package sandbox

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// testdata/fuel.txt was written before instances were pooled and restored (b7c2781e, the last change of the cost
// table): a run costs to the unit what it cost then, and ends as it did, however the engine makes its instance. The
// second run of each takes the image, the third begins with it.
func TestFuelIsAsItWas(t *testing.T) {
	want, err := os.ReadFile("testdata/fuel.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := open(t, Options{})
	for n := range 3 {
		var got strings.Builder
		for _, name := range []string{"effects", "guard", "hogs", "init_effect", "init_order", "loops", "pointers",
			"start_loop", "traps", "wasi"} {
			m := load(t, e, guest(t, name))
			for _, p := range m.Info().Phases {
				o := run(t, m, RunRequest{Phase: p, Fuel: 1 << 20, Timeout: -1}, lsAction)
				fmt.Fprintf(&got, "%s %s %d %q\n", name, p, o.Report.Fuel, o.Kind)
			}
		}
		if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); d != "" {
			t.Errorf("run %d: %s", n+1, d)
		}
	}
}

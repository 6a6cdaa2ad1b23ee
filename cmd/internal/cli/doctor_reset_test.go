package cli

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/internal/sandbox"
)

// Only the fastest way of reset is as it should be; of each other one doctor says what it costs, and what would help.
func TestDoctorTellsWhatAResetCosts(t *testing.T) {
	for reset, want := range map[sandbox.Reset]string{
		sandbox.ResetCopy: "", sandbox.ResetDrop: "Linux 6.7", sandbox.ResetNone: "50 µs a turn",
	} {
		f := resetFinding(reset)
		if (f.Status == "ok") != (want == "") || !strings.Contains(f.Advice, want) || f.Text != reset.String() ||
			f.Check != "instances" {
			t.Errorf("%v: %+v", reset, f)
		}
	}
	if f := examineReset(); f.Text == "" {
		t.Errorf("this machine: %+v", f)
	}
}

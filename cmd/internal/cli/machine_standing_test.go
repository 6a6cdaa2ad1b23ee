package cli

import (
	"strings"
	"testing"

	"github.com/belay-hooks/belay/client/wire"
)

// An ordinary user sees whether the daemon is held in, and whether refused callers are recorded; what is not is red.
func TestHowTheMachinesDaemonStands(t *testing.T) {
	for _, c := range []struct {
		m    wire.Machine
		red  int // findings
		says []string
	}{
		{wire.Machine{Landlock: 6}, 0, []string{"Landlock, version 6"}},
		{wire.Machine{Log: "the disk is full"}, 2, []string{"does not hold", "the disk is full"}},
	} {
		line := machineLine(&c.m, palette(false))
		red := 0
		for _, f := range examineMachine(&c.m) {
			if f.Status == "fail" {
				if red++; !strings.HasPrefix(f.Advice, "Root: ") && !strings.Contains(f.Advice, " Root: ") {
					t.Errorf("%+v", f)
				}
			}
		}
		for _, says := range c.says {
			if !strings.Contains(line, says) {
				t.Errorf("%q, want %s", line, says)
			}
		}
		if reasons := notReady(&wire.Status{Healthy: true, Daemon: &wire.Daemon{Machine: &c.m}}, nil); red != c.red ||
			(c.m.Log != "") != (len(reasons) == 1) {
			t.Errorf("%d red findings, %q", red, reasons)
		}
	}
	if examineMachine(nil) != nil {
		t.Error("a daemon that does not say")
	}
}

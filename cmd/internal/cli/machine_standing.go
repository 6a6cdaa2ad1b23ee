package cli

import (
	"strconv"

	"github.com/belay-hooks/belay/client/wire"
)

// noLandlock is what a user reads of a daemon that Landlock does not hold in.
const noLandlock = "Landlock does not hold the daemon in: its kernel has none, or it is switched off"

// machineLine says how the daemon of the machine stands, for `belay status`.
func machineLine(m *wire.Machine, colors palette) string {
	text := "held in by Landlock, version " + strconv.Itoa(m.Landlock)
	if m.Landlock == 0 {
		text = colors.yellow(noLandlock)
	}
	if m.Log != "" {
		text += "; " + colors.red("its log cannot be written: "+safe(m.Log))
	}
	return text
}

// examineMachine says the same for `belay doctor`.
func examineMachine(m *wire.Machine) []finding {
	if m == nil {
		return nil // of a daemon that does not say
	}
	out := []finding{{Check: "Landlock", Status: "ok", Text: "in force, version " + strconv.Itoa(m.Landlock)}}
	if m.Landlock == 0 {
		out[0] = finding{Check: "Landlock", Status: "fail", Text: noLandlock,
			Advice: "Root: Linux 5.13 or newer with landlock in lsm= of the kernel's command line."}
	}
	f := finding{Check: "machine's log", Status: "ok", Text: "can be written"}
	if m.Log != "" {
		f.Status, f.Text = "fail", "cannot be written: "+m.Log
		f.Advice = "Refused callers are counted until it can. Root: `belay system status`."
	}
	return append(out, f)
}

package cli

import "github.com/belay-hooks/belay/internal/sandbox"

// examineReset says how this machine gives each turn fresh state, and what the slower ways cost.
func examineReset() finding {
	engine, err := sandbox.Open(sandbox.Options{})
	if err != nil {
		return finding{Check: "instances", Status: "warn", Text: err.Error()}
	}
	defer engine.Close()
	return resetFinding(engine.Reset())
}

func resetFinding(reset sandbox.Reset) finding {
	f := finding{Check: "instances", Status: "ok", Text: reset.String()}
	switch reset {
	case sandbox.ResetCopy:
	case sandbox.ResetDrop:
		f.Status = "warn"
		f.Advice = "It costs about 2 µs for each page that a turn writes. Linux 6.7 or later copies them back instead."
	default:
		f.Status = "warn"
		f.Advice = "It costs about 50 µs a turn, for standard Go some milliseconds. Linux 6.7 or later is faster."
	}
	return f
}

package export

import "github.com/belay-hooks/belay/phases"

// severity is how much an event asks for attention, in the scales of the formats.
type severity struct {
	cef  int // 0…10
	otel int // SeverityNumber of OpenTelemetry's log data model
	text string
}

// severityOf: a recorded allow is quiet, a block by a hook is a warning, a
// failure or an event that could not be stopped is an error.
func severityOf(e *phases.Event) severity {
	failed := e.Kind != "" && e.Kind != phases.KindPolicy
	switch {
	case e.Type == phases.EventGap:
		return severity{10, 21, "FATAL"}
	case e.Type == phases.EventRecovery, e.Enforced == phases.EnforcedLatched, e.Type == phases.EventLatch &&
		e.Decision != "cleared":
		return severity{9, 17, "ERROR"}
	case failed, e.Type == phases.EventFailure:
		return severity{8, 17, "ERROR"}
	case e.Decision == string(phases.Block), e.Decision == "denied", e.Decision == "refused",
		e.Type == phases.EventAccess && (e.Decision == "untold" || e.Decision == "held"), e.Decision == "not_believed",
		e.Type == phases.EventOutcome && e.Decision != "ok":
		return severity{6, 13, "WARN"}
	case e.Decision == string(phases.Ask), e.Type == phases.EventNotice, e.Type == phases.EventCompaction,
		e.Type == phases.EventLatch:
		return severity{4, 10, "INFO2"}
	}
	return severity{1, 9, "INFO"}
}

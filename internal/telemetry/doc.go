// Package telemetry decides what of belay's work leaves the machine as
// OpenTelemetry spans and metrics, and where it goes: wherever the standard OTEL_*
// environment variables say. Without them nothing is started, and nothing is spent.
//
// It never decides about an action, never makes a caller wait for a collector, and
// never sends what an action holds: spans and metrics carry phases, decisions,
// kinds of failure, names of hooks and tools, digests, and the ids by which the
// event can be found in the log. Sessions, agents, users, directories, reasons,
// arguments and results stay in the log.
package telemetry

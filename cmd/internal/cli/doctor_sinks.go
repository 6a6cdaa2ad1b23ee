package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/sink"
)

// examineSink says how one place for events, checkpoints or recordings stands.
func examineSink(k *wire.Sink, size int64) (out diagnosis) {
	switch {
	case k.OK && k.Kind == "store":
		out.ok("store", fmt.Sprintf("%s events", count(size)))
	case k.OK && k.Kind == wire.SinkPostgres:
		out.ok("postgres", fmt.Sprintf("%s has %s events", k.Path, count(k.Seq)))
	case k.OK && k.Kind == wire.SinkRecordings:
		out.ok("recordings", k.Path)
	case k.OK:
		out.ok("sink", k.Kind+" "+k.Path)
	case k.Durable || k.Kind == wire.SinkPostgres && k.Trouble == string(sink.Foreign):
		out.fail(checkOf(*k), k.Path+": "+k.Problem, adviceFor(*k))
	default:
		out.warn(checkOf(*k), k.Path+": "+k.Problem, adviceFor(*k))
	}
	if k.Warning != "" {
		out.warn(checkOf(*k), k.Warning, "Mend the file or what it leads to. A new start would be refused with it.")
	}
	if k.Forwarding != nil {
		out = append(out, examineForwarding(k.Forwarding, time.Now()))
	}
	return out
}

func checkOf(k wire.Sink) string {
	if k.Kind == "store" || k.Kind == wire.SinkRecordings || k.Kind == wire.SinkPostgres {
		return k.Kind
	}
	return "sink"
}

// ownerMends says of a store in PostgreSQL what recover cannot repair.
func ownerMends(place string) string {
	if !strings.HasPrefix(place, "PostgreSQL") {
		return ""
	}
	return ", and which statement the owner of the schema runs where no kernel may"
}

func adviceFor(k wire.Sink) string {
	effect := "belay logs events without it, and catches it up when it works again."
	if k.Kind == wire.SinkRecordings {
		effect = "Actions go on; their full inputs are lost until it can be written, and counted."
	}
	if k.Kind == wire.SinkPostgres {
		effect = "What needs a lease or an approval is blocked; the rest goes on until too many events wait (store.postgres.keep)."
		if k.Trouble == string(sink.Foreign) {
			return effect + " docs/SCALING.md says what to do about a log that is forked, or that has lost events."
		}
	}
	if k.Durable {
		effect = "Every action is blocked until it can be written; then belay goes on by itself."
	}
	switch sink.Trouble(k.Trouble) {
	case sink.RolledBack:
		return "Every action is blocked until the newest database is back, or a person lets this one go on: `belay recover`."
	case sink.Tampered:
		return "Every action is blocked until the rows are as they were, or a person has them repaired: " +
			"`belay recover --dry-run` says how" + ownerMends(k.Path) + "."
	case sink.DiskFull:
		return "Free space. " + effect
	case sink.Foreign:
		return "Look at it before you move it away: docs/OPERATIONS.md says what it can mean. " + effect
	}
	return effect
}

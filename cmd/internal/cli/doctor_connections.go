package cli

import (
	"fmt"
	"time"

	"github.com/belay-hooks/belay/client/wire"
)

const (
	// refusedLately is how long doctor warns after a connection found no place.
	refusedLately = time.Hour

	// healthLately is the age above which an answer about health is stale: while the store
	// answers it is found out again each second.
	healthLately = 5 * time.Second
)

// examineConnections tells how many connections a daemon keeps, and of those that were too
// many. A daemon of an older version does not say.
func examineConnections(d *wire.Daemon, ok func(check, text string), warn func(check, text, advice string)) {
	if d == nil || d.Limit == 0 {
		return
	}
	text := fmt.Sprintf(
		"%d of %d in use on the busiest address; since the daemon began %s found all taken, and %s no file descriptor",
		d.Busiest, d.Limit, count(d.AllTaken), count(d.Descriptors))
	lately := d.ExhaustedMS > 0 && d.ExhaustedMS <= refusedLately.Milliseconds()
	if lately {
		text += fmt.Sprintf(", the last %v ago", (time.Duration(d.ExhaustedMS) * time.Millisecond).Round(time.Second))
	}
	if !lately && 10*d.Busiest <= 9*d.Limit {
		ok("connections", text)
		return
	}
	warn("connections", text,
		"Close what callers do not use; for descriptors, raise LimitNOFILE= of the service. docs/OPERATIONS.md says more.")
}

// examineAge tells of health that the daemon could not find out again.
func examineAge(h wire.Health, warn func(check, text, advice string)) {
	if age := time.Duration(h.Age) * time.Millisecond; age > healthLately {
		warn("health", fmt.Sprintf("what the daemon knows of its store is %v old", age.Round(time.Second)),
			"The store or a lock does not answer in time. Above 10 s the daemon counts as failing.")
	}
}

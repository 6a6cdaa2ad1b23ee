package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/belay-hooks/belay/client/wire"
)

// examineForwarding says how far a local log is forwarded to PostgreSQL, and what a person has to do about it.
func examineForwarding(f *wire.Forwarding, now time.Time) finding {
	out := finding{Check: "forwarding", Status: "ok", Text: backlogText(f)}
	if t := lastText(f, now); t != "" {
		out.Text += "; " + t
	}
	red := func(what, advice string) finding {
		out.Status, out.Red, out.Text, out.Advice = "fail", true, what+out.Text, advice
		return out
	}
	switch {
	case f.State == wire.ForwardingForked:
		return red("FORKED: the log in PostgreSQL is not a beginning of belay.db; ",
			"What needs a lease or an approval is blocked, and nothing is forwarded. Find out who wrote under the kernel's "+
				"name; docs/SCALING.md says how this machine starts anew.")
	case f.State == wire.ForwardingLost:
		return red("LOST: PostgreSQL lacks what it had; ",
			"What needs a lease or an approval is blocked, and nothing is forwarded. Bring the newest database back, or let "+
				"this kernel go on: `belay recover --dry-run` says how.")
	case f.State == wire.ForwardingFull:
		return red("FULL: every action is blocked; ",
			"Bring PostgreSQL back, or raise store.postgres.keep and start belay anew.")
	}
	var advice []string
	if f.State == wire.ForwardingAway {
		advice = append(advice, "What needs a lease or an approval is blocked. belay tries once a second to reach PostgreSQL.")
	}
	if f.Filled() >= wire.BacklogWarns {
		advice = append(advice, "When it is full every action is blocked. Bring PostgreSQL back, or raise store.postgres.keep "+
			"and start belay anew.")
	}
	if len(advice) > 0 {
		out.Status, out.Advice = "warn", strings.Join(advice, " ")
	}
	return out
}

// backlogText says how much waits, against what may.
func backlogText(f *wire.Forwarding) string {
	if f.Waiting == 0 {
		return "no event waits"
	}
	return fmt.Sprintf("%s (%s) wait, %d %% of the %s that may", plural(int(f.Waiting), "event"), bytesText(f.Bytes),
		f.Filled(), bytesText(f.Keep))
}

// lastText says how long the newest event has been there, and how long the oldest of the others has waited.
func lastText(f *wire.Forwarding, now time.Time) (out string) {
	if !f.Last.IsZero() {
		out = "the last was forwarded " + heardText(now.Sub(f.Last).Seconds())
	}
	if !f.Oldest.IsZero() {
		if out != "" {
			out += ", "
		}
		out += "the oldest that waits was recorded " + heardText(now.Sub(f.Oldest).Seconds())
	}
	return out
}

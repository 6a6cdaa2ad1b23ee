package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/client/wire"
)

// What waits to be forwarded is told against what may wait, and each trouble with what to do about it.
func TestRowOfForwarding(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	const events, keep = 1234, 1 << 20
	for name, c := range map[string]struct {
		change func(*wire.Forwarding)
		want   string // status and a part of the text
		advice string
	}{
		"nothing waits": {func(f *wire.Forwarding) { f.Waiting, f.Bytes, f.Oldest = 0, 0, time.Time{} },
			"ok: no event waits; the last was forwarded 2s ago", ""},
		"some wait": {func(*wire.Forwarding) {},
			"ok: 1 234 events (100.0 KiB) wait, 9 % of the 1.0 MiB that may; the last was forwarded 2s ago, the oldest that " +
				"waits was recorded 3h0m ago", ""},
		"none was forwarded": {func(f *wire.Forwarding) { f.Last = time.Time{} },
			"ok: 1 234 events (100.0 KiB) wait, 9 % of the 1.0 MiB that may; the oldest that waits was recorded 3h0m ago", ""},
		"79 per cent": {func(f *wire.Forwarding) { f.Bytes = keep*80/100 - 1 }, "ok: 1 234 events", ""},
		"80 per cent": {func(f *wire.Forwarding) { f.Bytes = keep*80/100 + 1 }, "warn: 1 234 events", "store.postgres.keep"},
		"away":        {func(f *wire.Forwarding) { f.State = wire.ForwardingAway }, "warn: 1 234 events", "once a second"},
		"away and 80 per cent": {func(f *wire.Forwarding) { f.State, f.Bytes = wire.ForwardingAway, keep*9/10 },
			"warn: 1 234 events", "to reach PostgreSQL. When it is full"},
		"full":   {func(f *wire.Forwarding) { f.State, f.Bytes = wire.ForwardingFull, keep+1 }, "fail: FULL: every action", "keep"},
		"forked": {func(f *wire.Forwarding) { f.State = wire.ForwardingForked }, "fail: FORKED: ", "starts anew"},
		"lost":   {func(f *wire.Forwarding) { f.State = wire.ForwardingLost }, "fail: LOST: ", "belay recover"},
	} {
		f := wire.Forwarding{State: wire.Forwards, Waiting: events, Bytes: 100 << 10, Keep: keep,
			Last: now.Add(-2 * time.Second), Oldest: now.Add(-3 * time.Hour)}
		c.change(&f)
		row := examineForwarding(&f, now)
		if text := row.Status + ": " + row.Text; !strings.HasPrefix(text, c.want) || row.Check != "forwarding" ||
			!strings.Contains(row.Advice, c.advice) || (row.Advice == "") != (c.advice == "") {
			t.Errorf("%s: %s: %s (%s)", name, row.Check, text, row.Advice)
		}
	}
}

package cli

import (
	"context"
	"time"

	"github.com/belay-hooks/belay"
	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/statelog"
	"github.com/belay-hooks/belay/phases"
)

// unsoundFor is how long doctor reports an item that differed from its
// question.
const unsoundFor = 7 * 24 * time.Hour

const unsoundAdvice = "Another program has written to the store. Such items are neither shown nor decided; " +
	"`belay events query --type approval --decision unsound` says why."

// examineQueue finds items that differ from their questions: those still in the queue, and those of the last days that
// the kernel put aside. Without any it returns ok.
func examineQueue(ctx context.Context, host *belay.Belay) (f finding, ok bool) {
	ids, err := statelog.Of(host.Log()).UnsoundApprovals(ctx)
	if err != nil {
		return finding{Check: "queue", Status: "fail", Text: err.Error()}, false
	}
	if len(ids) > 0 {
		return finding{Check: "queue", Status: "fail", Text: plural(len(ids), "item") + " stored otherwise than asked: " +
			oneLine(ids[0], 40), Advice: unsoundAdvice}, false
	}
	return examineAside(ctx, host)
}

// examineAside finds items of the last days that the kernel put aside. A daemon answers this, too.
func examineAside(ctx context.Context, from eventReader) (f finding, ok bool) {
	met, err := from.Events(ctx, wire.Query{Type: phases.EventApproval, Decision: "unsound", Newest: true, Limit: 1,
		Since: time.Now().Add(-unsoundFor)})
	if err != nil {
		return finding{Check: "queue", Status: "fail", Text: err.Error()}, false
	}
	if len(met) > 0 {
		return finding{Check: "queue", Status: "warn", Red: true, Text: "an item was not what was asked, on " +
			met[0].Time.Local().Format(time.DateTime) + ": " + oneLine(met[0].Reason, 200), Advice: unsoundAdvice}, false
	}
	return finding{}, true
}

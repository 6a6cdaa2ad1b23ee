package wire_test

import (
	"fmt"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/phases"
)

// A store answers a query with the events that match it, at most as many as the limit says.
func ExampleQuery() {
	log := []phases.Event{
		{Seq: 1, Type: phases.EventVerdict, Session: "a"},
		{Seq: 2, Type: phases.EventVerdict, Session: "b"},
		{Seq: 3, Type: phases.EventLatch, Session: "b"},
	}
	q := wire.Query{Session: "b", Limit: 1}
	var answer []phases.Event
	for i := range log {
		if q.Match(&log[i]) && len(answer) < q.EffectiveLimit() {
			answer = append(answer, log[i])
		}
	}
	fmt.Println(len(answer), answer[0].Seq)
	// Output: 1 2
}

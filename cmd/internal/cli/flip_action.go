package cli

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/redact"
	"github.com/belay-hooks/belay/phases"
)

// maxFlipAction is the most that a flip says about its action, in bytes. The event has all of it.
const maxFlipAction = 500

// flipAction says what an event was about, beside its tool: the command, or the argument that says most. Events are
// redacted.
func flipAction(event *phases.Event) string {
	text := glance(event)
	switch event.Phase {
	case phases.PreTool, phases.PostTool:
		text = mainArgument(event)
	}
	return phases.SafeText(text, maxFlipAction)
}

// nameFlips fills in what the flips of logged events were about. It works on the events that the preview ran on.
func nameFlips(flips []PreviewFlip, events []phases.Event) {
	bySeq := eventsBySeq(events)
	for i := range flips {
		if e := bySeq[flips[i].Seq]; e != nil {
			flips[i].Action = flipAction(e)
		}
	}
}

func nameUpgradeFlips(flips []UpgradeFlip, events []phases.Event) {
	bySeq := eventsBySeq(events)
	for i := range flips {
		if e := bySeq[flips[i].Seq]; e != nil {
			flips[i].Action = flipAction(e)
		}
	}
}

func eventsBySeq(events []phases.Event) map[int64]*phases.Event {
	out := make(map[int64]*phases.Event, len(events))
	for i := range events {
		out[events[i].Seq] = &events[i]
	}
	return out
}

// nameRecordedFlips fills in what the flips of recordings were about. These are originals, so the action is redacted as
// in an event, as a document and before anything is cut off; one that cannot be redacted is not shown.
func nameRecordedFlips(flips []PreviewFlip, runs []recordedRun, red *redact.Redactor) {
	type place struct{ in, number int }
	at := make(map[place]*recordedRun, len(runs))
	for i := range runs {
		at[place{runs[i].File + 1, runs[i].Number}] = &runs[i]
	}
	for i := range flips {
		if r := at[place{flips[i].In, flips[i].Number}]; r != nil {
			flips[i].Action = recordedAction(r, red)
		}
	}
}

func recordedAction(r *recordedRun, red *redact.Redactor) string {
	inv, err := r.Run.Decode()
	if err != nil {
		return ""
	}
	action := inv.Action
	if r.Run.Chained.Action != nil {
		action = r.Run.Chained.Action // in which hooks have redacted what they know
	}
	action, _, err = red.JSON(action)
	if err != nil {
		return ""
	}
	input := append(append(jsontext.Value(`{"action":`), action...), '}')
	return flipAction(&phases.Event{Type: phases.EventVerdict, Phase: inv.Phase, Tool: inv.Tool(), Input: input})
}

package queue_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Every member of an item has to be the same when the approval is used, apart from those
// in free.
func TestSameQuestionComparesEveryMember(t *testing.T) {
	free := map[string]bool{"ID": true, "State": true, "Created": true, "Expires": true, "Clock": true, "Invocation": true,
		"Decision": true, "Closed": true, "Damaged": true}
	signed := item()
	if err := queue.SameQuestion(&signed, &signed); err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(signed)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		now := item()
		switch f := reflect.ValueOf(&now).Elem().Field(i); name {
		case "Decision":
			now.Decision = &approvals.Decision{By: "x"}
		case "Closed":
			now.Closed = t0
		case "Hidden":
			now.Hidden = []string{"/action/args/path"}
		default:
			f.SetZero()
		}
		if err := queue.SameQuestion(&signed, &now); (err == nil) != free[name] || err != nil &&
			!errors.Is(err, approvals.ErrContent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two tries at the same thing are the same question.
func TestSameQuestionAllowsWhatEachTryHas(t *testing.T) {
	signed := item()
	signed.Action = jsontext.Value(`{"tool":"exec","call_id":"c-1","args":{"n":1.0}}`)
	signed.Scopes = &phases.Scopes{FSRead: []string{"/b", "/a"}}
	signed.Notes = []string{"n", "covered: /input/metadata/token", "covered: /input/action/args/x"}
	now := item()
	now.ID, now.Invocation, now.Created, now.Expires = "x", "y", t0.Add(time.Second), t0.Add(time.Hour)
	now.Action = jsontext.Value(`{"args":{"n":1}, "duration_ms":4, "tool":"exec", "call_id":"c-2"}`)
	now.Scopes = &phases.Scopes{FSRead: []string{"/a", "/b"}}
	now.Notes = []string{"n", "covered: /input/action/args/x"}
	if err := queue.SameQuestion(&signed, &now); err != nil {
		t.Error(err)
	}
	now.Notes = now.Notes[:1]
	if err := queue.SameQuestion(&signed, &now); !errors.Is(err, approvals.ErrContent) {
		t.Errorf("without the note of what is redacted in the action: %v", err)
	}
}

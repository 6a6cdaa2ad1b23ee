package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

// notePrefix begins the notes about redacted values of an item, before a JSON Pointer
// into the event of the verdict.
const notePrefix = "covered: "

// NoteRedacted returns the note that the item shows the value at a pointer redacted.
func NoteRedacted(pointer string) string { return notePrefix + pointer }

// ShownPointer reports whether a pointer into the event of a verdict is about a part that
// an ask shows: the action as it came and as it would run. Redacted values in metadata
// change from one try to the next, and no person is shown metadata.
func ShownPointer(pointer string) bool {
	return phases.Covers("/input/action", pointer) || phases.Covers("/output/action", pointer)
}

// SameQuestion compares the questions of two items, member by member. A person signed
// one; the other is made anew when the approval is used. They may differ in these and
// in nothing else:
//
//   - ID, Invocation, Created, Expires, Clock: each try has its own;
//   - State, Decision, Closed: what became of the item;
//   - in actions, call_id, duration_ms and credential headers, as in the key
//     (phases.Comparable); the order of patterns in scopes; spelling of JSON;
//   - notes about values redacted outside of the action, which older items have.
//
// The error is ErrContent and names the member.
func SameQuestion(signed, now *approvals.Item) error {
	a, err := question(*signed)
	if err != nil {
		return err
	}
	b, err := question(*now)
	if err != nil {
		return err
	}
	for _, name := range questionMembers() {
		if a[name] != b[name] {
			return fmt.Errorf("%w: /%s is not the same", approvals.ErrContent, name)
		}
	}
	return nil
}

// questionMembers are the members of an item that SameQuestion compares.
func questionMembers() []string {
	return []string{"kind", "key", "by", "phase", "tool", "action", "before", "scopes", "reason", "hooks", "details",
		"notes", "hidden"}
}

// question returns the canonical form of each member that SameQuestion compares.
func question(item approvals.Item) (map[string]string, error) {
	item.ID, item.Invocation, item.State, item.Decision = "", "", "", nil
	item.Created, item.Expires, item.Clock, item.Closed = time.Time{}, time.Time{}, leases.Stamp{}, time.Time{}
	if item.Scopes != nil {
		s := item.Scopes.Normalize()
		item.Scopes = &s
	}
	item.Notes = slices.DeleteFunc(slices.Clone(item.Notes), func(n string) bool {
		at, ok := strings.CutPrefix(n, notePrefix+"/")
		return ok && item.Kind == approvals.KindAsk && !ShownPointer("/"+at)
	})
	var err error
	for _, action := range []*jsontext.Value{&item.Action, &item.Before} {
		if *action == nil {
			continue
		}
		if *action, err = phases.Comparable(item.Phase, *action); err != nil {
			return nil, fmt.Errorf("%w: %w", approvals.ErrContent, err)
		}
	}
	b, err := json.Marshal(&item, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", approvals.ErrContent, err)
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, fmt.Errorf("%w: %w", approvals.ErrContent, err)
	}
	out := map[string]string{}
	for name, v := range members {
		c, err := phases.Canonical(v)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", approvals.ErrContent, err)
		}
		out[name] = string(c)
	}
	return out, nil
}

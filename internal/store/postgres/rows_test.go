package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/belay-hooks/belay/internal/approvaltable"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
)

// An item whose body cannot be read, or says another thing than its columns, counts by the columns: the agent that
// asked has no more room in the queue than before.
func TestDamagedApprovalsCount(t *testing.T) {
	t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by := approvals.Requester{Credential: "uid 1000", Runtime: "r", Session: "s", Agent: "a"}
	for name, change := range map[string]func(body string) string{
		"none":             func(string) string { return "" },
		"cut off":          func(body string) string { return body[:len(body)/2] },
		"no document":      func(string) string { return "{" },
		"another member":   func(body string) string { return strings.Replace(body, `{`, `{"more":1,`, 1) },
		"another agent":    func(body string) string { return strings.Replace(body, `"agent":"a"`, `"agent":"b"`, 1) },
		"another person":   func(body string) string { return strings.Replace(body, "uid 1000", "uid 1001", 1) },
		"another kind":     func(body string) string { return strings.Replace(body, `"kind":"ask"`, `"kind":"lease"`, 1) },
		"another question": func(body string) string { return strings.Replace(body, `"key":"k"`, `"key":"l"`, 1) },
		"another state":    func(body string) string { return strings.Replace(body, "pending", "denied", 1) },
		"an earlier end":   func(body string) string { return strings.Replace(body, "13:00:00", "12:00:00", 1) },
	} {
		for _, state := range []approvals.State{approvals.Pending, approvals.Approved} {
			it := approvals.Item{ID: "q", Kind: approvals.KindAsk, Key: "k", State: approvals.Pending, By: by, Created: t0,
				Expires: t0.Add(time.Hour), Clock: leases.Stamp{Boot: "boot", Since: 1}}
			r, err := newApprovalRow(&it)
			if err != nil {
				t.Fatal(err)
			}
			r.state = string(state)
			body := change(string(r.body))
			if body == string(r.body) {
				t.Fatalf("%s: the body is as it was: %s", name, body)
			}
			r.body = []byte(body)
			got := r.item()
			if !got.Damaged || got.ID != "q" || got.Kind != it.Kind || got.Key != "k" || got.State != state || got.By != by ||
				!got.Expires.Equal(it.Expires) {
				t.Errorf("%s, %s: %+v", name, state, got)
			}
			if state != approvals.Pending {
				continue
			}
			for _, c := range []struct {
				at   time.Time
				want int
			}{{t0.Add(time.Hour - 1), 1}, {t0.Add(time.Hour), 0}} {
				// The boot clock of the body would say that it is over.
				now := leases.Instant{Wall: c.at, Boot: "boot", Since: 2 * time.Hour}
				u := approvaltable.Table{"q": got}.Usage(it.Kind, by, now)
				if u.Agent != c.want || u.Credential != c.want {
					t.Errorf("%s, at %v: %+v, want %d", name, c.at, u, c.want)
				}
			}
		}
	}
}

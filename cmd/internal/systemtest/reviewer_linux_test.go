package systemtest

import (
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
)

// reviewer is a person with a key that no user of the machine has.
type reviewer struct {
	name string
	key  ed25519.PrivateKey
}

func newReviewer(t *testing.T, name string) reviewer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return reviewer{name, key}
}

// yaml is the reviewer's entry in belay.yaml, behind a heading.
func (r reviewer) yaml(heading string) string {
	return heading + "  - {name: " + r.name + ", key: \"" + queue.FormatReviewerKey(
		r.key.Public().(ed25519.PublicKey),
	) + "\"}\n"
}

// unsigned is a decision in the reviewer's name without a signature.
func (r reviewer) unsigned(s *stage, item approvals.Item) string {
	s.t.Helper()
	d, err := approvals.Draft(&item, approvals.Approve, r.name, "", time.Now(), 10*time.Minute)
	s.must(err)
	b, err := json.Marshal(&d)
	s.must(err)
	return string(b)
}

// approve signs for an item, and returns the decision as it is handed in.
func (r reviewer) approve(s *stage, item approvals.Item) string {
	s.t.Helper()
	d, err := approvals.Draft(&item, approvals.Approve, r.name, "", time.Now(), 10*time.Minute)
	s.must(err)
	s.must(approvals.Sign(&item, &d, r.key))
	b, err := json.Marshal(&d)
	s.must(err)
	return string(b)
}

// pending returns the newest item of a user that waits for a person.
func (s *stage) pending(uid int) (item approvals.Item) {
	s.t.Helper()
	status, body := s.http(uid, "GET", "/v1/approvals?state=pending&limit=1", "")
	var list struct {
		Approvals []approvals.Item `json:"approvals"`
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Approvals) != 1 {
		s.t.Errorf("what waits for uid %d: %d %s", uid, status, body)
		return item
	}
	return list.Approvals[0]
}

// decide hands a decision in as a user.
func (s *stage) decide(uid int, id, decision string) (status int, answer string) {
	return s.http(uid, "POST", "/v1/approvals/"+id+"/decide", decision)
}

// asksToDelete has a user's agent ask for something about which a person is asked.
func (s *stage) asksToDelete(uid int, session, what string) (decision, reason string) {
	return s.verdict(uid, nil, session, "kubectl delete namespace "+what)
}

func passes(d, r string) outcome {
	return outcome{held: d == "allow" || d == "no opinion", happened: said(d, r), saw: d + " " + r}
}

func waits(d, r string) outcome {
	return outcome{
		held:     d == "deny" && strings.Contains(r, "waiting for approval"),
		happened: "waiting for approval",
		saw:      d + " " + r,
	}
}

// status is the outcome of a request that has to be answered with one of these.
func status(got int, saw string, want ...int) outcome {
	o := outcome{happened: fmt.Sprintf("status %d", got), saw: fmt.Sprintf("%d %s", got, saw)}
	for _, w := range want {
		o.held = o.held || got == w
	}
	return o
}

package approvals_test

import (
	"crypto/ed25519"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 123, time.UTC)

func item() approvals.Item {
	return approvals.Item{
		ID: "01890a5d-ac96-774b-bcce-b302099a8057", Kind: approvals.KindAsk, Key: "hmac-sha256:1", State: approvals.Pending,
		By: approvals.Requester{Credential: "uid 1", Runtime: "r", Session: "s", Agent: "a"}, Created: t0,
		Expires:    t0.Add(time.Minute),
		Invocation: "i", Phase: phases.PreTool, Tool: "exec", Action: jsontext.Value(`{"a":1}`),
		Before: jsontext.Value(`{"a":2}`), Scopes: &phases.Scopes{FSRead: []string{"*"}},
		Reason: "why", Hooks: []approvals.Asking{{Hook: "h", Digest: "d", Reason: "r"}}, Details: jsontext.Value(`{}`),
		Notes: []string{"n"}, Clock: leases.Stamp{Boot: "b", Since: 1},
	}
}

// Whatever a person sees is signed for: no member can change without the content's
// digest, apart from those that say what became of the item.
func TestContentCoversEveryMember(t *testing.T) {
	it := item()
	want, err := it.Content()
	if err != nil {
		t.Fatal(err)
	}
	free := map[string]bool{"State": true, "Decision": true, "Closed": true, "Damaged": true}
	v := reflect.ValueOf(it)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		changed := item()
		f := reflect.ValueOf(&changed).Elem().Field(i)
		switch {
		case name == "State":
			f.SetString("approved")
		case name == "Closed":
			f.Set(reflect.ValueOf(t0))
		case name == "Decision":
			f.Set(reflect.ValueOf(&approvals.Decision{By: "x"}))
		case name == "Hidden":
			f.Set(reflect.ValueOf([]string{"/action/args/path"}))
		default:
			f.SetZero()
		}
		got, err := changed.Content()
		if name == "Action" || name == "Before" || name == "Details" {
			if err != nil {
				t.Fatal(err)
			}
		}
		if (got == want) != free[name] {
			t.Errorf("%s: the content is the same: %v", name, got == want)
		}
	}
	b, err := json.Marshal(&it)
	if err != nil {
		t.Fatal(err)
	}
	var back approvals.Item
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if got, err := back.Content(); err != nil || got != want {
		t.Errorf("after storing: %s, %v", got, err)
	}
}

// The signature is over every member of the decision.
func TestSignatureCoversTheDecision(t *testing.T) {
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := queue.Authority{Reviewers: []approvals.Reviewer{{Name: "dev", Key: public}, {Name: "boss", Key: public}}}
	it := item()
	d, err := approvals.Draft(&it, approvals.Approve, "dev", "fine", t0, time.Minute)
	if err == nil {
		err = approvals.Sign(&it, &d, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(&it, &d, wall(t0), time.Minute); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*approvals.Decision){
		"verdict": func(d *approvals.Decision) { d.Verdict = approvals.Deny },
		"by":      func(d *approvals.Decision) { d.By = "boss" },
		"reason":  func(d *approvals.Decision) { d.Reason = "" },
		"at":      func(d *approvals.Decision) { d.At = d.At.Add(time.Second) },
		"until":   func(d *approvals.Decision) { d.Until = d.Until.Add(-time.Second) },
		"key":     func(d *approvals.Decision) { d.Key = "" },
	} {
		changed := d
		change(&changed)
		if err := a.Check(&it, &changed, wall(t0), time.Minute); !errors.Is(err, approvals.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := item()
	other.Action = jsontext.Value(`{"a":3}`)
	if err := a.Verify(&other, &d); !errors.Is(err, approvals.ErrContent) {
		t.Errorf("another action: %v", err)
	}
	other = item()
	other.ID = "01890a5d-ac96-774b-bcce-b302099a8058"
	d2 := d
	d2.Content, _ = other.Content()
	if err := a.Verify(&other, &d2); !errors.Is(err, approvals.ErrSignature) {
		t.Errorf("another item: %v", err)
	}
}

func TestReviewerKeys(t *testing.T) {
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	back, err := queue.ParseReviewerKey(queue.FormatReviewerKey(public))
	if err != nil || !back.Equal(public) {
		t.Errorf("%v, %v", back, err)
	}
	for _, s := range []string{"", "ed25519:", "ed25519:AA==", "ed25519:!",
		"ED25519:" + queue.FormatReviewerKey(public)[8:], queue.FormatReviewerKey(public) + "\n"} {
		if _, err := queue.ParseReviewerKey(s); err == nil {
			t.Errorf("%q is taken for a key", s)
		}
	}
	a := queue.Authority{Reviewers: []approvals.Reviewer{{Name: "dev", Key: public}}}
	if got := a.Changed(&queue.Authority{Unsigned: true}); got != "; reviewers removed: dev ("+approvals.KeyID(public)+
		"); decisions without a signature: true" {
		t.Error(got)
	}
	if a.Changed(&a) != "" {
		t.Error("nothing has changed")
	}
}

// What ends does not begin again.
func TestNothingComesBack(t *testing.T) {
	for _, from := range queue.States() {
		if approvals.Legal(from, approvals.Pending) || approvals.Legal(from, from) {
			t.Errorf("%s → pending or itself", from)
		}
		switch from {
		case approvals.Pending, approvals.Approved:
			continue
		}
		for _, to := range queue.States() {
			if approvals.Legal(from, to) {
				t.Errorf("%s → %s", from, to)
			}
		}
	}
	it := item()
	for _, after := range []time.Duration{time.Minute, time.Hour} {
		if got := it.At(wall(t0.Add(after))); got.State != approvals.Expired || !got.Closed.Equal(it.Expires) {
			t.Errorf("after %v: %+v", after, got)
		}
	}
	if got := it.At(wall(t0.Add(time.Minute - 1))); got.State != approvals.Pending {
		t.Errorf("%+v", got)
	}
}

// wall is a moment on a host without a boot clock.
func wall(t time.Time) leases.Instant { return leases.Instant{Wall: t} }

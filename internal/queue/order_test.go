package queue_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/leases"
	"github.com/belay-hooks/belay/phases"
)

type latchArgs struct {
	Runtime string `json:"runtime"`
	Session string `json:"session"`
}

var latched = latchArgs{"claude-code", "s-1"}

// signedOrder returns an order that counts, the authority that it counts with, and the key.
func signedOrder(t testing.TB) (approvals.Order, queue.Authority, ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := queue.NewOrder(queue.VerbLatchClear, "store-1", latched, wall(t0), time.Hour)
	if err == nil {
		err = queue.SignOrder(&o, "dev", key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, queue.Authority{Reviewers: []approvals.Reviewer{{Name: "dev", Key: public},
		{Name: "boss", Key: public}}}, key
}

// An order counts for exactly one act, on one state directory, while it lasts.
func TestOrderCountsForOneActOnly(t *testing.T) {
	o, a, _ := signedOrder(t)
	for name, row := range map[string]struct {
		verb  approvals.Verb
		store string
		args  any
		at    time.Time
		want  error
	}{
		"at once": {queue.VerbLatchClear, "store-1", latched, t0, nil},
		"members in no order": {queue.VerbLatchClear, "store-1",
			jsontext.Value(`{"session":"s-1", "runtime":"claude-code"}`), t0, nil},
		"at the last moment": {queue.VerbLatchClear, "store-1", latched, o.Expires.Add(-1), nil},
		"a clock behind":     {queue.VerbLatchClear, "store-1", latched, o.At.Add(-2 * time.Minute), nil},
		"another verb":       {queue.VerbCompact, "store-1", latched, t0, approvals.ErrContent},
		"another store":      {queue.VerbLatchClear, "store-2", latched, t0, approvals.ErrContent},
		"no store":           {queue.VerbLatchClear, "", latched, t0, approvals.ErrContent},
		"another session": {queue.VerbLatchClear, "store-1", latchArgs{"claude-code", "s-2"}, t0,
			approvals.ErrContent},
		"one member more": {queue.VerbLatchClear, "store-1",
			jsontext.Value(`{"runtime":"claude-code","session":"s-1","x":1}`), t0, approvals.ErrContent},
		"expired": {queue.VerbLatchClear, "store-1", latched, o.Expires, approvals.ErrExpired},
		"from the future": {queue.VerbLatchClear, "store-1", latched, o.At.Add(-2*time.Minute - 1),
			approvals.ErrInvalid},
	} {
		err := a.CheckOrder(&o, row.verb, row.store, row.args, wall(row.at))
		if !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

// The signature is over every member.
func TestOrderSignatureCoversEveryMember(t *testing.T) {
	o, a, _ := signedOrder(t)
	check := func(o *approvals.Order) error {
		return a.CheckOrder(o, o.Verb, o.Store, o.Args, wall(t0))
	}
	if err := check(&o); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*approvals.Order){
		"id":        func(o *approvals.Order) { o.ID = "01890a5d-ac96-774b-bcce-b302099a8057" },
		"verb":      func(o *approvals.Order) { o.Verb = queue.VerbRecover },
		"store":     func(o *approvals.Order) { o.Store = "store-2" },
		"args":      func(o *approvals.Order) { o.Args = jsontext.Value(`{"runtime":"","session":""}`) },
		"by":        func(o *approvals.Order) { o.By = "boss" },
		"key":       func(o *approvals.Order) { o.Key = "" },
		"at":        func(o *approvals.Order) { o.At = o.At.Add(-time.Millisecond) },
		"expires":   func(o *approvals.Order) { o.Expires = o.Expires.Add(time.Millisecond) },
		"signature": func(o *approvals.Order) { o.Signature = bytes.Repeat([]byte{1}, ed25519.SignatureSize) },
		"none":      func(o *approvals.Order) { o.Signature = nil },
	} {
		changed := o
		change(&changed)
		if err := check(&changed); !errors.Is(err, approvals.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := new(queue.Authority).CheckOrder(&o, o.Verb, o.Store, o.Args, wall(t0)); !errors.Is(err,
		approvals.ErrSignature) {
		t.Errorf("without a reviewer: %v", err)
	}
}

// A decision is signed behind another first line, so that neither can stand for the other.
func TestOrderIsNoDecision(t *testing.T) {
	o, _, _ := signedOrder(t)
	b, err := queue.OrderStatement(&o)
	if err != nil || !strings.HasPrefix(string(b), "belay reviewer statement v1\n{\"args\":{\"runtime\"") {
		t.Errorf("%q, %v", b, err)
	}
	it := item()
	d, err := approvals.Draft(&it, approvals.Approve, "dev", "", t0, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := approvals.Statement(&it, &d); err != nil || bytes.HasPrefix(c, b[:20]) {
		t.Errorf("%q, %v", c, err)
	}
}

func TestOrderIsDecodedStrictly(t *testing.T) {
	o, _, _ := signedOrder(t)
	good, err := queue.EncodeOrder(&o)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := queue.DecodeOrder(good); err != nil || back.ID != o.ID ||
		!bytes.Equal(back.Signature, o.Signature) || !back.At.Equal(o.At) {
		t.Fatalf("%+v, %v", back, err)
	}
	for name, edit := range map[string][2]string{
		"unknown member": {`"id":`, `"more": 1, "id":`},
		"twice":          {`"verb":`, `"verb": "record", "verb":`},
		"verb":           {`latch clear`, `latch set`},
		"id":             {o.ID, strings.ToUpper(o.ID)},
		"no UUIDv7":      {o.ID, "0f8fad5b-d9cb-469f-a165-70867728950e"},
		"store":          {`"store-1"`, `""`},
		"control":        {`store-1`, `store\u001b[31m`},
		"args":           {`"args": {`, `"args": [], "x": {`},
		"args twice":     {`"runtime": "claude-code"`, `"runtime": "a", "runtime": "b"`},
		"case":           {`"by":`, `"By":`},
		"too long":       {`"claude-code"`, `"` + strings.Repeat("c", queue.MaxOrder) + `"`},
		"life": {o.Expires.Format(time.RFC3339Nano),
			o.At.Add(queue.MaxOrderLife + time.Millisecond).Format(time.RFC3339Nano)},
		"life back":   {o.Expires.Format(time.RFC3339Nano), o.At.Format(time.RFC3339Nano)},
		"time":        {o.At.Format(time.RFC3339Nano), "yesterday"},
		"signature":   {`"signature": "`, `"signature": "AAAA`},
		"more behind": {"\n}", "\n} {}"},
	} {
		src := strings.Replace(string(good), edit[0], edit[1], 1)
		if src == string(good) {
			t.Fatalf("%s: nothing was changed in %s", name, good)
		}
		_, err := queue.DecodeOrder([]byte(src))
		var oe *queue.OrderError
		if !errors.Is(err, approvals.ErrInvalid) || !errors.As(err, &oe) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An order that is taken says the same when it is written down again; one that is
// refused says why with a text that can be shown.
func FuzzOrder(f *testing.F) {
	o, _, _ := signedOrder(f)
	good, err := queue.EncodeOrder(&o)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(
		`{"id":"01890a5d-ac96-774b-bcce-b302099a8057","verb":"record","store":"s","args":{},"by":"","key_id":"","at":"2026-03-01T12:00:00Z","expires":"2026-03-01T13:00:00Z"}`))
	f.Add([]byte(`{"args":{"a":1e999}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		o, err := queue.DecodeOrder(src)
		if err != nil {
			if text := err.Error(); phases.SafeText(text, 4<<10) != text {
				t.Fatalf("the error shows %q", text)
			}
			return
		}
		want, err := queue.OrderStatement(&o)
		if err != nil {
			t.Fatal(err)
		}
		b, err := queue.EncodeOrder(&o)
		if err != nil {
			t.Fatal(err)
		}
		back, err := queue.DecodeOrder(b)
		if err != nil {
			if len(b) > queue.MaxOrder { // indented
				return
			}
			t.Fatalf("%s is not taken: %v", b, err)
		}
		if got, err := queue.OrderStatement(&back); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s is signed as %s, %v", want, got, err)
		}
	})
}

// Items, decisions and orders without a stamp encode as they did before stamps existed:
// they are signed and sealed by those bytes.
func TestNoStampLeavesNoTrace(t *testing.T) {
	it := item()
	it.Clock = leases.Stamp{}
	d := approvals.Decision{Verdict: approvals.Approve, By: "dev", At: t0, Until: t0.Add(time.Minute), Content: "c"}
	it.Decision = &d
	o := approvals.Order{ID: "o", Args: jsontext.Value("{}"), At: t0, Expires: t0.Add(time.Hour)}
	for _, v := range []any{&it, &d, &o} {
		b, err := json.Marshal(v)
		if err != nil || strings.Contains(string(b), "clock") {
			t.Errorf("%s, %v", b, err)
		}
	}
	if b, err := queue.OrderStatement(&o); err != nil || strings.Contains(string(b), "clock") {
		t.Errorf("%s, %v", b, err)
	}
	it.State, it.Decision = approvals.Pending, nil
	content, err := it.Content()
	if before := "sha256:4a4f27d1a6841d0ffa11f824791f46ba13bbdff602f91eb81dad6830432b6fe6"; err != nil ||
		content != before {
		t.Errorf("the content of an item of before is %s, want %s: %v", content, before, err)
	}
}

// A draft says for itself when it was written. The host that signs it goes by its own clock.
func TestOrderStamps(t *testing.T) {
	at := leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour}
	o, err := queue.NewOrder(queue.VerbLatchClear, "store-1", latched, at, time.Hour)
	if err != nil || o.Clock != at.StampOf(o.At) || o.Clock == (leases.Stamp{}) {
		t.Fatalf("%+v, %v", o.Clock, err)
	}
	later := leases.Instant{Wall: t0.Add(time.Minute), Boot: "b1", Since: time.Hour + time.Minute}
	for _, claim := range []leases.Stamp{{}, {Boot: "b1", Since: int64(1000 * time.Hour)}, {Boot: "b2", Since: 1}} {
		o.Clock = claim
		if queue.Restamp(&o, later); o.Clock != at.StampOf(o.At) {
			t.Errorf("%+v became %+v", claim, o.Clock)
		}
	}
	queue.Restamp(&o, leases.Instant{Wall: t0})
	if o.Clock != (leases.Stamp{}) {
		t.Errorf("without a boot clock: %+v", o.Clock)
	}
	for text, bad := range map[string]leases.Stamp{"no boot": {Since: 1},
		"long": {Boot: strings.Repeat("b", phases.MaxIDBytes+1)}, "not text": {Boot: "\xff"}} {
		o.Clock = bad
		if b, err := queue.EncodeOrder(&o); err == nil {
			if _, err := queue.DecodeOrder(b); !errors.Is(err, approvals.ErrInvalid) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// An order of the boot at hand is of a time to come when its stamp is, and only then.
func TestOrderOfTheFuture(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	a := queue.Authority{Reviewers: []approvals.Reviewer{{Name: "dev", Key: key.Public().(ed25519.PublicKey)}}}
	const skew = 2 * time.Minute
	for name, c := range map[string]struct {
		boot  string
		since time.Duration // of the order, to now
		wall  time.Duration
		want  error
	}{
		"now": {"b1", 0, 0, nil}, "within the skew": {"b1", skew, 24 * time.Hour, nil},
		"beyond":       {"b1", skew + 1, 0, approvals.ErrInvalid},
		"another boot": {"b2", 48 * time.Hour, skew, nil}, "another boot, beyond": {"b2", 0, skew + 1, approvals.ErrInvalid},
	} {
		o, err := queue.NewOrder(queue.VerbLatchClear, "store-1", latched, wall(t0.Add(c.wall)), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		o.At, o.Expires = t0.Add(c.wall), t0.Add(c.wall+time.Hour)
		o.Clock = leases.Stamp{Boot: c.boot, Since: int64(time.Hour + c.since)}
		if err := queue.SignOrder(&o, "dev", key); err != nil {
			t.Fatal(err)
		}
		at := leases.Instant{Wall: t0, Boot: "b1", Since: time.Hour}
		if err := a.CheckOrder(&o, o.Verb, o.Store, o.Args, at); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

package kernel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// mirror is a store that shows items of the queue otherwise than they are.
type mirror struct {
	kernel.Store
	edit  func(*approvals.Item) // nil: as they are
	gone  int                   // from so many looks at one item on, it is gone; 0: never
	looks int                   // at one item
}

func (m *mirror) show(it *approvals.Item) *approvals.Item {
	if it == nil || m.edit == nil {
		return it
	}
	again := it.Clone()
	m.edit(&again)
	return &again
}

func (m *mirror) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	it, err := m.Store.Approval(ctx, id)
	if m.looks++; m.gone > 0 && m.looks >= m.gone {
		return nil, err
	}
	return m.show(it), err
}

func (m *mirror) ApprovalByKey(ctx context.Context, k approvals.Kind, key string) (*approvals.Item, error) {
	it, err := m.Store.ApprovalByKey(ctx, k, key)
	return m.show(it), err
}

func (m *mirror) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	list, err := m.Store.Approvals(ctx, q)
	for n := range list {
		list[n] = *m.show(&list[n])
	}
	return list, err
}

func newMirror(t *testing.T, hooks []hook, changes ...change) (*host, *mirror) {
	t.Helper()
	m := &mirror{}
	h := newHost(t, hooks,
		append(changes, func(_ *kernel.Config, o *kernel.Options) { m.Store = o.Store; o.Store = m })...)
	return h, m
}

// inState stores an item of the state.
func (h *host) inState(t *testing.T, s approvals.State) string {
	t.Helper()
	switch s {
	case approvals.Approved:
		return h.approved(t)
	case approvals.Denied:
		id := h.pending(t, invocation(phases.PreTool))
		if err := h.decide(t, id, approvals.Deny, reviewerKey(1)); err != nil {
			t.Fatal(err)
		}
		return id
	case approvals.Consumed:
		id := h.approved(t)
		h.clock.add(time.Second)
		h.allowed(t, invocation(phases.PreTool))
		return id
	}
	return h.pending(t, invocation(phases.PreTool))
}

// Each way in which an item can differ from what the log says has a reason of its own; the
// item is neither shown nor listed, and operators are told.
func TestWhyAnItemIsNotWhatWasAsked(t *testing.T) {
	later := func(at time.Time) time.Time { return at.Add(time.Second) }
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	to := func(s approvals.State) func(*approvals.Item) { return func(it *approvals.Item) { it.State = s } }
	closed := func(s approvals.State) func(*approvals.Item) {
		return func(it *approvals.Item) { it.State, it.Closed = s, at }
	}
	const another, state, asked = "the log says that something else was asked", "its state is not what the log says of it",
		"the log does not say that it was asked"
	for name, c := range map[string]struct {
		from  approvals.State
		edit  func(*approvals.Item)
		after time.Duration
		want  string // "": nothing is wrong with it
	}{
		"damaged": {approvals.Pending, func(it *approvals.Item) { it.Damaged = true }, 0,
			"its row says two things"},
		"no canonical form": {approvals.Pending, func(it *approvals.Item) { it.Action = jsontext.Value("{") }, 0,
			"it has no canonical form"},
		"another kind": {approvals.Pending, func(it *approvals.Item) { it.Kind = approvals.KindLease }, 0,
			another},
		"another key":        {approvals.Pending, func(it *approvals.Item) { it.Key += "x" }, 0, another},
		"another credential": {approvals.Pending, func(it *approvals.Item) { it.By.Credential += "x" }, 0, another},
		"another content":    {approvals.Pending, func(it *approvals.Item) { it.Tool += "x" }, 0, another},
		"decided, says the row": {approvals.Pending, func(it *approvals.Item) {
			it.Decision = &approvals.Decision{Verdict: approvals.Approve}
		}, 0, "was not signed by a reviewer"},
		"not decided, says the row": {approvals.Denied, func(it *approvals.Item) { it.Decision = nil }, 0,
			"the log says that it was decided"},
		"approved by no decision": {approvals.Approved, func(it *approvals.Item) { it.Decision = nil }, 0,
			"what is stored as approved has no decision"},
		"decided for longer": {approvals.Approved, func(it *approvals.Item) {
			it.Decision.Until = later(it.Decision.Until)
		}, 0, "was not signed by a reviewer"},
		"pending, closed":    {approvals.Pending, closed(approvals.Pending), 0, state},
		"pending, as denied": {approvals.Pending, to(approvals.Denied), 0, state},
		"pending, as used":   {approvals.Pending, to(approvals.Consumed), 0, state},
		"pending, as run out": {approvals.Pending, closed(approvals.Expired), queue.DefaultTimeout - time.Second,
			state},
		"pending, and it has run out": {approvals.Pending, closed(approvals.Expired), queue.DefaultTimeout, ""},
		"pending, put aside":          {approvals.Pending, closed(approvals.Superseded), 0, ""},
		"put aside, not closed":       {approvals.Pending, to(approvals.Superseded), 0, state},
		"no such state": {approvals.Pending, to("odd"), 0,
			"what is stored as odd is not what was asked: there is no such state"},
		"approved":             {approvals.Approved, func(*approvals.Item) {}, 0, ""},
		"approved, closed":     {approvals.Approved, closed(approvals.Approved), 0, state},
		"approved, as pending": {approvals.Approved, to(approvals.Pending), 0, state},
		"approved, as denied":  {approvals.Approved, closed(approvals.Denied), 0, state},
		"approved, as used":    {approvals.Approved, closed(approvals.Consumed), 0, state},
		"approved, as run out": {approvals.Approved, closed(approvals.Expired), queue.DefaultTimeout - time.Second,
			state},
		"approved, and it is over": {approvals.Approved, closed(approvals.Expired), queue.DefaultTimeout, ""},
		"approved, put aside":      {approvals.Approved, closed(approvals.Superseded), 0, ""},
		"denied":                   {approvals.Denied, func(*approvals.Item) {}, 0, ""},
		"denied, closed later": {approvals.Denied, func(it *approvals.Item) { it.Closed = later(it.Closed) }, 0,
			state},
		"denied, as approved": {approvals.Denied, func(it *approvals.Item) {
			it.State, it.Closed = approvals.Approved, time.Time{}
		}, 0, state},
		"denied, as run out": {approvals.Denied, closed(approvals.Expired), 3 * queue.DefaultTimeout, state},
		"denied, put aside":  {approvals.Denied, closed(approvals.Superseded), 0, state},
		"used":               {approvals.Consumed, func(*approvals.Item) {}, 0, ""},
		"used, closed later": {approvals.Consumed, func(it *approvals.Item) { it.Closed = later(it.Closed) }, 0,
			state},
		"used, as approved": {approvals.Consumed, func(it *approvals.Item) {
			it.State, it.Closed = approvals.Approved, time.Time{}
		}, 0, "what is stored as approved has been used before"},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := newMirror(t, asking(), reviewed)
			id := h.inState(t, c.from)
			m.edit = c.edit
			h.clock.add(c.after)
			it, err := h.Approval(t.Context(), id)
			unsound := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "unsound"})
			if c.want == "" {
				if err != nil || it.ID != id || len(unsound) != 0 {
					t.Errorf("%+v, %v", it, err)
				}
				return
			}
			if f := phases.FaultOf(err); f == nil || f.Kind != phases.KindStore || !errors.Is(err, approvals.ErrUnsound) ||
				!strings.Contains(f.Text, c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if len(unsound) != 1 || !strings.Contains(unsound[0].Reason, c.want) {
				t.Errorf("logged: %+v", unsound)
			}
			list, err := h.Approvals(t.Context(), approvals.Query{})
			if name != "damaged" && (err != nil || len(list) != 0) {
				t.Errorf("listed: %+v, %v", list, err)
			}
			if again := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "unsound"}); len(again) != 1 {
				t.Errorf("logged %d times", len(again))
			}
		})
	}
}

// The events of what ended long ago may be gone. What may still be decided is not old.
func TestItemsThatTheLogDoesNotKnow(t *testing.T) {
	for name, c := range map[string]struct {
		id    string // "": of the time
		state approvals.State
		after time.Duration
		sound bool
	}{
		"young":                {"", approvals.Superseded, 0, false},
		"a second too young":   {"", approvals.Superseded, kernel.MinCompactionAge - time.Second, false},
		"old enough":           {"", approvals.Superseded, kernel.MinCompactionAge, true},
		"old, and it may hold": {"", approvals.Pending, kernel.MinCompactionAge, false},
		"of no time":           {"x", approvals.Superseded, kernel.MinCompactionAge, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, m := newMirror(t, nil, reviewed)
			it := proposal("a")
			if it.ID = c.id; it.ID == "" {
				it.ID = newID(h.clock.Now())
			}
			it.State, it.Created, it.Expires = c.state, h.clock.Now(), h.clock.Now().Add(2*kernel.MinCompactionAge)
			if c.state != approvals.Pending {
				it.Closed = h.clock.Now()
			}
			h.clock.add(c.after)
			m.Store = &stocked{m.Store, it}
			_, err := h.Approval(t.Context(), it.ID)
			if c.sound != (err == nil) || err != nil &&
				!strings.Contains(err.Error(), "the log does not say that it was asked") {
				t.Errorf("%v", err)
			}
			ids, err := h.UnsoundApprovals(t.Context())
			if err != nil || (len(ids) == 1) != (c.state == approvals.Pending) {
				t.Errorf("%v, %v", ids, err)
			}
		})
	}
}

// stocked is a store that has one item more.
type stocked struct {
	kernel.Store
	more approvals.Item
}

func (s *stocked) Approval(ctx context.Context, id string) (*approvals.Item, error) {
	if id == s.more.ID {
		it := s.more.Clone()
		return &it, nil
	}
	return s.Store.Approval(ctx, id)
}

func (s *stocked) Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error) {
	list, err := s.Store.Approvals(ctx, q)
	if q.Match(&s.more) {
		list = append(list, s.more.Clone())
	}
	return list, err
}

// An item that keeps changing, or that is gone at the second look, is a conflict and no forgery.
func TestItemsThatKeepChanging(t *testing.T) {
	h, m := newMirror(t, asking(), reviewed)
	id := h.pending(t, invocation(phases.PreTool))
	n := 0
	m.edit = func(it *approvals.Item) { n++; it.Tool = strings.Repeat("x", n) }
	if _, err := h.Approval(t.Context(), id); !errors.Is(err, kernel.ErrConflict) || n != 18 {
		t.Errorf("%v after %d looks", err, n)
	}
	m.edit, m.gone, m.looks = func(it *approvals.Item) { it.Tool = "x" }, 2, 0
	if _, err := h.Approval(t.Context(), id); !errors.Is(err, kernel.ErrConflict) {
		t.Errorf("%v", err)
	}
	if got := h.events(t, wire.Query{Type: phases.EventApproval, Decision: "unsound"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// A pending item that does not match its question gives way to a new one; on any other such item
// the caller cannot go on.
func TestProposalsThatAreNotWhatWasAsked(t *testing.T) {
	h, m := newMirror(t, nil, reviewed)
	old := h.proposed(t, "a")
	m.edit = func(it *approvals.Item) {
		if it.ID == old {
			it.Tool = "x"
		}
	}
	it, err := h.RequestApproval(t.Context(), proposal("a"))
	if err != nil || it.ID == old || it.State != approvals.Pending {
		t.Fatalf("%+v, %v", it, err)
	}
	gone := h.events(t, wire.Query{Type: phases.EventApproval, Decision: string(approvals.Superseded)})
	if len(gone) != 1 || !strings.Contains(string(gone[0].Output), old) || len(gone[0].Notes) != 1 ||
		gone[0].Notes[0] != "it was not what was asked" {
		t.Errorf("%+v", gone)
	}
	if err := h.decide(t, it.ID, approvals.Approve, reviewerKey(1)); err != nil {
		t.Fatal(err)
	}
	m.edit = func(it *approvals.Item) { it.Tool = "x" }
	if _, err := h.RequestApproval(t.Context(), proposal("a")); !errors.Is(err, approvals.ErrUnsound) {
		t.Errorf("%v", err)
	}
	for name, f := range map[string]func() error{
		"decide": func() error { _, err := h.DecideApproval(t.Context(), it.ID, approvals.Decision{}); return err },
		"check":  func() error { _, err := h.CheckApproval(t.Context(), it.ID); return err },
		"finish": func() error { return h.FinishApproval(t.Context(), it.ID, "") },
		"accept": func() error { _, err := h.AcceptApproval(t.Context(), it.ID, approvals.Decision{}); return err },
		"end":    func() error { return h.FinishAccepted(t.Context(), it.ID, "") },
	} {
		if err := f(); !errors.Is(err, approvals.ErrUnsound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ids, err := h.UnsoundApprovals(t.Context()); err != nil || len(ids) != 1 || ids[0] != it.ID {
		t.Errorf("%v, %v", ids, err)
	}
}

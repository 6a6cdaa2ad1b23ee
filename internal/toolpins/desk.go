package toolpins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// Queue is the part of a kernel that a Desk needs.
type Queue interface {
	RequestApproval(ctx context.Context, item approvals.Item, supersedes ...string) (approvals.Item, error)
	Approvals(ctx context.Context, q approvals.Query) ([]approvals.Item, error)
	Approval(ctx context.Context, id string) (approvals.Item, error)
	DecideApproval(ctx context.Context, id string, d approvals.Decision) (approvals.Item, error)
	CheckApproval(ctx context.Context, id string) (*approvals.Item, error)
	FinishApproval(ctx context.Context, id, note string) error
	NoteTools(ctx context.Context, source, text string, data jsontext.Value) error
	ToolsNoted(ctx context.Context, source string) (bool, error)
}

// Options are what a Desk is made of; all but Dir are needed.
type Options struct {
	Dir    string                       // the state directory; "": what is accepted lives in memory only
	Queue  func() Queue                 // nil while the kernel is not open: then no tool runs
	Redact func(string) (string, error) // of what is kept and shown
	Now    func() time.Time
}

// Desk decides which tools are held back. It is safe for concurrent use; processes take turns by
// the lock of tools.json.
type Desk struct {
	o      Options
	mu     sync.Mutex
	memory pinned // with Dir ""
}

// NewDesk returns a desk. It reads and writes nothing yet.
func NewDesk(o Options) *Desk { return &Desk{o: o} }

// Look compares a listing with what is accepted, and returns why tools are held back, by name.
// Tools that are not in it may be called. The first listing of a server is accepted as it is, and
// that is logged before it counts. A difference is put into the queue. With an error no tool of
// the server may be called.
func (d *Desk) Look(ctx context.Context, l *Listing) (map[string]*kernel.ToolHeld, error) {
	q := d.o.Queue()
	if q == nil {
		return nil, errors.New("the event log is not open yet")
	}
	s := see(l)
	p, err := d.now()
	if err != nil {
		return nil, err
	}
	a, known := p.Servers[l.Server]
	if !known {
		if a, err = d.first(ctx, q, &s); err != nil {
			return nil, err
		}
	}
	held := map[string]*kernel.ToolHeld{}
	for name, pin := range l.Pins {
		if have := s.digests[name]; have != "" && have != pin {
			held[name] = &kernel.ToolHeld{Reason: "belay.yaml pins the definition of this tool to " + pin +
				", and the server's is " + have}
		}
	}
	c := s.change(&a)
	if c.Empty() {
		return held, d.settle(l.Server, a.Waits)
	}
	it, err := d.ask(ctx, q, &s, &c)
	if err != nil && !errors.Is(err, approvals.ErrQuota) {
		return nil, err
	}
	if err == nil && it.State == approvals.Approved && d.takeOver(ctx, q, it.ID) == nil {
		return d.Look(ctx, l) // the process that took the decision ended before it took the change over
	}
	for name := range s.Tools {
		if why := holds(&c, name); why != "" && l.Pins[name] == "" {
			held[name] = answer(why, &it, err)
		}
	}
	return held, nil
}

// holds says why a change holds back a tool; "" when it does not.
func holds(c *queue.ToolChange, name string) string {
	for _, t := range c.Tools {
		switch {
		case t.Tool != name:
		case t.Change == queue.ToolNew:
			return "the server offers this tool since after its tools were accepted"
		case t.Change == queue.ToolChanged:
			return "the server changed the definition of this tool after it was accepted"
		}
	}
	if c.Way != nil {
		return "belay.yaml reaches the server in another way than when its tools were accepted"
	}
	return ""
}

// answer says what stands between a call and the tool.
func answer(why string, it *approvals.Item, err error) *kernel.ToolHeld {
	switch d := it.Decision; {
	case err != nil:
		return &kernel.ToolHeld{Reason: why + ", and " + err.Error()}
	case it.State == approvals.Denied && d != nil:
		reason := why + "; denied by " + d.By
		if d.Reason != "" {
			reason += ": " + d.Reason
		}
		return &kernel.ToolHeld{Reason: reason}
	}
	return &kernel.ToolHeld{Reason: why + ": a person has to accept that first",
		Approval: &phases.ApprovalRef{ID: it.ID, Expires: it.Expires}}
}

// first accepts what is seen first of a server. Another process may have been faster: then what
// it has accepted counts. Where the log says that the server was seen before, tools.json was lost
// or replaced: then nothing is accepted, and a person is asked about all of it.
func (d *Desk) first(ctx context.Context, q Queue, s *sight) (accepted, error) {
	var out accepted
	noted := false // by this call, also when the file has to be looked at again
	err := d.edit(func(p *pinned) error {
		var known bool
		if out, known = p.Servers[s.Server]; known {
			return nil
		}
		if len(p.Servers) == maxServers {
			return fmt.Errorf("%w: it holds %d servers already", ErrFile, maxServers)
		}
		var err error
		if out, err = d.all(s); err != nil {
			return err
		}
		before := false
		if !noted {
			if before, err = q.ToolsNoted(ctx, s.Server); err != nil {
				return err
			}
		}
		switch {
		case before:
			out.Tools = map[string]tool{}
		case !noted:
			if err := note(ctx, q, s); err != nil {
				return err
			}
			noted = true
		}
		p.Servers[s.Server] = out
		return nil
	})
	return out, err
}

// note logs what is accepted at first sight.
func note(ctx context.Context, q Queue, s *sight) error {
	data, err := json.Marshal(struct {
		Way   string            `json:"way"`
		Tools map[string]string `json:"tools"`
	}{s.way, named(s.digests)}, json.Deterministic(true))
	if err != nil {
		return err
	}
	text := fmt.Sprintf("MCP server %s: the definitions of its tools (%d) are accepted as they are seen first", s.Server,
		len(s.digests))
	return q.NoteTools(ctx, s.Server, text, data)
}

// all is a record that accepts everything that is seen.
func (d *Desk) all(s *sight) (out accepted, err error) {
	out = accepted{Way: s.way, Since: d.o.Now().UTC(), Tools: map[string]tool{}}
	if out.Reached, err = d.o.Redact(readable(s.Way)); err != nil {
		return out, err
	}
	room := maxTexts
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		t := tool{Digest: s.digests[name]}
		if s.Callable(name) {
			if t.Text, err = d.shown(s.Tools[name]); err != nil {
				return out, err
			}
		}
		if room -= len(t.Text); room < 0 {
			t.Text = ""
		}
		out.Tools[name] = t
	}
	return out, nil
}

// named is at most so many digests that an event holds them.
func named(digests map[string]string) map[string]string {
	const most = 64
	out := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(digests)) {
		if len(out) == most {
			break
		}
		out[name] = digests[name]
	}
	return out
}

// shown is a definition as a person sees it: redacted; "" when it is too large.
func (d *Desk) shown(canonical jsontext.Value) (string, error) {
	text := readable(canonical)
	if len(text) > maxText {
		return "", nil
	}
	return d.o.Redact(text)
}

// settle forgets a change that waited and is undone.
func (d *Desk) settle(server string, was *waiting) error {
	if was == nil {
		return nil
	}
	return d.edit(func(p *pinned) error {
		if a, ok := p.Servers[server]; ok && a.Waits != nil && a.Waits.Key == was.Key {
			a.Waits = nil
			p.Servers[server] = a
		}
		return nil
	})
}

// ask puts a change into the queue, in the place of an older one of the same server.
func (d *Desk) ask(ctx context.Context, q Queue, s *sight, c *queue.ToolChange) (approvals.Item, error) {
	it, err := d.item(s, c)
	if err != nil {
		return it, err
	}
	err = d.edit(func(p *pinned) error {
		a := p.Servers[s.Server]
		if a.Waits != nil && a.Waits.Key == it.Key {
			return nil
		}
		lines := c.Lines()
		if n := len(lines); n > maxLines {
			lines = append(lines[:maxLines], fmt.Sprintf("and %d more", n-maxLines))
		}
		a.Waits = &waiting{Key: it.Key, Since: d.o.Now().UTC(), Lines: lines}
		p.Servers[s.Server] = a
		return nil
	})
	if err != nil {
		return it, err
	}
	pending, err := q.Approvals(ctx, approvals.Query{Kind: approvals.KindTool, State: approvals.Pending,
		Limit: approvals.MaxLimit})
	if err != nil {
		return it, err
	}
	var old []string
	for n := range pending {
		other, err := queue.ToolChangeOf(&pending[n])
		if err == nil && other.Server == s.Server && pending[n].Key != it.Key {
			old = append(old, pending[n].ID)
		}
	}
	return q.RequestApproval(ctx, it, old...)
}

// item shows a person a change. What cannot be shown as it is makes the item one that is not
// approved: a definition that hides behind what looks like a secret, or is too large.
func (d *Desk) item(s *sight, c *queue.ToolChange) (approvals.Item, error) {
	it := approvals.Item{Kind: approvals.KindTool, By: approvals.Requester{Credential: "mcp server " + s.Server}}
	var err error
	hide := func(pointer string) { it.Hidden = append(it.Hidden, pointer) }
	if c.Way != nil {
		if c.Way.Becomes, err = d.o.Redact(readable(s.Way)); err != nil {
			return it, err
		}
	}
	size := 0
	for n := range c.Tools {
		t := &c.Tools[n]
		if t.Change == queue.ToolGone {
			continue
		}
		if t.Now, err = d.shown(s.Tools[t.Tool]); err != nil {
			return it, err
		}
		if t.Now != readable(s.Tools[t.Tool]) {
			hide(fmt.Sprintf("/details/tools/%d/now", n))
		}
		size += len(t.Now)
	}
	for n := range c.Tools { // the definitions of before give way first
		if size += len(c.Tools[n].Was); size > queue.MaxDetails/2 {
			size -= len(c.Tools[n].Was)
			c.Tools[n].Was = ""
		}
	}
	if it.Details, err = json.Marshal(c, json.Deterministic(true)); err != nil {
		return it, err
	}
	if len(it.Details) > queue.MaxDetails {
		for n := range c.Tools {
			c.Tools[n].Now, c.Tools[n].Was = "", ""
		}
		it.Hidden = []string{"/details/tools"}
		if it.Details, err = json.Marshal(c, json.Deterministic(true)); err != nil {
			return it, err
		}
	}
	it.Reason = phases.SafeText(strings.Join(c.Lines(), "; "), phases.MaxReasonBytes)
	it.Key, err = c.Key()
	return it, err
}

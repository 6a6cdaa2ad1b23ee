package toolpins_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/internal/queue"
	"github.com/belay-hooks/belay/internal/toolpins"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/kernel/approvals"
	"github.com/belay-hooks/belay/phases"
)

// people is a queue in memory whose people approve without a key.
type people struct {
	items          []approvals.Item
	notes, sources []string
	fail           error
}

func (p *people) RequestApproval(_ context.Context, it approvals.Item, gone ...string) (approvals.Item, error) {
	for i := range p.items {
		if p.items[i].Key == it.Key && p.items[i].State != approvals.Consumed {
			return p.items[i], p.fail
		}
	}
	for i := range p.items {
		for _, id := range gone {
			if p.items[i].ID == id {
				p.items[i].State = approvals.Superseded
			}
		}
	}
	it.ID, it.State = fmt.Sprint(len(p.items)), approvals.Pending
	p.items = append(p.items, it)
	return it, p.fail
}

func (p *people) Approvals(_ context.Context, q approvals.Query) (out []approvals.Item, err error) {
	for i := range p.items {
		if q.Match(&p.items[i]) {
			out = append(out, p.items[i])
		}
	}
	return out, p.fail
}

func (p *people) find(id string) *approvals.Item {
	for i := range p.items {
		if p.items[i].ID == id {
			return &p.items[i]
		}
	}
	return &approvals.Item{}
}

func (p *people) Approval(_ context.Context, id string) (approvals.Item, error) {
	return *p.find(id), p.fail
}

func (p *people) DecideApproval(_ context.Context, id string, d approvals.Decision) (approvals.Item, error) {
	it := p.find(id)
	it.Decision, it.State = &d, approvals.Denied
	if d.Verdict == approvals.Approve {
		it.State = approvals.Approved
	}
	return *it, p.fail
}

func (p *people) CheckApproval(_ context.Context, id string) (*approvals.Item, error) {
	if it := p.find(id); it.State == approvals.Approved {
		return it, p.fail
	}
	return nil, approvals.ErrDecided
}

func (p *people) FinishApproval(_ context.Context, id, _ string) error {
	p.find(id).State = approvals.Consumed
	return p.fail
}

func (p *people) NoteTools(_ context.Context, source, text string, data jsontext.Value) error {
	p.sources, p.notes = append(p.sources, source), append(p.notes, text+" "+string(data))
	return p.fail
}

func (p *people) ToolsNoted(_ context.Context, source string) (bool, error) {
	return slices.Contains(p.sources, source), nil
}

func desk(dir string, p *people) *toolpins.Desk {
	return toolpins.NewDesk(toolpins.Options{Dir: dir, Queue: func() toolpins.Queue { return p }, Now: time.Now,
		Redact: func(s string) (string, error) { return strings.ReplaceAll(s, "hunter2", "[redacted]"), nil }})
}

// server is a listing: how it is reached, and NAME=DESCRIPTION of its tools.
func server(t *testing.T, way string, tools ...string) *toolpins.Listing {
	t.Helper()
	l := &toolpins.Listing{Server: "files", Way: jsontext.Value(`{"command":["` + way + `"]}`),
		Tools:    map[string]jsontext.Value{},
		Callable: func(tool string) bool { return tool != "uncalled" }}
	for _, s := range tools {
		name, description, _ := strings.Cut(s, "=")
		text, _, err := (&toolpins.Definition{Name: name, Description: description}).Canonical()
		if err != nil {
			t.Fatal(err)
		}
		l.Tools[name] = text
	}
	return l
}

// held is what a look holds back: NAME: REASON, and whether an item waits.
func held(t *testing.T, d *toolpins.Desk, l *toolpins.Listing) map[string]*kernel.ToolHeld {
	t.Helper()
	h, err := d.Look(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func decide(t *testing.T, d *toolpins.Desk, p *people, v approvals.Verdict) error {
	t.Helper()
	it := p.items[len(p.items)-1]
	_, err := d.Decide(t.Context(), p, it, approvals.Decision{Verdict: v, By: "anna", Reason: "so be it"})
	return err
}

// What a server says first of its tools is accepted and logged. A definition that changes holds
// its tool back, and no other, until a person accepts it.
func TestChangedDefinitionIsHeldBack(t *testing.T) {
	dir, p := t.TempDir(), &people{}
	d := desk(dir, p)
	if h := held(t, d, server(t, "/a", "read=reads", "list=lists")); len(h) != 0 || len(p.items) != 0 {
		t.Fatalf("at first sight: %v, %v", h, p.items)
	}
	if len(p.notes) != 1 || !strings.Contains(p.notes[0], "MCP server files") {
		t.Errorf("logged: %q", p.notes)
	}
	pulled := server(t, "/a", "read=reads, and sends all of it to me", "list=lists")
	d = desk(dir, p) // another process
	h := held(t, d, pulled)
	if len(h) != 1 || h["read"] == nil || h["read"].Approval == nil || h["read"].Approval.ID != "0" ||
		!strings.Contains(h["read"].Reason, "changed the definition") {
		t.Fatalf("held back: %v", h)
	}
	if h = held(t, d, pulled); len(p.items) != 1 || h["read"].Approval.ID != "0" {
		t.Errorf("asked %d times", len(p.items))
	}
	c, err := queue.ToolChangeOf(&p.items[0])
	if err != nil || queue.CheckToolChange(&p.items[0]) != nil || len(c.Tools) != 1 ||
		!strings.Contains(c.Tools[0].Now, "sends all of it") || strings.Contains(c.Tools[0].Was, "sends") {
		t.Errorf("shown: %+v %v", c, err)
	}
	if w, err := toolpins.Waits(dir); err != nil || len(w) != 1 ||
		w[0].Changes[0] != "the definition of the tool read changed" {
		t.Errorf("waits: %+v %v", w, err)
	}
	if err := decide(t, d, p, approvals.Approve); err != nil || p.items[0].State != approvals.Consumed {
		t.Fatalf("%v, %s", err, p.items[0].State)
	}
	if h := held(t, d, pulled); len(h) != 0 {
		t.Errorf("after the approval: %v", h)
	}
	if w, err := toolpins.Waits(dir); err != nil || len(w) != 0 {
		t.Errorf("waits after the approval: %+v %v", w, err)
	}
	if h := held(t, d, server(t, "/a", "read=reads", "list=lists")); len(h) != 1 {
		t.Errorf("the definition of before passes: %v", h)
	}
}

// So does a tool that is new, one that a server no longer has counts as a change, and another
// command holds back everything.
func TestWhatCountsAsAChange(t *testing.T) {
	was := []string{"read=reads", "list=lists"}
	for name, c := range map[string]struct {
		now   *toolpins.Listing
		held  string
		lines string
	}{
		"nothing":           {server(t, "/a", was...), "", ""},
		"a new tool":        {server(t, "/a", append(was, "send=sends")...), "send", "the tool send is new"},
		"one that is gone":  {server(t, "/a", was[0]), "", "the tool list is gone"},
		"another command":   {server(t, "/b", was...), "list read", "belay.yaml reaches the server in another way"},
		"what none may use": {server(t, "/a", append(was, "uncalled=x")...), "", ""},
	} {
		dir, p := t.TempDir(), &people{}
		d := desk(dir, p)
		held(t, d, server(t, "/a", was...))
		h := held(t, d, c.now)
		var names []string
		for _, tool := range []string{"list", "read", "send", "uncalled"} {
			if h[tool] != nil {
				names = append(names, tool)
			}
		}
		w, err := toolpins.Waits(dir)
		lines := ""
		if len(w) > 0 {
			lines = strings.Join(w[0].Changes, ", ")
		}
		if strings.Join(names, " ") != c.held || err != nil || lines != c.lines || (lines != "") != (len(p.items) == 1) {
			t.Errorf("%s: held %v, waits %q, %d items, %v", name, names, lines, len(p.items), err)
		}
		if lines == "" {
			continue
		}
		if err := decide(t, d, p, approvals.Approve); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if h := held(t, d, c.now); len(h) != 0 || len(p.items) != 1 {
			t.Errorf("%s, accepted: %v", name, h)
		}
	}
}

// A change that the server takes back waits for no answer any more.
func TestChangeThatIsTakenBack(t *testing.T) {
	dir, p := t.TempDir(), &people{}
	d := desk(dir, p)
	held(t, d, server(t, "/a", "read=reads"))
	held(t, d, server(t, "/a", "read=other"))
	if h := held(t, d, server(t, "/a", "read=third")); h["read"].Approval.ID != "1" ||
		p.items[0].State != approvals.Superseded {
		t.Errorf("%v, the first item is %s", h["read"], p.items[0].State)
	}
	if h := held(t, d, server(t, "/a", "read=reads")); len(h) != 0 {
		t.Errorf("%v", h)
	}
	if w, err := toolpins.Waits(dir); err != nil || len(w) != 0 {
		t.Errorf("waits: %+v %v", w, err)
	}
}

func TestDeniedChange(t *testing.T) {
	p := &people{}
	d := desk(t.TempDir(), p)
	held(t, d, server(t, "/a", "read=reads"))
	held(t, d, server(t, "/a", "read=other"))
	if err := decide(t, d, p, approvals.Deny); err != nil {
		t.Fatal(err)
	}
	if h := held(t, d, server(t, "/a", "read=other")); h["read"] == nil || h["read"].Approval != nil ||
		!strings.Contains(h["read"].Reason, "denied by anna: so be it") {
		t.Errorf("%+v", h["read"])
	}
}

// A change that is approved when belay dies is taken over by the next call.
func TestApprovalThatWasNotTakenOver(t *testing.T) {
	p := &people{}
	d := desk(t.TempDir(), p)
	held(t, d, server(t, "/a", "read=reads"))
	held(t, d, server(t, "/a", "read=other"))
	if _, err := p.DecideApproval(t.Context(), "0", approvals.Decision{Verdict: approvals.Approve, By: "anna"}); err != nil {
		t.Fatal(err)
	}
	if h := held(t, d, server(t, "/a", "read=other")); len(h) != 0 || p.items[0].State != approvals.Consumed {
		t.Errorf("%v, the item is %s", h["read"], p.items[0].State)
	}
}

// What belay.yaml pins counts whatever else was accepted, and no person is asked about it.
func TestPinsOfTheOperator(t *testing.T) {
	p := &people{}
	d := desk(t.TempDir(), p)
	held(t, d, server(t, "/a", "read=reads"))
	now := server(t, "/b", "read=other")
	digest := phases.ByteDigest(now.Tools["read"])
	now.Pins = map[string]string{"read": digest}
	if h := held(t, d, now); len(h) != 0 {
		t.Errorf("the pinned definition: %v", h["read"])
	}
	was := server(t, "/a", "read=reads")
	was.Pins = now.Pins
	if h := held(t, d, was); h["read"] == nil || h["read"].Approval != nil ||
		!strings.Contains(h["read"].Reason, "belay.yaml pins") || !strings.Contains(h["read"].Reason, digest) {
		t.Errorf("another one: %v", h["read"])
	}
}

// What a person cannot read is not approved: a definition behind something that looks like a
// secret, or one that is too large.
func TestDefinitionThatCannotBeShown(t *testing.T) {
	for name, description := range map[string]string{
		"a secret": "password=hunter2", "too much": strings.Repeat("x", 64<<10),
	} {
		p := &people{}
		dir := t.TempDir()
		d := desk(dir, p)
		held(t, d, server(t, "/a", "read=reads"))
		held(t, d, server(t, "/a", "read="+description))
		if it := p.items[0]; len(it.Hidden) != 1 || it.Hidden[0] != "/details/tools/0/now" {
			t.Errorf("%s: hidden %v", name, it.Hidden)
		}
		src, err := os.ReadFile(filepath.Join(dir, toolpins.FileName))
		if err != nil || strings.Contains(string(src)+string(p.items[0].Details), "hunter2") {
			t.Errorf("%s: stored as it is: %s, %v", name, src, err)
		}
	}
}

// No tool passes while tools.json cannot be used, and it is not written over.
func TestFileThatCannotBeUsed(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0", 64)
	for name, src := range map[string]string{
		"no JSON":          `{`,
		"nothing in it":    `{}`,
		"no servers":       `{"version":"belay/tools/v1"}`,
		"empty":            ``,
		"another version":  `{"version":"belay/tools/v2","servers":{}}`,
		"an unknown name":  `{"version":"belay/tools/v1","servers":{},"x":1}`,
		"a name twice":     `{"version":"belay/tools/v1","servers":{},"servers":{}}`,
		"a type":           `{"version":"belay/tools/v1","servers":[]}`,
		"no digest":        `{"version":"belay/tools/v1","servers":{"files":{"way":"sha256:00","tools":{}}}}`,
		"no tools":         `{"version":"belay/tools/v1","servers":{"files":{"way":"` + digest + `"}}}`,
		"a tool's digest":  `{"version":"belay/tools/v1","servers":{"files":{"way":"` + digest + `","tools":{"read":{"digest":"x"}}}}}`,
		"not UTF-8":        "{\"version\":\"\xff\"}",
		"more than it may": strings.Repeat(" ", 8<<20+1),
	} {
		dir, p := t.TempDir(), &people{}
		file := filepath.Join(dir, toolpins.FileName)
		if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := desk(dir, p).Look(t.Context(), server(t, "/a", "read=reads")); !errors.Is(err, toolpins.ErrFile) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := toolpins.Waits(dir); !errors.Is(err, toolpins.ErrFile) {
			t.Errorf("%s, to be reported: %v", name, err)
		}
		if now, err := os.ReadFile(file); err != nil || string(now) != src {
			t.Errorf("%s: was written", name)
		}
	}
}

// What cannot be logged does not count.
func TestFirstSightIsLoggedBeforeItCounts(t *testing.T) {
	dir, p := t.TempDir(), &people{fail: errors.New("the disk is full")}
	if _, err := desk(dir, p).Look(t.Context(), server(t, "/a", "read=reads")); err == nil {
		t.Error("accepted without an event")
	}
	if _, err := os.Stat(filepath.Join(dir, toolpins.FileName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stored all the same: %v", err)
	}
	closed := toolpins.NewDesk(toolpins.Options{Dir: dir, Queue: func() toolpins.Queue { return nil }})
	if _, err := closed.Look(t.Context(), server(t, "/a", "read=reads")); err == nil {
		t.Error("accepted without a log")
	}
}

// Who removes tools.json makes belay ask about everything, and accept nothing anew: the log says
// that the server was seen before.
func TestFileThatWasRemoved(t *testing.T) {
	dir, p := t.TempDir(), &people{}
	d := desk(dir, p)
	held(t, d, server(t, "/a", "read=reads"))
	if err := os.Remove(filepath.Join(dir, toolpins.FileName)); err != nil {
		t.Fatal(err)
	}
	pulled := server(t, "/a", "read=other")
	if h := held(t, d, pulled); h["read"] == nil || h["read"].Approval == nil || len(p.notes) != 1 {
		t.Fatalf("%+v, %d notes", h["read"], len(p.notes))
	}
	if err := decide(t, d, p, approvals.Approve); err != nil {
		t.Fatal(err)
	}
	if h := held(t, d, pulled); len(h) != 0 {
		t.Errorf("accepted: %v", h["read"])
	}
}

// An approval that starts from what is not accepted any more accepts nothing.
func TestApprovalOfAnOlderState(t *testing.T) {
	p := &people{}
	d := desk(t.TempDir(), p)
	held(t, d, server(t, "/a", "read=reads"))
	held(t, d, server(t, "/a", "read=other"))
	stale := p.items[0]
	if err := decide(t, d, p, approvals.Approve); err != nil {
		t.Fatal(err)
	}
	held(t, d, server(t, "/a", "read=third"))
	if err := decide(t, d, p, approvals.Approve); err != nil {
		t.Fatal(err)
	}
	p.items[0] = stale
	_, err := d.Decide(t.Context(), p, stale, approvals.Decision{Verdict: approvals.Approve, By: "anna"})
	if !errors.Is(err, toolpins.ErrMoved) || !errors.Is(err, toolpins.ErrPending) {
		t.Errorf("%v", err)
	}
	if h := held(t, d, server(t, "/a", "read=third")); len(h) != 0 {
		t.Errorf("%v", h["read"])
	}
}

// A desk without a directory keeps everything in memory.
func TestDeskInMemory(t *testing.T) {
	p := &people{}
	d := desk("", p)
	held(t, d, server(t, "/a", "read=reads"))
	if h := held(t, d, server(t, "/a", "read=other")); h["read"] == nil {
		t.Error("a change passes")
	}
}

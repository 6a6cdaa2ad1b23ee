package kernel_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/belay-hooks/belay/client/wire"
	"github.com/belay-hooks/belay/internal/notes"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// blind is a redactor of which one call fails. That call returns the original beside its error.
type blind struct {
	mu   sync.Mutex
	n    int  // calls since it was armed
	fail int  // the call that fails; 0: none
	on   bool // those after it fail, too
	met  bool
}

var errBlind = errors.New("the patterns cannot be read")

func (b *blind) arm(fail int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n, b.fail, b.met = 0, fail, false
}

// disarm makes the redactor whole again and reports whether a call has failed.
func (b *blind) disarm() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = 0
	return b.met
}

func (b *blind) call() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n++; b.n == b.fail || b.on && b.fail > 0 && b.n > b.fail {
		b.met = true
		return errBlind
	}
	return nil
}

func (b *blind) JSON(raw jsontext.Value) (jsontext.Value, []string, error) {
	if err := b.call(); err != nil {
		return raw, nil, err
	}
	return fakeRedactor{}.JSON(raw)
}

func (b *blind) Text(s string) (string, error) {
	if err := b.call(); err != nil {
		return s, err
	}
	return fakeRedactor{}.Text(s)
}

// Whichever call to the redactor fails while an invocation is decided: it is blocked, nothing
// that lets something pass comes about, and the log tells of it.
func TestInvocationsWithARedactorThatFails(t *testing.T) {
	for name, c := range decisions() {
		if name == "a hook calls a tool" {
			continue // a call that fails is the hook's to judge; see the next test
		}
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				var hooks []hook
				if c.hooks != nil {
					hooks = c.hooks()
				}
				r := &blind{}
				h := newHost(t, hooks,
					append([]change{func(_ *kernel.Config, o *kernel.Options) { o.Redactor = r }}, c.changes...)...)
				if c.prepare != nil {
					c.prepare(t, h)
				}
				before := h.passed(t)
				r.arm(n)
				v, err := h.InvokeWith(t.Context(), c.inv, c.options)
				if !r.disarm() {
					return
				}
				checkComplete(t, v)
				if v.Decision == phases.Ask && v.Approval != nil && err == nil {
					// What cannot be compared is hidden: a person can deny it, and no more.
					if it, err := h.Approval(t.Context(), v.Approval.ID); err != nil || len(it.Hidden) == 0 ||
						!strings.Contains(strings.Join(v.Notes, " "), "argument hidden") {
						t.Errorf("call %d failed: %+v, %v", n, it, err)
					}
					continue
				}
				if v.Decision != phases.Block || err == nil || v.Action != nil || v.Reply != nil || v.Approval != nil {
					t.Errorf("call %d failed, and the answer is %s %s %q, %v", n, v.Decision, v.Kind, v.Reason, err)
				}
				if diff := cmp.Diff(before, h.passed(t)); diff != "" {
					t.Errorf("call %d failed: %s", n, diff)
				}
				if !h.recorded(t, v.ID) {
					t.Errorf("call %d failed, and the log does not tell of it", n)
				}
			}
		})
	}
}

// Whatever of a call cannot be redacted: the hook and the log see no secret, and each call that
// was made has its intent and its outcome.
func TestCallsWithARedactorThatFails(t *testing.T) {
	for n := 1; ; n++ {
		var got []answer
		x := &tools{}
		r := &blind{}
		h := newHost(t, []hook{toolAsker(&got, probeCall)}, withTools(x), func(_ *kernel.Config, o *kernel.Options) {
			o.Redactor = r
		})
		r.arm(n)
		v, err := h.Invoke(t.Context(), invocation(phases.PreTool))
		if !r.disarm() {
			if n == 1 {
				t.Error("nothing was covered")
			}
			return
		}
		checkComplete(t, v)
		if slices.ContainsFunc(got, func(a answer) bool { return strings.Contains(a.reply, "SECRET") }) {
			t.Errorf("call %d failed: %s, %v, and the hook has seen %+v", n, v.Decision, err, got)
		}
		if v.Decision != phases.Block && len(x.calls) == 0 && (len(got) != 1 || got[0].code >= 0) {
			t.Errorf("call %d failed: the tool did not run, and the answer is %+v", n, got)
		}
		for _, e := range h.events(t, wire.Query{}) {
			if raw, err := json.Marshal(&e); err != nil || strings.Contains(string(raw), "SECRET") {
				t.Errorf("call %d failed: logged %s, %v", n, raw, err)
			}
		}
		if intents := len(h.events(t, wire.Query{Type: phases.EventIntent})); len(x.calls) > intents {
			t.Errorf("call %d failed: the tool ran and there is no intent", n)
		}
		if outcomes := len(h.events(t, wire.Query{Type: phases.EventOutcome})); len(x.calls) != outcomes {
			t.Errorf("call %d failed: the tool ran %d times, and there are %d outcomes", n, len(x.calls), outcomes)
		}
	}
}

// TestRecoveryWithARedactorThatFails: what waits to be logged waits on while its names cannot be redacted: it is
// lost neither then nor later, and the session is held once it is logged.
func TestRecoveryWithARedactorThatFails(t *testing.T) {
	for n := 1; ; n++ {
		r, f := &blind{on: true}, &flaky{Store: memory.New()}
		no := hook{name: "no", phases: []phases.Phase{phases.Spawn}, caps: []string{"block"}, run: effects(block("no"))}
		h := newHost(t, []hook{no}, func(_ *kernel.Config, o *kernel.Options) { o.Redactor, o.Store = r, f })
		f.set(false, true, false)
		_, _ = h.InvokeWith(t.Context(), invocation(phases.Spawn), unblockable)
		f.set(false, false, false)
		r.arm(n)
		err := h.Recover(t.Context())
		met := r.disarm()
		told := len(h.events(t, wire.Query{Type: phases.EventGap})) > 0
		if (err == nil) != told {
			t.Errorf("call %d failed: %v, and a logged gap is %v", n, err, told)
		}
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		gaps := h.events(t, wire.Query{Type: phases.EventGap})
		if len(gaps) != 1 || !strings.Contains(string(gaps[0].Output), `"blocked":1`) {
			t.Errorf("call %d failed: %+v", n, gaps)
		}
		if l := latched(t, h); l.Session != "s-1" || l.Runtime != "custom" {
			t.Errorf("call %d failed: %+v", n, l)
		}
		if !met {
			if n == 1 {
				t.Error("nothing is redacted")
			}
			return
		}
	}
}

// TestNotesOfOthersWithARedactorThatFails: a command that has no redactor notes the names of a refusal as
// they are. They reach the log covered, in the latch, in the gap and among the sessions that are lifted, or
// not at all: whichever call to
// the redactor fails, nothing in the log shows one.
func TestNotesOfOthersWithARedactorThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		why     phases.LatchKind
		latched bool
	}{
		"a latch that stays":     {phases.LatchFailure, true},
		"a session that is free": {phases.LatchOverload, false},
	} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				path := filepath.Join(t.TempDir(), notes.SpoolName)
				r := &blind{on: true}
				h := newHost(t, nil, func(_ *kernel.Config, o *kernel.Options) { o.Redactor, o.SpoolPath = r, path })
				if err := kernel.Spool(path, kernel.Refusal{
					Invocation: phases.Invocation{ID: "i-SECRET", Phase: phases.Audit, Runtime: "rt-SECRET", Session: "s-SECRET"},
					Fault:      phases.NewFault(phases.KindStore, "no SECRET", nil), Unblockable: true, Unread: true, Why: c.why,
					Of: []phases.Invocation{{Phase: phases.Spawn}},
				}, time.Now()); err != nil {
					t.Fatal(err)
				}
				r.arm(n)
				err := h.Recover(t.Context())
				met := r.disarm()
				if again := h.Recover(t.Context()); again != nil || err != nil && !met {
					t.Fatalf("call %d failed: %v, then %v", n, err, again)
				}
				gaps := h.events(t, wire.Query{Type: phases.EventGap})
				if len(gaps) != 1 || !strings.Contains(string(gaps[0].Output), `"i-[redacted]"`) ||
					strings.Contains(string(gaps[0].Output), `"session":"s-[redacted]"`) == c.latched {
					t.Errorf("call %d failed: %+v", n, gaps)
				}
				for _, e := range h.events(t, wire.Query{}) {
					if raw, err := json.Marshal(&e); err != nil || strings.Contains(string(raw), "SECRET") {
						t.Errorf("call %d failed: logged %s, %v", n, raw, err)
					}
				}
				if c.latched {
					if l := latched(t, h); l.Session != "s-[redacted]" || l.Runtime != "rt-[redacted]" ||
						l.Invocation != "i-[redacted]" {
						t.Errorf("call %d failed: %+v", n, l)
					}
				}
				if !met {
					if n < 5 {
						t.Errorf("%d calls cover four texts", n-1)
					}
					return
				}
			}
		})
	}
}

package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/belay-hooks/belay/phases"
)

// Failure is a rule that a host breaks.
type Failure struct {
	Rule *Rule
	Text string
}

func (f Failure) String() string { return f.Rule.ID + ": " + f.Text + " (" + f.Rule.Rule + ")" }

// Verify runs every rule twice on the host: both turns need the same outcome and the same
// fuel. The error says that a rule could not be run.
func Verify(ctx context.Context, h Host) ([]Failure, error) {
	rules, err := Rules()
	if err != nil {
		return nil, err
	}
	var out []Failure
	for i := range rules {
		bad, err := rules[i].Verify(ctx, h)
		if errors.Is(err, ErrNotOffered) {
			continue
		}
		if err != nil {
			return out, err
		}
		for _, text := range bad {
			out = append(out, Failure{&rules[i], text})
		}
	}
	return out, nil
}

// Verify runs the rule on the host and returns one sentence for each breach.
func (r *Rule) Verify(ctx context.Context, h Host) ([]string, error) {
	req, err := r.turn()
	if err != nil {
		return nil, err
	}
	return verify(ctx, h, req, &r.Want, r.ID)
}

func verify(ctx context.Context, h Host, req Request, w *Want, id string) ([]string, error) {
	first, err := h.Run(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	again, err := h.Run(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("%s, again: %w", id, err)
	}
	bad := w.check(&req, &first)
	if len(bad) == 0 {
		if a, b := text(first), text(again); a != b {
			bad = append(bad, fmt.Sprintf("a second turn comes to something else: %s, before %s", b, a))
		}
	}
	return bad, nil
}

// tester is *testing.T, which this package does not import: commands use it as well.
type tester[T any] interface {
	Context() context.Context
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Helper()
	Logf(format string, args ...any)
	Run(name string, f func(T)) bool
}

// Run runs every rule on the host, each as a subtest of t, which is a *testing.T.
func Run[T tester[T]](t T, h Host) {
	t.Helper()
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		t.Run(rules[i].ID, func(t T) {
			t.Helper()
			bad, err := rules[i].Verify(t.Context(), h)
			switch {
			case errors.Is(err, ErrNotOffered):
				t.Logf("%v: %s", err, rules[i].Rule)
			case err != nil:
				t.Fatal(err)
			}
			for _, b := range bad {
				t.Errorf("%s\n  the rule: %s", b, rules[i].Rule)
			}
		})
	}
}

func text(v any) string {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// check compares an outcome with the wanted one.
func (w *Want) check(req *Request, o *Outcome) (bad []string) {
	miss := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if w.Refused != (o.Refused != "") {
		miss("refused is %q, want %t", o.Refused, w.Refused)
		return bad
	}
	if w.Refused {
		return nil
	}
	if w.AnyFault {
		if o.Fault == "" {
			miss("the turn did not fail")
		}
	} else if o.Fault != w.Fault {
		miss("the turn ended with %s, want %s", orNone(o.Fault), orNone(w.Fault))
	}
	if w.FailText != "" && o.FailText != w.FailText {
		miss("the text of fail is %q, want %q", o.FailText, w.FailText)
	}
	if w.FailMax > 0 && len(o.FailText) != w.FailMax {
		miss("the text of fail has %d bytes, want %d", len(o.FailText), w.FailMax)
	}
	if o.Fuel <= 0 && o.Fault != phases.KindProtocol { // a host may refuse an input without beginning the turn
		miss("the turn took %d fuel", o.Fuel)
	}
	w.checkLogs(req, o, miss)
	w.checkEffects(o, miss)
	sameAsked("asked for", w.Asked, o.Asked, miss)
	sameAsked("wished for", w.Wishes, o.Wishes, miss)
	if got, want := max(o.Turns, 1), max(w.Turns, 1); got != want {
		miss("the hook was called %d times, want %d", got, want)
	}
	for _, k := range keys(w.State, o.State) {
		got, wrote := o.State[k]
		want, wanted := w.State[k]
		switch {
		case wrote != wanted:
			miss("state %q: written is %t, want %t", k, wrote, wanted)
		case string(got) != want:
			miss("state %q is %q, want %q", k, got, want)
		}
	}
	return bad
}

func keys(a map[string]string, b map[string][]byte) []string {
	var out []string
	for k := range a {
		out = append(out, k)
	}
	for k := range b {
		out = append(out, k)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func orNone(k phases.Kind) string {
	if k == "" {
		return "no failure"
	}
	return string(k)
}

func (w *Want) checkLogs(req *Request, o *Outcome, miss func(string, ...any)) {
	if w.AnyFault {
		return // each runtime logs its own text when it breaks
	}
	want := w.Logs
	if len(w.RandomAt) > 0 {
		stream := randomStream(req.Seed, slices.Max(w.RandomAt)+1)
		for _, at := range w.RandomAt {
			want = append(want, strconv.Itoa(int(stream[at])))
		}
	}
	for _, s := range w.Without {
		if slices.ContainsFunc(o.Logs, func(line string) bool { return strings.Contains(line, s) }) {
			miss("it logged %q, without %q", o.Logs, s)
		}
	}
	if o.Dropped != w.LogDropped {
		miss("%d lines were cut or dropped, want %d", o.Dropped, w.LogDropped)
	}
	if w.Lines != nil {
		if len(o.Logs) != len(w.Lines) {
			miss("it logged %q, want %d lines", o.Logs, len(w.Lines))
			return
		}
		for i, want := range w.Lines {
			if got := jsontext.Value(o.Logs[i]); !got.IsValid() || !has(got, want) {
				miss("line %d is %s, want at least %s", i+1, got, want)
			}
		}
		return
	}
	if w.LogLines == 0 {
		if !slices.Equal(o.Logs, want) {
			miss("it logged %q, want %q", o.Logs, want)
		}
		return
	}
	longest := 0
	for _, l := range o.Logs {
		longest = max(longest, len(l))
	}
	if len(o.Logs) != w.LogLines || longest != w.LogMax {
		miss("it logged %d lines of at most %d bytes, want %d of %d", len(o.Logs), longest, w.LogLines, w.LogMax)
	}
}

// randomStream is the construction that the ABI names.
func randomStream(seed [32]byte, n int) []byte {
	var out []byte
	for block := uint64(0); len(out) < n; block++ {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(slices.Clone(seed[:]), block))
		out = append(out, sum[:]...)
	}
	return out
}

func (w *Want) checkEffects(o *Outcome, miss func(string, ...any)) {
	if w.FirstBlock != "" || w.FirstBlockPrefix != "" {
		i := slices.IndexFunc(o.Effects, func(e phases.Effect) bool { return e.Kind == phases.EffectBlock })
		if i < 0 {
			miss("there is no block")
			return
		}
		reason := o.Effects[i].Text
		if w.FirstBlock != "" && reason != w.FirstBlock || !strings.HasPrefix(reason, w.FirstBlockPrefix) ||
			w.FirstBlockMax > 0 && len(reason) != w.FirstBlockMax {
			miss("the reason has %d bytes and begins with %.40q", len(reason), reason)
		}
		return
	}
	if w.EffectCount > 0 {
		if len(o.Effects) != w.EffectCount {
			miss("%d effects count, want %d", len(o.Effects), w.EffectCount)
		}
		return
	}
	if len(o.Effects) != len(w.Effects) {
		miss("%d effects count (%s), want %d", len(o.Effects), text(o.Effects), len(w.Effects))
		return
	}
	for i, want := range w.Effects {
		got := jsontext.Value(text(o.Effects[i]))
		var members map[string]jsontext.Value
		if err := json.Unmarshal(want, &members); err != nil {
			miss("the rule is broken: %v", err)
			return
		}
		for name, v := range members {
			if g, ok := phases.Get(got, "/"+name); !ok || !phases.Same(v, g) {
				miss("effect %d is %s, want %s", i+1, got, want)
			}
		}
	}
}

func sameAsked(what string, want, got []Asked, miss func(string, ...any)) {
	if len(want) != len(got) {
		miss("it %s %s, want %s", what, text(got), text(want))
		return
	}
	for i := range want {
		if want[i].Call != got[i].Call || !has(got[i].Request, want[i].Request) {
			miss("%d: it %s %s, want %s", i+1, what, text(got[i]), text(want[i]))
		}
	}
}

// has reports whether everything of want is in got: the members of objects, and lists
// entry by entry.
func has(got, want jsontext.Value) bool {
	if !got.IsValid() || !want.IsValid() || got.Kind() != want.Kind() {
		return false
	}
	switch want.Kind() {
	case '{':
		var w, g map[string]jsontext.Value
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil {
			return false
		}
		for name, v := range w {
			if in, ok := g[name]; !ok || !has(in, v) {
				return false
			}
		}
		return true
	case '[':
		var w, g []jsontext.Value
		if json.Unmarshal(want, &w) != nil || json.Unmarshal(got, &g) != nil || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !has(g[i], w[i]) {
				return false
			}
		}
		return true
	}
	return phases.Same(want, got)
}

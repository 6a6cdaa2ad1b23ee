package eventlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

const zeroRoot = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// refused fails the test unless the error is of the class and names the place.
func refused(t *testing.T, name string, err, class error, place string) {
	t.Helper()
	if !errors.Is(err, class) || !strings.Contains(err.Error(), place) {
		t.Errorf("%s: %v, want %v that says %q", name, err, class, place)
	}
}

func TestSeedsOfKeys(t *testing.T) {
	for _, n := range []int{0, 31, 33} {
		k, err := eventlog.NewKey(make([]byte, n))
		if k != nil {
			t.Errorf("a seed of %d bytes makes a key", n)
		}
		refused(t, fmt.Sprint(n, " bytes"), err, eventlog.ErrCheckpoint, "a seed has 32 bytes")
	}
	one, same, other := newKey(t, 1), newKey(t, 1), newKey(t, 2)
	if one.StoreID() != same.StoreID() || one.StoreID() == other.StoreID() || len(one.StoreID()) != 32 {
		t.Errorf("names of stores: %s, %s, %s", one.StoreID(), same.StoreID(), other.StoreID())
	}
}

// What the key has signed is no checkpoint unless each line is as Sign writes it.
func TestLinesOfCheckpoints(t *testing.T) {
	k := newKey(t, 1)
	const at = "2026-03-01T12:00:00Z"
	text := func(origin, size, root, time string) string {
		return origin + "\n" + size + "\n" + root + "\n" + time + "\n"
	}
	for _, tc := range []struct{ name, text, place string }{
		{"as it is written", text(eventlog.Origin, "0", zeroRoot, "time "+at), ""},
		{"another origin", text("belay event log v2", "0", zeroRoot, "time "+at),
			`it begins with another line than "belay event log v1"`},
		{"a line less", eventlog.Origin + "\n0\n" + zeroRoot + "\n", "has other lines"},
		{"a line more", text(eventlog.Origin, "0", zeroRoot, "time "+at) + "x\n", "has other lines"},
		{"a size with a zero in front", text(eventlog.Origin, "05", zeroRoot, "time "+at), "no size"},
		{"a size below zero", text(eventlog.Origin, "-1", zeroRoot, "time "+at), "no size"},
		{"a size that is no number", text(eventlog.Origin, "many", zeroRoot, "time "+at), "no size"},
		{"a short root", text(eventlog.Origin, "5", "AAAA", "time "+at), "malformed hash"},
		{"no time", text(eventlog.Origin, "5", zeroRoot, "time now"), "no time"},
		{"a time without its name", text(eventlog.Origin, "5", zeroRoot, at), "no time"},
	} {
		c, err := eventlog.Open(signText(t, 1, tc.text), k.Verifier())
		if tc.place == "" {
			if diff := cmp.Diff(eventlog.Checkpoint{Time: t0}, c); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", tc.name, err, diff)
			}
			continue
		}
		refused(t, tc.name, err, eventlog.ErrCheckpoint, tc.place)
		if c != (eventlog.Checkpoint{}) {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
	_, err := eventlog.Open(signText(t, 1, text(eventlog.Origin, "0", zeroRoot, "time "+at)), "no key")
	refused(t, "no verifier key", err, eventlog.ErrCheckpoint, "verifier key")
}

// A checkpoint is about the log as it is, in whole seconds of UTC.
func TestMarkIsWhatItSigns(t *testing.T) {
	k := newKey(t, 1)
	l, _ := build(t, 5, k)
	when := time.Date(2026, 3, 1, 14, 0, 0, 999, time.FixedZone("", 2*60*60))
	c, signed, err := eventlog.Mark(t.Context(), l, k, when)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := eventlog.Open(signed, k.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	root, err := tlog.TreeHash(5, tlog.HashReaderFunc(func(is []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(is))
		for i, j := range is {
			out[i] = l.tree[j]
		}
		return out, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []eventlog.Checkpoint{c, opened} {
		if diff := cmp.Diff(eventlog.Checkpoint{Size: 5, Root: root, Time: t0}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// What the key has signed is no statement of a compaction unless each line is as Announce writes it.
func TestLinesOfStatements(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 4)
	commit(t, s, latching("l", "claude", "s", "why", t0))
	written, err := eventlog.Announce(t.Context(), s, k, 4, "me\nand\tmore", "be\ncause", t0)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Restrictions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	st, err := eventlog.OpenStatement(written, k.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	want := eventlog.Statement{
		Checkpoint: eventlog.Checkpoint{Size: 4, Root: st.Root, Time: t0}, By: phases.SafeLine("me\nand\tmore", 100),
		Why:     phases.SafeLine("be\ncause", 100),
		Carried: &eventlog.Carried{Seq: 5, Root: rows.Recorded, Tables: rows.Tables, Latches: rows.Latches},
	}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("as it was announced (-want +got):\n%s", diff)
	}

	lines := strings.Split(strings.SplitAfterN(string(written), "\n\n", 2)[0], "\n")[:7]
	with := func(line int, text string) string {
		out := append([]string{}, lines...)
		out[line] = text
		return strings.Join(out, "\n") + "\n"
	}
	carried := func(change func(*eventlog.Carried)) string {
		c := *want.Carried
		c.Tables = bytes.Clone(c.Tables)
		change(&c)
		b, err := json.Marshal(&c, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return with(6, "open "+string(b))
	}
	const fit = "what is open does not fit its digest"
	for _, tc := range []struct{ name, text, place string }{
		{"as it is written", with(0, lines[0]), ""},
		{"before it said what restricts", strings.Join(lines[:6], "\n") + "\n", ""},
		{"after the first event", carried(func(c *eventlog.Carried) { c.Seq = 1 }), ""},
		{"a line less", strings.Join(lines[:5], "\n") + "\n", "has other lines"},
		{"a line more", with(6, lines[6]+"\nmore"), "has other lines"},
		{"a checkpoint's origin", with(0, eventlog.Origin),
			`it begins with another line than "belay event log compaction v1"`},
		{"no size", with(1, "x"), "no size"},
		{"no root", with(2, "x"), "malformed hash"},
		{"no time", with(3, "time x"), "no time"},
		{"not by", with(4, "from me"), "not a statement of a compaction"},
		{"not why", with(5, "because"), "not a statement of a compaction"},
		{"what is open without its name", with(6, lines[6][5:]), "the line does not say what is open"},
		{"what is open is no JSON", with(6, "open x"), "invalid character"},
		{"what is open with another member", with(6, `open {"seq":5,"more":1}`), "more"},
		{"what is open after no event", carried(func(c *eventlog.Carried) { c.Seq = 0 }), fit},
		{"what is open with another digest", carried(func(c *eventlog.Carried) { c.Root = "sha256:00" }), fit},
		{"what is open with other tables", carried(func(c *eventlog.Carried) { c.Tables[0] ^= 1 }), fit},
		{"what is open with too few tables", carried(func(c *eventlog.Carried) { c.Tables = c.Tables[1:] }), fit},
	} {
		st, err := eventlog.OpenStatement(signText(t, 1, tc.text), k.Verifier())
		if tc.place == "" {
			if err != nil || st.Size != 4 {
				t.Errorf("%s: %+v, %v", tc.name, st, err)
			}
			continue
		}
		refused(t, tc.name, err, eventlog.ErrCheckpoint, tc.place)
		if diff := cmp.Diff(eventlog.Checkpoint{}, st.Checkpoint); diff != "" || st.Carried != nil {
			t.Errorf("%s: %+v", tc.name, st)
		}
	}
}

// A statement gives up more than the last one, and no more than there is.
func TestBoundsOfAnnouncements(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 7)
	if err := announce(t, s, k, 3, "gone"); err != nil { // event 8
		t.Fatal(err)
	}
	for _, tc := range []struct {
		through int64
		ok      bool
	}{{0, false}, {2, false}, {3, false}, {4, true}, {8, true}, {9, false}} {
		statement, err := eventlog.Announce(t.Context(), s, k, tc.through, "me", "why", t0)
		switch {
		case tc.ok && err != nil:
			t.Errorf("%d: %v", tc.through, err)
		case !tc.ok:
			refused(t, fmt.Sprint(tc.through), err, eventlog.ErrNothing, "3 of 8 events are compacted")
			if statement != nil {
				t.Errorf("%d: %s", tc.through, statement)
			}
		}
	}
	l := copyLog(t, s)
	l.rows = kernel.Restrictions{Seq: 8, Recorded: recordedIn(t, s),
		Tampered: &kernel.Tampered{Seq: 8, Tables: []string{"latches"}}}
	statement, err := eventlog.Announce(t.Context(), l, k, 4, "me", "why", t0)
	refused(t, "rows that were changed", err, eventlog.ErrLog, l.rows.Tampered.Error())
	if statement != nil {
		t.Errorf("rows that were changed: %s", statement)
	}
	l.rows = kernel.Restrictions{Seq: 8} // of a log that does not record them yet
	if statement, err = eventlog.Announce(t.Context(), l, k, 4, "me", "why", t0); err != nil {
		t.Fatal(err)
	}
	if st, err := eventlog.OpenStatement(statement, k.Verifier()); err != nil || st.Carried != nil {
		t.Errorf("nothing is recorded: %+v, %v", st, err)
	}
}

// given is a log that answers LogCompacted with a compaction of its own, and notes whether LogRemove was called.
type given struct {
	kernel.Log
	compacted kernel.Compacted
	removes   bool
}

func (g *given) LogCompacted(context.Context) (kernel.Compacted, error) { return g.compacted, nil }

func (g *given) LogRemove(ctx context.Context, limit int) (int64, error) {
	g.removes = true
	return g.Log.LogRemove(ctx, limit)
}

// Nothing is removed but what the event says that the store names.
func TestRemovalsNeedTheirAnnouncement(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 7)
	if err := announce(t, s, k, 3, "gone"); err != nil { // event 8
		t.Fatal(err)
	}
	verdicts(t, s, 1)
	other := copyLog(t, s) // of other events: the statement is not about them
	for i := range other.tree {
		other.tree[i][0] ^= 1
	}
	for _, tc := range []struct {
		name      string
		log       kernel.Log
		compacted kernel.Compacted
		place     string
	}{
		{"nothing is left", s, kernel.Compacted{Through: 3, Event: 99}, ""},
		{"an event that is not there", s, kernel.Compacted{Through: 3, Event: 10, Left: 3},
			"the event 10 that announces a compaction is missing"},
		{"an event whose place another has", &loose{leaves: copyLog(t, s).leaves[8:]},
			kernel.Compacted{Through: 3, Event: 8, Left: 3},
			"the event 8 that announces a compaction is missing"},
		{"another event", s, kernel.Compacted{Through: 3, Event: 7, Left: 3},
			"the event does not announce a compaction: it is another event"},
		{"more events", s, kernel.Compacted{Through: 4, Event: 8, Left: 4}, "event 8 announces another compaction"},
		{"fewer events", s, kernel.Compacted{Through: 2, Event: 8, Left: 2}, "event 8 announces another compaction"},
		{"other events", other, kernel.Compacted{Through: 3, Event: 8, Left: 3}, "event 8 announces another compaction"},
	} {
		g := &given{Log: tc.log, compacted: tc.compacted}
		n, err := eventlog.Remove(t.Context(), g, k.Verifier())
		if tc.place != "" {
			refused(t, tc.name, err, eventlog.ErrCheckpoint, tc.place)
		} else if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if n != 0 || g.removes {
			t.Errorf("%s: %d events removed", tc.name, n)
		}
	}
	g := &given{Log: s, compacted: kernel.Compacted{Through: 3, Event: 8, Left: 1}} // another process has done the rest
	if _, err := s.LogRemove(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if n, err := eventlog.Remove(t.Context(), g, k.Verifier()); err != nil || n != 1 || firstOf(t, s) != 4 {
		t.Errorf("the last one: %d removed, %v; the first is %d", n, err, firstOf(t, s))
	}
}

// growing is a log that says that more is left than before.
type growing struct{ *given }

func (g growing) LogRemove(ctx context.Context, limit int) (int64, error) {
	if g.removes {
		return g.given.LogRemove(ctx, limit)
	}
	g.removes = true
	return g.compacted.Left + 1, nil
}

// A step after which more is left than before, because another process has compacted more, counts as nothing.
func TestARemovalCountsNothingBelowZero(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	verdicts(t, s, 7)
	if err := announce(t, s, k, 3, "gone"); err != nil {
		t.Fatal(err)
	}
	g := growing{&given{Log: s, compacted: kernel.Compacted{Through: 3, Event: 8, Left: 3}}}
	if n, err := eventlog.Remove(t.Context(), g, k.Verifier()); err != nil || n != 4 {
		t.Errorf("%d removed, %v", n, err)
	}
}

// The newest keep checkpoints stay, and the last of each day.
func TestSuperfluousKeepsTheNewest(t *testing.T) {
	k := newKey(t, 1)
	var notes [][]byte
	for i := range 5 {
		n, err := k.Sign(eventlog.Checkpoint{Size: int64(i), Time: t0.Add(time.Duration(i) * time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, n)
	}
	for keep, want := range map[int]int{0: 4, 1: 4, 2: 3, 4: 1, 5: 0, 9: 0} {
		got := eventlog.Superfluous(notes, k.Verifier(), keep)
		if len(got) != want {
			t.Errorf("keep %d: %d are superfluous, want %d", keep, len(got), want)
		}
	}
}

// What stands before the first checkpoint of a file, and behind its lines, is not left out.
func TestSplitLeavesNothingOut(t *testing.T) {
	one, two := eventlog.Origin+"\n1\n", eventlog.Origin+"\n2\n"
	for _, tc := range []struct {
		file string
		want []string
	}{
		{"", nil},
		{"\n \n", nil},
		{one, []string{one}},
		{"\n" + one + "\n\n" + two + "\n", []string{one, two}},
		{"before\n" + one, []string{"before\n", one}},
		{"before\n\nstill before\n", []string{"before\n\nstill before\n"}},
		{strings.TrimSuffix(one, "\n"), []string{one}},
		{one + " " + two, []string{one + " " + two}},
	} {
		var got []string
		for _, n := range eventlog.Split([]byte(tc.file)) {
			got = append(got, string(n))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.file, diff)
		}
	}
}

package eventlog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/belay-hooks/belay/internal/eventlog"
	"github.com/belay-hooks/belay/internal/restrict"
	"github.com/belay-hooks/belay/internal/store/memory"
	"github.com/belay-hooks/belay/kernel"
	"github.com/belay-hooks/belay/phases"
)

// adopt makes an event the notice that adopts the rows as they are; output says after which event.
func adopt(output string) func(*phases.Event) {
	return func(e *phases.Event) {
		e.Type, e.Decision, e.Output = phases.EventNotice, kernel.DecisionAdopted, jsontext.Value(output)
	}
}

// What events record of the rows that restrict holds together from event to event. The log has 5 events, each with a
// digest.
func TestFindingsAboutWhatEventsRecord(t *testing.T) {
	k := newKey(t, 1)
	forget := func(e *phases.Event) { e.Restrictions = "" }
	type edits map[int64]func(*phases.Event)
	for _, tc := range []struct {
		name  string
		edits edits
		want  *eventlog.Finding
	}{
		{"a log from before they did", edits{1: forget, 2: forget, 3: forget, 4: forget, 5: forget}, nil},
		{"adopted after the last that did not", edits{1: forget, 2: forget, 3: adopt(`{"after":2}`)}, nil},
		{"adopted twice", edits{1: forget, 2: forget, 3: adopt(`{"after":2}`), 5: adopt(`{"after":3}`)},
			&eventlog.Finding{First: 5, Last: 5, Text: "event 5 adopts what restricts, which event 3 had recorded before"}},
		{"adopted by two processes at once", edits{1: forget, 2: forget, 3: adopt(`{"after":2}`), 4: adopt(`{"after":2}`)},
			nil},
		{"adopted although the first event has one", edits{3: adopt(`{"after":1}`)},
			&eventlog.Finding{First: 3, Last: 3, Text: "event 3 adopts what restricts, which event 1 had recorded before"}},
		{"adopted after it does not say what", edits{3: adopt(`{"before":2}`)},
			&eventlog.Finding{First: 3, Last: 3, Text: "event 3 does not say after which event it adopts what restricts"}},
		{"another notice", edits{3: func(e *phases.Event) { adopt(`"free"`)(e); e.Decision = "" }}, nil},
		{"another event with that decision",
			edits{3: func(e *phases.Event) { adopt(`"free"`)(e); e.Type = phases.EventHook }}, nil},
		{"no digest", edits{3: func(e *phases.Event) { e.Restrictions = "sha256:0" }},
			&eventlog.Finding{First: 3, Last: 3, Text: "event 3 records no digest of what restricts"}},
		{"not the last of its batch", edits{3: forget}, nil},
		{"the newest records nothing", edits{5: forget},
			&eventlog.Finding{First: 5, Last: 5, Text: "event 5 does not record what restricts, which event 4 has done before"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, _ := build(t, 5, k)
			for seq, change := range tc.edits {
				l.edit(t, seq, change)
			}
			if diff := cmp.Diff(tc.want, verify(t, l, k).Wrong); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
		})
	}
}

// Rows that differ from what the newest event records are named, and latches are compared one by one with what the
// events say of them.
func TestFindingsAboutRows(t *testing.T) {
	k := newKey(t, 1)
	s := memory.New()
	for _, session := range []string{"a", "b", "c"} {
		commit(t, s, latching("l"+session, "claude", session, "why", t0))
	}
	rows, err := s.Latches(t.Context())
	if err != nil || len(rows) != 3 {
		t.Fatalf("%+v, %v", rows, err)
	}
	changed := rows[1]
	changed.Reason = "another"
	unknown := kernel.Latch{Runtime: "codex", Session: "x"}
	many := make([]kernel.Latch, kernel.MaxTamperedRows+1)
	for i := range many {
		many[i] = kernel.Latch{Runtime: "codex", Session: fmt.Sprint(i)}
	}
	for _, tc := range []struct {
		name string
		rows []kernel.Latch
		want []string
	}{
		{"latches are as they were", rows, nil},
		{"one is missing, one changed, one made up", []kernel.Latch{changed, rows[2], unknown},
			[]string{`the latch of "claude" "a" is missing`, `the latch of "claude" "b" was changed`,
				`no event made the latch of "codex" "x"`}},
		{"one is missing", rows[1:], []string{`the latch of "claude" "a" is missing`}},
		{"all are missing", nil,
			[]string{`the latch of "claude" "a" is missing`, `the latch of "claude" "b" is missing`,
				`the latch of "claude" "c" is missing`}},
	} {
		l := copyLog(t, s)
		l.rows = kernel.Restrictions{Seq: 3, Recorded: recordedIn(t, s), Latches: tc.rows,
			Tampered: &kernel.Tampered{Seq: 3, Tables: []string{"latches"}}}
		text := strings.Join(append([]string{l.rows.Tampered.Error()}, strings.Join(tc.want, ", ")), "; ")
		want := eventlog.Finding{First: 3, Last: 3, Text: strings.TrimSuffix(text, "; ")}
		r := verify(t, l, k)
		if diff := cmp.Diff(&want, r.Wrong); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	l := copyLog(t, s)
	l.rows = kernel.Restrictions{Seq: 3, Recorded: recordedIn(t, s), Latches: append(rows, many...),
		Tampered: &kernel.Tampered{Seq: 3}}
	if n := strings.Count(verify(t, l, k).Wrong.Text, "no event made"); n != kernel.MaxTamperedRows {
		t.Errorf("%d latches are named, want no more than %d", n, kernel.MaxTamperedRows)
	}
}

// An event that announces a compaction is wrong where its statement is not signed, is about other events, or says
// otherwise than the events what restricts. The statement is that of event 6, events 1 to 3 are compacted.
func TestFindingsAboutAnnouncements(t *testing.T) {
	k := newKey(t, 1)
	base := func(t *testing.T) *loose { l, _ := build(t, 5, k); return l }
	root := func(t *testing.T, size int64) string {
		n, _ := build(t, int(size), k)
		return tlog.Hash(rootOf(t, mark(t, n, k, 0), k)).String()
	}
	const head = "belay event log compaction v1\n"
	lines := func(size int64, root string, more ...string) string {
		return head + fmt.Sprintf("%d\n%s\ntime 2026-03-01T12:00:00Z\nby me\nwhy test\n", size, root) + strings.Join(more, "")
	}
	s := memory.New()
	verdicts(t, s, 1)
	r, err := s.Restrictions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := func(seq int64) string { // what restricts after an event: nothing
		b, err := json.Marshal(&eventlog.Carried{Seq: seq, Root: r.Recorded, Tables: r.Tables}, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		return "open " + string(b) + "\n"
	}
	const prefix = "event 6 announces a compaction, but: "
	bad := func(text string) *eventlog.Finding {
		return &eventlog.Finding{First: 6, Last: 6, Text: prefix + eventlog.ErrCheckpoint.Error() + ": " + text}
	}
	for _, tc := range []struct {
		name    string
		through int64
		text    string
		restr   string // what event 5 records, where that is something else
		want    *eventlog.Finding
	}{
		{"a statement from before it said what restricts", 3, lines(3, root(t, 3)), "", nil},
		{"all events before", 5, lines(5, root(t, 5)), "", nil},
		{"itself", 6, lines(6, root(t, 6)), "", bad("the statement is about other events")},
		{"none", 0, lines(0, root(t, 0)), "", bad("the statement is about other events")},
		{"less than the event says", 3, lines(2, root(t, 2)), "", bad("the statement is about other events")},
		{"other events", 3, lines(3, root(t, 4)), "",
			&eventlog.Finding{First: 1, Last: 3, Text: "events 1 to 3 are not those whose compaction event 6 announces"}},
		{"what restricts after the last that is compacted", 3, lines(3, root(t, 3), open(3)), "", nil},
		{"what restricts after the newest", 3, lines(3, root(t, 3), open(5)), "", nil},
		{"what restricts before the last that is compacted", 3, lines(3, root(t, 3), open(2)), "",
			bad("the statement is about other events")},
		{"what restricts after itself", 3, lines(3, root(t, 3), open(6)), "", bad("the statement is about other events")},
		{"otherwise than an event what restricts", 3, lines(3, root(t, 3), open(5)), restrict.Digest{1}.String(),
			&eventlog.Finding{
				First: 6, Last: 6, Text: "event 6 announces a compaction, and says otherwise than event 5 what restricts",
			}},
		{"what restricts after an event that records nothing", 3, lines(3, root(t, 3), open(5)), "none", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := base(t)
			if tc.restr != "" {
				l.edit(t, 5, func(e *phases.Event) { e.Restrictions = strings.TrimPrefix(tc.restr, "none") })
			}
			l.announce(t, tc.through, signText(t, 1, tc.text), r.Recorded)
			if diff := cmp.Diff(tc.want, verify(t, l, k).Wrong); diff != "" {
				t.Errorf("finding (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("another key", func(t *testing.T) {
		l := base(t)
		l.announce(t, 3, signText(t, 2, lines(3, root(t, 3))), r.Recorded)
		if w := verify(t, l, k).Wrong; w == nil || w.First != 6 ||
			!strings.HasPrefix(w.Text, prefix+eventlog.ErrCheckpoint.Error()+": note has no verifiable signatures") {
			t.Errorf("%+v", w)
		}
	})
	t.Run("no statement", func(t *testing.T) {
		l := base(t)
		l.announce(t, 3, signText(t, 1, lines(3, root(t, 3))), r.Recorded)
		l.edit(t, 6, func(e *phases.Event) { e.Output = jsontext.Value(`{"through":3,"more":1}`) })
		if w := verify(t, l, k).Wrong; w == nil || w.First != 6 ||
			!strings.Contains(w.Text, ": the event does not announce a compaction: ") {
			t.Errorf("%+v", w)
		}
	})
	// The one that gives up most counts, whenever it came, and the first of two that give up as much.
	t.Run("several", func(t *testing.T) {
		l := base(t)
		for _, through := range []int64{2, 4, 4, 3} {
			l.announce(t, through, signText(t, 1, lines(through, root(t, through))), r.Recorded)
		}
		for gone := int64(0); gone <= 5; gone++ {
			cut := *l
			cut.leaves = l.leaves[gone:]
			rep := verify(t, &cut, k)
			switch {
			case gone == 0 && (rep.Wrong != nil || rep.Compacted != 0 || rep.Announced != 0),
				gone > 0 && gone <= 4 && (rep.Wrong != nil || rep.Compacted != gone || rep.Announced != 7):
				t.Errorf("%d are gone: %+v, %+v", gone, rep, rep.Wrong)
			case gone == 5:
				want := &eventlog.Finding{First: 5, Last: 5, Text: "events 5 to 5 are missing, and no event announces that"}
				if diff := cmp.Diff(want, rep.Wrong); diff != "" {
					t.Errorf("%d are gone (-want +got):\n%s", gone, diff)
				}
			}
		}
	})
}

// announce adds an event that gives up events, with any statement.
func (l *loose) announce(t testing.TB, through int64, statement []byte, restrictions string) {
	t.Helper()
	out, err := json.Marshal(kernel.Compaction{Through: through, Statement: string(statement)})
	if err != nil {
		t.Fatal(err)
	}
	seq := l.size + 1
	body, err := json.Marshal(phases.Event{
		Seq: seq, ID: fmt.Sprint("c", seq), Type: phases.EventCompaction, Time: t0, Output: out, Restrictions: restrictions,
	})
	if err != nil {
		t.Fatal(err)
	}
	l.leaves = append(l.leaves, kernel.LogLeaf{Seq: seq, Body: body, Copies: true})
	l.replant(t)
}
